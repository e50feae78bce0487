/* gpu_fit.c - trains a "gpu-kernels" predictor.
 *
 * Trees that all devices share have as many rounds as predict best the devices of an architecture that was left out;
 * trees of each device go on from there. Intervals are the errors found in the same way: of architectures left out for
 * other devices, of validation shapes for those measured. */
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "nn/tree/boost.h"
#include "predictor/core/family_common.h"
#include "predictor/core/settings.h"
#include "predictor/gpu/gpu_data.h"

#define WHOLE .kind = FT_SETTING_INT
const ft_setting gpu_settings[GPU_SETTINGS] = {
    [GPU_ROUNDS] = {.name = "rounds",
                    .text = "trees of each kind of kernel that all devices share, at most",
                    WHOLE,
                    .usual = 200,
                    .lo = 1,
                    .hi = 1e4},
    [GPU_DEPTH] = {.name = "depth", .text = "of these trees", WHOLE, .usual = 6, .lo = 1, .hi = 16},
    [GPU_ETA] = {.name = "eta", .text = "learning rate", .kind = FT_SETTING_REAL, .usual = 0.1, .lo = 1e-3, .hi = 1},
    [GPU_DEVICE_ROUNDS] = {.name = "device_rounds",
                           .text = "trees of each kind on each device; 0: none",
                           WHOLE,
                           .usual = 200,
                           .lo = 0,
                           .hi = 1e4},
    [GPU_DEVICE_DEPTH] = {.name = "device_depth", .text = "of these trees", WHOLE, .usual = 7, .lo = 1, .hi = 16},
    [GPU_MAX_ROWS] = {.name = "max_rows",
                      .text = "measurements of each device and operator at most",
                      WHOLE,
                      .usual = 12000,
                      .lo = 10,
                      .hi = 1e7},
    [GPU_FOLDS] = {.name = "folds",
                   .text = "architectures left out in turn at most, for rounds and intervals; 0: none",
                   WHOLE,
                   .usual = 16,
                   .lo = 0,
                   .hi = 64},
};
#undef WHOLE

enum { MIN_ROWS = 8 }; /* of a kind, to grow trees */

typedef struct fitting {
    const fit_context *context;
    const double *settings;
    const gpu_data *data;
    gpu_model *m;
    bool is_joint[GPU_CLASSES]; /* learns from rows of all types */
    uint32_t done, total;       /* forests */
} fitting;

/* --- Tables -------------------------------------------------------------------------------------------------- */

typedef bool row_filter(const fitting *f, const gpu_label *label, uint32_t kind, uint32_t number);

static bool is_of_kind(const fitting *f, const gpu_label *label, uint32_t kind, uint32_t number) {
    (void)number;
    return label->kind == kind || (f->is_joint[kind] && label->kind % GPU_KINDS == kind % GPU_KINDS);
}

static bool is_of_device(const fitting *f, const gpu_label *label, uint32_t kind, uint32_t number) {
    (void)f;
    return label->kind == kind && label->device == number;
}

static bool is_of_group(const fitting *f, const gpu_label *label, uint32_t kind, uint32_t number) {
    return label->kind == kind && f->data->group_of[label->device] == number;
}

static bool is_outside_group(const fitting *f, const gpu_label *label, uint32_t kind, uint32_t number) {
    return is_of_kind(f, label, kind, 0) && f->data->group_of[label->device] != number;
}

typedef struct table {
    boost_rows rows;
    float *items, *labels, *weights, *offsets;
    uint32_t *devices;
} table;

static void table_free(table *t) {
    free(t->items);
    free(t->labels);
    free(t->weights);
    free(t->offsets);
    free(t->devices);
    *t = (table){0};
}

/* Devices with many rows weigh more, but not in proportion: what holds on all of them is wanted. */
static ft_status set_weights(const fitting *f, table *t, ft_error *error) {
    double *counts = calloc((size_t)f->m->device_count + 1, sizeof *counts), sum = 0;
    if (counts == NULL) return FT_NOMEM(error);
    for (size_t i = 0; i < t->rows.count; i++) counts[t->devices[i]]++;
    for (size_t i = 0; i < t->rows.count; i++) sum += 1 / sqrt(counts[t->devices[i]]);
    for (size_t i = 0; i < t->rows.count; i++)
        t->weights[i] = (float)((double)t->rows.count / sum / sqrt(counts[t->devices[i]]));
    free(counts);
    return FT_OK;
}

