/* findings.c: see findings.h. */
#include "inspect/findings.h"

#include <stdio.h>


void findings_report(checker *checker, const char *file, uint64_t position, uint64_t bytes, uint64_t first_offset,
                uint64_t count, const char *problem) {
  weir_finding finding = {
      .position = position, .bytes = bytes, .first_offset = first_offset, .count = count, .problem = problem};
  snprintf(finding.file, sizeof finding.file, "%s", file);
  checker->out->findings++;
  checker->out->missing_events += count;
  if (checker->report) checker->report(checker->context, &finding);
}

void findings_hole(checker *checker, const char *file, uint64_t position, uint64_t base, const char *problem) {
  if (base <= checker->next_offset) return;
  findings_report(checker, file, position, 0, checker->next_offset, base - checker->next_offset, problem);
  checker->next_offset = base;
}
