# file: Sources/CWeir/replay/drained.c
# sweep: drain
# Recovery believes the lane's head and not the log: killed after a block was appended, before the head moved, the
# events are there twice.
/^void drained_lane/,/^}/ s/\*from = from_of(drained, lane, head, tail, view->capacity);/*from = head;/
