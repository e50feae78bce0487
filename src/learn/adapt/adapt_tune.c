/* adapt_tune.c - adapts a predictor by training its networks further. */
#include "learn/adapt/adapt_fit.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/rng.h"
#include "data/dataset.h"
#include "data/devices.h"
#include "learn/evaluate/select.h"
#include "learn/score/intervals.h"
#include "predictor/core/scan.h"

/* With more than MANY_ROWS measurements (programs of tasks), one fold of cross-validation is enough. */
enum { FOLDS = 3, MANY_ROWS = 2000, MIN_MODELS = 5, PREDICTION_MEMORY = 1 << 28 };

typedef struct job {
    const ft_predictor *from;
    const family *family;
    const adapt_rows *rows;
    tune_options options;
    uint64_t seed;
    const char **devices; /* of the model, followed by the new ones */
    ft_device **sheets;   /* of the new ones */
    uint32_t *device_of;  /* per device of the rows */
    uint32_t known, device_count;
    const fit_context *context;
    fit_row *all, *some; /* with devices as in `devices` */
    uint32_t some_count;
    uint32_t *fold;               /* per row */
    uint32_t folds, folds_tried;  /* of whole units; how many are cross-validated */
    double *off, *spread, *ratio; /* per row: log error and spread in cross-validation; measured / predicted before */
    double *ratios;               /* per device: median ratio of the training rows */
    double *scratch;              /* ratios of one device */
    const void *asked;            /* of the current scan */
    bool is_before;
    const uint32_t *index; /* per row of `some`: its index in `all` */
    ft_error *error;
} job;

/* The target of a prediction: the tuned model has all devices, the old one may need the data sheet. */
static target_device target_of(const job *j, uint32_t device) {
    if (device < j->known) return predictor_target(j->from, device);
    return (target_device){.index = j->is_before ? FT_NONE : device, .sheet = j->sheets[device - j->known]};
}

/* --- Predicting ---------------------------------------------------------------------------------------------- */

static ft_status predict_item(void *user, const scan_item *item, model_view *s, uint32_t worker, buf *found,
                              ft_error *error) {
    (void)worker;
    (void)found;
    const job *j = user;
    arena memory;
    ft_status status = FT_OK;
    arena_init(&memory, PREDICTION_MEMORY);
    for (uint32_t i = 0; status == FT_OK && i < item->row_count; i++) {
        const fit_row *row = &j->some[item->rows[i]];
        uint32_t at = j->index[item->rows[i]];
        const target_device target = target_of(j, row->device);
        model_output p = {.spread = 1};
        const predict_input in = {.view = s, .target = &target, .memory = &memory};
        status = j->family->predict(j->asked, &in, &p, error);
        if (status == FT_ERR_UNSUPPORTED && j->is_before) { /* which tuning may change */
            status = FT_OK;
            p.value = NAN;
        }
        if (status != FT_OK) break;
        if (j->is_before) {
            j->ratio[at] = row->label / p.value;
        } else {
            j->off[at] = log(row->label / p.value);
            j->spread[at] = p.spread;
        }
    }
    arena_free(&memory);
    return status;
}

/* Selects the rows of a fold, or all others. */
static uint32_t select_rows(job *j, uint32_t fold, bool is_in, uint32_t *index) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < j->rows->learned_count; i++) {
        if ((j->fold[i] == fold) != is_in) continue;
        index[count] = i;
        j->some[count++] = j->all[i];
    }
    return count;
}

static ft_status predict(job *j, const void *m, uint32_t fold, uint32_t *index) {
    uint32_t count = select_rows(j, fold, true, index);
    j->asked = m;
    j->index = index;
    const scan_job work = {.threads = j->context->threads, .visit = predict_item, .user = j};
    return scan_once(j->rows->data, (fit_rows){j->some, count}, &work, j->error);
}

/* --- Tuning -------------------------------------------------------------------------------------------------- */

