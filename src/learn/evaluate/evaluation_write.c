/* evaluation_write.c - an evaluation as a document, in one of three forms. */
#include "base/error.h"
#include "learn/evaluate/evaluation.h"

ft_status ft_evaluation_write(const ft_evaluation *evaluation, const char *title, uint32_t worst, const ft_style *style,
                              FILE *stream, ft_error *error) {
    sink out = {.stream = stream};
    switch (style->output) {
    case FT_TABLE:
        for (const ft_evaluation *e = evaluation; e != NULL; e = e->next) {
            if (e != evaluation) buf_char(&out.text, '\n');
            evaluation_table(&out, e, title, worst, style);
        }
        break;
    case FT_JSON:
        evaluation_json(&out, evaluation, title, worst);
        break;
    case FT_CSV:
        evaluation_csv(&out, evaluation);
        break;
    }
    ft_status status = sink_flush(&out, error);
    sink_free(&out);
    return status;
}
