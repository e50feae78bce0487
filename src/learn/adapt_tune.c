/* adapt_tune.c - see adapt_tune.h. */
#include "learn/adapt_tune.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/rng.h"
#include "predictor/scan.h"

enum { FOLDS = 3, LEAST_MODELS = 5, PREDICTION_MEMORY = 1 << 28 };

/* Nothing was searched for: few steps, and for all layers at a third of the rate of training. */
static const tune_options last_layers = {.is_last = true, .steps = 60, .rate = 0.01, .anchor = 0.01};
static const tune_options all_layers = {.steps = 60, .rate = 0.003, .anchor = 0.01, .discrepancy = 1};

typedef struct job {
    const ft_predictor *from;
    const family *family;
    const adapt_rows *rows;
    const tune_options *options;
    uint64_t seed;
    const fit_context *context;
    fit_row *all, *some; /* devices are those of the model */
    uint32_t some_count;
    uint32_t *fold;               /* per row */
    double *off, *spread, *ratio; /* per row: in cross-validation; measured / predicted before */
    const model *asked;           /* in a scan */
    bool is_before;
    const uint32_t *number; /* of `some`, per row: its place among all */
    ft_error *error;
} job;

/* --- Predicting ---------------------------------------------------------------------------------------------- */

static ft_status predict_item(void *user, const scan_item *item, subject *s, uint32_t worker, buf *found,
                              ft_error *error) {
    (void)worker;
    (void)found;
    const job *j = user;
    arena memory;
    ft_status status = FT_OK;
    arena_init(&memory, PREDICTION_MEMORY);
    for (uint32_t i = 0; status == FT_OK && i < item->row_count; i++) {
        const fit_row *row = &j->some[item->rows[i]];
        uint32_t at = j->number[item->rows[i]];
        const place where = predictor_place(j->from, row->device);
        prediction p = {.spread = 1};
        status = j->family->predict(j->asked, s, &where, false, &memory, &p, error);
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

/* Rows of a fold, or all but those. */
static uint32_t choose(job *j, uint32_t fold, bool is_in, uint32_t *number) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < j->rows->learned_count; i++) {
        if ((j->fold[i] == fold) != is_in) continue;
        number[count] = i;
        j->some[count++] = j->all[i];
    }
    return count;
}

static ft_status predict(job *j, const model *m, uint32_t fold, uint32_t *number) {
    uint32_t count = choose(j, fold, true, number);
    j->asked = m;
    j->number = number;
    const scan_job work = {.threads = j->context->threads, .visit = predict_item, .user = j};
    return scan_once(j->rows->data, (fit_rows){j->some, count}, &work, j->error);
}

/* --- Tuning -------------------------------------------------------------------------------------------------- */

static ft_status tune(job *j, uint32_t left_out, uint32_t *number, const char *const *devices, model **tuned) {
    uint32_t count = choose(j, left_out, false, number);
    const fit_set set = {.data = j->rows->data,
                         .metric = ft_predictor_metric(j->from),
                         .devices = devices,
                         .device_count = predictor_known_count(j->from),
                         .train = {j->some, count}};
    const fit_context quiet = {.seed = j->seed, .threads = j->context->threads};
    return j->family->tune(predictor_model(j->from), &set, j->options, &quiet, tuned, j->error);
}

static ft_status cross_validate(job *j, uint32_t *number, const char *const *devices) {
    for (uint32_t fold = 0; fold < FOLDS; fold++) {
        model *m = NULL;
        if (j->context->progress != NULL &&
            !j->context->progress(j->context->user, 0.6 * fold / FOLDS, "training further"))
            return ft_fail(j->error, FT_ERR_CANCELLED, "stopped");
        j->is_before = true;
        FT_TRY(predict(j, predictor_model(j->from), fold, number));
        j->is_before = false;
        FT_TRY(tune(j, fold, number, devices, &m));
        ft_status status = predict(j, m, fold, number);
        j->family->free(m);
        FT_TRY(status);
    }
    return FT_OK;
}

/* --- What is told -------------------------------------------------------------------------------------------- */

static int compare_scores(const void *a, const void *b) {
    double x = ((const adapt_score *)a)->value, y = ((const adapt_score *)b)->value;
    return (x > y) - (x < y);
}

