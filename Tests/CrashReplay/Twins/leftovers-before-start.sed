# file: Sources/CWeir/limits/retention.c
# cases: power_cases
# What `start` names goes at an opening although it may not be on the disk: killed before it was synced, and the power
# cut after that, there is neither.
s/^    if (!confirmed) error = log_start_confirm(directory, start);$//
