/* torch_infer.c - runs a network on many labels during training, in parallel parts. */
#include "predictor/torch/torch_shard.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "nn/parallel.h"

enum { PARTS = 4, PART = 256 }; /* parts at a time; labels in each */

struct torch_infer {
    const torch_data *data;
    const float *inputs;
    const torch_net *net;
    parallel *workers;
    torch_shard shards[PARTS];
};

ft_status torch_infer_new(const torch_data *data, const float *inputs, const torch_net *net, pool *threads,
                          torch_infer **out, ft_error *error) {
    torch_infer *t = calloc(1, sizeof *t);
    if (t == NULL) return FT_NOMEM(error);
    *t = (torch_infer){.data = data, .inputs = inputs, .net = net};
    bool has_memory = true;
    for (uint32_t i = 0; i < PARTS; i++) has_memory = torch_shard_open(&t->shards[i], data) && has_memory;
    ft_status status =
        has_memory ? parallel_new(&net->values, PARTS, threads, SIZE_MAX, &t->workers, error) : FT_NOMEM(error);
    if (status != FT_OK)
        torch_infer_free(t);
    else
        *out = t;
    return status;
}

void torch_infer_free(torch_infer *t) {
    if (t == NULL) return;
    parallel_free(t->workers);
    for (uint32_t i = 0; i < PARTS; i++) torch_shard_free(&t->shards[i]);
    free(t);
}

typedef struct inference {
    const torch_infer *infer;
    float *logs;
} inference;

static void infer_part(void *user, tape *tp, uint32_t part) {
    const inference *f = user;
    const tensor *predicted = torch_shard_forward(&f->infer->shards[part], f->infer->net, tp, NULL, NULL);
    if (predicted != NULL) memcpy(f->logs + (size_t)part * PART, predicted->data, predicted->rows * sizeof(float));
}

static uint32_t smaller(uint32_t a, uint32_t b) {
    return a < b ? a : b;
}

static ft_status infer_some(torch_infer *t, const torch_label *labels, const uint32_t *order, uint32_t count,
                            float *logs, ft_error *error) {
    uint32_t parts = (count + PART - 1) / PART;
    assert(parts <= PARTS);
    for (uint32_t i = 0; i < parts; i++) {
        uint32_t first = i * PART;
        if (!torch_shard_fill(&t->shards[i], t->data, t->inputs, order != NULL ? labels : labels + first,
                              order != NULL ? order + first : NULL, smaller(count - first, PART)))
            return FT_NOMEM(error);
    }
    inference f = {.infer = t, .logs = logs};
    return parallel_infer(t->workers, parts, infer_part, &f, error);
}

ft_status torch_infer_labels(torch_infer *t, const torch_label *labels, const uint32_t *order, uint32_t count,
                             float *logs, ft_error *error) {
    const uint32_t at_once = PARTS * PART;
    for (uint32_t first = 0; first < count; first += at_once)
        FT_TRY(infer_some(t, order != NULL ? labels : labels + first, order != NULL ? order + first : NULL,
                          smaller(count - first, at_once), logs + first, error));
    return FT_OK;
}
