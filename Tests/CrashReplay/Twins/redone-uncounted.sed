# file: Sources/CWeir/recover/redo.c
# cases: interrupted_cases
# What a recovery found in the lanes is not stored before the segment that tells of it is sealed: killed after that, it is
# in no report.
s/^  if (error == 0) error = unreported_store(redo->site->held, redo->found, redo->next_offset);$//
