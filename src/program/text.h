/* text.h - one text for one program, wherever it was measured: workload, epilogue and steps in one spelling. */
#ifndef PROGRAM_TEXT_H
#define PROGRAM_TEXT_H

#include "base/buf.h"
#include "program/workload.h"
#include "read/ansor.h"

enum { PROGRAM_TASK_SIZE = 400 };

/* Writes the program of a record as a line that ansor_read takes, and its task as people read it: "conv2d_layer 1 64
 * ... add". Fails when the workload is none that is known. */
ft_status program_text(const ansor_record *record, buf *text, char task[static PROGRAM_TASK_SIZE], workload *w,
                       ft_error *error);

#endif
