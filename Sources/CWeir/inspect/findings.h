/* findings.h: what weir_verify finds, reported to its caller and counted. */
#ifndef WEIR_FINDINGS_H
#define WEIR_FINDINGS_H

#include "system/names.h"

#include "inspect/check.h"

/* Reports a finding, and counts the offsets that are missing because of it. */
void findings_report(checker *checker, const char *file, uint64_t position, uint64_t bytes, uint64_t first_offset,
                     uint64_t count, const char *problem);

/* Reports the offsets below `base` that no segment so far has. */
void findings_hole(checker *checker, const char *file, uint64_t position, uint64_t base, const char *problem);

#endif
