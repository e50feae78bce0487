/* dataset_stats.c - collects feature histograms and operator counts of the models of a data set.
 *
 * The visit of a model encodes its feature values, followed by the names of its operators; the lists are added up in
 * the order of the models, so the result does not depend on the number of threads. */
#include "learn/evaluate/dataset_stats.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "graph/fuse.h"
#include "graph/geometry.h"
#include "graph/graph.h"

static const uint64_t MEMORY_LIMIT = (uint64_t)1 << 26; /* of the names: a hostile data set may have any number */

const char *stats_feature_key(uint32_t feature) {
    assert(feature < STATS_FEATURES);
#define KEY_OF(name, key, text, unit, of_operators) key,
    static const char *const keys[] = {STATS_FEATURE_LIST(KEY_OF)};
#undef KEY_OF
    return keys[feature];
}

const char *stats_feature_text(uint32_t feature) {
    assert(feature < STATS_FEATURES);
#define TEXT_OF(name, key, text, unit, of_operators) text,
    static const char *const texts[] = {STATS_FEATURE_LIST(TEXT_OF)};
#undef TEXT_OF
    return texts[feature];
}

const char *stats_feature_unit(uint32_t feature) {
    assert(feature < STATS_FEATURES);
#define UNIT_OF(name, key, text, unit, of_operators) unit,
    static const char *const units[] = {STATS_FEATURE_LIST(UNIT_OF)};
#undef UNIT_OF
    return units[feature];
}

/* --- Visiting a model ---------------------------------------------------------------------------------------- */

typedef struct feature_value {
    uint32_t feature;
    double value;
} feature_value;

static void add_value(buf *found, stats_feature feature, double value) {
    feature_value f;
    memset(&f, 0, sizeof f);
    f.feature = (uint32_t)feature;
    f.value = value;
    buf_add(found, &f, sizeof f);
}

static void add_window(const ft_graph *g, const ft_op *op, buf *found) {
    conv_geometry conv;
    pool_geometry pool;
    if (op->def->op_class == FT_CLASS_CONV && conv_geometry_of(g, op, &conv) && conv.spatial > 0) {
        add_value(found, STATS_OP_WINDOW, (double)conv.kernel[conv.spatial - 1]);
        add_value(found, STATS_OP_STRIDE, (double)conv.stride[conv.spatial - 1]);
        add_value(found, STATS_OP_GROUPS, (double)conv.groups);
    } else if (op->def->op_class == FT_CLASS_POOL && pool_geometry_of(g, op, &pool) && pool.spatial > 0) {
        add_value(found, STATS_OP_WINDOW, (double)pool.kernel[pool.spatial - 1]);
        add_value(found, STATS_OP_STRIDE, (double)pool.stride[pool.spatial - 1]);
    }
}

static void add_operator(const ft_graph *g, const ft_op *op, const ft_op_cost *cost, buf *found) {
    add_value(found, STATS_OP_FLOPS, (double)cost->forward.flops);
    add_value(found, STATS_OP_ELEMS, (double)cost->activation_elems);
    const ft_tensor *out = op->output_count > 0 && op->outputs[0] != FT_NONE ? &g->tensors[op->outputs[0]] : NULL;
    if (out != NULL && out->rank > 0) {
        bool is_nchw = g->layout == FT_NCHW && out->rank == 4;
        add_value(found, STATS_OP_CHANNELS, (double)out->dims[is_nchw ? 1 : out->rank - 1]);
        if (out->rank == 4) add_value(found, STATS_OP_ROWS, (double)out->dims[is_nchw ? 2 : 1]);
    }
    add_window(g, op, found);
}

/* Encodes the number of values, the values, and then the names, each with its terminating zero. */
static ft_status visit(void *user, const scan_item *item, model_view *s, uint32_t worker, buf *found, ft_error *error) {
    (void)user;
    (void)item;
    (void)worker;
    const ft_graph *g = s->bound;
    const ft_cost *cost;
    FT_TRY(model_view_cost(s, &cost, error));
    uint64_t operators = 0, count;
    buf_add(found, &operators, sizeof operators); /* space for the count */
    for (uint32_t i = 0; i < g->op_count; i++) {
        if (g->ops[i].is_folded) continue;
        add_operator(g, &g->ops[i], &cost->ops[i], found);
        operators++;
    }
    const ft_work *work = &cost->total.forward;
    add_value(found, STATS_OPERATORS, (double)operators);
    add_value(found, STATS_FLOPS, (double)work->flops);
    add_value(found, STATS_BYTES, (double)work->read_bytes + (double)work->write_bytes);
    add_value(found, STATS_PARAMS, (double)cost->total.params);
    add_value(found, STATS_INTENSITY, ft_work_intensity(work));
    if (found->failed) return FT_NOMEM(error);
    count = (found->length - sizeof count) / sizeof(feature_value);
    memcpy(found->data, &count, sizeof count);
    for (uint32_t i = 0; i < g->op_count; i++) {
        char buffer[KERNEL_NAME_BYTES];
        if (g->ops[i].is_folded) continue;
        const char *name = kernel_name_of(g, &g->ops[i], buffer);
        buf_add(found, name, strlen(name) + 1);
    }
    return found->failed ? FT_NOMEM(error) : FT_OK;
}

/* --- Counting ------------------------------------------------------------------------------------------------ */

typedef struct collect_job {
    dataset_stats *stats;
    double *operators;
} collect_job;

