# file: Sources/CWeir/drain/drainer.c
# sweep: drain of refusals
# A refusal counts as reported before its gap record is in the log: killed in between, it is reported nowhere.
/^static int append_gap/,/^}/ s/^  if (from < to) append_notice/  __atomic_store_n(reported, total, __ATOMIC_RELEASE);\n&/