static ft_status table_make(const fitting *f, const gpu_labels *labels, row_filter *filter, uint32_t kind,
                            uint32_t number, table *t, ft_error *error) {
    size_t count = 0;
    *t = (table){0};
    for (uint32_t i = 0; i < labels->count; i++) count += filter(f, &labels->items[i], kind, number);
    t->items = malloc((count + 1) * GPU_FEATURES * sizeof *t->items);
    t->labels = malloc((count + 1) * sizeof *t->labels);
    t->weights = malloc((count + 1) * sizeof *t->weights);
    t->offsets = calloc(count + 1, sizeof *t->offsets);
    t->devices = malloc((count + 1) * sizeof *t->devices);
    if (t->items == NULL || t->labels == NULL || t->weights == NULL || t->offsets == NULL || t->devices == NULL) {
        table_free(t);
        return FT_NOMEM(error);
    }
    t->rows = (boost_rows){
        .items = t->items, .features = GPU_FEATURES, .labels = t->labels, .weights = t->weights, .offsets = t->offsets};
    for (uint32_t i = 0; i < labels->count; i++) {
        if (!filter(f, &labels->items[i], kind, number)) continue;
        size_t at = t->rows.count++;
        memcpy(t->items + at * GPU_FEATURES, labels->items[i].features, sizeof labels->items[i].features);
        if (filter != is_of_device) t->items[at * GPU_FEATURES + GPU_KERNEL_FEATURE] = NAN;
        t->labels[at] = labels->items[i].log_ratio;
        t->devices[at] = labels->items[i].device;
    }
    ft_status status = set_weights(f, t, error);
    if (status != FT_OK) table_free(t);
    return status;
}

/* --- Trees --------------------------------------------------------------------------------------------------- */

static bool report(void *user, uint32_t round, double score, const forest *so_far) {
    (void)round;
    (void)score;
    (void)so_far;
    const fitting *f = user;
    double ratio = 0.15 + 0.85 * f->done / (f->total + 1);
    return f->context->progress == NULL || f->context->progress(f->context->user, ratio, "growing trees");
}

static ft_status grow(fitting *f, const table *t, uint32_t rounds, uint32_t depth, float base, forest **out,
                      ft_error *error) {
    boost_options options = boost_options_default();
    options.rounds = rounds;
    options.depth = depth;
    options.eta = f->settings[GPU_ETA];
    options.min_child_weight = 4;
    options.subsample = 0.8;
    options.colsample = 0.8;
    options.seed = f->context->seed;
    options.base = base;
    options.threads = f->context->threads != NULL ? pool_threads(f->context->threads) : 1;
    boost_hooks hooks = {.user = f, .progress = report};
    ft_status status = boost_train(&t->rows, NULL, &options, &hooks, NULL, out, error);
    f->done++;
    return status;
}

/* --- Widths -------------------------------------------------------------------------------------------------- */

