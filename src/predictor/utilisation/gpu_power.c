/* gpu_power.c - the family "gpu-power": power of a GPU while kernels run, and the mean of a step.
 *
 * Trees predict the share of the power limit from ratios alone: how near the kernels come to peak rate and bandwidth,
 * how much of the GPU they fill, how long they are. So devices share one forest, and one that was not measured needs
 * its data sheet only. A step in which the GPU waits for launches takes the power of an idle GPU for that time. */
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "nn/tree/boost.h"
#include "predictor/core/families.h"
#include "predictor/core/family_common.h"
#include "predictor/core/scan.h"
#include "predictor/core/settings.h"
#include "predictor/utilisation/util_step.h"

enum { FEATURES = 20 };

typedef struct power_model {
    ft_rules *rules;
    forest *trees;
    char key;
} power_model;

static void free_model(void *model) {
    power_model *m = model;
    if (m == NULL) return;
    forest_free(m->trees);
    ft_rules_free(m->rules);
    free(m);
}

static ft_status new_model(power_model **out, ft_error *error) {
    power_model *m = calloc(1, sizeof *m);
    if (m == NULL) return FT_NOMEM(error);
    ft_status status = ft_rules_open("torch-eager", &m->rules, error);
    if (status == FT_OK)
        *out = m;
    else
        free_model(m);
    return status;
}

/* --- Features ------------------------------------------------------------------------------------------------ */

/* Microseconds of a launch on the GPU and on the host, where nothing else is known. */
static const double LAUNCH_US = 2;

/* Whether a word is in the setting of a kernel: libraries that run it, scales by blocks. */
static double has_word(const char *setting, const char *word) {
    return setting != NULL && strstr(setting, word) != NULL;
}

/* Features of the kernels of a step; *busy is the share of the step in which they run. */
static void features_of(const util_step *step, const util_device *device, const char *setting,
                        float row[static FEATURES], double *busy) {
    util_totals t;
    util_sums all = {0};
    double products = 0;
    util_totals_of(step, device, &t);
    for (int p = 0; p < UTIL_PHASES; p++)
        for (int k = 0; k < UTIL_KINDS; k++) {
            const util_sums *s = &t.sums[p][k];
            all.time += s->time;
            all.launches += s->launches;
            all.filled_time += s->filled_time;
            all.resident_time += s->resident_time;
            if (k <= UTIL_DATA_GRADIENT) products += s->time;
        }
    static const util_kernel none;
    const util_kernel *largest = &none;
    for (uint32_t i = 0; i < step->count; i++)
        if (step->kernels[i].rows * step->kernels[i].columns > largest->rows * largest->columns)
            largest = &step->kernels[i];
    double seconds = fmax(all.time, 1e-12), total = seconds + LAUNCH_US * 1e-6 * all.launches;
    const double values[FEATURES] = {t.compute_s / total,
                                     t.bytes / t.bandwidth / total,
                                     all.filled_time / seconds,
                                     all.resident_time / seconds,
                                     log10(total / fmax(all.launches, 1)),
                                     seconds / total,
                                     products / seconds,
                                     t.compute_s / fmax(t.bytes / t.bandwidth, 1e-12),
                                     largest->bits,
                                     log2(fmax(largest->depth, 1)),
                                     log10(fmax(t.flops, 1)),
                                     log2(fmax(largest->rows, 1)),
                                     log2(fmax(largest->columns, 1)),
                                     log2(fmax(largest->groups, 1)),
                                     log10(fmax(t.bytes, 1)),
                                     has_word(setting, "trtllm"),
                                     has_word(setting, "block"),
                                     has_word(setting, "cache=fp8"),
                                     has_word(setting, "deepgemm"),
                                     device->power_w / device->units};
    for (int i = 0; i < FEATURES; i++) row[i] = (float)values[i];
    *busy = all.launches > 1 ? 1 / util_step_stretch(step, 1e6 * total, 1e6 * total) : 1;
}

/* --- Fitting ------------------------------------------------------------------------------------------------- */

enum { ROUNDS, DEPTH, ETA, SETTINGS };