static ft_status count_name(dataset_stats *s, const char *name, ft_error *error) {
    uint32_t at;
    if (map_get(&s->index, name, &at)) {
        s->counts[at].count++;
        return FT_OK;
    }
    if (s->name_count == s->name_capacity) {
        uint32_t capacity = s->name_capacity > 0 ? 2 * s->name_capacity : 64;
        operator_count *counts = realloc(s->counts, capacity * sizeof *counts);
        if (counts == NULL) return FT_NOMEM(error);
        s->counts = counts;
        s->name_capacity = capacity;
    }
    char *kept = arena_string(&s->memory, name, strlen(name));
    if (kept == NULL || !map_set(&s->index, kept, s->name_count)) return FT_NOMEM(error);
    s->counts[s->name_count++] = (operator_count){kept, 1};
    return FT_OK;
}

static ft_status gather(void *user, const scan_item *item, const buf *found, ft_error *error) {
    const collect_job *j = user;
    uint64_t count;
    assert(found->length >= sizeof count);
    memcpy(&count, found->data, sizeof count);
    const char *at = (const char *)found->data + sizeof count, *end = (const char *)found->data + found->length;
    for (uint64_t i = 0; i < count; i++, at += sizeof(feature_value)) {
        feature_value f;
        memcpy(&f, at, sizeof f);
        assert(f.feature < STATS_FEATURES);
        log_histogram_add(&j->stats->features[f.feature], f.value);
        for (uint32_t k = 0; j->operators != NULL && f.feature == STATS_OPERATORS && k < item->row_count; k++)
            j->operators[item->rows[k]] = f.value;
    }
    j->stats->models++;
    for (; at < end; at += strlen(at) + 1) {
        FT_TRY(count_name(j->stats, at, error));
        j->stats->operators++;
    }
    return FT_OK;
}

ft_status dataset_stats_collect(dataset_stats *s, const ft_dataset *data, fit_rows rows, pool *threads,
                                const fit_context *context, double *operators, ft_error *error) {
    *s = (dataset_stats){.features = calloc(STATS_FEATURES, sizeof *s->features)};
    arena_init(&s->memory, MEMORY_LIMIT);
    map_init(&s->index, &s->memory);
    if (s->features == NULL) return FT_NOMEM(error);
    collect_job j = {s, operators};
    const scan_job job = {.threads = threads,
                          .visit = visit,
                          .gather = gather,
                          .user = &j,
                          .context = context,
                          .to = 1,
                          .what = "collecting statistics"};
    return scan_once(data, rows, &job, error);
}

void dataset_stats_free(dataset_stats *s) {
    if (s == NULL) return;
    free(s->features);
    free(s->counts);
    arena_free(&s->memory);
    *s = (dataset_stats){0};
}

/* --- Comparing ----------------------------------------------------------------------------------------------- */

static int by_count(const void *a, const void *b) {
    const operator_count *x = a, *y = b;
    if (x->count != y->count) return x->count > y->count ? -1 : 1;
    return strcmp(x->name, y->name);
}

operator_count *dataset_stats_unseen(const dataset_stats *s, const dataset_stats *known, uint32_t *count) {
    operator_count *list = calloc((size_t)s->name_count + 1, sizeof *list);
    uint32_t at;
    *count = 0;
    if (list == NULL) return NULL;
    for (uint32_t i = 0; i < s->name_count; i++)
        if (!map_get(&known->index, s->counts[i].name, &at)) list[(*count)++] = s->counts[i];
    qsort(list, *count, sizeof *list, by_count);
    return list;
}

/* --- Histograms ---------------------------------------------------------------------------------------------- */

static uint32_t bin_of(double value) {
    double at = floor((log2(value) - LOG_HISTOGRAM_LOWEST) * LOG_HISTOGRAM_PER_OCTAVE);
    return at < 0 ? 0 : at > LOG_HISTOGRAM_BINS - 1 ? LOG_HISTOGRAM_BINS - 1 : (uint32_t)at;
}

void log_histogram_add(log_histogram *h, double value) {
    if (!(value > 0) || !isfinite(value)) return;
    if (h->count == 0 || value < h->min) h->min = value;
    if (h->count == 0 || value > h->max) h->max = value;
    log_histogram_bin *bin = &h->bins[bin_of(value)];
    h->count++;
    bin->count++;
    bin->sum += value;
}

static double mean_of(const log_histogram_bin *bin) {
    assert(bin->count > 0);
    return bin->sum / (double)bin->count;
}

double log_histogram_quantile(const log_histogram *h, double share) {
    if (h->count == 0) return NAN;
    if (share <= 0) return h->min;
    if (share >= 1) return h->max;
    double wanted = share * (double)(h->count - 1);
    uint64_t before = 0;
    for (uint32_t i = 0; i < LOG_HISTOGRAM_BINS; i++) {
        before += h->bins[i].count;
        if ((double)before > wanted) return mean_of(&h->bins[i]);
    }
    return h->max;
}

double log_histogram_share(const log_histogram *h, double from, double to) {
    uint64_t inside = 0;
    for (uint32_t i = 0; i < LOG_HISTOGRAM_BINS; i++)
        if (h->bins[i].count > 0 && mean_of(&h->bins[i]) >= from && mean_of(&h->bins[i]) < to)
            inside += h->bins[i].count;
    return h->count > 0 ? (double)inside / (double)h->count : NAN;
}

double log_histogram_outside(const log_histogram *h, const log_histogram *known) {
    if (h->count == 0 || known->count == 0) return NAN;
    double lo = log_histogram_quantile(known, TAIL_SHARE), hi = log_histogram_quantile(known, 1 - TAIL_SHARE);
    /* equal values may differ in the last bits of their sums */
    return 1 - log_histogram_share(h, lo * (1 - 1e-9), hi * (1 + 1e-9));
}
