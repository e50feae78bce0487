/* memory_fit.c - fits a context per device, trees that correct the replay, and trees for the error that remains.
 *
 * A few measurements are far off for reasons that the graph does not contain (an algorithm that was tried once), so the
 * labels of the trees are clipped: they learn the rule and not the exceptions. The error of the trees is learned by
 * cross-validation: graphs are assigned to folds, and each fold is predicted by trees grown on the others. Nothing is
 * selected by the validation rows, so they are training rows here as well. */
#include "predictor/memory/memory.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/text.h"
#include "nn/tree/boost.h"
#include "predictor/core/family_common.h"
#include "predictor/core/scan.h"
#include "predictor/core/settings.h"

#define MIB (1024.0 * 1024)

enum { FOLDS = 4, CONTEXT_STEP = 25, CONTEXT_MAX = 4000 };

/* Added to relative errors, so that their logarithms are finite. */
static const double MIN_ERROR = 0.01;
/* Share of errors inside the interval. Trees grown on three quarters of the graphs are a little worse than those grown
 * on all, so this comes to nine tenths for the final model. */
static const double COVERAGE = 0.89;

memory_model *memory_model_new(uint32_t device_count) {
    memory_model *m = calloc(1, sizeof *m);
    if (m == NULL) return NULL;
    m->device_count = device_count;
    m->contexts = calloc((size_t)device_count + 1, sizeof *m->contexts);
    if (m->contexts != NULL) return m;
    free(m);
    return NULL;
}

void memory_model_free(memory_model *m) {
    if (m == NULL) return;
    forest_free(m->correction);
    forest_free(m->spread);
    free(m->contexts);
    free(m);
}

uint64_t memory_limit(const ft_device *sheet, double context_bytes) {
    double bytes = sheet != NULL ? ft_device_number(sheet, "memory_bytes") : NAN;
    double left = bytes - context_bytes;
    return left > 0 && left < 0x1p62 ? (uint64_t)left : (uint64_t)1 << 62;
}

/* --- Rows ---------------------------------------------------------------------------------------------------- */

typedef struct rows {
    const fit_set *set;
    bool is_plan; /* `reserved` is the timeline's peak instead of what the allocator holds */
    uint32_t count;
    const fit_row **items; /* training, then validation */
    float *features;       /* MEMORY_FEATURES each */
    double *reserved;      /* bytes */
    uint8_t *folds;
    float *labels;    /* of the trees to grow next */
    double *errors;   /* log(measured / (context + replay)), not clipped; later relative to the spread */
    float *residuals; /* log of the error of the trees of the other folds */
    uint64_t *limits; /* per device */
} rows;

static void rows_free(rows *r) {
    free(r->items);
    free(r->features);
    free(r->reserved);
    free(r->folds);
    free(r->labels);
    free(r->errors);
    free(r->residuals);
    free(r->limits);
}

static ft_status find_limits(rows *r, ft_error *error) {
    for (uint32_t i = 0; i < r->set->device_count; i++) {
        ft_device *sheet = NULL;
        bool is_known = ft_device_canonical(r->set->devices[i]) != NULL;
        if (is_known) FT_TRY(ft_device_open(r->set->devices[i], &sheet, error));
        r->limits[i] = memory_limit(sheet, 0);
        ft_device_free(sheet);
    }
    return FT_OK;
}

static ft_status rows_begin(const fit_set *set, rows *r, ft_error *error) {
    size_t count = (size_t)set->train.count + set->valid.count;
    *r = (rows){.set = set, .count = (uint32_t)count};
    r->items = calloc(count + 1, sizeof *r->items);
    r->features = calloc(count + 1, MEMORY_FEATURES * sizeof *r->features);
    r->reserved = calloc(count + 1, sizeof *r->reserved);
    r->folds = calloc(count + 1, sizeof *r->folds);
    r->labels = calloc(count + 1, sizeof *r->labels);
    r->errors = calloc(count + 1, sizeof *r->errors);
    r->residuals = calloc(count + 1, sizeof *r->residuals);
    r->limits = calloc((size_t)set->device_count + 1, sizeof *r->limits);
    if (r->items == NULL || r->features == NULL || r->reserved == NULL || r->folds == NULL || r->labels == NULL ||
        r->errors == NULL || r->residuals == NULL || r->limits == NULL)
        return FT_NOMEM(error);
    for (uint32_t i = 0; i < set->train.count; i++) r->items[i] = &set->train.items[i];
    for (uint32_t i = 0; i < set->valid.count; i++) r->items[set->train.count + i] = &set->valid.items[i];
    for (uint32_t i = 0; i < r->count; i++) {
        const char *id = ft_dataset_graph_id(set->data, r->items[i]->graph);
        r->folds[i] = (uint8_t)(hash_bytes(id, strlen(id)).low % FOLDS);
    }
    return find_limits(r, error);
}

