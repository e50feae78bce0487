/* program_features.c - reads the records of tensor programs, features of workloads, and the pool of scratch memory. */
#include "predictor/program/program_features.h"

#include <assert.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "graph/graph.h"

ft_status program_source_read(const model_view *s, program_source *source, ft_error *error) {
    const char *text = graph_program_text(s->bound);
    bool is_record = false;
    if (text == NULL)
        return ft_fail(error, FT_ERR_UNSUPPORTED, "is a model; this predictor is for tensor programs of tuning logs");
    if (text[0] != '{')
        return ft_fail(error, FT_ERR_UNSUPPORTED,
                       "is in TVM's printed form, which lacks the workload that this predictor needs; use nest-gbt");
    FT_TRY(ansor_read(text, strlen(text), &source->record, &is_record, error));
    if (!is_record) return ft_fail(error, FT_ERR_DAMAGED, "the program has no text");
    return workload_parse(source->record.workload, source->record.fused, &source->work, error);
}

ft_status program_source_new(const model_view *s, arena *memory, program_source **source, ft_error *error) {
    *source = ARENA_NEW(memory, program_source);
    return *source != NULL ? program_source_read(s, *source, error) : FT_NOMEM(error);
}

ft_status program_read_nest(const model_view *s, program_source *source, ft_program *program, ft_error *error) {
    const char *text = graph_program_text(s->bound);
    size_t used;
    if (text == NULL || text[0] == '{') {
        FT_TRY(program_source_read(s, source, error));
        return program_lower_record(program, &source->record, error);
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
    assert((uint32_t)w->kind < WORKLOAD_KINDS);
    flags[w->kind] = 1;
    flags[WORKLOAD_KINDS] = w->has_add;
    flags[WORKLOAD_KINDS + 1] = w->has_relu;
    flags[WORKLOAD_KINDS + 2] = w->is_average;
    flags[WORKLOAD_KINDS + 3] = w->keeps_dims;
}

/* --- Pool ---------------------------------------------------------------------------------------------------- */

enum { MAX_POOLED = 64 }; /* more are freed when they are returned */

struct program_pool {
    pthread_mutex_t lock;
    program_scratch *items[MAX_POOLED];
    uint32_t count;
};

ft_status program_pool_new(program_pool **pool, ft_error *error) {
    program_pool *made = calloc(1, sizeof *made);
    if (made == NULL) return FT_NOMEM(error);
    pthread_mutex_init(&made->lock, NULL);
    *pool = made;
    return FT_OK;
}

static ft_status scratch_new(program_scratch **scratch, ft_error *error) {
    program_scratch *made = calloc(1, sizeof *made);
    ft_status status = made != NULL ? ft_program_new(&made->program, error) : FT_NOMEM(error);
    if (status == FT_OK)
        *scratch = made;
    else
        free(made);
    return status;
}

static void scratch_free(program_scratch *scratch) {
    ft_program_free(scratch->program);
    free(scratch);
}

void program_pool_free(program_pool *pool) {
    if (pool == NULL) return;
    for (uint32_t i = 0; i < pool->count; i++) scratch_free(pool->items[i]);
    pthread_mutex_destroy(&pool->lock);
    free(pool);
}

ft_status program_pool_take(program_pool *pool, program_scratch **scratch, ft_error *error) {
    *scratch = NULL;
    pthread_mutex_lock(&pool->lock);
    if (pool->count > 0) *scratch = pool->items[--pool->count];
    pthread_mutex_unlock(&pool->lock);
    return *scratch != NULL ? FT_OK : scratch_new(scratch, error);
}

void program_pool_return(program_pool *pool, program_scratch *scratch) {
    assert(scratch != NULL);
    pthread_mutex_lock(&pool->lock);
    bool has_room = pool->count < MAX_POOLED;
    if (has_room) pool->items[pool->count++] = scratch;
    pthread_mutex_unlock(&pool->lock);
    if (!has_room) scratch_free(scratch);
}