/* The median of measured / predicted of a device over the selected rows; NaN when there are none. */
static double median_ratio(const job *j, uint32_t device, uint32_t count, const uint32_t *index) {
    uint32_t found = 0;
    for (uint32_t i = 0; i < count; i++)
        if (j->some[i].device == device && !isnan(j->ratio[index[i]])) j->scratch[found++] = j->ratio[index[i]];
    return found > 0 ? calibrate_quantile(j->scratch, found, 0.5 * found / (found + 1)) : NAN;
}

static ft_status tune(job *j, uint32_t left_out, uint32_t *index, void **tuned) {
    uint32_t count = select_rows(j, left_out, false, index);
    for (uint32_t d = 0; d < j->device_count; d++) j->ratios[d] = median_ratio(j, d, count, index);
    j->options.ratios = j->ratios;
    const fit_set set = {.data = j->rows->data,
                         .metric = ft_predictor_metric(j->from),
                         .devices = j->devices,
                         .device_count = j->device_count,
                         .train = {j->some, count}};
    const fit_context quiet = {.seed = j->seed, .threads = j->context->threads};
    return j->family->optional.tune(predictor_model(j->from), &set, &j->options, &quiet, tuned, j->error);
}

static ft_status cross_validate(job *j, uint32_t *index) {
    j->is_before = true;
    for (uint32_t fold = 0; fold < j->folds; fold++) FT_TRY(predict(j, predictor_model(j->from), fold, index));
    j->is_before = false;
    for (uint32_t fold = 0; fold < j->folds_tried; fold++) {
        void *m = NULL;
        if (j->context->progress != NULL &&
            !j->context->progress(j->context->user, 0.6 * fold / j->folds_tried, "training further"))
            return ft_fail(j->error, FT_ERR_CANCELLED, "stopped");
        FT_TRY(tune(j, fold, index, &m));
        ft_status status = predict(j, m, fold, index);
        j->family->free(m);
        FT_TRY(status);
    }
    return FT_OK;
}

static uint32_t unit_of(const job *j, uint32_t row) {
    return j->rows->units.of_graph[j->rows->learned[row].graph];
}

/* --- Results ------------------------------------------------------------------------------------------------- */

/* Counts the records and models measured on a device. */
static ft_status count_measured(const job *j, uint32_t device, arena *memory, ft_adapted_device *about) {
    bool *is_counted = ARENA_ARRAY(memory, bool, (size_t)j->rows->units.count + 1);
    if (is_counted == NULL) return FT_NOMEM(j->error);
    memset(is_counted, 0, j->rows->units.count * sizeof *is_counted);
    for (uint32_t i = 0; i < j->rows->learned_count; i++) {
        if (j->rows->learned[i].device != device) continue;
        about->records++;
        about->models += !is_counted[unit_of(j, i)];
        is_counted[unit_of(j, i)] = true;
    }
    return FT_OK;
}

/* The quantile before the networks are trained further; of a new device the widest of all devices. */
static double expected_quantile(const job *j, uint32_t device) {
    uint32_t known = j->device_of[device] < j->known ? j->device_of[device] : FT_NONE;
    return predictor_q90(j->from, known);
}

/* The result of a device, from its cross-validated rows. */
static ft_status make_result(const job *j, uint32_t device, const char *method, arena *memory, adapt_result *result) {
    uint32_t rows = j->rows->learned_count, tried = 0, ratio_count = 0;
    interval_score *scores = ARENA_ARRAY(memory, interval_score, (size_t)rows + 1);
    double *ratios = ARENA_ARRAY(memory, double, (size_t)rows + 1), sum = 0, weights = 0;
    ft_adapted_device *about = &result->about;
    if (scores == NULL || ratios == NULL) return FT_NOMEM(j->error);
    for (uint32_t i = 0; i < rows; i++) {
        const fit_row *row = &j->rows->learned[i];
        if (row->device != device || j->fold[i] >= j->folds_tried) continue;
        double weight = adapt_weight(j->rows, row->graph);
        scores[tried++] = (interval_score){.value = fabs(j->off[i]) / fmax(j->spread[i], 1e-6), .weight = weight};
        if (!isnan(j->ratio[i])) ratios[ratio_count++] = j->ratio[i];
        sum += weight * fabs(exp(-j->off[i]) - 1);
        weights += weight;
    }
    if (tried == 0)
        return ft_fail(j->error, FT_ERR_USAGE, "'%s': too few measured models to cross-validate: measure more",
                       j->rows->devices[device]);
    *about = (ft_adapted_device){
        .device = j->rows->devices[device],
        .method = method,
        .is_new = j->device_of[device] >= j->known,
        .scale = ratio_count > 0 ? calibrate_quantile(ratios, ratio_count, 0.5 * ratio_count / (ratio_count + 1)) : NAN,
        .cv_keep = NAN,
        .cv_scale = NAN,
        .cv = 100 * sum / weights,
        .q90 = fmax(interval_quantile(scores, tried, expected_quantile(j, device)), 1e-3)};
    return count_measured(j, device, memory, about);
}

