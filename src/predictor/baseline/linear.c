/* linear.c - the baselines "flops" and "flops-mem": time as a sum of totals of the graph, each times a unit cost of the
 * device that is not negative; and the least squares that fit such unit costs (linear.h). */
#include "predictor/baseline/linear.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "nn/math/nnls.h"
#include "predictor/core/families.h"
#include "predictor/core/family_common.h"
#include "predictor/core/scan.h"
#include "predictor/core/settings.h"

/* --- Least squares of the relative error --------------------------------------------------------------------- */

ft_status relative_nnls_init(relative_nnls *r, uint32_t columns, ft_error *error) {
    *r = (relative_nnls){.columns = columns};
    if (columns > NNLS_MAX_COUNT)
        return ft_fail(error, FT_ERR_LIMIT, "%u columns are too many for least squares: at most %d", columns,
                       NNLS_MAX_COUNT);
    r->gram = calloc((size_t)columns * columns + 1, sizeof *r->gram);
    r->moment = calloc((size_t)columns + 1, sizeof *r->moment);
    if (r->gram != NULL && r->moment != NULL) return FT_OK;
    relative_nnls_free(r);
    return FT_NOMEM(error);
}

void relative_nnls_free(relative_nnls *r) {
    free(r->gram);
    free(r->moment);
    *r = (relative_nnls){0};
}

void relative_nnls_add(relative_nnls *r, const relative_nnls_entry *entries, uint32_t count, double label) {
    assert(label > 0);
    r->rows++;
    for (uint32_t i = 0; i < count; i++) {
        assert(entries[i].column < r->columns);
        double a = entries[i].value / label, *row = r->gram + (size_t)entries[i].column * r->columns;
        r->moment[entries[i].column] += a;
        for (uint32_t j = 0; j < count; j++) row[entries[j].column] += a * (entries[j].value / label);
    }
}

/* Scales columns to length 1; empty ones stay 0. */
static void scale(const relative_nnls *r, double *lengths, double *gram, double *moment) {
    size_t n = r->columns;
    for (size_t i = 0; i < n; i++) lengths[i] = sqrt(r->gram[i * n + i]);
    for (size_t i = 0; i < n; i++) {
        moment[i] = lengths[i] > 0 ? r->moment[i] / lengths[i] : 0;
        for (size_t j = 0; j < n; j++) {
            double product = lengths[i] * lengths[j];
            gram[i * n + j] = product > 0 ? r->gram[i * n + j] / product : 0;
        }
    }
}

ft_status relative_nnls_solve(const relative_nnls *r, double ridge, float *weights, ft_error *error) {
    size_t n = r->columns;
    double *memory = calloc(n * n + 4 * n + 1, sizeof *memory);
    if (memory == NULL) return FT_NOMEM(error);
    double *gram = memory, *moment = gram + n * n, *lengths = moment + n, *pull = lengths + n, *x = pull + n;
    scale(r, lengths, gram, moment);
    for (size_t i = 0; i < n; i++) pull[i] = ridge;
    nnls_problem problem = {.count = r->columns, .gram = gram, .moment = moment, .ridge = pull};
    ft_status status = nnls_solve(&problem, x, error);
    for (size_t i = 0; status == FT_OK && i < n; i++) weights[i] = lengths[i] > 0 ? (float)(x[i] / lengths[i]) : 0;
    free(memory);
    return status;
}

/* --- The model ----------------------------------------------------------------------------------------------- */

enum { MAX_COLUMNS = 3 };

typedef struct linear_model {
    uint32_t columns; /* 2: 1 and FLOPs; 3: bytes too */
    uint32_t device_count;
    float *weights; /* device by device, one per column */
} linear_model;

static void linear_row(const ft_cost *cost, double row[static MAX_COLUMNS]) {
    total_work work = total_work_of(cost);
    row[0] = 1;
    row[1] = work.flops;
    row[2] = work.bytes;
}

/* NULL when out of memory. */
static linear_model *linear_new(uint32_t columns, uint32_t device_count) {
    linear_model *m = calloc(1, sizeof *m);
    if (m == NULL) return NULL;
    m->columns = columns;
    m->device_count = device_count;
    m->weights = calloc((size_t)columns * device_count, sizeof *m->weights);
    if (m->weights != NULL) return m;
    free(m);
    return NULL;
}

static void linear_free(void *model) {
    linear_model *m = model;
    if (m == NULL) return;
    free(m->weights);
    free(m);
}

/* --- Fitting ------------------------------------------------------------------------------------------------- */

typedef struct fitting {
    const fit_set *set;
    uint32_t columns;
    relative_nnls *equations; /* per device */
} fitting;

static ft_status visit(void *user, const scan_item *item, model_view *s, uint32_t worker, buf *found, ft_error *error) {
    (void)user;
    (void)item;
    (void)worker;
    const ft_cost *cost;
    FT_TRY(model_view_cost(s, &cost, error));
    double row[MAX_COLUMNS];
    linear_row(cost, row);
    buf_add(found, row, sizeof row);
    return FT_OK;
}

