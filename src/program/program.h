/* program.h - the structures behind ft_program and ft_program_log, for other rooms. */
#ifndef PROGRAM_PROGRAM_H
#define PROGRAM_PROGRAM_H

#include "base/buf.h"
#include "base/lines.h"
#include "foretell/program.h"
#include "program/feature.h"
#include "program/nest.h"
#include "program/workload.h"
#include "read/ansor.h"
#include "read/autotvm.h"

struct ft_program_log {
    lines text;
    ansor_record record;
    autotvm_record tuned; /* the record of AutoTVM that `record` was made from */
    bool has_record, is_over;
    char why[256];
    /* programs that TVM printed */
    buf printed;           /* text of the last one, or comments so far */
    uint64_t printed_line; /* its first line */
    char name[200];        /* of the last function */
    bool is_printed;       /* the last record was a printed program */
    bool has_text;         /* the file holds printed programs */
};

struct ft_program {
    arena memory; /* of one program */
    prog p;
    workload w;
    nest n;
    bool has_nest;
    bool is_printed; /* read from printed text: no workload, no iterators */
    char key[512];   /* of the workload in `cached` */
    workload cached;
    /* tables that are reused from program to program */
    lin_atom *atoms;
    prog_stage *stages;
    nest_node *nodes;
};

/* Prefixes a message about the last record with file and line. */
ft_status program_log_fail(const ft_program_log *log, ft_status status, ft_error *error);

/* Lowers a record. Messages have no file and line. */
ft_status program_lower_record(ft_program *program, const ansor_record *record, ft_error *error);

#endif
