/* write.h - the writers of facts as table, JSON and CSV, one model at a time; report.c begins and ends the document. */
#ifndef REPORT_WRITE_H
#define REPORT_WRITE_H

#include "report/facts.h"
#include "report/sink.h"

/* The document so far. */
typedef struct writer {
    sink out;
    const ft_inspect_options *options;
    uint64_t model_count; /* written so far */
} writer;

void report_table_model(writer *w, const facts *f);

void report_json_begin(writer *w);
void report_json_model(writer *w, const facts *f);
void report_json_end(writer *w);

void report_csv_begin(writer *w);
void report_csv_model(writer *w, const facts *f);

#endif
