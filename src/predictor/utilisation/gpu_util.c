/* gpu_util.c - the family "gpu-util": how busy a step keeps a GPU, from its kernels alone.
 *
 * Metrics are averages over a run: gpu_util_ratio, the time in which a kernel runs (NVML); sm_active_ratio, the mean
 * share of the multiprocessors with a block; sm_occupancy_ratio, the mean share of the warps that are resident (DCGM).
 */
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "predictor/core/families.h"
#include "predictor/core/family_common.h"
#include "predictor/core/scan.h"
#include "predictor/core/settings.h"
#include "predictor/utilisation/util_model.h"

/* --- Fitting ------------------------------------------------------------------------------------------------- */

enum { ROUNDS, DEPTH, ETA, SETTINGS };

static const ft_setting settings[SETTINGS] = {
    [ROUNDS] = {"rounds", "trees of each metric", FT_SETTING_INT, 150, 1, 1e4, .off = NULL},
    [DEPTH] = {"depth", "of a tree", FT_SETTING_INT, 5, 1, 12, .is_searched = true, .from = 2, .to = 8},
    [ETA] = {"eta", "learning rate of the trees", FT_SETTING_REAL, 0.06, 1e-4, 1, .is_searched = true, .is_log = true,
             .from = 0.01, .to = 0.3},
};

typedef struct fitting {
    const fit_set *set;
    const util_model *m;
    util_device *devices;
    uint32_t columns[UTIL_OUTPUTS]; /* of the data set, by output; FT_NONE: not fitted */
    util_sample *samples;
    uint32_t *groups;
    const char *families[64];
    uint32_t count, family_count;
} fitting;

static ft_status find_output(const char *name, util_output *output, ft_error *error) {
    for (int i = 0; i < UTIL_OUTPUTS; i++) {
        if (strcmp(util_output_names[i], name) != 0) continue;
        *output = (util_output)i;
        return FT_OK;
    }
    return ft_fail(error, FT_ERR_USAGE, "gpu-util predicts %s, %s and %s, not %s", util_output_names[0],
                   util_output_names[1], util_output_names[2], name);
}

static ft_status find_outputs(const fit_set *set, util_model *m, ft_error *error) {
    m->output_count = 0;
    if (set->other_count >= UTIL_OUTPUTS)
        return ft_fail(error, FT_ERR_USAGE, "gpu-util predicts %d metrics at most", (int)UTIL_OUTPUTS);
    for (uint32_t i = 0; i <= set->other_count; i++)
        FT_TRY(find_output(i == 0 ? set->metric : set->others[i - 1], &m->outputs[m->output_count++], error));
    return FT_OK;
}

static ft_status visit(void *user, const scan_item *item, model_view *view, uint32_t worker, buf *found,
                       ft_error *error) {
    (void)item;
    (void)worker;
    const fitting *f = user;
    util_step step;
    FT_TRY(util_step_make(view, f->m->rules, &step, error));
    buf_add(found, &step, sizeof step);
    buf_add(found, step.kernels, step.count * sizeof *step.kernels);
    return FT_OK;
}

static uint32_t group_of(fitting *f, const char *family) {
    uint32_t room = sizeof f->families / sizeof f->families[0];
    for (uint32_t i = 0; i < f->family_count; i++)
        if (strcmp(f->families[i], family) == 0) return i;
    if (f->family_count == room) return room - 1;
    f->families[f->family_count] = family;
    return f->family_count++;
}

static void add_rows(fitting *f, fit_rows rows, const scan_item *item, const util_step *step) {
    for (uint32_t i = 0; i < item->row_count; i++) {
        const fit_row *row = &rows.items[item->rows[i]];
        const ft_record *record = &ft_dataset_records(f->set->data)[row->record];
        util_sample *sample = &f->samples[f->count];
        util_totals_of(step, &f->devices[row->device], &sample->totals);
        for (int o = 0; o < UTIL_OUTPUTS; o++)
            sample->labels[o] = f->columns[o] != FT_NONE ? record->metrics[f->columns[o]] : NAN;
        f->groups[f->count++] = group_of(f, record->family);
    }
}

