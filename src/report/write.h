/* write.h - the three renderings of one set of facts. Each model is a piece of a document that report.c frames. */
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
