/* kernel_nnls_fit.c - fits the unit costs of "kernel-nnls" to times of whole models.
 *
 * The amounts of a graph are first added up by kind, which is all that its predicted time depends on. These sums are
 * stored for every row until all kinds are found; then each device has its normal equations. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "predictor/baseline/kernel_nnls.h"
#include "predictor/baseline/linear.h"
#include "predictor/core/scan.h"
#include "predictor/core/settings.h"

/* The amounts of one kind in one row. */
typedef struct amount {
    uint32_t kind;
    double amounts[KIND_COSTS];
} amount;

typedef struct fitting {
    const fit_set *set;
    nnls_model *model;
    arena memory; /* of names and map during the scan */
    map index;
    const char **kinds; /* MAX_KINDS of them */
    uint32_t kind_count;
    buf amounts; /* amount after amount */
    buf ends;    /* size_t per row in the order of gathering: amounts up to and with it */
    buf rows;    /* uint32_t per row: which of the training rows */
} fitting;

/* --- Collecting ---------------------------------------------------------------------------------------------- */

static kind_row *find_row(kind_row *rows, uint32_t *count, const char *kind) {
    for (uint32_t i = 0; i < *count; i++) {
        if (strcmp(rows[i].kind, kind) == 0) return &rows[i];
    }
    kind_row *fresh = &rows[(*count)++];
    memset(fresh, 0, sizeof *fresh);
    memcpy(fresh->kind, kind, KIND_BYTES);
    return fresh;
}

/* The kinds of a graph under the rules of one runtime, added up: a count, then the rows. */
static ft_status add_kinds(const ft_graph *bound, const ft_cost *cost, const ft_kernels *kernels, buf *found,
                           ft_error *error) {
    kind_row *rows = malloc(((size_t)kernels->count + 1) * sizeof *rows);
    if (rows == NULL) return FT_NOMEM(error);
    uint32_t count = 0;
    for (uint32_t i = 0; i < kernels->count; i++) {
        kind_row row;
        kind_row_of(bound, cost, kernels, i, &row);
        kind_row *sum = find_row(rows, &count, row.kind);
        for (size_t p = 0; p < KIND_COSTS; p++) sum->amounts[p] += row.amounts[p];
    }
    buf_add(found, &count, sizeof count);
    buf_add(found, rows, count * sizeof *rows);
    free(rows);
    return FT_OK;
}

static ft_status visit(void *user, const scan_item *item, model_view *s, uint32_t worker, buf *found, ft_error *error) {
    (void)worker;
    const fitting *f = user;
    const ft_cost *cost;
    FT_TRY(model_view_cost(s, &cost, error));
    for (uint32_t i = 0; i < item->row_count; i++) {
        uint32_t device = f->set->train.items[item->rows[i]].device;
        const ft_kernels *kernels;
        FT_TRY(model_view_kernels(s, runtimes_rules(&f->model->runtimes, device), &kernels, error));
        FT_TRY(add_kinds(s->bound, cost, kernels, found, error));
    }
    return FT_OK;
}

static ft_status find_kind(fitting *f, const char *kind, uint32_t *number, ft_error *error) {
    if (map_get(&f->index, kind, number)) return FT_OK;
    if (f->kind_count == MAX_KINDS)
        return ft_fail(error, FT_ERR_LIMIT, "more than %d different kinds of kernels", MAX_KINDS);
    const char *copy = arena_string(&f->memory, kind, strlen(kind));
    if (copy == NULL || !map_set(&f->index, copy, f->kind_count)) return FT_NOMEM(error);
    f->kinds[f->kind_count] = copy;
    *number = f->kind_count++;
    return FT_OK;
}

static ft_status gather(void *user, const scan_item *item, const buf *found, ft_error *error) {
    fitting *f = user;
    const char *at = found->data;
    for (uint32_t i = 0; i < item->row_count; i++) {
        uint32_t count;
        memcpy(&count, at, sizeof count);
        at += sizeof count;
        for (uint32_t k = 0; k < count; k++, at += sizeof(kind_row)) {
            kind_row row;
            amount a = {0};
            memcpy(&row, at, sizeof row);
            FT_TRY(find_kind(f, row.kind, &a.kind, error));
            memcpy(a.amounts, row.amounts, sizeof a.amounts);
            buf_add(&f->amounts, &a, sizeof a);
        }
        assert(at <= found->data + found->length);
        size_t end = f->amounts.length / sizeof(amount);
        buf_add(&f->ends, &end, sizeof end);
        buf_add(&f->rows, &item->rows[i], sizeof item->rows[i]);
        if (f->amounts.failed || f->ends.failed || f->rows.failed) return FT_NOMEM(error);
    }
    return FT_OK;
}

static ft_status collect(fitting *f, const fit_context *context, ft_error *error) {
    scan_job job = {.threads = context->threads,
                    .visit = visit,
                    .gather = gather,
                    .user = f,
                    .context = context,
                    .to = 0.8,
                    .what = "reading models"};
    return scan_once(f->set->data, f->set->train, &job, error);
}

/* --- Solving ------------------------------------------------------------------------------------------------- */