typedef struct gathering {
    fitting *f;
    fit_rows rows;
} gathering;

static ft_status visit_part(void *user, const scan_item *item, model_view *view, uint32_t worker, buf *found,
                            ft_error *error) {
    gathering *g = user;
    return visit(g->f, item, view, worker, found, error);
}

static ft_status gather(void *user, const scan_item *item, const buf *found, ft_error *error) {
    gathering *g = user;
    util_step step;
    memcpy(&step, found->data, sizeof step);
    size_t size = step.count * sizeof *step.kernels;
    step.kernels = malloc(size + 1);
    if (step.kernels == NULL) return FT_NOMEM(error);
    memcpy(step.kernels, found->data + sizeof step, size);
    add_rows(g->f, g->rows, item, &step);
    free(step.kernels);
    return FT_OK;
}

static ft_status read_rows(fitting *f, const fit_context *context, ft_error *error) {
    const fit_rows parts[] = {f->set->train, f->set->valid};
    for (int i = 0; i < 2; i++) {
        gathering g = {f, parts[i]};
        scan_job job = {.threads = context->threads,
                        .visit = visit_part,
                        .gather = gather,
                        .user = &g,
                        .context = context,
                        .from = 0.1 * i,
                        .to = 0.1 * (i + 1),
                        .what = "reading models"};
        if (parts[i].count > 0) FT_TRY(scan_once(f->set->data, parts[i], &job, error));
    }
    return FT_OK;
}

static ft_status fit_samples(fitting *f, const fit_context *context, util_model *m, ft_error *error) {
    double v[SETTINGS];
    FT_TRY(settings_parse(context->config, settings, SETTINGS, v, error));
    util_fit_options options = {.rounds = (uint32_t)v[ROUNDS],
                                .depth = (uint32_t)v[DEPTH],
                                .eta = v[ETA],
                                .seed = context->seed,
                                .threads = context->threads != NULL ? pool_threads(context->threads) : 1};
    FT_TRY(util_devices_open(f->set->devices, f->set->device_count, f->devices, error));
    FT_TRY(read_rows(f, context, error));
    const util_sample **samples = calloc((size_t)f->count + 1, sizeof *samples);
    if (samples == NULL) return FT_NOMEM(error);
    for (uint32_t i = 0; i < f->count; i++) samples[i] = &f->samples[i];
    ft_status status = util_model_fit(m, samples, f->count, &options, error);
    if (status == FT_OK) status = util_model_fit_widths(m, samples, f->groups, f->count, &options, error);
    free(samples);
    return status;
}

static ft_status fit(const fit_set *set, const fit_context *context, void **out, ft_error *error) {
    util_model *m;
    FT_TRY(fit_set_check(set, error));
    FT_TRY(util_model_new(&m, error));
    size_t rows = (size_t)set->train.count + set->valid.count;
    fitting f = {.set = set, .m = m};
    f.devices = calloc((size_t)set->device_count + 1, sizeof *f.devices);
    f.samples = calloc(rows + 1, sizeof *f.samples);
    f.groups = calloc(rows + 1, sizeof *f.groups);
    ft_status status = f.devices != NULL && f.samples != NULL && f.groups != NULL ? FT_OK : FT_NOMEM(error);
    if (status == FT_OK) status = find_outputs(set, m, error);
    for (int i = 0; i < UTIL_OUTPUTS; i++) f.columns[i] = FT_NONE;
    for (uint32_t i = 0; status == FT_OK && i < m->output_count; i++)
        f.columns[m->outputs[i]] = ft_dataset_metric(set->data, util_output_names[m->outputs[i]]);
    if (status == FT_OK) status = fit_samples(&f, context, m, error);
    free(f.devices);
    free(f.samples);
    free(f.groups);
    if (status == FT_OK)
        *out = m;
    else
        util_model_free(m);
    return status;
}

