/* ethos_u_fit.c - fits the unit costs of "ethos-u".
 *
 * Bytes per weight are fitted to the column weight_bytes, unit costs of stored memory to the labels, both by
 * non-negative least squares. Errors are relative to the label and count by their size, not its square (iteratively
 * reweighted), so that a few networks with unusual weights have little influence. Siblings, networks whose names agree
 * up to the first dot, together have the weight of the square root of their number. */
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "nn/math/nnls.h"
#include "predictor/core/family_common.h"
#include "predictor/core/scan.h"
#include "predictor/core/settings.h"
#include "predictor/npu/ethos_u.h"

/* One equation: amounts * unit costs = target; errors are relative to `whole`. */
enum { MAX_TERMS = COMPRESSION_TERMS };

typedef struct equation {
    double amounts[MAX_TERMS], target, whole, weight;
} equation;

typedef struct equations {
    uint32_t count, terms;
    buf items; /* equation */
} equations;

static equation *items_of(const equations *e) {
    return (equation *)(void *)e->items.data;
}

/* --- Solving ------------------------------------------------------------------------------------------------- */

static double error_of(const equation *q, const double *unit_costs, uint32_t count) {
    double sum = 0;
    for (uint32_t i = 0; i < count; i++) sum += q->amounts[i] * unit_costs[i];
    return fabs(sum - q->target) / q->whole;
}

/* One round of least squares, with each equation weighted by the inverse of its last error. */
static ft_status solve_once(const equations *e, const double *prior, double *unit_costs, ft_error *error) {
    const double small = 0.01, pull = 1e-4;
    uint32_t n = e->terms;
    assert(n <= MAX_TERMS);
    double gram[MAX_TERMS * MAX_TERMS] = {0}, moment[MAX_TERMS] = {0}, ridge[MAX_TERMS];
    for (uint32_t k = 0; k < e->count; k++) {
        const equation *q = &items_of(e)[k];
        double w = q->weight / fmax(error_of(q, unit_costs, n), small) / (q->whole * q->whole);
        for (uint32_t i = 0; i < n; i++) {
            moment[i] += w * q->amounts[i] * q->target;
            for (uint32_t j = 0; j < n; j++) gram[i * n + j] += w * q->amounts[i] * q->amounts[j];
        }
    }
    for (uint32_t i = 0; i < n; i++) ridge[i] = pull * gram[i * n + i] + 1e-12;
    nnls_problem problem = {.count = n, .gram = gram, .moment = moment, .ridge = ridge, .prior = prior};
    return nnls_solve(&problem, unit_costs, error);
}

static ft_status solve(const equations *e, const double *prior, double *unit_costs, ft_error *error) {
    enum { ROUNDS = 25 };
    memcpy(unit_costs, prior, e->terms * sizeof *unit_costs);
    for (int i = 0; i < ROUNDS && e->count > 0; i++) FT_TRY(solve_once(e, prior, unit_costs, error));
    for (uint32_t i = 0; i < e->terms; i++) unit_costs[i] = (double)(float)unit_costs[i]; /* as a file stores them */
    return FT_OK;
}

/* --- Weights ------------------------------------------------------------------------------------------------- */

typedef struct ethos_fitting {
    const fit_set *set;
    const fit_context *context;
    ethos_model *model;
    bool is_learned; /* false: a weight is a byte and little else is stored, for comparison */
    arena memory;
    map sizes;     /* from the name of a network to its index in size_list */
    buf size_list; /* double: weight_bytes */
    map seen;      /* names that have an equation */
    map siblings;  /* from the key of siblings to their number */
    equations weights;
    equations stores[NPU_ARCHS];
} ethos_fitting;

static char *sibling_key(arena *memory, const char *name) {
    return arena_string(memory, name, strcspn(name, "."));
}

/* Weights of a network take about the same bytes on all accelerators; those of the first record count. */
static ft_status find_sizes(ethos_fitting *f, ft_error *error) {
    const ft_record *records = ft_dataset_records(f->set->data);
    uint32_t metric = ft_dataset_metric(f->set->data, "weight_bytes"), number, found;
    if (metric == FT_NONE) return FT_OK;
    for (uint32_t i = 0; i < ft_dataset_record_count(f->set->data); i++) {
        double bytes = records[i].metrics[metric];
        if (!(bytes > 0) || !isfinite(bytes)) continue;
        number = (uint32_t)(f->size_list.length / sizeof bytes);
        if (!map_add(&f->sizes, records[i].name, number, &found)) return FT_NOMEM(error);
        if (found == number) buf_add(&f->size_list, &bytes, sizeof bytes);
        if (f->size_list.failed) return FT_NOMEM(error);
    }
    return FT_OK;
}