typedef struct reading {
    rows *rows;
    uint32_t first; /* row of the part that is read */
} reading;

static ft_status visit(void *user, const scan_item *item, model_view *view, uint32_t worker, buf *found,
                       ft_error *error) {
    (void)worker;
    (void)found;
    const reading *part = user;
    rows *r = part->rows;
    memory_row row = {0};
    uint64_t limit = 0;
    for (uint32_t i = 0; i < item->row_count; i++) {
        uint32_t at = part->first + item->rows[i];
        uint64_t own = r->limits[r->items[at]->device];
        if (own != limit) FT_TRY(memory_row_make(view, own, &row, error));
        limit = own;
        memcpy(r->features + (size_t)at * MEMORY_FEATURES, row.items, sizeof row.items);
        r->reserved[at] = (double)(r->is_plan ? row.replayed.plan.peak_bytes : row.replayed.reserved_bytes);
    }
    return FT_OK;
}

static ft_status read_rows(const fit_set *set, const fit_context *context, rows *r, ft_error *error) {
    const fit_rows parts[] = {set->train, set->valid};
    const double ends[] = {0, 0.5, 0.6};
    for (int i = 0; i < 2; i++) {
        reading part = {.rows = r, .first = i == 0 ? 0 : set->train.count};
        scan_job job = {.threads = context->threads,
                        .visit = visit,
                        .user = &part,
                        .context = context,
                        .from = ends[i],
                        .to = ends[i + 1],
                        .what = "replaying steps"};
        FT_TRY(scan_once(set->data, parts[i], &job, error));
    }
    return FT_OK;
}

/* --- Contexts ------------------------------------------------------------------------------------------------ */

typedef struct settings {
    boost_options boost;
    double clip;
} settings;

static double base_of(const rows *r, uint32_t row, const float *contexts) {
    return r->reserved[row] + (double)contexts[r->items[row]->device] * MIB;
}

static double error_of(const rows *r, uint32_t device, const float *contexts, double clip) {
    double sum = 0;
    for (uint32_t i = 0; i < r->count; i++) {
        if (r->items[i]->device == device) sum += fmin(fabs(log(r->items[i]->label / base_of(r, i, contexts))), clip);
    }
    return sum;
}

/* The context with the smallest sum of errors, each clipped so that outliers do not decide. */
static void find_contexts(const rows *r, const settings *s, float *contexts) {
    for (uint32_t d = 0; d < r->set->device_count; d++) {
        float best = CONTEXT_STEP;
        double smallest = INFINITY;
        for (int c = CONTEXT_STEP; c <= CONTEXT_MAX; c += CONTEXT_STEP) {
            contexts[d] = (float)c;
            double error = error_of(r, d, contexts, s->clip);
            if (error >= smallest) continue;
            smallest = error;
            best = (float)c;
        }
        contexts[d] = best;
    }
}

/* --- Trees --------------------------------------------------------------------------------------------------- */

