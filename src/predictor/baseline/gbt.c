/* gbt.c - fitting, storing and predicting with boosted trees, one forest per device; see gbt.h. */
#include "predictor/baseline/gbt.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "nn/tree/boost.h"
#include "predictor/core/family_common.h"
#include "predictor/core/scan.h"
#include "predictor/core/settings.h"

enum { CHECKPOINT_ROUNDS = 50 };

static const double READ_RATIO = 0.3; /* of the progress, passed when all models are read */

typedef struct gbt_model {
    const gbt_rows *kind;
    void *extractor;
    uint32_t device_count;
    forest **forests;
} gbt_model;

void gbt_free(void *model) {
    gbt_model *m = model;
    if (m == NULL) return;
    for (uint32_t i = 0; m->forests != NULL && i < m->device_count; i++) forest_free(m->forests[i]);
    if (m->extractor != NULL) m->kind->close(m->extractor);
    free(m->forests);
    free(m);
}

static ft_status gbt_new(const gbt_rows *kind, uint32_t device_count, gbt_model **out, ft_error *error) {
    gbt_model *m = calloc(1, sizeof *m);
    if (m == NULL) return FT_NOMEM(error);
    m->kind = kind;
    m->device_count = device_count;
    m->forests = calloc(device_count > 0 ? device_count : 1, sizeof(forest *));
    ft_status status = m->forests != NULL ? FT_OK : FT_NOMEM(error);
    if (status == FT_OK && kind->open != NULL) status = kind->open(&m->extractor, error);
    if (status == FT_OK)
        *out = m;
    else
        gbt_free(m);
    return status;
}

/* --- Tables of rows ------------------------------------------------------------------------------------------ */

/* The labelled rows of a part: features and logarithms of labels, ordered by device. */
typedef struct table {
    const gbt_rows *kind;
    void *extractor;
    const fit_rows *rows;
    size_t *first;    /* per device: index of its first row; and the end */
    size_t *position; /* per row of the part: its index in the table */
    float *items, *labels;
} table;

static void table_free(table *t) {
    free(t->first);
    free(t->position);
    free(t->items);
    free(t->labels);
}

/* Lays the table out; table_free() frees it whatever this returns. */
static ft_status table_open(const gbt_rows *kind, void *extractor, const fit_rows *rows, uint32_t device_count,
                            table *t, ft_error *error) {
    *t = (table){.kind = kind, .extractor = extractor, .rows = rows};
    t->first = calloc((size_t)device_count + 2, sizeof *t->first);
    t->position = calloc((size_t)rows->count + 1, sizeof *t->position);
    t->labels = calloc((size_t)rows->count + 1, sizeof *t->labels);
    t->items = calloc((size_t)rows->count + 1, kind->columns * sizeof *t->items);
    if (t->first == NULL || t->position == NULL || t->labels == NULL || t->items == NULL) return FT_NOMEM(error);
    for (uint32_t i = 0; i < rows->count; i++) t->first[rows->items[i].device + 1]++;
    for (uint32_t i = 0; i < device_count; i++) t->first[i + 1] += t->first[i];
    size_t *next = malloc(((size_t)device_count + 1) * sizeof *next);
    if (next == NULL) return FT_NOMEM(error);
    memcpy(next, t->first, ((size_t)device_count + 1) * sizeof *next);
    for (uint32_t i = 0; i < rows->count; i++) {
        assert(rows->items[i].label > 0);
        t->position[i] = next[rows->items[i].device]++;
        t->labels[t->position[i]] = (float)log(rows->items[i].label);
    }
    free(next);
    return FT_OK;
}

/* Items run on several threads; each writes only its own rows. */
static ft_status visit(void *user, const scan_item *item, model_view *s, uint32_t worker, buf *found, ft_error *error) {
    (void)worker;
    (void)found;
    const table *t = user;
    size_t columns = t->kind->columns;
    float *first = t->items + t->position[item->rows[0]] * columns;
    double coverage_ratio = 1;
    FT_TRY(t->kind->extract(t->extractor, s, &s->memory, first, &coverage_ratio, error));
    for (uint32_t i = 1; i < item->row_count; i++)
        memcpy(t->items + t->position[item->rows[i]] * columns, first, columns * sizeof *first);
    return FT_OK;
}

/* Reads the models. `from` and `to` are the progress of the fit before and after. */
static ft_status table_fill(const fit_set *set, const fit_context *context, double from, double to, table *t,
                            ft_error *error) {
    scan_job job = {.threads = context->threads,
                    .visit = visit,
                    .user = t,
                    .context = context,
                    .from = from,
                    .to = to,
                    .what = "reading models"};
    return scan_once(set->data, *t->rows, &job, error);
}

