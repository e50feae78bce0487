/* torch_infer.c - see torch_infer.h. */
#include "predictor/torch/torch_infer.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "nn/parallel.h"

enum { PARTS = 4, PART = 256 }; /* at a time, and labels in each */

struct torch_infer {
    const torch_data *data;
    const float *inputs;
    const torch_net *net;
    parallel *workers;
    torch_shard shards[PARTS];
};

ft_status torch_infer_new(const torch_data *data, const float *inputs, const torch_net *net, pool *threads,
                          torch_infer **out, ft_error *error) {
    torch_infer *a = calloc(1, sizeof *a);
    if (a == NULL) return FT_NOMEM(error);
    *a = (torch_infer){.data = data, .inputs = inputs, .net = net};
    bool has_memory = true;
    for (uint32_t i = 0; i < PARTS; i++) has_memory = torch_shard_open(&a->shards[i], data) && has_memory;
    ft_status status =
        has_memory ? parallel_new(&net->values, PARTS, threads, SIZE_MAX, &a->workers, error) : FT_NOMEM(error);
    if (status != FT_OK)
        torch_infer_free(a);
    else
        *out = a;
    return status;
}

void torch_infer_free(torch_infer *a) {
    if (a == NULL) return;
    parallel_free(a->workers);
    for (uint32_t i = 0; i < PARTS; i++) torch_shard_free(&a->shards[i]);
    free(a);
}

typedef struct question {
    const torch_infer *asker;
    float *logs;
} question;

static void answer_part(void *user, tape *t, uint32_t part) {
    const question *q = user;
    const tensor *said = torch_shard_forward(&q->asker->shards[part], q->asker->net, t, NULL, NULL);
    if (said != NULL) memcpy(q->logs + (size_t)part * PART, said->data, said->rows * sizeof(float));
}

static uint32_t smaller(uint32_t a, uint32_t b) {
    return a < b ? a : b;
}

static ft_status ask_some(torch_infer *a, const torch_label *labels, const uint32_t *order, uint32_t count, float *logs,
                          ft_error *error) {
    uint32_t parts = (count + PART - 1) / PART;
    for (uint32_t i = 0; i < parts; i++) {
        uint32_t first = i * PART;
        if (!torch_shard_fill(&a->shards[i], a->data, a->inputs, order != NULL ? labels : labels + first,
                              order != NULL ? order + first : NULL, smaller(count - first, PART)))
            return FT_NOMEM(error);
    }
    question q = {.asker = a, .logs = logs};
    return parallel_infer(a->workers, parts, answer_part, &q, error);
}

ft_status torch_infer_labels(torch_infer *a, const torch_label *labels, const uint32_t *order, uint32_t count,
                             float *logs, ft_error *error) {
    const uint32_t most = PARTS * PART;
    for (uint32_t first = 0; first < count; first += most)
        FT_TRY(ask_some(a, order != NULL ? labels : labels + first, order != NULL ? order + first : NULL,
                        smaller(count - first, most), logs + first, error));
    return FT_OK;
}