static ft_status gather(void *user, const scan_item *item, const buf *found, ft_error *error) {
    (void)error;
    fitting *f = user;
    double values[MAX_COLUMNS];
    relative_nnls_entry entries[MAX_COLUMNS];
    memcpy(values, found->data, sizeof values);
    for (uint32_t i = 0; i < f->columns; i++) entries[i] = (relative_nnls_entry){i, values[i]};
    for (uint32_t i = 0; i < item->row_count; i++) {
        const fit_row *row = &f->set->train.items[item->rows[i]];
        relative_nnls_add(&f->equations[row->device], entries, f->columns, row->label);
    }
    return FT_OK;
}

static ft_status collect(fitting *f, const fit_context *context, ft_error *error) {
    for (uint32_t i = 0; i < f->set->device_count; i++) FT_TRY(relative_nnls_init(&f->equations[i], f->columns, error));
    scan_job job = {.threads = context->threads,
                    .visit = visit,
                    .gather = gather,
                    .user = f,
                    .context = context,
                    .to = 1,
                    .what = "reading models"};
    return scan_once(f->set->data, f->set->train, &job, error);
}

static ft_status fit(uint32_t columns, const fit_set *set, const fit_context *context, void **out, ft_error *error) {
    FT_TRY(config_read(context->config, NULL, 0, error));
    FT_TRY(fit_set_check(set, error));
    linear_model *m = linear_new(columns, set->device_count);
    fitting f = {.set = set, .columns = columns};
    f.equations = calloc((size_t)set->device_count + 1, sizeof *f.equations);
    ft_status status = m != NULL && f.equations != NULL ? collect(&f, context, error) : FT_NOMEM(error);
    for (uint32_t i = 0; status == FT_OK && i < set->device_count; i++)
        status = relative_nnls_solve(&f.equations[i], 0, m->weights + (size_t)i * columns, error);
    for (uint32_t i = 0; f.equations != NULL && i < set->device_count; i++) relative_nnls_free(&f.equations[i]);
    free(f.equations);
    if (status != FT_OK) {
        linear_free(m);
        return status;
    }
    *out = m;
    return FT_OK;
}

static ft_status fit_flops(const fit_set *set, const fit_context *context, void **out, ft_error *error) {
    return fit(2, set, context, out, error);
}

static ft_status fit_flops_mem(const fit_set *set, const fit_context *context, void **out, ft_error *error) {
    return fit(3, set, context, out, error);
}

/* --- Saving, loading, predicting ----------------------------------------------------------------------------- */

static ft_status save(const void *model, json_t **params, float_block *block, ft_error *error) {
    const linear_model *m = model;
    if (!float_block_add(block, m->weights, (size_t)m->columns * m->device_count)) return FT_NOMEM(error);
    *params = json_object();
    return *params != NULL ? FT_OK : FT_NOMEM(error);
}

static ft_status load(uint32_t columns, const json_t *params, const float *block, size_t count, uint32_t device_count,
                      void **out, ft_error *error) {
    FT_TRY(params_check_empty(params, error));
    if (count != (size_t)columns * device_count)
        return ft_fail(error, FT_ERR_DAMAGED, "has %zu numbers; %u for each of %u devices are needed", count, columns,
                       device_count);
    FT_TRY(block_check_unit_costs(block, count, error));
    linear_model *m = linear_new(columns, device_count);
    if (m == NULL) return FT_NOMEM(error);
    memcpy(m->weights, block, count * sizeof *block);
    *out = m;
    return FT_OK;
}

static ft_status load_flops(const json_t *params, const float *block, size_t count, const char *const *devices,
                            uint32_t device_count, void **out, ft_error *error) {
    (void)devices;
    return load(2, params, block, count, device_count, out, error);
}

static ft_status load_flops_mem(const json_t *params, const float *block, size_t count, const char *const *devices,
                                uint32_t device_count, void **out, ft_error *error) {
    (void)devices;
    return load(3, params, block, count, device_count, out, error);
}

static ft_status predict(const void *model, const predict_input *in, model_output *out, ft_error *error) {
    const linear_model *m = model;
    uint32_t device = in->target->index;
    const float *weights = m->weights + (size_t)device * m->columns;
    const ft_cost *cost;
    FT_TRY(model_view_cost(in->view, &cost, error));
    double row[MAX_COLUMNS], value = 0;
    linear_row(cost, row);
    assert(m->columns <= MAX_COLUMNS);
    for (uint32_t i = 0; i < m->columns; i++) value += (double)weights[i] * row[i];
    *out = (model_output){.value = fmax(value, MIN_PREDICTED_VALUE), .spread = 1, .provenance = FT_LEARNED};
    out->coverage_ratio = cost->coverage_ratio;
    return FT_OK;
}

const family family_flops = {
    .name = "flops",
    .text = "time as a line over FLOPs, a slope and a start per device",
    .schema = "flops/1",
    .capabilities = FAMILY_TYPES_AS_SIZES,
    .setting_keys = "",
    .fit = fit_flops,
    .save = save,
    .load = load_flops,
    .predict = predict,
    .free = linear_free,
};

const family family_flops_mem = {
    .name = "flops-mem",
    .text = "time as a sum of FLOPs and bytes moved, a unit cost of each and a start per device",
    .schema = "flops-mem/1",
    .capabilities = FAMILY_TYPES_AS_SIZES,
    .setting_keys = "",
    .fit = fit_flops_mem,
    .save = save,
    .load = load_flops_mem,
    .predict = predict,
    .free = linear_free,
};
