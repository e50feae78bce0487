/* totals_gbt.c - the family "totals-gbt": boosted trees on the totals of a graph, for the logarithm of the metric.
 *
 * Good on models like those it was trained on, and blind outside of them: a tree says nothing larger than the largest
 * label it has seen. One forest per device. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "nn/boost.h"
#include "predictor/baselines.h"
#include "predictor/config.h"
#include "predictor/scan.h"
#include "predictor/totals.h"

typedef struct gbt_model {
    uint32_t device_count;
    forest **forests;
} gbt_model;

static const gbt_model *of(const model *m) {
    return (const gbt_model *)(const void *)m;
}

static gbt_model *gbt_new(uint32_t device_count) {
    gbt_model *m = calloc(1, sizeof *m);
    if (m == NULL) return NULL;
    m->device_count = device_count;
    m->forests = calloc(device_count > 0 ? device_count : 1, sizeof(forest *));
    if (m->forests != NULL) return m;
    free(m);
    return NULL;
}

static void gbt_free(model *m) {
    if (m == NULL) return;
    for (uint32_t i = 0; i < of(m)->device_count; i++) forest_free(of(m)->forests[i]);
    free(of(m)->forests);
    free(m);
}

/* --- Rows ---------------------------------------------------------------------------------------------------- */

/* The rows of one part, ordered by device. */
typedef struct table {
    const fit_rows *rows;
    size_t *first; /* per device, and the end */
    size_t *place; /* per row of the part */
    float *items, *labels;
} table;

static void table_free(table *t) {
    free(t->first);
    free(t->place);
    free(t->items);
    free(t->labels);
}

static ft_status table_begin(const fit_rows *rows, uint32_t device_count, table *t, ft_error *error) {
    *t = (table){.rows = rows};
    t->first = calloc((size_t)device_count + 2, sizeof *t->first);
    t->place = calloc((size_t)rows->count + 1, sizeof *t->place);
    t->labels = calloc((size_t)rows->count + 1, sizeof *t->labels);
    t->items = calloc((size_t)rows->count + 1, TOTALS_COUNT * sizeof *t->items);
    if (t->first == NULL || t->place == NULL || t->labels == NULL || t->items == NULL) return FT_NOMEM(error);
    for (uint32_t i = 0; i < rows->count; i++) t->first[rows->items[i].device + 1]++;
    for (uint32_t i = 0; i < device_count; i++) t->first[i + 1] += t->first[i];
    size_t *next = malloc(((size_t)device_count + 1) * sizeof *next);
    if (next == NULL) return FT_NOMEM(error);
    memcpy(next, t->first, ((size_t)device_count + 1) * sizeof *next);
    for (uint32_t i = 0; i < rows->count; i++) {
        t->place[i] = next[rows->items[i].device]++;
        t->labels[t->place[i]] = (float)log(rows->items[i].label);
    }
    free(next);
    return FT_OK;
}

/* Each item writes only the rows that are its own. */
static ft_status visit(void *user, const scan_item *item, subject *s, uint32_t worker, buf *found, ft_error *error) {
    (void)worker;
    (void)found;
    const table *t = user;
    float row[TOTALS_COUNT];
    FT_TRY(totals_of(s, row, error));
    for (uint32_t i = 0; i < item->row_count; i++)
        memcpy(t->items + t->place[item->rows[i]] * TOTALS_COUNT, row, sizeof row);
    return FT_OK;
}

static ft_status table_fill(const fit_set *set, const fit_context *context, double from, double to, table *t,
                            ft_error *error) {
    scan *s;
    FT_TRY(scan_new(set->data, *t->rows, &s, error));
    ft_status status = scan_run(s,
                                &(scan_job){.threads = context->threads,
                                            .visit = visit,
                                            .user = t,
                                            .context = context,
                                            .from = from,
                                            .to = to,
                                            .what = "reading models"},
                                error);
    scan_free(s);
    return status;
}

static boost_rows rows_of(const table *t, uint32_t device) {
    size_t first = t->first[device];
    return (boost_rows){.items = t->items + first * TOTALS_COUNT,
                        .count = t->first[device + 1] - first,
                        .features = TOTALS_COUNT,
                        .labels = t->labels + first};
}

/* --- Fitting ------------------------------------------------------------------------------------------------- */

static ft_status take_config(const json_t *config, boost_options *options, ft_error *error) {
    double rounds = 400, depth = 7, eta = 0.1, subsample = 0.8, patience = 40, child = 2;
    const config_key keys[] = {{"rounds", 1, 1e5, &rounds},     {"depth", 1, 30, &depth},
                               {"eta", 1e-4, 1, &eta},          {"subsample", 0.01, 1, &subsample},
                               {"patience", 0, 1e5, &patience}, {"min_child_weight", 0, 1e6, &child}};
    FT_TRY(config_take(config, keys, sizeof keys / sizeof keys[0], error));
    options->rounds = (uint32_t)rounds;
    options->depth = (uint32_t)depth;
    options->eta = eta;
    options->subsample = subsample;
    options->patience = (uint32_t)patience;
    options->min_child_weight = child;
    return FT_OK;
}

typedef struct stage {
    const fit_context *context;
    double from, to;
    uint32_t rounds;
} stage;

