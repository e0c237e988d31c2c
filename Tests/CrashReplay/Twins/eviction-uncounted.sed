# file: Sources/CWeir/capture/overflow.c
# sweep: capture that evicts
# The head moves without saying that an eviction moved it: killed before it is counted, its events are lost unseen.
s/&head, to | HEAD_EVICTED, 0,/\&head, to, 0,/