static ft_status count_siblings(ethos_fitting *f, ft_error *error) {
    const ft_record *records = ft_dataset_records(f->set->data);
    map names;
    map_init(&names, &f->memory);
    for (uint32_t i = 0; i < f->set->train.count; i++) {
        const char *name = records[f->set->train.items[i].record].name;
        uint32_t found, count = 0;
        if (!map_add(&names, name, i, &found)) return FT_NOMEM(error);
        if (found != i) continue;
        char *key = sibling_key(&f->memory, name);
        if (key == NULL) return FT_NOMEM(error);
        map_get(&f->siblings, key, &count);
        if (!map_set(&f->siblings, key, count + 1)) return FT_NOMEM(error);
    }
    return FT_OK;
}

static double weight_of(ethos_fitting *f, const char *name) {
    uint32_t count = 1;
    char *key = sibling_key(&f->memory, name);
    if (key != NULL) map_get(&f->siblings, key, &count);
    return 1 / sqrt(count > 0 ? (double)count : 1);
}

static ft_status add_equation(equations *e, const equation *q, ft_error *error) {
    assert(q->whole > 0 && q->weight > 0);
    buf_add(&e->items, q, sizeof *q);
    e->count++;
    return e->items.failed ? FT_NOMEM(error) : FT_OK;
}

/* The amounts of a network that unit costs apply to; the last number is of bytes that are known exactly. */
static ft_status visit_weights(void *user, const scan_item *item, model_view *s, uint32_t worker, buf *found,
                               ft_error *error) {
    (void)user;
    (void)item;
    (void)worker;
    const npu_net *net;
    double all[COMPRESSION_TERMS + 1] = {0}, one[COMPRESSION_TERMS];
    FT_TRY(npu_view_net(s, &net, error));
    for (uint32_t i = 0; i < net->pass_count; i++) {
        const npu_pass *p = &net->passes[i];
        if (!p->has_weights || p->reuses_weights) continue;
        npu_compression_amounts(p, one);
        for (int k = 0; k < COMPRESSION_TERMS; k++) all[k] += one[k];
        all[COMPRESSION_TERMS] += (double)npu_round_up(10 * p->ofm_shape.c, 16);
    }
    buf_add(found, all, sizeof all);
    return found->failed ? FT_NOMEM(error) : FT_OK;
}

static ft_status gather_weights(void *user, const scan_item *item, const buf *found, ft_error *error) {
    ethos_fitting *f = user;
    double all[COMPRESSION_TERMS + 1];
    memcpy(all, found->data, sizeof all);
    for (uint32_t i = 0; i < item->row_count; i++) {
        const char *name = ft_dataset_records(f->set->data)[f->set->train.items[item->rows[i]].record].name;
        uint32_t size, seen;
        if (!map_get(&f->sizes, name, &size) || map_get(&f->seen, name, &seen)) continue;
        if (!map_set(&f->seen, name, 1)) return FT_NOMEM(error);
        equation q = {.weight = weight_of(f, name)};
        memcpy(&q.whole, f->size_list.data + size * sizeof q.whole, sizeof q.whole);
        memcpy(q.amounts, all, COMPRESSION_TERMS * sizeof *all);
        q.target = q.whole - all[COMPRESSION_TERMS];
        FT_TRY(add_equation(&f->weights, &q, error));
    }
    return FT_OK;
}

/* --- Stored memory ------------------------------------------------------------------------------------------- */

static bool is_stored(ethos_metric metric) {
    return metric == ETHOS_DRAM || metric == ETHOS_FLASH;
}

typedef struct store_row {
    uint32_t row;
    double amounts[STORE_TERMS], known;
} store_row;

static ft_status visit_stores(void *user, const scan_item *item, model_view *s, uint32_t worker, buf *found,
                              ft_error *error) {
    const ethos_fitting *f = user;
    const npu_net *net;
    (void)worker;
    FT_TRY(npu_view_net(s, &net, error));
    for (uint32_t i = 0; i < item->row_count; i++) {
        const npu_result *result;
        const fit_row *row = &f->set->train.items[item->rows[i]];
        store_row made = {.row = item->rows[i]};
        FT_TRY(npu_view_result(s, f->model->archs[row->device], &f->model->codes, &result, error));
        ethos_store_amounts(net, &result->expected, made.amounts);
        made.known =
            result->expected.weight_bytes + (f->model->metric == ETHOS_DRAM ? result->expected.arena_bytes : 0);
        buf_add(found, &made, sizeof made);
    }
    return found->failed ? FT_NOMEM(error) : FT_OK;
}