static ft_status tell(const job *j, uint32_t device, const char *method, adapt_result *result) {
    adapt_score *scores = malloc(j->rows->learned_count * sizeof *scores);
    uint32_t count = 0, models = 0;
    double sum = 0, weights = 0;
    if (scores == NULL) return FT_NOMEM(j->error);
    for (uint32_t i = 0; i < j->rows->learned_count; i++) {
        const fit_row *row = &j->rows->learned[i];
        if (row->device != device) continue;
        uint32_t k = 0;
        while (k < i && (j->rows->learned[k].device != device || j->rows->learned[k].graph != row->graph)) k++;
        models += k == i;
        scores[count++] = (adapt_score){.value = j->ratio[i], .weight = 1};
    }
    qsort(scores, count, sizeof *scores, compare_scores);
    result->about = (ft_adapted_device){.device = j->rows->devices[device], .method = method, .models = models};
    result->about.records = count;
    result->about.scale = scores[count / 2].value;
    result->about.cv_scale = NAN;
    count = 0;
    for (uint32_t i = 0; i < j->rows->learned_count; i++) {
        const fit_row *row = &j->rows->learned[i];
        if (row->device != device) continue;
        double weight = j->rows->weights[row->graph];
        scores[count++] = (adapt_score){.value = fabs(j->off[i]) / fmax(j->spread[i], 1e-6), .weight = weight};
        sum += weight * fabs(exp(-j->off[i]) - 1);
        weights += weight;
    }
    result->about.cv = 100 * sum / weights;
    result->about.q90 = fmax(adapt_quantile(scores, count), 1e-3);
    free(scores);
    return FT_OK;
}

static ft_status check(const job *j) {
    for (uint32_t d = 0; d < j->rows->device_count; d++) {
        uint32_t index = predictor_device_index(j->from, j->rows->devices[d]), rows = 0;
        for (uint32_t i = 0; i < j->rows->learned_count; i++) rows += j->rows->learned[i].device == d;
        if (index >= predictor_known_count(j->from))
            return ft_fail(j->error, FT_ERR_USAGE,
                           "'%s': networks can be trained further for devices that they know; use refit for a new one",
                           j->rows->devices[d]);
        if (rows < LEAST_MODELS)
            return ft_fail(j->error, FT_ERR_USAGE,
                           "'%s': %u measurements are too few to train on, at least %d are needed", j->rows->devices[d],
                           rows, LEAST_MODELS);
    }
    if (j->family->tune != NULL) return FT_OK;
    return ft_fail(j->error, FT_ERR_USAGE, "the family '%s' has no networks that could be trained further; use refit",
                   j->family->name);
}

/* Rows as the model knows their devices, and folds of whole models. */
static void lay_out(job *j) {
    rng random;
    rng_init(&random, j->seed, 0);
    uint32_t first = rng_below(&random, FOLDS);
    for (uint32_t i = 0; i < j->rows->learned_count; i++) {
        const fit_row *row = &j->rows->learned[i];
        uint32_t k = 0;
        j->all[i] = *row;
        j->all[i].device = predictor_device_index(j->from, j->rows->devices[row->device]);
        while (k < j->rows->model_count && j->rows->models[k] != row->graph) k++;
        j->fold[i] = (k + first) % FOLDS;
    }
}

static ft_status run(job *j, arena *memory, adapt_method method, adapt_result *results, model **tuned) {
    uint32_t rows = j->rows->learned_count, known = predictor_known_count(j->from);
    uint32_t *number = ARENA_ARRAY(memory, uint32_t, (size_t)rows + 1);
    const char **devices = ARENA_ARRAY(memory, const char *, known);
    j->all = ARENA_ARRAY(memory, fit_row, (size_t)rows + 1);
    j->some = ARENA_ARRAY(memory, fit_row, (size_t)rows + 1);
    j->fold = ARENA_ARRAY(memory, uint32_t, (size_t)rows + 1);
    j->off = ARENA_ARRAY(memory, double, 3 * (size_t)rows + 1);
    if (number == NULL || devices == NULL || j->all == NULL || j->some == NULL || j->fold == NULL || j->off == NULL)
        return FT_NOMEM(j->error);
    j->spread = j->off + rows;
    j->ratio = j->spread + rows;
    for (uint32_t i = 0; i < known; i++) devices[i] = ft_predictor_device(j->from, i);
    FT_TRY(check(j));
    lay_out(j);
    FT_TRY(cross_validate(j, number, devices));
    for (uint32_t d = 0; d < j->rows->device_count; d++)
        FT_TRY(tell(j, d, method == ADAPT_TUNE_LAST ? "tune-last" : "tune-all", &results[d]));
    return tune(j, FT_NONE, number, devices, tuned);
}

ft_status adapt_tune(const ft_predictor *from, const adapt_rows *rows, adapt_method method, uint64_t seed,
                     const fit_context *context, adapt_result *results, model **tuned, ft_error *error) {
    arena memory;
    arena_init(&memory, UINT64_MAX);
    job j = {.from = from, .family = predictor_family(from), .rows = rows, .seed = seed, .context = context};
    j.options = method == ADAPT_TUNE_LAST ? &last_layers : &all_layers;
    j.error = error;
    ft_status status = run(&j, &memory, method, results, tuned);
    arena_free(&memory);
    return status;
}