static int compare_floats(const void *a, const void *b) {
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

/* The size that 90 % of the errors do not exceed. Reorders and changes them. */
static double width_of(float *errors, size_t count) {
    if (count == 0) return 1;
    for (size_t i = 0; i < count; i++) errors[i] = fabsf(errors[i]);
    qsort(errors, count, sizeof *errors, compare_floats);
    size_t at = (size_t)ceil(0.9 * (double)(count + 1));
    return (double)errors[at < count ? at : count - 1];
}

/* --- Architectures left out ------------------------------------------------------------------------------------ */

enum { STAGES = 6, MAX_GROUPS = 64 };

/* Rounds after which a forest is judged: all, a half, ... */
static uint32_t rounds_of_stage(const fitting *f, uint32_t stage) {
    uint32_t rounds = (uint32_t)f->settings[GPU_ROUNDS] >> (STAGES - 1 - stage);
    return rounds > 0 ? rounds : 1;
}

typedef struct left_out {
    double losses[STAGES]; /* mean error by rounds, over groups */
    float *errors[STAGES]; /* signed, per row in the order of the groups */
    uint32_t *devices;
    size_t count, capacity;
    float widths[STAGES][MAX_GROUPS]; /* of each group */
    uint32_t groups;
} left_out;

static void left_out_free(left_out *l) {
    for (uint32_t i = 0; i < STAGES; i++) free(l->errors[i]);
    free(l->devices);
}

/* Shortens the forest on the way. */
static ft_status judge_group(const fitting *f, forest *trees, const table *t, left_out *l, ft_error *error) {
    float *margins = calloc(t->rows.count + 1, sizeof *margins);
    if (margins == NULL) return FT_NOMEM(error);
    assert(l->count + t->rows.count <= l->capacity);
    for (uint32_t s = STAGES; s-- > 0;) {
        double sum = 0;
        if (rounds_of_stage(f, s) < forest_trees(trees)) forest_truncate(trees, rounds_of_stage(f, s));
        forest_predict(trees, t->items, GPU_FEATURES, t->rows.count, margins);
        for (size_t i = 0; i < t->rows.count; i++) {
            float e = t->labels[i] - margins[i];
            l->errors[s][l->count + i] = e;
            sum += fabs((double)e);
        }
        l->losses[s] += sum / (double)t->rows.count;
        for (size_t i = 0; i < t->rows.count; i++) margins[i] = l->errors[s][l->count + i];
        l->widths[s][l->groups] = (float)width_of(margins, t->rows.count);
    }
    memcpy(l->devices + l->count, t->devices, t->rows.count * sizeof *l->devices);
    l->count += t->rows.count;
    l->groups++;
    free(margins);
    return FT_OK;
}

static ft_status leave_out(fitting *f, uint32_t kind, uint32_t group, left_out *l, ft_error *error) {
    table train = {0}, test = {0};
    forest *trees = NULL;
    ft_status status = table_make(f, &f->data->train, is_outside_group, kind, group, &train, error);
    if (status == FT_OK) status = table_make(f, &f->data->train, is_of_group, kind, group, &test, error);
    if (status == FT_OK && train.rows.count >= MIN_ROWS && test.rows.count >= MIN_ROWS) {
        status =
            grow(f, &train, (uint32_t)f->settings[GPU_ROUNDS], (uint32_t)f->settings[GPU_DEPTH], NAN, &trees, error);
        if (status == FT_OK) status = judge_group(f, trees, &test, l, error);
    }
    forest_free(trees);
    table_free(&train);
    table_free(&test);
    return status;
}

/* The same of the mean error of each device. */
static ft_status bias_width_of(const fitting *f, const left_out *l, const float *errors, double *width,
                               ft_error *error) {
    double *sums = calloc((size_t)f->m->device_count + 1, sizeof *sums), squares = 0;
    uint32_t *counts = calloc((size_t)f->m->device_count + 1, sizeof *counts), devices = 0;
    if (sums == NULL || counts == NULL) {
        free(sums);
        free(counts);
        return FT_NOMEM(error);
    }
    for (size_t i = 0; i < l->count; i++) {
        sums[l->devices[i]] += (double)errors[i];
        counts[l->devices[i]]++;
    }
    for (uint32_t d = 0; d < f->m->device_count; d++) {
        if (counts[d] == 0) continue;
        squares += sums[d] / counts[d] * (sums[d] / counts[d]);
        devices++;
    }
    free(sums);
    free(counts);
    *width = devices > 0 ? 1.645 * sqrt(squares / devices) : 1;
    return FT_OK;
}

static uint32_t kind_rows(const fitting *f, uint32_t kind) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < f->data->train.count; i++) count += f->data->train.items[i].kind == kind;
    return count;
}

/* The width for a device like most: the geometric mean over groups but the widest. One that is unlike all others would
 * make the intervals of every device useless. */
static double typical_width(float *widths, uint32_t count) {
    static const double MIN_WIDTH = 1e-3;
    assert(count > 1);
    qsort(widths, count, sizeof *widths, compare_floats);
    double logs = 0;
    for (uint32_t i = 0; i + 1 < count; i++) logs += log(fmax((double)widths[i], MIN_WIDTH));
    return exp(logs / (count - 1));
}

