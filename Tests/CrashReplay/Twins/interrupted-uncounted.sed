# file: Sources/CWeir/recover/recover.c
# cases: interrupted_cases
# Damage that a recovery found which did not get to its end is not told of by the next.
s/^  if (status == WEIR_OK) status = store_losses(recovery);$//
