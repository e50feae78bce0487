/* record.h - a line of a tuning log, whichever tuner wrote it: records of the auto-scheduler as they are, records of
 * AutoTVM by their template. */
#ifndef PROGRAM_RECORD_H
#define PROGRAM_RECORD_H

#include "read/ansor.h"
#include "read/autotvm.h"

/* As ansor_read. `tuned` is memory for a record of AutoTVM, from which `record` is made. */
ft_status program_record_read(const char *line, size_t length, ansor_record *record, autotvm_record *tuned,
                              bool *is_record, ft_error *error);

#endif