/* The rows of one device. */
static boost_rows table_rows(const table *t, uint32_t device) {
    size_t first = t->first[device];
    return (boost_rows){.items = t->items + first * t->kind->columns,
                        .count = t->first[device + 1] - first,
                        .features = t->kind->columns,
                        .labels = t->labels + first};
}

/* --- Fitting ------------------------------------------------------------------------------------------------- */

enum { ROUNDS, DEPTH, ETA, SUBSAMPLE, PATIENCE, CHILD };

const ft_setting gbt_settings[GBT_SETTINGS] = {
    [ROUNDS] = {"rounds", "trees of each device at most", FT_SETTING_INT, 400, 1, 1e5, .off = NULL},
    [DEPTH] = {"depth", "of a tree", FT_SETTING_INT, 7, 1, 30, .is_searched = true, .from = 3, .to = 12},
    [ETA] = {"eta", "learning rate of the trees", FT_SETTING_REAL, 0.1, 1e-4, 1, .is_searched = true, .is_log = true,
             .from = 0.02, .to = 0.4},
    [SUBSAMPLE] = {"subsample", "share of the records that a tree is grown on", FT_SETTING_REAL, 0.8, 0.01, 1,
                   .is_searched = true, .from = 0.4, .to = 1, .off = "1"},
    [PATIENCE] = {"patience", "trees without a better score before it stops; 0: never", FT_SETTING_INT, 40, 0, 1e5,
                  .off = "0"},
    [CHILD] = {"min_child_weight", "records that a leaf has at least", FT_SETTING_REAL, 2, 0, 1e6, .is_searched = true,
               .is_log = true, .from = 0.5, .to = 32},
};

static ft_status parse_config(const json_t *config, boost_options *options, ft_error *error) {
    double v[GBT_SETTINGS];
    FT_TRY(settings_parse(config, gbt_settings, GBT_SETTINGS, v, error));
    options->rounds = (uint32_t)v[ROUNDS];
    options->depth = (uint32_t)v[DEPTH];
    options->eta = v[ETA];
    options->subsample = v[SUBSAMPLE];
    options->patience = (uint32_t)v[PATIENCE];
    options->min_child_weight = v[CHILD];
    return FT_OK;
}

/* The forest of one device while it grows. */
typedef struct growth {
    const fit_context *context;
    const gbt_model *m;
    uint32_t device, rounds;
    double from, to;
    ft_status status; /* of the last checkpoint */
    ft_error problem; /* of it */
} growth;

/* A checkpoint is the forests of the devices before, followed by the one that grows. */
static ft_status save_checkpoint(growth *g, const forest *so_far) {
    float_block block = {0};
    bool is_added = true;
    if (g->context->save == NULL) return FT_OK;
    for (uint32_t i = 0; i < g->device; i++) is_added = is_added && float_block_add_forest(&block, g->m->forests[i]);
    is_added = is_added && float_block_add_forest(&block, so_far);
    size_t size = block.count * sizeof(float);
    ft_status status =
        is_added ? g->context->save(g->context->user, block.items, size, &g->problem) : FT_NOMEM(&g->problem);
    float_block_free(&block);
    return status;
}

static bool report(void *user, uint32_t round, double score, const forest *so_far) {
    (void)score;
    growth *g = user;
    double ratio = g->from + (g->to - g->from) * round / g->rounds;
    bool may_go_on = g->context->progress == NULL || g->context->progress(g->context->user, ratio, "growing trees");
    if (!may_go_on || (round + 1) % CHECKPOINT_ROUNDS == 0) g->status = save_checkpoint(g, so_far);
    return may_go_on && g->status == FT_OK;
}

/* Restores a checkpoint: forests of devices that are done, and *start, from which the next one continues (NULL without
 * a checkpoint). */
static ft_status restore(const fit_context *context, gbt_model *m, uint32_t *done, forest **start, ft_error *error) {
    size_t size = 0;
    const float *block = context->load != NULL ? context->load(context->user, &size) : NULL;
    *start = NULL;
    *done = 0;
    if (block == NULL) return FT_OK;
    size_t left = size / sizeof *block;
    for (; left > 0 && *done < m->device_count; *done += 1)
        FT_TRY(block_read_forest(&block, &left, m->kind->columns, &m->forests[*done], error));
    if (left != 0 || *done == 0 || size % sizeof *block != 0)
        return ft_fail(error, FT_ERR_DAMAGED, "the checkpoint is not of this training; start again without --resume");
    *done -= 1;
    *start = m->forests[*done];
    m->forests[*done] = NULL;
    return FT_OK;
}