static ft_status check(const job *j) {
    for (uint32_t d = 0; d < j->rows->device_count; d++) {
        uint32_t index = predictor_device_index(j->from, j->rows->devices[d]), rows = 0;
        for (uint32_t i = 0; i < j->rows->learned_count; i++) rows += j->rows->learned[i].device == d;
        if (index >= j->known && !predictor_reads_sheets(j->from))
            return ft_fail(j->error, FT_ERR_USAGE,
                           "'%s': networks can be trained further for known devices only: use refit for a new one",
                           j->rows->devices[d]);
        if (rows < MIN_MODELS)
            return ft_fail(j->error, FT_ERR_USAGE,
                           "'%s': %u measurements are too few to train on: at least %d are needed", j->rows->devices[d],
                           rows, MIN_MODELS);
    }
    if (j->rows->model_count < 2)
        return ft_fail(j->error, FT_ERR_USAGE, "at least two %s are needed, so that one can be left out",
                       j->rows->units.are_tasks ? "tasks" : "models");
    if (j->family->optional.tune != NULL) return FT_OK;
    return ft_fail(j->error, FT_ERR_USAGE, "the family '%s' has no networks that can be trained further: use refit",
                   j->family->name);
}

/* Numbers devices as the model does, and assigns rows to folds; all rows of a unit are in the same fold. */
static void assign_folds(job *j) {
    rng random;
    rng_init(&random, j->seed, 0);
    j->folds = j->rows->model_count < FOLDS ? j->rows->model_count : FOLDS;
    j->folds_tried = j->rows->learned_count > MANY_ROWS ? 1 : j->folds;
    uint32_t first = rng_below(&random, j->folds);
    for (uint32_t i = 0; i < j->rows->learned_count; i++) {
        const fit_row *row = &j->rows->learned[i];
        uint32_t k = 0;
        j->all[i] = *row;
        j->all[i].device = j->device_of[row->device];
        while (k < j->rows->model_count && j->rows->models[k] != unit_of(j, i)) k++;
        assert(k < j->rows->model_count);
        j->fold[i] = (k + first) % j->folds;
    }
}

/* Devices that are new to the model follow those that it has. */
static ft_status find_devices(job *j, arena *memory) {
    uint32_t max = j->known + j->rows->device_count;
    j->devices = ARENA_ARRAY(memory, const char *, max);
    j->sheets = ARENA_ARRAY(memory, ft_device *, j->rows->device_count);
    j->device_of = ARENA_ARRAY(memory, uint32_t, j->rows->device_count);
    if (j->devices == NULL || j->sheets == NULL || j->device_of == NULL) return FT_NOMEM(j->error);
    for (uint32_t i = 0; i < j->known; i++) j->devices[i] = ft_predictor_device(j->from, i);
    j->device_count = j->known;
    for (uint32_t d = 0; d < j->rows->device_count; d++) {
        const char *name = j->rows->devices[d];
        j->device_of[d] = predictor_device_index(j->from, name);
        if (j->device_of[d] < j->known) continue;
        FT_TRY(device_open(j->rows->data->folder, name, &j->sheets[j->device_count - j->known], j->error));
        j->devices[j->device_count] = name;
        assert(j->device_count < max);
        j->device_of[d] = j->device_count++;
    }
    return FT_OK;
}

