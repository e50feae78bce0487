/* kernel_model.c - making, keeping and asking a trained kernel-sum predictor. */
#include "predictor/kernel_model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SCALING_FLOATS = sizeof(kernel_scaling) / sizeof(float), ROWS_AT_ONCE = 4096 };

static const size_t TAPE_LIMIT = (size_t)1 << 30;

/* --- Making -------------------------------------------------------------------------------------------------- */

static ft_status add_nets(model *m, uint32_t side, uint64_t seed, ft_error *error) {
    kernel_side_model *s = &m->sides[side];
    s->nets = calloc(m->config.members, sizeof *s->nets);
    s->corrections = calloc(s->device_count + 1, sizeof(forest *));
    if (s->nets == NULL || s->corrections == NULL) return FT_NOMEM(error);
    for (uint32_t i = 0; i < m->config.members; i++) {
        uint64_t own = seed * 1000003 + side * 1009 + i; /* members differ by where they start and by their batches */
        FT_TRY(kernel_net_init(&s->nets[i], s->device_count, m->config.hidden, (float)m->config.bound, own, error));
        s->net_count++;
    }
    return FT_OK;
}

ft_status kernel_model_new(const kernel_config *config, runtimes *r, uint64_t seed, model **out, ft_error *error) {
    model *m = calloc(1, sizeof *m);
    if (m == NULL) return FT_NOMEM(error);
    m->config = *config;
    m->runtimes = *r;
    *r = (runtimes){0};
    m->device_count = m->runtimes.device_count;
    m->column = calloc(m->device_count, sizeof *m->column);
    ft_status status = m->column != NULL ? FT_OK : FT_NOMEM(error);
    for (uint32_t d = 0; status == FT_OK && d < m->device_count; d++)
        m->column[d] = m->sides[m->runtimes.of_device[d]].device_count++;
    for (uint32_t i = 0; status == FT_OK && i < m->runtimes.count; i++) status = add_nets(m, i, seed, error);
    if (status != FT_OK)
        kernel_model_free(m);
    else
        *out = m;
    return status;
}

void kernel_model_free(model *m) {
    if (m == NULL) return;
    for (uint32_t i = 0; i < RUNTIMES_MAX; i++) {
        for (uint32_t j = 0; j < m->sides[i].net_count; j++) kernel_net_free(&m->sides[i].nets[j]);
        free(m->sides[i].nets);
        for (uint32_t d = 0; m->sides[i].corrections != NULL && d < m->sides[i].device_count; d++)
            forest_free(m->sides[i].corrections[d]);
        free(m->sides[i].corrections);
    }
    runtimes_free(&m->runtimes);
    free(m->column);
    free(m);
}

/* --- Keeping ------------------------------------------------------------------------------------------------- */

/* A float that says whether there is a forest, and the forest. */
static bool save_forest(const forest *f, float_block *block) {
    float is_there = f != NULL;
    if (!float_block_add(block, &is_there, 1)) return false;
    if (f == NULL) return true;
    float *floats = malloc(forest_save_count(f) * sizeof *floats);
    if (floats != NULL) forest_save(f, floats);
    bool is_added = floats != NULL && float_block_add(block, floats, forest_save_count(f));
    free(floats);
    return is_added;
}

ft_status kernel_model_save(const model *m, json_t **params, float_block *block, ft_error *error) {
    json_t *config = kernel_config_write(&m->config), *names = runtimes_save(&m->runtimes);
    json_t *object = json_pack("{s:o, s:o}", "config", config, "runtimes", names);
    if (object == NULL) return FT_NOMEM(error);
    bool has_memory = true;
    for (uint32_t i = 0; i < m->runtimes.count; i++) {
        const kernel_side_model *s = &m->sides[i];
        has_memory = has_memory && float_block_add(block, s->scaling.mean, SCALING_FLOATS);
        for (uint32_t j = 0; j < s->net_count; j++)
            has_memory = has_memory && float_block_add(block, s->nets[j].values.values, s->nets[j].values.total_count);
        for (uint32_t d = 0; d < s->device_count; d++) has_memory = has_memory && save_forest(s->corrections[d], block);
    }
    if (!has_memory) {
        json_decref(object);
        return FT_NOMEM(error);
    }
    *params = object;
    return FT_OK;
}

/* Takes the next floats of the block. */
static ft_status take(const float **block, size_t *left, float *to, size_t count, ft_error *error) {
    if (count > *left) return ft_fail(error, FT_ERR_DAMAGED, "kernel-sum: the block of floats is too short");
    for (size_t i = 0; i < count; i++)
        if (!isfinite((*block)[i])) return ft_fail(error, FT_ERR_DAMAGED, "kernel-sum: a weight is not a number");
    memcpy(to, *block, count * sizeof(float));
    *block += count;
    *left -= count;
    return FT_OK;
}

