# file: Sources/CWeir/directory/locator.c
# sweep: close with a ring apart
# A drained ring is removed before its locator says that it was: killed in between, it looks like one that vanished.
/^int locator_close/,/^}/ s/^  ring_place closed = \*place;$/  remove_file(place->directory, place->name);\n&/