static bool tell(void *user, uint32_t round, double score, const forest *so_far) {
    (void)score;
    (void)so_far;
    const stage *s = user;
    if (s->context->progress == NULL) return true;
    return s->context->progress(s->context->user, s->from + (s->to - s->from) * round / s->rounds, "growing trees");
}

static ft_status grow(const fit_set *set, const fit_context *context, const table *train, const table *valid,
                      gbt_model *m, ft_error *error) {
    boost_options options = boost_options_default();
    FT_TRY(take_config(context->config, &options, error));
    options.seed = context->seed;
    options.threads = context->threads != NULL ? pool_threads(context->threads) : 1;
    for (uint32_t i = 0; i < set->device_count; i++) {
        boost_rows rows = rows_of(train, i), check = rows_of(valid, i);
        double share = 0.7 / set->device_count;
        stage s = {context, 0.3 + share * i, 0.3 + share * (i + 1), options.rounds};
        boost_hooks hooks = {.user = &s, .progress = tell};
        ft_status status =
            boost_train(&rows, check.count > 0 ? &check : NULL, &options, &hooks, NULL, &m->forests[i], error);
        if (status != FT_OK) return ft_fail_prefix(error, status, "device '%s'", set->devices[i]);
    }
    return FT_OK;
}

static ft_status fit(const fit_set *set, const fit_context *context, model **out, ft_error *error) {
    boost_options options = boost_options_default();
    FT_TRY(take_config(context->config, &options, error)); /* before anything that takes long */
    FT_TRY(baseline_check(set, error));
    table train = {0}, valid = {0};
    gbt_model *m = gbt_new(set->device_count);
    ft_status status = m != NULL ? table_begin(&set->train, set->device_count, &train, error) : FT_NOMEM(error);
    if (status == FT_OK) status = table_begin(&set->valid, set->device_count, &valid, error);
    if (status == FT_OK) status = table_fill(set, context, 0, 0.25, &train, error);
    if (status == FT_OK) status = table_fill(set, context, 0.25, 0.3, &valid, error);
    if (status == FT_OK) status = grow(set, context, &train, &valid, m, error);
    table_free(&train);
    table_free(&valid);
    if (status != FT_OK) {
        gbt_free((model *)(void *)m);
        return status;
    }
    *out = (model *)(void *)m;
    return FT_OK;
}

/* --- Saving, loading, predicting ----------------------------------------------------------------------------- */

static ft_status save(const model *m, json_t **params, float_block *block, ft_error *error) {
    for (uint32_t i = 0; i < of(m)->device_count; i++) {
        size_t count = forest_save_count(of(m)->forests[i]);
        float *floats = malloc(count * sizeof *floats);
        if (floats != NULL) forest_save(of(m)->forests[i], floats);
        bool is_added = floats != NULL && float_block_add(block, floats, count);
        free(floats);
        if (!is_added) return FT_NOMEM(error);
    }
    *params = json_object();
    return *params != NULL ? FT_OK : FT_NOMEM(error);
}

static ft_status load_forests(gbt_model *m, const float *block, size_t count, ft_error *error) {
    size_t at = 0, used;
    for (uint32_t i = 0; i < m->device_count; i++, at += used) {
        FT_TRY(forest_load(block + at, count - at, &m->forests[i], &used, error));
        if (forest_features(m->forests[i]) != TOTALS_COUNT)
            return ft_fail(error, FT_ERR_DAMAGED, "has trees over %u features; there are %d",
                           forest_features(m->forests[i]), TOTALS_COUNT);
    }
    if (at != count) return ft_fail(error, FT_ERR_DAMAGED, "has %zu numbers after its last tree", count - at);
    return FT_OK;
}

static ft_status load(const json_t *params, const float *block, size_t count, const char *const *devices,
                      uint32_t device_count, model **out, ft_error *error) {
    (void)devices;
    FT_TRY(baseline_no_params(params, error));
    gbt_model *m = gbt_new(device_count);
    if (m == NULL) return FT_NOMEM(error);
    ft_status status = load_forests(m, block, count, error);
    if (status != FT_OK) {
        gbt_free((model *)(void *)m);
        return status;
    }
    *out = (model *)(void *)m;
    return FT_OK;
}

static ft_status predict(const model *m, subject *s, const place *where, bool has_parts, arena *memory, prediction *out,
                         ft_error *error) {
    uint32_t device = where->index;
    (void)has_parts; /* it sees only the whole */
    (void)memory;
    float row[TOTALS_COUNT];
    FT_TRY(totals_of(s, row, error));
    double margin = (double)forest_predict_row(of(m)->forests[device], row);
    /* Bounds that no label comes near keep a file from elsewhere from saying infinity. */
    *out = (prediction){.value = exp(fmin(fmax(margin, -100), 100)), .spread = 1, .source = FT_LEARNED};
    out->coverage_ratio = s->cost.coverage_ratio;
    return FT_OK;
}

const family family_totals_gbt = {
    .name = "totals-gbt",
    .text = "boosted trees on totals of the graph, for models like those it was trained on",
    .schema = TOTALS_SCHEMA,
    .fit = fit,
    .save = save,
    .load = load,
    .predict = predict,
    .free = gbt_free,
};