static ft_status take_forest(const float **block, size_t *left, forest **f, ft_error *error) {
    float is_there;
    size_t used = 0;
    FT_TRY(take(block, left, &is_there, 1, error));
    if (is_there == 0) return FT_OK;
    FT_TRY(forest_load(*block, *left, f, &used, error));
    *block += used;
    *left -= used;
    if (forest_features(*f) == MIX_FEATURES) return FT_OK;
    return ft_fail(error, FT_ERR_DAMAGED, "kernel-sum: the correction is for other features");
}

static ft_status load_sides(model *m, const float *block, size_t count, ft_error *error) {
    for (uint32_t i = 0; i < m->runtimes.count; i++) {
        kernel_side_model *s = &m->sides[i];
        FT_TRY(take(&block, &count, s->scaling.mean, SCALING_FLOATS, error));
        for (uint32_t j = 0; j < s->net_count; j++)
            FT_TRY(take(&block, &count, s->nets[j].values.values, s->nets[j].values.total_count, error));
        for (uint32_t d = 0; d < s->device_count; d++) FT_TRY(take_forest(&block, &count, &s->corrections[d], error));
    }
    if (count != 0) return ft_fail(error, FT_ERR_DAMAGED, "kernel-sum: the block of floats is too long");
    return FT_OK;
}

ft_status kernel_model_load(const json_t *params, const float *block, size_t count, const char *const *devices,
                            uint32_t device_count, model **out, ft_error *error) {
    (void)devices;
    kernel_config config;
    runtimes r = {0};
    model *m = NULL;
    const json_t *options = json_object_get(params, "config");
    if (!json_is_object(options)) return ft_fail(error, FT_ERR_DAMAGED, "kernel-sum: params have no config");
    if (kernel_config_read(options, &kernel_config_near, &config, error) != FT_OK)
        return ft_fail_prefix(error, FT_ERR_DAMAGED, "kernel-sum");
    /* Before any memory is taken: what a file asks for must be in it. */
    if ((double)config.members * config.hidden * config.hidden > (double)count)
        return ft_fail(error, FT_ERR_DAMAGED, "kernel-sum: the block of floats is too short");
    FT_TRY(runtimes_load(json_object_get(params, "runtimes"), device_count, &r, error));
    ft_status status = kernel_model_new(&config, &r, 0, &m, error);
    runtimes_free(&r);
    if (status == FT_OK) status = load_sides(m, block, count, error);
    if (status != FT_OK)
        kernel_model_free(m);
    else
        *out = m;
    return status;
}

/* --- Asking -------------------------------------------------------------------------------------------------- */

/* What one network says of rows whose inputs and amounts are laid out; added to `times` with a weight. */
static ft_status ask_net(const kernel_net *net, uint32_t count, const float *inputs, const float *amounts,
                         double weight, double *times, ft_error *error) {
    tape *t = NULL;
    FT_TRY(tape_new(&net->values, TAPE_LIMIT, &t, error));
    tape_begin(t, TAPE_INFER, 0, 0);
    const tensor *said = kernel_net_times(net, t, count, inputs, amounts, NULL);
    ft_status status = tape_status(t, error);
    for (size_t i = 0; status == FT_OK && i < (size_t)count * net->devices; i++) times[i] += weight * said->data[i];
    tape_free(t);
    return status;
}

/* Inputs and amounts of rows, one after the other, and room for what each network says of each row and device. */
typedef struct question {
    float *inputs, *amounts;
    double *answers; /* by network */
} question;

static void question_free(question *q) {
    free(q->inputs);
    free(q->amounts);
    free(q->answers);
}

/* Asks every network about rows; answers[j] are those of network j: count x devices. */
static ft_status ask(const kernel_side_model *s, const kernel_row *rows, uint32_t count, question *q, ft_error *error) {
    size_t cells = (size_t)count * s->device_count;
    *q = (question){.inputs = malloc((size_t)count * KERNEL_FEATURES * sizeof(float)),
                    .amounts = malloc(cells * KERNEL_TERMS * sizeof(float)),
                    .answers = calloc(cells * s->net_count, sizeof(double))};
    if (q->inputs == NULL || q->amounts == NULL || q->answers == NULL) return FT_NOMEM(error);
    for (uint32_t i = 0; i < count; i++) {
        kernel_scaling_apply(&s->scaling, &rows[i], q->inputs + (size_t)i * KERNEL_FEATURES);
        kernel_net_amounts(&rows[i], s->device_count, q->amounts + (size_t)i * s->device_count * KERNEL_TERMS);
    }
    for (uint32_t j = 0; j < s->net_count; j++)
        FT_TRY(ask_net(&s->nets[j], count, q->inputs, q->amounts, 1, q->answers + j * cells, error));
    return FT_OK;
}