/* A line of the log: rounds, and the mean error with each architecture left out. */
static void log_kind(const fitting *f, uint32_t kind, const left_out *l, uint32_t stage) {
    if (f->context->log == NULL) return;
    double loss = l->groups > 0 ? l->losses[stage] / l->groups : NAN;
    json_t *widths = json_array(), *line = json_object();
    for (uint32_t g = 0; g < l->groups; g++) widths = json_list_with(widths, json_real((double)l->widths[stage][g]));
    line = json_with(line, "kind", json_integer((json_int_t)kind));
    line = json_with(line, "rounds", json_integer((json_int_t)rounds_of_stage(f, stage)));
    if (isfinite(loss)) line = json_with(line, "left_out_error", json_real(loss));
    line = json_with(line, "left_out_widths", widths);
    if (line != NULL) f->context->log(f->context->user, line);
}

/* Chooses rounds, and finds widths, by leaving out architectures. */
static ft_status choose_rounds(fitting *f, uint32_t kind, uint32_t *rounds, ft_error *error) {
    gpu_share *share = &f->m->shares[gpu_slot(FT_NONE, kind)];
    left_out l = {.capacity = kind_rows(f, kind)};
    bool is_made = true;
    for (uint32_t s = 0; s < STAGES; s++) {
        l.errors[s] = malloc((l.capacity + 1) * sizeof(float));
        is_made = is_made && l.errors[s] != NULL;
    }
    l.devices = malloc((l.capacity + 1) * sizeof *l.devices);
    ft_status status = is_made && l.devices != NULL ? FT_OK : FT_NOMEM(error);
    for (uint32_t g = 0; status == FT_OK && g < f->data->group_count && g < f->settings[GPU_FOLDS]; g++)
        status = leave_out(f, kind, g, &l, error);
    uint32_t best = STAGES - 1;
    for (uint32_t s = 0; s < STAGES && l.groups > 1; s++)
        if (l.losses[s] < l.losses[best]) best = s;
    *rounds = rounds_of_stage(f, best);
    double width = 1, bias = 1;
    if (status == FT_OK && l.groups > 1) {
        status = bias_width_of(f, &l, l.errors[best], &bias, error);
        width = typical_width(l.widths[best], l.groups);
    }
    share->columns[GPU_WIDTH] = (float)width;
    share->columns[GPU_BIAS_WIDTH] = (float)bias;
    if (status == FT_OK) log_kind(f, kind, &l, best);
    left_out_free(&l);
    return status;
}

/* Types that few architectures were measured in are learned together with the others of their kind. */
static void find_joint(fitting *f) {
    enum { FEW_GROUPS = 4 };
    for (uint32_t kind = 0; kind < GPU_CLASSES; kind++) {
        uint64_t seen = 0;
        uint32_t groups = 0;
        for (uint32_t i = 0; i < f->data->train.count; i++) {
            const gpu_label *label = &f->data->train.items[i];
            uint64_t bit = UINT64_C(1) << f->data->group_of[label->device] % 64;
            if (label->kind != kind || (seen & bit) != 0) continue;
            seen |= bit;
            groups++;
        }
        f->is_joint[kind] = groups < FEW_GROUPS;
    }
}

/* --- Stages of the fit ----------------------------------------------------------------------------------------- */

static ft_status fit_kind(fitting *f, uint32_t kind, ft_error *error) {
    table t;
    uint32_t rounds;
    if (kind_rows(f, kind) < MIN_ROWS) return FT_OK;
    FT_TRY(choose_rounds(f, kind, &rounds, error));
    FT_TRY(table_make(f, &f->data->train, is_of_kind, kind, 0, &t, error));
    ft_status status =
        grow(f, &t, rounds, (uint32_t)f->settings[GPU_DEPTH], NAN, &f->m->forests[gpu_slot(FT_NONE, kind)], error);
    table_free(&t);
    return status;
}

static void set_types(fitting *f, uint32_t device, uint32_t kind) {
    uint32_t types = 0;
    for (uint32_t i = 0; i < f->data->train.count; i++) {
        const gpu_label *label = &f->data->train.items[i];
        if (label->kind == kind && label->device == device) types |= 1U << label->dtype;
    }
    f->m->shares[gpu_slot(device, kind)].columns[GPU_TYPES] = (float)types;
}

/* The widths of a measured device: those of its validation rows, or, where there are few, a share of those of devices
 * left out. Validation rows are of the same run of measurements: another day, card and version add a deviation of their
 * own. */