/* Trees on the rows of all folds but one (FOLDS: on all). */
static ft_status grow(const rows *r, uint32_t without, const boost_options *options, forest **out, ft_error *error) {
    float *features = malloc(((size_t)r->count + 1) * MEMORY_FEATURES * sizeof *features);
    float *labels = malloc(((size_t)r->count + 1) * sizeof *labels);
    ft_status status = features != NULL && labels != NULL ? FT_OK : FT_NOMEM(error);
    size_t count = 0;
    for (uint32_t i = 0; status == FT_OK && i < r->count; i++) {
        if (r->folds[i] == without) continue;
        memcpy(features + count * MEMORY_FEATURES, r->features + (size_t)i * MEMORY_FEATURES,
               MEMORY_FEATURES * sizeof *features);
        labels[count++] = r->labels[i];
    }
    boost_rows train = {.items = features, .count = count, .features = MEMORY_FEATURES, .labels = labels};
    if (status == FT_OK && count == 0)
        status = forest_new(MEMORY_FEATURES, 0, out, error);
    else if (status == FT_OK)
        status = boost_train(&train, NULL, options, NULL, NULL, out, error);
    free(features);
    free(labels);
    return status;
}

static bool report(const fit_context *context, double ratio, const char *what, ft_error *error, ft_status *status) {
    if (context->progress == NULL || context->progress(context->user, ratio, what)) return true;
    *status = ft_fail(error, FT_ERR_CANCELLED, "the training was stopped");
    return false;
}

/* The errors of trees on rows of folds that they were not grown on. */
static ft_status cross_validate(rows *r, const settings *s, const fit_context *context, ft_error *error) {
    for (uint32_t fold = 0; fold < FOLDS; fold++) {
        forest *trees = NULL;
        ft_status status = FT_OK;
        if (!report(context, 0.6 + 0.08 * fold, "growing trees", error, &status)) return status;
        FT_TRY(grow(r, fold, &s->boost, &trees, error));
        for (uint32_t i = 0; i < r->count; i++) {
            if (r->folds[i] != fold) continue;
            float predicted = forest_predict_row(trees, r->features + (size_t)i * MEMORY_FEATURES);
            r->residuals[i] = (float)log(MIN_ERROR + fabs((double)r->labels[i] - (double)predicted));
            r->errors[i] = fabs(r->errors[i] - (double)predicted);
        }
        forest_free(trees);
    }
    return FT_OK;
}

