/* torch_shard.c - fills shards of a training step and runs the network on them. */
#include "predictor/torch/torch_shard.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static const float ONES[TORCH_TERMS] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1};

/* Target of the prior: the logarithm of the unit cost of a byte in a memory-bound kernel, relative to the data sheet.
 */
static const float PRIOR_LOG_COST = 0;

bool torch_is_memory_bound(torch_kind kind) {
    return kind == TORCH_BATCH_NORM || kind == TORCH_ACTIVATION || kind == TORCH_SMOOTH || kind == TORCH_ELEMENTWISE ||
           kind == TORCH_CAST;
}

/* --- Filling ------------------------------------------------------------------------------------------------- */

bool torch_shard_open(torch_shard *s, const torch_data *data) {
    *s = (torch_shard){0};
    arena_init(&s->memory, UINT64_MAX);
    s->row_of = calloc((size_t)data->kernels.count + 1, sizeof *s->row_of);
    return s->row_of != NULL;
}

void torch_shard_free(torch_shard *s) {
    arena_free(&s->memory);
    free(s->row_of);
    s->row_of = NULL;
}

/* State of filling a shard. */
typedef struct filling {
    const torch_data *data;
    const torch_label *labels;
    const uint32_t *order;
    uint32_t count, pairs;
    uint32_t *rows, *kernels, *settings, *groups, *start;
    float *amounts, *targets, *weights, *moving;
} filling;

static const torch_label *label_at(const filling *f, uint32_t i) {
    return &f->labels[f->order != NULL ? f->order[i] : i];
}

static bool reserve(torch_shard *s, filling *f) {
    size_t pairs = (size_t)f->pairs + 1;
    arena *m = &s->memory;
    f->rows = ARENA_ARRAY(m, uint32_t, pairs);
    f->kernels = ARENA_ARRAY(m, uint32_t, pairs);
    f->settings = ARENA_ARRAY(m, uint32_t, pairs);
    f->groups = ARENA_ARRAY(m, uint32_t, pairs);
    f->start = ARENA_ARRAY(m, uint32_t, (size_t)f->count + 1);
    f->amounts = ARENA_ARRAY(m, float, pairs *TORCH_TERMS);
    f->targets = ARENA_ARRAY(m, float, (size_t)f->count + 1);
    f->weights = ARENA_ARRAY(m, float, pairs);
    f->moving = ARENA_ARRAY(m, float, pairs);
    float *zeros = ARENA_ARRAY(m, float, pairs *TORCH_TERMS);
    s->zeros = zeros;
    return f->rows != NULL && f->kernels != NULL && f->settings != NULL && f->groups != NULL && f->start != NULL &&
           f->amounts != NULL && f->targets != NULL && f->weights != NULL && f->moving != NULL && zeros != NULL;
}

static void add_label(torch_shard *s, filling *f, uint32_t number) {
    const torch_label *label = label_at(f, number);
    const torch_data *data = f->data;
    assert(label->program < data->program_count && label->setting < data->setting_count);
    const torch_program *program = &data->programs[label->program];
    const torch_setting *setting = &data->settings[label->setting];
    const torch_sheet *sheet = &data->sheets[setting->device];
    double anchors[TORCH_ANCHORS];
    torch_sheet_anchors(sheet, setting, anchors);
    bool has_prior = sheet->is_gpu && setting->mode == FT_INFER;
    f->targets[number] = label->log_us;
    for (uint32_t i = program->start; i < program->start + program->count; i++, f->pairs++) {
        const torch_launch *launch = &data->launches[i];
        const torch_row *row = &torch_data_rows(data)[launch->row];
        if (s->row_of[launch->row] == 0) {
            f->rows[s->pairs.kernel_count++] = launch->row;
            s->row_of[launch->row] = s->pairs.kernel_count;
        }
        f->kernels[f->pairs] = s->row_of[launch->row] - 1;
        f->settings[f->pairs] = label->setting;
        f->groups[f->pairs] = data->setting_count + data->groups[label->setting];
        torch_amounts(row, torch_sheet_side(sheet), anchors, label->batch, launch->times,
                      f->amounts + (size_t)f->pairs * TORCH_TERMS);
        f->weights[f->pairs] = has_prior && torch_is_memory_bound(torch_row_kind(row));
        f->moving[f->pairs] = PRIOR_LOG_COST;
    }
    f->start[number + 1] = f->pairs;
}

/* Adds uniform noise to sizes: four numbers from each draw. */
static void add_noise(float *sizes, double deviation, rng *random) {
    static const double SQRT12 = 3.4641016151377544;
    float scale = (float)(deviation * SQRT12 / 65536);
    uint64_t bits = 0;
    for (uint32_t i = 0; i < TORCH_SIZES; i++, bits >>= 16) {
        if (i % 4 == 0) bits = rng_next(random);
        sizes[i] += scale * ((float)(bits & 0xffff) - 32767.5F);
    }
}

bool torch_shard_fill(torch_shard *s, const torch_data *data, const float *inputs, const torch_label *labels,
                      const uint32_t *order, uint32_t count) {
    filling f = {.data = data, .labels = labels, .order = order, .count = count};
    arena_free(&s->memory);
    arena_init(&s->memory, UINT64_MAX);
    s->pairs = (torch_pairs){0};
    for (uint32_t i = 0; i < count; i++) f.pairs += data->programs[label_at(&f, i)->program].count;
    if (!reserve(s, &f)) return false;
    f.pairs = 0;
    for (uint32_t i = 0; i < count; i++) add_label(s, &f, i);
    float *own = ARENA_ARRAY(&s->memory, float, (size_t)s->pairs.kernel_count *TORCH_FEATURES + 1);
    for (uint32_t i = 0; i < s->pairs.kernel_count; i++) {
        if (own != NULL)
            memcpy(own + (size_t)i * TORCH_FEATURES, inputs + (size_t)f.rows[i] * TORCH_FEATURES,
                   TORCH_FEATURES * sizeof(float));
        if (own != NULL && s->noise > 0) add_noise(own + (size_t)i * TORCH_FEATURES, s->noise, &s->random);
        s->row_of[f.rows[i]] = 0;
    }
    s->label_count = count;
    s->pairs.count = f.pairs;
    s->pairs.inputs = own;
    s->pairs.kernels = f.kernels;
    s->pairs.settings = f.settings;
    s->pairs.groups = f.groups;
    s->pairs.amounts = f.amounts;
    s->by_label = (segments){.count = count, .start = f.start};
    s->targets = f.targets;
    s->prior_weights = f.weights;
    s->prior_targets = f.moving;
    return own != NULL;
}

tensor *torch_shard_forward(const torch_shard *s, const torch_net *net, tape *t, tensor **log_multipliers,
                            tensor **logs) {
    tensor *times = torch_net_times(net, t, &s->pairs, log_multipliers, logs);
    tensor *terms = nn_segment_sum(t, times, s->by_label);
    return nn_activate(t, nn_matmul(t, terms, tape_input(t, TORCH_TERMS, 1, ONES)), ACT_LOG);
}