static ft_status find_own_widths(const fitting *f, uint32_t device, uint32_t kind, ft_error *error) {
    static const double OWN_SHARE = 0.6, OTHER_RUN = 0.12;
    const gpu_share *all = &f->m->shares[gpu_slot(FT_NONE, kind)];
    gpu_share *own = &f->m->shares[gpu_slot(device, kind)];
    const forest *shared = f->m->forests[gpu_slot(FT_NONE, kind)], *trees = f->m->forests[gpu_slot(device, kind)];
    table t;
    double sum = 0;
    FT_TRY(table_make(f, &f->data->valid, is_of_device, kind, device, &t, error));
    for (size_t i = 0; i < t.rows.count; i++) {
        const float *row = t.items + i * GPU_FEATURES;
        t.labels[i] -= gpu_shared_log(shared, row) + forest_predict_row(trees, row);
        sum += (double)t.labels[i];
    }
    double count = (double)t.rows.count, width = hypot(width_of(t.labels, t.rows.count), OTHER_RUN);
    bool is_enough = t.rows.count >= 20;
    own->columns[GPU_WIDTH] = (float)(is_enough ? width : OWN_SHARE * (double)all->columns[GPU_WIDTH]);
    own->columns[GPU_BIAS_WIDTH] =
        (float)(is_enough ? fabs(sum / count) + width / 3 : OWN_SHARE * (double)all->columns[GPU_BIAS_WIDTH]);
    table_free(&t);
    return FT_OK;
}

static ft_status fit_device(fitting *f, uint32_t device, uint32_t kind, ft_error *error) {
    const forest *shared = f->m->forests[gpu_slot(FT_NONE, kind)];
    uint32_t slot = gpu_slot(device, kind), rounds = (uint32_t)f->settings[GPU_DEVICE_ROUNDS];
    table t;
    FT_TRY(table_make(f, &f->data->train, is_of_device, kind, device, &t, error));
    if (t.rows.count < MIN_ROWS || shared == NULL || rounds == 0) {
        table_free(&t);
        return FT_OK;
    }
    for (size_t i = 0; i < t.rows.count; i++) t.offsets[i] = gpu_shared_log(shared, t.items + i * GPU_FEATURES);
    ft_status status = grow(f, &t, rounds, (uint32_t)f->settings[GPU_DEVICE_DEPTH], 0, &f->m->forests[slot], error);
    table_free(&t);
    if (status != FT_OK) return status;
    set_types(f, device, kind);
    return find_own_widths(f, device, kind, error);
}

static ft_status fit_all(fitting *f, ft_error *error) {
    uint32_t groups = f->data->group_count;
    if (groups > f->settings[GPU_FOLDS]) groups = (uint32_t)f->settings[GPU_FOLDS];
    f->total = GPU_CLASSES * (f->m->device_count + groups + 1);
    find_joint(f);
    for (uint32_t kind = 0; kind < GPU_CLASSES; kind++) {
        FT_TRY(fit_kind(f, kind, error));
        for (uint32_t device = 0; device < f->m->device_count; device++) FT_TRY(fit_device(f, device, kind, error));
    }
    return FT_OK;
}

ft_status gpu_model_fit(const fit_set *set, const fit_context *context, void **out, ft_error *error) {
    double settings[GPU_SETTINGS];
    gpu_model *m;
    gpu_data data;
    FT_TRY(settings_parse(context->config, gpu_settings, GPU_SETTINGS, settings, error));
    FT_TRY(fit_set_check(set, error));
    FT_TRY(gpu_model_new(set->device_count, &m, error));
    ft_status status = gpu_data_gather(set, context, m, settings[GPU_MAX_ROWS], &data, error);
    if (status == FT_OK) {
        fitting f = {.context = context, .settings = settings, .data = &data, .m = m};
        status = data.train.count >= MIN_ROWS ? fit_all(&f, error)
                                              : ft_fail(error, FT_ERR_USAGE,
                                                        "only %u measured kernels in the training "
                                                        "part: single operators are needed ('foretell import "
                                                        "kernels')",
                                                        data.train.count);
        gpu_data_free(&data);
    }
    if (status == FT_OK)
        *out = m;
    else
        gpu_model_free(m);
    return status;
}
