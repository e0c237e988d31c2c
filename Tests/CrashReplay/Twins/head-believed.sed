# file: Sources/CWeir/replay/handover.c
# sweep: drain
# Recovery believes the lane's head and not the log: killed after a block was appended, before the head moved, the
# events are there twice.
/^void handover_lane/,/^}/ s/\*from = handover_from(handover, lane, head, tail, view->capacity);/*from = head;/