/* --- Saving and loading -------------------------------------------------------------------------------------- */

static bool add_numbers(float_block *block, const double *values, size_t count) {
    for (size_t i = 0; i < count; i++) {
        float value = (float)values[i];
        if (!float_block_add(block, &value, 1)) return false;
    }
    return true;
}

static ft_status save(const void *model, json_t **params, float_block *block, ft_error *error) {
    const util_model *m = model;
    bool is_added = add_numbers(block, m->constants, UTIL_CONSTANTS) && add_numbers(block, &m->reach, 1) &&
                    float_block_add(block, m->means, UTIL_FEATURES) &&
                    float_block_add(block, m->scales, UTIL_FEATURES) &&
                    float_block_add(block, m->prototypes, (size_t)m->prototype_count * UTIL_FEATURES);
    for (uint32_t i = 0; is_added && i < m->output_count; i++)
        is_added = add_numbers(block, m->widths[m->outputs[i]], UTIL_WIDTHS) &&
                   float_block_add_forest(block, m->trees[m->outputs[i]]);
    if (!is_added) return FT_NOMEM(error);
    json_t *outputs = json_array();
    for (uint32_t i = 0; i < m->output_count; i++)
        outputs = json_list_with(outputs, json_string(util_output_names[m->outputs[i]]));
    *params = json_with(json_object(), "prototypes", json_integer(m->prototype_count));
    *params = json_with(*params, "outputs", outputs);
    return *params != NULL ? FT_OK : FT_NOMEM(error);
}

typedef struct block_reader {
    const float *items;
    size_t left;
} block_reader;

/* Numbers within bounds; NULL when there are not so many. */
static ft_status read_numbers(block_reader *r, size_t count, double min, double max, const char *what,
                              const float **items, ft_error *error) {
    if (r->left < count) return ft_fail(error, FT_ERR_DAMAGED, "has too few numbers for its %s", what);
    FT_TRY(block_check(r->items, count, min, max, what, error));
    *items = r->items;
    r->items += count;
    r->left -= count;
    return FT_OK;
}

static ft_status read_params(const json_t *params, util_model *m, ft_error *error) {
    const json_t *outputs = json_object_get(params, "outputs"), *prototypes = json_object_get(params, "prototypes");
    size_t count = json_array_size(outputs);
    json_int_t known = json_integer_value(prototypes);
    if (count < 1 || count > UTIL_OUTPUTS || known < 1 || known > UTIL_PROTOTYPES)
        return ft_fail(error, FT_ERR_DAMAGED, "expected 1 to %d outputs and 1 to %d prototypes", (int)UTIL_OUTPUTS,
                       (int)UTIL_PROTOTYPES);
    for (size_t i = 0; i < count; i++) {
        const char *name = json_string_value(json_array_get(outputs, i));
        ft_error ignored;
        if (name == NULL || find_output(name, &m->outputs[i], &ignored) != FT_OK)
            return ft_fail(error, FT_ERR_DAMAGED, "output %zu is unknown", i);
    }
    m->output_count = (uint32_t)count;
    m->prototype_count = (uint32_t)known;
    return FT_OK;
}

