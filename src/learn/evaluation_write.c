/* evaluation_write.c - an evaluation as a document, in one of three forms. */
#include <stdlib.h>

#include "base/error.h"
#include "learn/evaluation.h"

ft_status ft_evaluation_write(const ft_evaluation *evaluation, const char *title, uint32_t worst, const ft_style *style,
                              FILE *stream, ft_error *error) {
    uint32_t count;
    ft_case *cases = evaluation_worst(evaluation, worst, &count);
    if (cases == NULL) return FT_NOMEM(error);
    sink out = {.stream = stream};
    switch (style->output) {
    case FT_TABLE:
        evaluation_table(&out, evaluation, title, cases, count, style);
        break;
    case FT_JSON:
        evaluation_json(&out, evaluation, title, cases, count);
        break;
    case FT_CSV:
        evaluation_csv(&out, evaluation);
        break;
    }
    ft_status status = sink_flush(&out, error);
    sink_free(&out);
    free(cases);
    return status;
}