static const ft_setting settings[SETTINGS] = {
    [ROUNDS] = {"rounds", "trees", FT_SETTING_INT, 400, 1, 1e4, .off = NULL},
    [DEPTH] = {"depth", "of a tree", FT_SETTING_INT, 8, 1, 12, .is_searched = true, .from = 3, .to = 10},
    [ETA] = {"eta", "learning rate of the trees", FT_SETTING_REAL, 0.1, 1e-4, 1, .is_searched = true, .is_log = true,
             .from = 0.01, .to = 0.3},
};

typedef struct power_fit {
    const power_model *m;
    const fit_set *set;
    util_device *devices;
    float *rows, *labels;
    size_t count;
} power_fit;

static ft_status visit(void *user, const scan_item *item, model_view *view, uint32_t worker, buf *found,
                       ft_error *error) {
    (void)worker;
    const power_fit *f = user;
    util_step step;
    FT_TRY(util_step_make(view, f->m->rules, &step, error));
    for (uint32_t i = 0; i < item->row_count && step.count > 0; i++) {
        float row[FEATURES];
        double busy;
        features_of(&step, &f->devices[f->set->train.items[item->rows[i]].device], view->request.setting, row, &busy);
        buf_add(found, row, sizeof row);
    }
    return FT_OK;
}

static ft_status gather(void *user, const scan_item *item, const buf *found, ft_error *error) {
    (void)error;
    power_fit *f = user;
    if (found->length == 0) return FT_OK; /* it launches nothing */
    for (uint32_t i = 0; i < item->row_count; i++) {
        const fit_row *row = &f->set->train.items[item->rows[i]];
        memcpy(f->rows + f->count * FEATURES, found->data + i * FEATURES * sizeof(float), FEATURES * sizeof(float));
        f->labels[f->count++] = (float)log(row->label / f->devices[row->device].power_w);
    }
    return FT_OK;
}

static ft_status read_devices(power_fit *f, ft_error *error) {
    FT_TRY(util_devices_open(f->set->devices, f->set->device_count, f->devices, error));
    for (uint32_t i = 0; i < f->set->device_count; i++)
        if (!(f->devices[i].power_w > 0))
            return ft_fail(error, FT_ERR_UNSUPPORTED, "the data sheet of %s lacks power_w", f->set->devices[i]);
    return FT_OK;
}

/* Errors beyond a tenth count in proportion only: power is sampled over more than a kernel takes, so some values are
 * those of what ran before. */
static ft_status gradient(void *user, const float *margins, float *gradients, float *hessians, ft_error *error) {
    static const double LARGE = 0.1;
    const power_fit *f = user;
    (void)error;
    for (size_t i = 0; i < f->count; i++) {
        double difference = (double)margins[i] - (double)f->labels[i];
        double weight = 1 / sqrt(1 + difference * difference / (LARGE * LARGE));
        gradients[i] = (float)(weight * difference);
        hessians[i] = (float)weight;
    }
    return FT_OK;
}

static ft_status grow(power_fit *f, const fit_context *context, power_model *m, ft_error *error) {
    double v[SETTINGS];
    FT_TRY(settings_parse(context->config, settings, SETTINGS, v, error));
    FT_TRY(read_devices(f, error));
    scan_job job = {.threads = context->threads,
                    .visit = visit,
                    .gather = gather,
                    .user = f,
                    .context = context,
                    .to = 0.5,
                    .what = "reading models"};
    FT_TRY(scan_once(f->set->data, f->set->train, &job, error));
    boost_options boost = boost_options_default();
    boost.rounds = (uint32_t)v[ROUNDS];
    boost.depth = (uint32_t)v[DEPTH];
    boost.eta = v[ETA];
    boost.min_child_weight = 10;
    boost.subsample = 0.8;
    boost.patience = 0;
    boost.seed = context->seed;
    boost.threads = context->threads != NULL ? pool_threads(context->threads) : 1;
    boost.base = -0.7F; /* half of the limit */
    const boost_hooks hooks = {.user = f, .gradient = gradient};
    boost_rows rows = {.items = f->rows, .count = f->count, .features = FEATURES, .labels = f->labels};
    if (f->count == 0) return ft_fail(error, FT_ERR_USAGE, "no model of the training part launches a kernel");
    return boost_train(&rows, NULL, &boost, &hooks, NULL, &m->trees, error);
}