static ft_status read_block(block_reader *r, util_model *m, ft_error *error) {
    const float *items;
    FT_TRY(read_numbers(r, UTIL_CONSTANTS, 1e-12, 1e9, "constants", &items, error));
    for (int i = 0; i < UTIL_CONSTANTS; i++) m->constants[i] = (double)items[i];
    if (m->constants[UTIL_RUNNING] > 1) return ft_fail(error, FT_ERR_DAMAGED, "runs for more than all of the time");
    FT_TRY(read_numbers(r, 1, 0, 1e6, "reach", &items, error));
    m->reach = (double)items[0];
    FT_TRY(read_numbers(r, UTIL_FEATURES, -1e9, 1e9, "means", &items, error));
    memcpy(m->means, items, sizeof m->means);
    FT_TRY(read_numbers(r, UTIL_FEATURES, 0, 1e9, "scales", &items, error));
    memcpy(m->scales, items, sizeof m->scales);
    size_t count = (size_t)m->prototype_count * UTIL_FEATURES;
    FT_TRY(read_numbers(r, count, -1e9, 1e9, "prototypes", &items, error));
    m->prototypes = malloc(count * sizeof *items);
    if (m->prototypes == NULL) return FT_NOMEM(error);
    memcpy(m->prototypes, items, count * sizeof *items);
    for (uint32_t i = 0; i < m->output_count; i++) {
        util_output o = m->outputs[i];
        if (m->trees[o] != NULL) return ft_fail(error, FT_ERR_DAMAGED, "has an output twice");
        FT_TRY(read_numbers(r, UTIL_WIDTHS, 0, 1e3, "widths", &items, error));
        for (int w = 0; w < UTIL_WIDTHS; w++) m->widths[o][w] = (double)items[w];
        FT_TRY(block_map_forest(&r->items, &r->left, UTIL_FEATURES, &m->trees[o], error));
    }
    if (r->left != 0) return ft_fail(error, FT_ERR_DAMAGED, "has %zu numbers after its last tree", r->left);
    return FT_OK;
}

static ft_status load(const json_t *params, const float *block, size_t count, const char *const *devices,
                      uint32_t device_count, void **out, ft_error *error) {
    (void)devices;
    (void)device_count;
    util_model *m;
    block_reader r = {block, count};
    FT_TRY(util_model_new(&m, error));
    ft_status status = read_params(params, m, error);
    if (status == FT_OK) status = read_block(&r, m, error);
    if (status == FT_OK)
        *out = m;
    else
        util_model_free(m);
    return status;
}

/* --- Predicting ---------------------------------------------------------------------------------------------- */

/* What is cached in a view: the kernels, the same for all devices, and the answers for the device that was asked last,
 * one for each metric. */
typedef struct view_answers {
    util_step step;
    const ft_device *sheet;
    util_totals totals;
    util_answers answers;
} view_answers;

static ft_status find_answers(const util_model *m, const predict_input *in, const view_answers **found,
                              ft_error *error) {
    view_answers *cached = model_view_cached(in->view, &m->key);
    util_device device;
    FT_TRY(util_device_read(in->target->sheet, &device, error));
    if (cached == NULL) {
        cached = ARENA_NEW(&in->view->memory, view_answers);
        if (cached == NULL) return FT_NOMEM(error);
        FT_TRY(util_step_make(in->view, m->rules, &cached->step, error));
        model_view_cache(in->view, &m->key, cached);
    }
    if (cached->step.count == 0)
        return ft_fail(error, FT_ERR_GRAPH, "the model launches no kernel: there is nothing to predict");
    if (cached->sheet != in->target->sheet) {
        util_totals_of(&cached->step, &device, &cached->totals);
        util_model_answer(m, &cached->totals, &cached->answers);
        cached->sheet = in->target->sheet;
    }
    *found = cached;
    return FT_OK;
}

/* Beyond this distance, models are unlike those measured. */
static const double FAR = 2;

static const char *reason_of(const view_answers *found, const util_answer *answer) {
    if (answer->distance > FAR)
        return "utilisation is computed from the kernels: it was measured on trainings of multi-layer perceptrons only";
    if (found->step.is_loader_open && found->step.has_loader)
        return "utilisation: the training process makes its batches itself, as in what was measured; with the setting "
               "loader=none they are ready";
    return NULL;
}

/* How much longer the step takes by the launches of its host. Those of the trainings that were measured are known,
 * and of trainings that the request says are like them ("loader=inline"). */