/* Samples rows of the original training, when this is its data set: EACH per new measurement. */
static ft_status sample_before(job *j, arena *memory) {
    enum { EACH = 3 };
    const ft_record *records = ft_dataset_records(j->rows->data);
    uint32_t count = ft_dataset_record_count(j->rows->data), wanted = EACH * j->rows->learned_count, found = 0;
    fit_row *rows = ARENA_ARRAY(memory, fit_row, (size_t)count + 1);
    ft_split split = {0};
    bool is_found = false;
    rng random;
    if (rows == NULL) return FT_NOMEM(j->error);
    FT_TRY(training_split(j->from, j->rows->data, false, &split, &is_found, j->error));
    for (uint32_t i = 0; is_found && i < count; i++) {
        uint32_t device = predictor_device_index(j->from, records[i].device);
        double label = records[i].metrics[j->rows->column];
        if (split.parts[i] != FT_PART_TRAIN || device >= j->known || !(isfinite(label) && label > 0)) continue;
        if (strcmp(records[i].part, "support") == 0) continue;
        rows[found++] = (fit_row){.record = i, .graph = records[i].graph, .device = device, .label = label};
    }
    if (is_found) ft_split_free(&split);
    rng_init(&random, j->seed, 1);
    for (uint32_t i = 0; i < wanted && i < found; i++) {
        uint32_t other = i + rng_below(&random, found - i);
        fit_row kept = rows[i];
        rows[i] = rows[other];
        rows[other] = kept;
    }
    j->options.before = (fit_rows){rows, found < wanted ? found : wanted};
    return FT_OK;
}

static ft_status run(job *j, arena *memory, adapt_method method, adapt_result *results, void **tuned) {
    uint32_t rows = j->rows->learned_count;
    uint32_t *index = ARENA_ARRAY(memory, uint32_t, (size_t)rows + 1);
    j->all = ARENA_ARRAY(memory, fit_row, (size_t)rows + 1);
    j->some = ARENA_ARRAY(memory, fit_row, (size_t)rows + 1);
    j->fold = ARENA_ARRAY(memory, uint32_t, (size_t)rows + 1);
    j->off = ARENA_ARRAY(memory, double, 4 * (size_t)rows + 1);
    j->ratios = ARENA_ARRAY(memory, double, (size_t)j->known + j->rows->device_count + 1);
    if (index == NULL || j->all == NULL || j->some == NULL || j->fold == NULL || j->off == NULL || j->ratios == NULL)
        return FT_NOMEM(j->error);
    j->spread = j->off + rows;
    j->ratio = j->spread + rows;
    j->scratch = j->ratio + rows;
    FT_TRY(check(j));
    FT_TRY(find_devices(j, memory));
    if (predictor_reads_sheets(j->from)) FT_TRY(sample_before(j, memory));
    assign_folds(j);
    FT_TRY(cross_validate(j, index));
    for (uint32_t d = 0; d < j->rows->device_count; d++)
        FT_TRY(make_result(j, d, method == ADAPT_TUNE_LAST ? "tune-last" : "tune-all", memory, &results[d]));
    return tune(j, FT_NONE, index, tuned);
}

ft_status adapt_tune(const adapt_fit_options *o, adapt_result *results, void **tuned, ft_error *error) {
    arena memory;
    arena_init(&memory, UINT64_MAX);
    job j = {.from = o->from,
             .family = predictor_family(o->from),
             .rows = o->rows,
             .options = *o->tuning,
             .seed = o->seed,
             .known = predictor_known_count(o->from),
             .context = o->context,
             .error = error};
    assert(o->method >= ADAPT_TUNE_LAST);
    j.options.is_last = o->method == ADAPT_TUNE_LAST;
    ft_status status = run(&j, &memory, o->method, results, tuned);
    for (uint32_t i = 0; j.sheets != NULL && i < o->rows->device_count; i++) ft_device_free(j.sheets[i]);
    arena_free(&memory);
    return status;
}
