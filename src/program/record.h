/* record.h - records of tuning logs: one line of either tuner, and one canonical text per program. */
#ifndef PROGRAM_RECORD_H
#define PROGRAM_RECORD_H

#include "base/buf.h"
#include "foretell/program.h"
#include "program/workload.h"
#include "read/ansor.h"
#include "read/autotvm.h"

/* Reads a line as ansor_read does. A record of AutoTVM is read into `tuned`, from which its template makes `record`. */
ft_status program_record_read(const char *line, size_t length, ansor_record *record, autotvm_record *tuned,
                              bool *is_record, ft_error *error);

/* Writes the program of a record as a line that ansor_read accepts, spelled the same whichever device it was measured
 * on, and the name of its task: "conv2d_layer 1 64 ... add". Unknown workloads are errors. */
ft_status program_text(const ansor_record *record, buf *text, char task[static FT_PROGRAM_TASK_SIZE], workload *w,
                       ft_error *error);

#endif