ft_status kernel_model_times(const kernel_side_model *s, const kernel_row *rows, uint32_t count, double *times,
                             ft_error *error) {
    for (uint32_t first = 0; first < count; first += ROWS_AT_ONCE) {
        uint32_t some = count - first < ROWS_AT_ONCE ? count - first : ROWS_AT_ONCE;
        size_t cells = (size_t)some * s->device_count;
        question q;
        ft_status status = ask(s, rows + first, some, &q, error);
        for (size_t i = 0; status == FT_OK && i < cells; i++) {
            double sum = 0;
            for (uint32_t j = 0; j < s->net_count; j++) sum += q.answers[j * cells + i];
            times[(size_t)first * s->device_count + i] = sum / s->net_count;
        }
        question_free(&q);
        FT_TRY(status);
    }
    return FT_OK;
}

/* What the members say of one device: a time per kernel on average, and the sum by member. */
typedef struct opinion {
    double *times;
    double sums[KERNEL_MEMBERS_MAX];
} opinion;

static ft_status form_opinion(const kernel_side_model *s, uint32_t column, const kernel_row *rows, uint32_t count,
                              arena *memory, opinion *o, ft_error *error) {
    question q;
    o->times = ARENA_ARRAY(memory, double, (size_t)count + 1);
    if (o->times == NULL) return FT_NOMEM(error);
    ft_status status = ask(s, rows, count, &q, error);
    for (uint32_t j = 0; status == FT_OK && j < s->net_count; j++) {
        for (uint32_t i = 0; i < count; i++) {
            double time = q.answers[((size_t)j * count + i) * s->device_count + column];
            o->times[i] += time / s->net_count;
            o->sums[j] += time;
        }
    }
    question_free(&q);
    return status;
}

/* Standard deviation of the logarithm of what the members say. */
static double disagreement(const opinion *o, uint32_t members) {
    double mean = 0, squares = 0;
    for (uint32_t j = 0; j < members; j++) mean += log(o->sums[j]) / members;
    for (uint32_t j = 0; j < members; j++) squares += (log(o->sums[j]) - mean) * (log(o->sums[j]) - mean);
    return members > 1 ? sqrt(squares / (members - 1)) : 0;
}

static ft_status make_parts(const ft_kernels *kernels, const double *times, arena *memory, prediction *out,
                            ft_error *error) {
    out->parts = ARENA_ARRAY(memory, ft_part_time, (size_t)kernels->count + 1);
    if (out->parts == NULL) return FT_NOMEM(error);
    out->part_count = kernels->count;
    for (uint32_t i = 0; i < kernels->count; i++) {
        const ft_kernel *kernel = &kernels->items[i];
        out->parts[i] = (ft_part_time){.type = kernel->type, .ops = kernel->ops, .op_count = kernel->op_count};
        out->parts[i].value = times[i];
    }
    return FT_OK;
}

ft_status kernel_model_predict(const model *m, subject *s, const place *where, bool has_parts, arena *memory,
                               prediction *out, ft_error *error) {
    uint32_t device = where->index;
    static const double LEAST_SPREAD = 0.01, UNKNOWN_SPREAD = 0.1;
    const ft_rules *rules = runtimes_rules(&m->runtimes, device);
    const kernel_side_model *side = &m->sides[m->runtimes.of_device[device]];
    const ft_kernels *kernels;
    kernel_row *rows;
    uint32_t count;
    opinion o = {0};
    FT_TRY(subject_kernels(s, rules, &kernels, error));
    FT_TRY(kernel_rows_of(s, rules, memory, &rows, &count, error));
    if (count == 0) return ft_fail(error, FT_ERR_GRAPH, "the model launches no kernel: there is nothing to predict");
    FT_TRY(form_opinion(side, m->column[device], rows, count, memory, &o, error));
    double value = 0, known = 0;
    kernel_mix mix = {0};
    for (uint32_t i = 0; i < count; i++) kernel_mix_add(&mix, &rows[i], o.times[i]);
    double factor = kernel_correct(side->corrections[m->column[device]], &mix);
    for (uint32_t i = 0; i < count; i++) {
        o.times[i] *= factor;
        value += o.times[i];
        if (kernel_scaling_knows(&side->scaling, &rows[i])) known += o.times[i];
    }
    if (!(value > 0 && isfinite(value)))
        return ft_fail(error, FT_ERR_LIMIT, "the model is too large or too small for this predictor");
    prediction made = {.value = value, .coverage_ratio = known / value, .source = FT_LEARNED};
    made.spread = LEAST_SPREAD + disagreement(&o, side->net_count) + UNKNOWN_SPREAD * (1 - made.coverage_ratio);
    if (has_parts) FT_TRY(make_parts(kernels, o.times, memory, &made, error));
    *out = made;
    return FT_OK;
}