static ft_status grow_device(const boost_options *options, const table *train, const table *valid, const forest *start,
                             growth *g, ft_error *error) {
    boost_rows rows = table_rows(train, g->device), check = table_rows(valid, g->device);
    boost_options own = *options;
    if (check.count == 0) own.patience = 0; /* without validation rows there is no early stopping */
    boost_hooks hooks = {.user = g, .progress = report};
    ft_status status =
        boost_train(&rows, check.count > 0 ? &check : NULL, &own, &hooks, start, &g->m->forests[g->device], error);
    if (g->status == FT_OK) return status;
    if (error != NULL) *error = g->problem;
    return g->status;
}

static ft_status grow(const fit_set *set, const fit_context *context, const table *train, const table *valid,
                      gbt_model *m, ft_error *error) {
    boost_options options = boost_options_default();
    uint32_t done;
    forest *start;
    FT_TRY(parse_config(context->config, &options, error));
    options.seed = context->seed;
    options.threads = context->threads != NULL ? pool_threads(context->threads) : 1;
    FT_TRY(restore(context, m, &done, &start, error));
    for (uint32_t i = done; i < set->device_count; i++) {
        double share = (1 - READ_RATIO) / set->device_count;
        growth g = {context, m, i, options.rounds, READ_RATIO + share * i, READ_RATIO + share * (i + 1), FT_OK, {0}};
        ft_status status = grow_device(&options, train, valid, start, &g, error);
        forest_free(start);
        start = NULL;
        if (status != FT_OK) return ft_fail_prefix(error, status, "device '%s'", set->devices[i]);
    }
    return FT_OK;
}

ft_status gbt_fit(const gbt_rows *kind, const fit_set *set, const fit_context *context, void **out, ft_error *error) {
    boost_options options = boost_options_default();
    FT_TRY(parse_config(context->config, &options, error)); /* first, so that mistakes are reported at once */
    FT_TRY(fit_set_check(set, error));
    table train = {0}, valid = {0};
    gbt_model *m;
    FT_TRY(gbt_new(kind, set->device_count, &m, error));
    ft_status status = table_open(kind, m->extractor, &set->train, set->device_count, &train, error);
    if (status == FT_OK) status = table_open(kind, m->extractor, &set->valid, set->device_count, &valid, error);
    if (status == FT_OK) status = table_fill(set, context, 0, 0.25, &train, error);
    if (status == FT_OK) status = table_fill(set, context, 0.25, READ_RATIO, &valid, error);
    if (status == FT_OK) status = grow(set, context, &train, &valid, m, error);
    table_free(&train);
    table_free(&valid);
    if (status != FT_OK) {
        gbt_free(m);
        return status;
    }
    *out = m;
    return FT_OK;
}

/* --- Saving, loading, predicting ----------------------------------------------------------------------------- */

ft_status gbt_save(const void *model, json_t **params, float_block *block, ft_error *error) {
    const gbt_model *m = model;
    for (uint32_t i = 0; i < m->device_count; i++)
        if (!float_block_add_forest(block, m->forests[i])) return FT_NOMEM(error);
    *params = json_object();
    return *params != NULL ? FT_OK : FT_NOMEM(error);
}

static ft_status load_forests(gbt_model *m, const float *block, size_t count, ft_error *error) {
    for (uint32_t i = 0; i < m->device_count; i++)
        FT_TRY(block_map_forest(&block, &count, m->kind->columns, &m->forests[i], error));
    if (count != 0) return ft_fail(error, FT_ERR_DAMAGED, "has %zu numbers after its last tree", count);
    return FT_OK;
}

ft_status gbt_load(const gbt_rows *kind, const json_t *params, const float *block, size_t count, uint32_t device_count,
                   void **out, ft_error *error) {
    FT_TRY(params_check_empty(params, error));
    gbt_model *m;
    FT_TRY(gbt_new(kind, device_count, &m, error));
    ft_status status = load_forests(m, block, count, error);
    if (status != FT_OK) {
        gbt_free(m);
        return status;
    }
    *out = m;
    return FT_OK;
}

ft_status gbt_predict(const void *model, const predict_input *in, model_output *out, ft_error *error) {
    const gbt_model *m = model;
    const gbt_rows *kind = m->kind;
    float *row = ARENA_ARRAY(in->memory, float, kind->columns);
    if (row == NULL) return FT_NOMEM(error);
    *out = (model_output){.spread = 1, .provenance = FT_LEARNED, .coverage_ratio = 1};
    FT_TRY(kind->extract(m->extractor, in->view, in->memory, row, &out->coverage_ratio, error));
    assert(in->target->index < m->device_count);
    double margin = (double)forest_predict_row(m->forests[in->target->index], row);
    /* Bounded far outside of all labels, so that no file makes the value infinite. */
    out->value = exp(fmin(fmax(margin, -100), 100));
    return FT_OK;
}