static int compare(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The factor of spreads for which nine of ten errors are inside, on rows that neither kind of trees was grown on.
 * Cross-validation uses every graph once, hundreds of them; a validation part has few. */
static ft_status find_widening(rows *r, const boost_options *options, float *widening, ft_error *error) {
    for (uint32_t fold = 0; fold < FOLDS; fold++) {
        forest *trees = NULL;
        FT_TRY(grow(r, fold, options, &trees, error));
        for (uint32_t i = 0; i < r->count; i++) {
            if (r->folds[i] != fold) continue;
            r->errors[i] /= exp((double)forest_predict_row(trees, r->features + (size_t)i * MEMORY_FEATURES));
        }
        forest_free(trees);
    }
    assert(r->count > 0);
    qsort(r->errors, r->count, sizeof *r->errors, compare);
    uint32_t at = (uint32_t)ceil(COVERAGE * ((double)r->count + 1));
    double found = r->errors[at < 1 ? 0 : at > r->count ? r->count - 1 : at - 1];
    *widening = (float)fmax(found, MIN_ERROR);
    return FT_OK;
}

static ft_status fit_spread(rows *r, const settings *s, memory_model *m, ft_error *error) {
    boost_options rough = s->boost; /* few and shallow trees: errors are mostly noise */
    rough.rounds = (rough.rounds + 3) / 4;
    rough.depth = rough.depth > 4 ? 4 : rough.depth;
    rough.min_child_weight = fmax(rough.min_child_weight, 20);
    memcpy(r->labels, r->residuals, r->count * sizeof *r->labels);
    FT_TRY(find_widening(r, &rough, &m->widening, error));
    return grow(r, FOLDS, &rough, &m->spread, error);
}

static ft_status fit_trees(rows *r, const settings *s, const fit_context *context, memory_model *m, ft_error *error) {
    ft_status status = FT_OK;
    find_contexts(r, s, m->contexts);
    for (uint32_t i = 0; i < r->count; i++) {
        r->errors[i] = log(r->items[i]->label / base_of(r, i, m->contexts));
        r->labels[i] = (float)fmin(fmax(r->errors[i], -s->clip), s->clip);
    }
    FT_TRY(cross_validate(r, s, context, error));
    if (!report(context, 0.92, "growing trees", error, &status)) return status;
    FT_TRY(grow(r, FOLDS, &s->boost, &m->correction, error));
    return fit_spread(r, s, m, error);
}

enum { ROUNDS, DEPTH, ETA, SUBSAMPLE, COLSAMPLE, CHILD, CLIP };

const ft_setting memory_settings[MEMORY_SETTING_COUNT] = {
    [ROUNDS] = {"rounds", "trees of the correction", FT_SETTING_INT, 400, 1, 1e5, .off = NULL},
    [DEPTH] = {"depth", "of a tree", FT_SETTING_INT, 6, 1, 30, .is_searched = true, .from = 3, .to = 10},
    [ETA] = {"eta", "learning rate of the trees", FT_SETTING_REAL, 0.06, 1e-4, 1, .is_searched = true, .is_log = true,
             .from = 0.01, .to = 0.3},
    [SUBSAMPLE] = {"subsample", "share of the records that a tree is grown on", FT_SETTING_REAL, 0.8, 0.01, 1,
                   .is_searched = true, .from = 0.4, .to = 1},
    [COLSAMPLE] = {"colsample", "share of the features that a tree may split on", FT_SETTING_REAL, 0.5, 0.01, 1,
                   .is_searched = true, .from = 0.2, .to = 1},
    [CHILD] = {"min_child_weight", "records that a leaf has at least", FT_SETTING_REAL, 3, 0, 1e6, .is_searched = true,
               .is_log = true, .from = 0.5, .to = 32},
    [CLIP] = {"clip", "bound of the labels of trees, which are logarithms of ratios", FT_SETTING_REAL, 0.1, 0.01, 10,
              .is_searched = true, .is_log = true, .from = 0.05, .to = 1, .off = "10"},
};

static ft_status parse_config(const fit_context *context, settings *s, ft_error *error) {
    double v[MEMORY_SETTING_COUNT];
    FT_TRY(settings_parse(context->config, memory_settings, MEMORY_SETTING_COUNT, v, error));
    s->boost = boost_options_default();
    s->boost.rounds = (uint32_t)v[ROUNDS];
    s->boost.depth = (uint32_t)v[DEPTH];
    s->boost.eta = v[ETA];
    s->boost.subsample = v[SUBSAMPLE];
    s->boost.colsample = v[COLSAMPLE];
    s->boost.min_child_weight = v[CHILD];
    s->boost.patience = 0;
    s->boost.seed = context->seed;
    s->boost.threads = context->threads != NULL ? pool_threads(context->threads) : 1;
    s->clip = v[CLIP];
    return FT_OK;
}

ft_status memory_fit(const fit_set *set, const fit_context *context, memory_model *m, ft_error *error) {
    settings s;
    FT_TRY(parse_config(context, &s, error)); /* before anything that takes long */
    FT_TRY(fit_set_check(set, error));
    rows r;
    ft_status status = rows_begin(set, &r, error);
    if (status == FT_OK) status = read_rows(set, context, &r, error);
    if (status == FT_OK) status = fit_trees(&r, &s, context, m, error);
    rows_free(&r);
    return status;
}

const ft_setting memory_plan_setting = {
    "context", "1: learns the memory that a process takes before anything runs", FT_SETTING_INT, 1, 0, 1, .off = "0"};

ft_status memory_fit_plan(const fit_set *set, const fit_context *context, memory_model *m, ft_error *error) {
    double has_context, clip = 1;
    FT_TRY(settings_parse(context->config, &memory_plan_setting, 1, &has_context, error));
    FT_TRY(fit_set_check(set, error));
    rows r;
    ft_status status = rows_begin(set, &r, error);
    r.is_plan = true;
    if (status == FT_OK) status = read_rows(set, context, &r, error);
    if (status == FT_OK && has_context > 0) find_contexts(&r, &(settings){.clip = clip}, m->contexts);
    if (status == FT_OK) status = forest_new(MEMORY_FEATURES, 0, &m->correction, error);
    if (status == FT_OK) status = forest_new(MEMORY_FEATURES, 0, &m->spread, error);
    m->widening = 1;
    rows_free(&r);
    return status;
}