/* Adds the rows of a device to the equations: each kind by itself, or all kinds pooled. */
static ft_status add_rows(const fitting *f, uint32_t device, bool is_pooled, relative_nnls *r, ft_error *error) {
    const amount *amounts = (const amount *)(const void *)f->amounts.data;
    const size_t *ends = (const size_t *)(const void *)f->ends.data;
    const uint32_t *rows = (const uint32_t *)(const void *)f->rows.data;
    relative_nnls_entry *entries = malloc(((size_t)f->kind_count * KIND_COSTS + 1) * sizeof *entries);
    if (entries == NULL) return FT_NOMEM(error);
    for (size_t i = 0; i < f->rows.length / sizeof *rows; i++) {
        const fit_row *row = &f->set->train.items[rows[i]];
        if (row->device != device) continue;
        uint32_t count = 0;
        for (uint32_t p = 0; is_pooled && p < KIND_COSTS; p++) entries[count++] = (relative_nnls_entry){p, 0};
        for (size_t k = i == 0 ? 0 : ends[i - 1]; k < ends[i]; k++) {
            for (uint32_t p = 0; p < KIND_COSTS; p++) {
                if (is_pooled)
                    entries[p].value += amounts[k].amounts[p];
                else if (amounts[k].amounts[p] > 0)
                    entries[count++] = (relative_nnls_entry){amounts[k].kind * KIND_COSTS + p, amounts[k].amounts[p]};
            }
        }
        entries[count++] = (relative_nnls_entry){r->columns - 1, 1};
        relative_nnls_add(r, entries, count, row->label);
    }
    free(entries);
    return FT_OK;
}

static ft_status solve(const fitting *f, uint32_t device, bool is_pooled, double ridge, relative_nnls *r,
                       float *weights, ft_error *error) {
    uint32_t kinds = is_pooled ? 1 : f->kind_count;
    FT_TRY(relative_nnls_init(r, kinds * KIND_COSTS + 1, error));
    FT_TRY(add_rows(f, device, is_pooled, r, error));
    return relative_nnls_solve(r, ridge, weights, error);
}

/* Solves for one device and stores the weights in the layout of the model. */
static ft_status solve_device(const fitting *f, uint32_t device, double ridge, ft_error *error) {
    nnls_model *m = f->model;
    float *out = m->weights + device * nnls_stride(m);
    float *found = calloc((size_t)f->kind_count * KIND_COSTS + KIND_COSTS + 1, sizeof *found);
    relative_nnls each = {0}, pooled = {0};
    ft_status status = found != NULL ? solve(f, device, false, ridge, &each, found, error) : FT_NOMEM(error);
    for (size_t i = 0; status == FT_OK && i < f->kind_count; i++) {
        memcpy(out + i * KIND_FLOATS, found + i * KIND_COSTS, KIND_COSTS * sizeof *found);
        out[i * KIND_FLOATS + KIND_COSTS] = each.moment[i * KIND_COSTS] > 0; /* launches: the kind was in training */
    }
    if (status == FT_OK) {
        out[nnls_stride(m) - 1] = found[(size_t)f->kind_count * KIND_COSTS];
        status = solve(f, device, true, 0, &pooled, found, error);
    }
    if (status == FT_OK) memcpy(out + (size_t)f->kind_count * KIND_FLOATS, found, KIND_COSTS * sizeof *found);
    relative_nnls_free(&each);
    relative_nnls_free(&pooled);
    free(found);
    return status;
}

static ft_status fit_unit_costs(fitting *f, const fit_context *context, double ridge, ft_error *error) {
    FT_TRY(runtimes_open(f->set->data, f->set->devices, f->set->device_count, &f->model->runtimes, error));
    f->kinds = ARENA_ARRAY(&f->memory, const char *, MAX_KINDS);
    if (f->kinds == NULL) return FT_NOMEM(error);
    FT_TRY(collect(f, context, error));
    FT_TRY(nnls_set_kinds(f->model, f->kinds, f->kind_count, error));
    for (uint32_t i = 0; i < f->set->device_count; i++) {
        FT_TRY(solve_device(f, i, ridge, error));
        double done = 0.8 + 0.2 * (i + 1) / f->set->device_count;
        if (context->progress != NULL && !context->progress(context->user, done, "fitting unit costs"))
            return ft_fail(error, FT_ERR_CANCELLED, "cancelled");
    }
    return FT_OK;
}

const ft_setting nnls_setting = {.name = "ridge",
                                 .text = "weight of the squared unit costs",
                                 .usual = 1e-4,
                                 .lo = 0,
                                 .hi = 1e3,
                                 .is_searched = true,
                                 .is_log = true,
                                 .from = 1e-7,
                                 .to = 1e-1,
                                 .off = "0"};

ft_status nnls_fit(const fit_set *set, const fit_context *context, void **out, ft_error *error) {
    double ridge;
    FT_TRY(settings_parse(context->config, &nnls_setting, 1, &ridge, error));
    FT_TRY(fit_set_check(set, error));
    nnls_model *m = nnls_new(set->device_count);
    if (m == NULL) return FT_NOMEM(error);
    fitting f = {.set = set, .model = m};
    arena_init(&f.memory, UINT64_MAX);
    map_init(&f.index, &f.memory);
    ft_status status = fit_unit_costs(&f, context, ridge, error);
    arena_free(&f.memory);
    buf_free(&f.amounts);
    buf_free(&f.ends);
    buf_free(&f.rows);
    if (status != FT_OK) {
        nnls_free(m);
        return status;
    }
    *out = m;
    return FT_OK;
}
