/* program_features.c - see program_features.h. */
#include "predictor/program/program_features.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "graph/graph.h"

ft_status program_source_read(const model_view *s, program_source *view, ft_error *error) {
    const char *text = graph_program_text(s->bound);
    bool is_record = false;
    if (text == NULL)
        return ft_fail(error, FT_ERR_UNSUPPORTED, "is a model; this predictor is for tensor programs of tuning logs");
    if (text[0] != '{')
        return ft_fail(error, FT_ERR_UNSUPPORTED,
                       "was printed and does not tell its workload, which this predictor needs; nest-gbt does without");
    FT_TRY(ansor_read(text, strlen(text), &view->record, &is_record, error));
    if (!is_record) return ft_fail(error, FT_ERR_DAMAGED, "the program has no text");
    return workload_parse(view->record.workload, view->record.fused, &view->work, error);
}

ft_status program_source_new(const model_view *s, arena *memory, program_source **view, ft_error *error) {
    *view = ARENA_NEW(memory, program_source);
    return *view != NULL ? program_source_read(s, *view, error) : FT_NOMEM(error);
}

ft_status program_read_nest(const model_view *s, program_source *view, ft_program *program, ft_error *error) {
    const char *text = graph_program_text(s->bound);
    size_t used;
    if (text == NULL || text[0] == '{') {
        FT_TRY(program_source_read(s, view, error));
        return program_lower_record(program, &view->record, error);
    }
    FT_TRY(ft_program_parse(program, text, strlen(text), &used, error));
    return used > 0 ? FT_OK : ft_fail(error, FT_ERR_DAMAGED, "the program has no text");
}

void program_sizes(const workload *w, float sizes[static PROGRAM_SIZES]) {
    double elements = 1;
    for (uint32_t i = 0; i < w->dims; i++) elements *= (double)w->shape[i];
    const double numbers[PROGRAM_SIZES] = {(double)w->batch,
                                           (double)w->channels,
                                           (double)w->m,
                                           (double)w->k,
                                           (double)w->n,
                                           (double)w->height,
                                           (double)w->width,
                                           (double)w->out_channels,
                                           (double)w->kernel_height,
                                           (double)w->kernel_width,
                                           (double)w->stride,
                                           (double)w->pad_top,
                                           (double)w->pad_left,
                                           (double)w->dims,
                                           elements,
                                           (double)w->shape[0],
                                           (double)w->shape[1],
                                           workload_flops(w)};
    for (uint32_t i = 0; i < PROGRAM_SIZES; i++) sizes[i] = (float)log2(1 + numbers[i]);
}

void program_flags(const workload *w, float flags[static PROGRAM_FLAGS]) {
    memset(flags, 0, PROGRAM_FLAGS * sizeof *flags);
    flags[w->kind] = 1;
    flags[WORKLOAD_KINDS] = w->has_add;
    flags[WORKLOAD_KINDS + 1] = w->has_relu;
    flags[WORKLOAD_KINDS + 2] = w->is_average;
    flags[WORKLOAD_KINDS + 3] = w->keeps_dims;
}