/* The bytes of the weights are subtracted first, so that only the rest is explained by these unit costs. */
static ft_status gather_stores(void *user, const scan_item *item, const buf *found, ft_error *error) {
    ethos_fitting *f = user;
    for (uint32_t i = 0; i < item->row_count; i++) {
        store_row made;
        memcpy(&made, found->data + i * sizeof made, sizeof made);
        const fit_row *row = &f->set->train.items[made.row];
        const char *name = ft_dataset_records(f->set->data)[row->record].name;
        equation q = {.whole = row->label, .target = row->label - made.known, .weight = weight_of(f, name)};
        memcpy(q.amounts, made.amounts, sizeof made.amounts);
        FT_TRY(add_equation(&f->stores[row->device], &q, error));
    }
    return FT_OK;
}

/* --- All of it ----------------------------------------------------------------------------------------------- */

static ft_status scan_models(ethos_fitting *f, scan_visit *visit, scan_gather *gather, double from, double to,
                             ft_error *error) {
    scan *s;
    FT_TRY(scan_new(f->set->data, f->set->train, &s, error));
    ft_status status = scan_run(s,
                                &(scan_job){.threads = f->context->threads,
                                            .visit = visit,
                                            .gather = gather,
                                            .user = f,
                                            .context = f->context,
                                            .from = from,
                                            .to = to,
                                            .what = "reading models"},
                                error);
    scan_free(s);
    return status;
}

static ft_status fit(ethos_fitting *f, ft_error *error) {
    static const double default_store[STORE_TERMS] = {290, 25, 0.5, 0, 1.07, 41, 60};
    static const double plain_store[STORE_TERMS] = {256, 0, 1, 1}; /* some commands, and constants as they are */
    if (!f->is_learned) {
        f->model->codes = npu_no_compression;
        for (uint32_t d = 0; d < f->model->device_count; d++)
            memcpy(f->model->stores[d], plain_store, sizeof plain_store);
        return FT_OK;
    }
    FT_TRY(find_sizes(f, error));
    FT_TRY(count_siblings(f, error));
    FT_TRY(scan_models(f, visit_weights, gather_weights, 0, 0.3, error));
    FT_TRY(solve(&f->weights, npu_default_compression.unit_bytes, f->model->codes.unit_bytes, error));
    if (!is_stored(f->model->metric)) return FT_OK;
    FT_TRY(scan_models(f, visit_stores, gather_stores, 0.3, 1, error));
    for (uint32_t d = 0; d < f->model->device_count; d++)
        FT_TRY(solve(&f->stores[d], default_store, f->model->stores[d], error));
    return FT_OK;
}

const ft_setting ethos_setting = {
    "learned", "1: learns the bytes of compressed weights; 0: a weight is a byte", FT_SETTING_INT, 1, 0, 1, .off = "0"};

static ft_status prepare(const fit_set *set, const fit_context *context, ethos_model *m, bool *is_learned,
                         ft_error *error) {
    double learned;
    FT_TRY(settings_parse(context->config, &ethos_setting, 1, &learned, error));
    *is_learned = learned != 0;
    FT_TRY(fit_set_check(set, error));
    if (!ethos_metric_find(set->metric, &m->metric))
        return ft_fail(
            error, FT_ERR_UNSUPPORTED,
            "'ethos-u' does not predict '%s'; its metrics are time_us, total_cycles, npu_cycles, sram_bytes, "
            "dram_bytes and flash_bytes",
            set->metric);
    return ethos_set_devices(m, set->devices, set->device_count, error);
}

ft_status ethos_fit(const fit_set *set, const fit_context *context, void **out, ft_error *error) {
    ethos_model *m = calloc(1, sizeof *m);
    if (m == NULL) return FT_NOMEM(error);
    ethos_fitting f = {.set = set, .context = context, .model = m, .weights.terms = COMPRESSION_TERMS};
    for (int i = 0; i < NPU_ARCHS; i++) f.stores[i].terms = STORE_TERMS;
    arena_init(&f.memory, UINT64_MAX);
    map_init(&f.sizes, &f.memory);
    map_init(&f.seen, &f.memory);
    map_init(&f.siblings, &f.memory);
    ft_status status = prepare(set, context, m, &f.is_learned, error);
    if (status == FT_OK) status = fit(&f, error);
    arena_free(&f.memory);
    buf_free(&f.size_list);
    buf_free(&f.weights.items);
    for (int i = 0; i < NPU_ARCHS; i++) buf_free(&f.stores[i].items);
    if (status != FT_OK) {
        free(m);
        return status;
    }
    *out = m;
    return FT_OK;
}
