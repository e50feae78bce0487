/* parallel.c - shards of a training step, and parts of an inference, on a pool of threads. */
#include "nn/parallel.h"

#include <assert.h>
#include <stdlib.h>

#include "base/error.h"
#include "nn/math/loops.h"

enum { SLICE = 1 << 14 }; /* floats of the gradient per task of the reduction */

struct parallel {
    const params *parameters;
    pool *threads;
    tape **tapes; /* one per thread, so that its memory stays in the cache of the core */
    uint32_t tape_count, shards;
    float **gradients; /* one per shard, each (total_count); allocated on the first training step */
    float *gradient;   /* (total_count): their sum */
    double *losses;
    /* The current call. */
    uint32_t parts, used; /* shards in use */
    parallel_loss *loss;
    parallel_part *part;
    void *user;
    uint64_t seed;
};

ft_status parallel_new(const params *parameters, uint32_t shards, pool *threads, size_t memory_limit, parallel **result,
                       ft_error *error) {
    assert(shards > 0);
    parallel *p = calloc(1, sizeof *p);
    if (p == NULL) return FT_NOMEM(error);
    p->parameters = parameters;
    p->threads = threads;
    p->shards = shards;
    p->tape_count = pool_threads(threads);
    p->tapes = calloc(p->tape_count, sizeof(tape *));
    p->gradients = calloc(shards, sizeof(float *));
    p->losses = calloc(shards, sizeof *p->losses);
    p->gradient = block_new(parameters->total_count);
    ft_status status = FT_OK;
    if (p->tapes == NULL || p->gradients == NULL || p->losses == NULL || p->gradient == NULL) status = FT_NOMEM(error);
    for (uint32_t i = 0; i < p->tape_count && status == FT_OK; i++)
        status = tape_new(parameters, memory_limit, &p->tapes[i], error);
    if (status != FT_OK) {
        parallel_free(p);
        return status;
    }
    *result = p;
    return FT_OK;
}

void parallel_free(parallel *p) {
    if (p == NULL) return;
    for (uint32_t i = 0; p->tapes != NULL && i < p->tape_count; i++) tape_free(p->tapes[i]);
    for (uint32_t i = 0; p->gradients != NULL && i < p->shards; i++) free(p->gradients[i]);
    free(p->tapes);
    free(p->gradients);
    free(p->losses);
    free(p->gradient);
    free(p);
}

static void clear_failures(parallel *p) {
    for (uint32_t i = 0; i < p->tape_count; i++) p->tapes[i]->has_failed = false;
}

static ft_status status_of(const parallel *p, ft_error *error) {
    for (uint32_t i = 0; i < p->tape_count; i++) FT_TRY(tape_status(p->tapes[i], error));
    return FT_OK;
}

/* --- Training ------------------------------------------------------------------------------------------------ */

/* First part of a shard: shards are consecutive ranges of about parts / shards. */
static uint32_t first_part(const parallel *p, uint32_t shard) {
    return (uint32_t)((uint64_t)p->parts * shard / p->used);
}

static void train_shard(void *user, uint32_t shard, uint32_t worker) {
    parallel *p = user;
    assert(worker < p->tape_count && shard < p->used);
    tape *t = p->tapes[worker];
    if (t->has_failed) return; /* parallel_train reports it */
    tape_begin_into(t, p->gradients[shard], p->seed, first_part(p, shard));
    t->state_share = 1.0f / (float)p->parts;
    p->losses[shard] = 0;
    for (uint32_t i = first_part(p, shard); i < first_part(p, shard + 1); i++) {
        tape_continue(t, p->seed, i);
        tensor *loss = p->loss(p->user, t, i);
        assert(loss != NULL || t->has_failed);
        if (t->has_failed) return;
        p->losses[shard] += loss->data[0];
        tape_backward(t, loss);
    }
}

static void add_slice(void *user, uint32_t slice, uint32_t worker) {
    (void)worker;
    parallel *p = user;
    size_t first = (size_t)slice * SLICE, rest = p->parameters->total_count - first;
    size_t count = rest < SLICE ? rest : SLICE;
    loop_scale(count, 1, p->gradients[0] + first, p->gradient + first);
    for (uint32_t i = 1; i < p->used; i++) loop_add(count, p->gradients[i] + first, p->gradient + first);
}

static ft_status make_gradients(parallel *p, ft_error *error) {
    for (uint32_t i = 0; i < p->used; i++) {
        if (p->gradients[i] == NULL) p->gradients[i] = block_new(p->parameters->total_count);
        if (p->gradients[i] == NULL) return FT_NOMEM(error);
    }
    return FT_OK;
}

ft_status parallel_train(parallel *p, uint32_t parts, parallel_loss *loss, void *user, uint64_t seed, double *total,
                         ft_error *error) {
    assert(parts > 0);
    p->parts = parts;
    p->used = parts < p->shards ? parts : p->shards;
    p->loss = loss;
    p->user = user;
    p->seed = seed;
    FT_TRY(make_gradients(p, error));
    clear_failures(p);
    pool_run(p->threads, p->used, train_shard, p);
    FT_TRY(status_of(p, error));
    pool_run(p->threads, (uint32_t)((p->parameters->total_count + SLICE - 1) / SLICE), add_slice, p);
    double sum = 0;
    for (uint32_t i = 0; i < p->used; i++) sum += p->losses[i];
    *total = sum;
    return FT_OK;
}

float *parallel_gradient(parallel *p) {
    return p->gradient;
}

void parallel_update_state(const parallel *p, float *values) {
    size_t first = p->parameters->trained_count;
    loop_add(p->parameters->total_count - first, p->gradient + first, values + first);
}

/* --- Inference ----------------------------------------------------------------------------------------------- */

static void infer_part(void *user, uint32_t part, uint32_t worker) {
    parallel *p = user;
    tape *t = p->tapes[worker];
    if (t->has_failed) return;
    tape_begin(t, TAPE_INFER, 0, 0);
    p->part(p->user, t, part);
}

ft_status parallel_infer(parallel *p, uint32_t parts, parallel_part *part, void *user, ft_error *error) {
    p->part = part;
    p->user = user;
    clear_failures(p);
    pool_run(p->threads, parts, infer_part, p);
    return status_of(p, error);
}

/* --- Splitting ----------------------------------------------------------------------------------------------- */

void parallel_split(const uint32_t *sizes, uint32_t count, uint32_t parts, uint32_t *start) {
    assert(parts > 0);
    uint64_t total = 0, before = 0;
    for (uint32_t i = 0; i < count; i++) total += sizes[i];
    uint32_t item = 0;
    for (uint32_t p = 0; p < parts; p++) {
        start[p] = item;
        /* an item belongs to the part that contains its midpoint */
        while (item < count && (2 * before + sizes[item]) * parts < 2 * total * (p + 1)) before += sizes[item++];
    }
    start[parts] = count;
}