static double stretch_of(const view_answers *found, bool is_like) {
    const util_anchor *anchor = &found->answers.anchor;
    bool is_same_host = is_like || (found->step.has_loader && !found->step.is_loader_open);
    if (is_same_host && !found->step.is_host_given) return 1;
    double rest_us = fmax(anchor->step_us - fmax(anchor->kernels_us, anchor->launch_us), 0);
    return util_step_stretch(&found->step, anchor->step_us - rest_us, anchor->step_us);
}

static bool is_like_measured(const view_answers *found, const util_answer *a, ft_dtype dtype) {
    return found->step.has_loader && a->distance <= FAR && ft_dtype_bits(dtype) > 16;
}

static ft_status predict(const void *model, const predict_input *in, model_output *out, ft_error *error) {
    static const double OTHER_DEVICE = 0.05, OTHER_STEP = 0.1;
    const util_model *m = model;
    const view_answers *found = NULL;
    assert(in->target->output < m->output_count);
    FT_TRY(find_answers(m, in, &found, error));
    const util_answer *a = &found->answers.items[m->outputs[in->target->output]];
    bool is_new_device = in->target->index == FT_NONE;
    bool is_like = is_like_measured(found, a, in->view->request.dtype);
    double value = a->value / stretch_of(found, is_like);
    double width = a->width + (is_new_device ? OTHER_DEVICE : 0) + (is_like ? 0 : OTHER_STEP);
    *out = (model_output){.value = fmax(value, MIN_PREDICTED_VALUE),
                          .spread = log1p(width / fmax(value, MIN_PREDICTED_VALUE)),
                          .provenance = is_like && !is_new_device ? FT_LEARNED : FT_EXTRAPOLATED,
                          .coverage_ratio = 1,
                          .reason = reason_of(found, a)};
    return FT_OK;
}

/* Bandwidth, and the peaks of all: nothing of it was measured. A peak is at least the average. */
static ft_status derive(const void *model, const predict_input *in, derived_metric *items, uint32_t *count,
                        ft_error *error) {
    static const char *const peak_names[UTIL_OUTPUTS + 1] = {"peak_gpu_util_ratio", "peak_sm_active_ratio",
                                                             "peak_sm_occupancy_ratio", "peak_dram_util_ratio"};
    const util_model *m = model;
    const view_answers *found = NULL;
    double peaks[UTIL_OUTPUTS + 1];
    FT_TRY(find_answers(m, in, &found, error));
    const util_totals *t = &found->totals;
    double stretch = stretch_of(found, is_like_measured(found, &found->answers.items[0], in->view->request.dtype));
    double dram = fmin(1e6 * t->bytes / t->bandwidth / fmax(stretch * found->answers.anchor.step_us, 1e-9), 1);
    util_anchor_peaks(t, m->constants, peaks);
    *count = 0;
    items[(*count)++] = (derived_metric){"dram_util_ratio", fmax(dram, MIN_PREDICTED_VALUE)};
    for (int i = 0; i <= UTIL_OUTPUTS; i++) {
        double mean = i < UTIL_OUTPUTS ? found->answers.items[i].value / stretch : dram;
        items[(*count)++] = (derived_metric){peak_names[i], fmax(fmax(peaks[i], mean), MIN_PREDICTED_VALUE)};
    }
    return FT_OK;
}

const family family_gpu_util = {
    .name = "gpu-util",
    .text = "how busy a step keeps a GPU, from its kernels (metrics gpu_util_ratio, sm_active_ratio, ...)",
    .schema = "gpu-util/1",
    .capabilities =
        FAMILY_MULTI_METRIC | FAMILY_ANY_DEVICE | FAMILY_ANY_MODE | FAMILY_TYPES_AS_SIZES | FAMILY_OWN_INTERVALS,
    .settings = settings,
    .setting_count = SETTINGS,
    .setting_keys = "loader optimizer amp compile graphs host launch_us",
    .fit = fit,
    .save = save,
    .load = load,
    .predict = predict,
    .free = util_model_free,
    .optional = {.derive = derive},
};