static ft_status fit(const fit_set *set, const fit_context *context, void **out, ft_error *error) {
    power_model *m;
    FT_TRY(fit_set_check(set, error));
    FT_TRY(new_model(&m, error));
    power_fit f = {.m = m, .set = set};
    f.devices = calloc((size_t)set->device_count + 1, sizeof *f.devices);
    f.rows = calloc((size_t)set->train.count + 1, FEATURES * sizeof *f.rows);
    f.labels = calloc((size_t)set->train.count + 1, sizeof *f.labels);
    ft_status status = f.devices != NULL && f.rows != NULL && f.labels != NULL ? FT_OK : FT_NOMEM(error);
    if (status == FT_OK) status = grow(&f, context, m, error);
    free(f.devices);
    free(f.rows);
    free(f.labels);
    if (status == FT_OK)
        *out = m;
    else
        free_model(m);
    return status;
}

/* --- Saving, loading, predicting ----------------------------------------------------------------------------- */

static ft_status save(const void *model, json_t **params, float_block *block, ft_error *error) {
    const power_model *m = model;
    if (!float_block_add_forest(block, m->trees)) return FT_NOMEM(error);
    *params = json_object();
    return *params != NULL ? FT_OK : FT_NOMEM(error);
}

static ft_status load(const json_t *params, const float *block, size_t count, const char *const *devices,
                      uint32_t device_count, void **out, ft_error *error) {
    (void)devices;
    (void)device_count;
    power_model *m;
    FT_TRY(params_check_empty(params, error));
    FT_TRY(new_model(&m, error));
    ft_status status = block_map_forest(&block, &count, FEATURES, &m->trees, error);
    if (status == FT_OK && count != 0)
        status = ft_fail(error, FT_ERR_DAMAGED, "has %zu numbers after its last tree", count);
    if (status == FT_OK)
        *out = m;
    else
        free_model(m);
    return status;
}

static ft_status predict(const void *model, const predict_input *in, model_output *out, ft_error *error) {
    static const double IDLE = 0.15, MIN_SHARE = 0.05, MAX_SHARE = 1.05, OTHER_DEVICE = 1.5, OTHER_WORK = 1.5;
    const power_model *m = model;
    util_step *step = model_view_cached(in->view, &m->key);
    util_device device;
    float row[FEATURES];
    double busy;
    FT_TRY(util_device_read(in->target->sheet, &device, error));
    if (!(device.power_w > 0))
        return ft_fail(error, FT_ERR_UNSUPPORTED, "the data sheet of %s lacks power_w",
                       ft_device_name(in->target->sheet));
    if (step == NULL) {
        step = ARENA_NEW(&in->view->memory, util_step);
        if (step == NULL) return FT_NOMEM(error);
        FT_TRY(util_step_make(in->view, m->rules, step, error));
        model_view_cache(in->view, &m->key, step);
    }
    features_of(step, &device, in->view->request.setting, row, &busy);
    double share = fmin(fmax(exp((double)forest_predict_row(m->trees, row)), MIN_SHARE), MAX_SHARE);
    bool is_kernel = step->count <= 1, is_known = in->target->index != FT_NONE;
    if (!is_kernel) share = IDLE + busy * fmax(share - IDLE, 0);
    *out = (model_output){.value = share * device.power_w,
                          .spread = (is_known ? 1 : OTHER_DEVICE) * (is_kernel ? 1 : OTHER_WORK),
                          .provenance = is_kernel && is_known ? FT_LEARNED : FT_EXTRAPOLATED,
                          .coverage_ratio = 1};
    if (!is_kernel) out->reason = "power is computed from that of single kernels, measured on H200 and B200";
    return FT_OK;
}

const family family_gpu_power = {
    .name = "gpu-power",
    .text = "power of a GPU in a step, from its kernels (metric power_w)",
    .schema = "gpu-power/1",
    .metric = "power_w",
    .capabilities = FAMILY_ANY_DEVICE | FAMILY_ANY_MODE | FAMILY_TYPES_AS_SIZES,
    .settings = settings,
    .setting_count = SETTINGS,
    .setting_keys = "optimizer amp compile graphs host launch_us",
    .fit = fit,
    .save = save,
    .load = load,
    .predict = predict,
    .free = free_model,
};
