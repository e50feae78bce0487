/* roofline_fit.c - fits the constants of "roofline" to times of whole models.
 *
 * Minimises the mean of |log(predicted / measured)|, which a few wrong labels hardly change. A sum of maxima is not
 * smooth, and there are only four constants: a pattern search multiplies and divides each of them by a factor, keeps
 * what lowers the loss, and continues with smaller factors. Once it is fixed for each kernel which of the two is
 * larger, the sum is linear, and least squares finds what steps along the axes miss. No random numbers. */
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "predictor/baseline/linear.h"
#include "predictor/baseline/roofline.h"
#include "predictor/core/scan.h"
#include "predictor/core/settings.h"

enum { STEPS = 12 };

/* The kernels of the rows of one device, row after row. */
typedef struct sample {
    buf ends;    /* uint32_t per row: kernels up to and with it */
    buf labels;  /* double per row */
    buf kernels; /* two doubles each: FLOPs, bytes */
    double constants[ROOF_CONSTANTS];
    ft_status status; /* of the search */
    ft_error error;
} sample;

typedef struct fitting {
    const fit_set *set;
    fit_rows rows; /* a sample of the training rows */
    const roofline_model *model;
    sample *samples; /* per device */
} fitting;

/* --- Collecting ---------------------------------------------------------------------------------------------- */

/* At most `limit` rows of each device, evenly from all of them. */
static ft_status thin_out(const fit_set *set, uint32_t limit, fit_rows *rows, ft_error *error) {
    uint32_t *counts = calloc((size_t)set->device_count + 1, 2 * sizeof *counts);
    fit_row *items = malloc(((size_t)set->train.count + 1) * sizeof *items);
    if (counts == NULL || items == NULL) {
        free(counts);
        free(items);
        return FT_NOMEM(error);
    }
    uint32_t *seen = counts + set->device_count, kept = 0;
    for (uint32_t i = 0; i < set->train.count; i++) counts[set->train.items[i].device]++;
    for (uint32_t i = 0; i < set->train.count; i++) {
        assert(limit > 0);
        uint32_t device = set->train.items[i].device, every = (counts[device] + limit - 1) / limit;
        if (seen[device]++ % every == 0) items[kept++] = set->train.items[i];
    }
    free(counts);
    *rows = (fit_rows){.items = items, .count = kept};
    return FT_OK;
}

/* The kernels of each row of the item: a count, then FLOPs and bytes of each. */
static ft_status visit(void *user, const scan_item *item, model_view *s, uint32_t worker, buf *found, ft_error *error) {
    (void)worker;
    const fitting *f = user;
    const ft_cost *cost;
    FT_TRY(model_view_cost(s, &cost, error));
    for (uint32_t i = 0; i < item->row_count; i++) {
        uint32_t device = f->rows.items[item->rows[i]].device;
        const ft_kernels *kernels;
        FT_TRY(model_view_kernels(s, runtimes_rules(&f->model->runtimes, device), &kernels, error));
        buf_add(found, &kernels->count, sizeof kernels->count);
        for (uint32_t k = 0; k < kernels->count; k++) {
            ft_op_cost of_kernel = ft_cost_kernel(s->bound, cost, kernels, k);
            total_work work = op_work_of(&of_kernel);
            buf_add(found, &work, sizeof work);
        }
    }
    return FT_OK;
}

static ft_status gather(void *user, const scan_item *item, const buf *found, ft_error *error) {
    fitting *f = user;
    const char *at = found->data;
    for (uint32_t i = 0; i < item->row_count; i++) {
        const fit_row *row = &f->rows.items[item->rows[i]];
        sample *s = &f->samples[row->device];
        uint32_t count;
        memcpy(&count, at, sizeof count);
        at += sizeof count;
        buf_add(&s->kernels, at, count * sizeof(total_work));
        at += count * sizeof(total_work);
        uint32_t end = (uint32_t)(s->kernels.length / sizeof(total_work));
        buf_add(&s->ends, &end, sizeof end);
        buf_add(&s->labels, &row->label, sizeof row->label);
        if (s->kernels.failed || s->ends.failed || s->labels.failed) return FT_NOMEM(error);
    }
    return FT_OK;
}

/* --- Searching ----------------------------------------------------------------------------------------------- */

static double loss(const sample *s, const double *constants) {
    const uint32_t *ends = (const uint32_t *)(const void *)s->ends.data;
    const double *labels = (const double *)(const void *)s->labels.data;
    const total_work *kernels = (const total_work *)(const void *)s->kernels.data;
    size_t rows = s->labels.length / sizeof *labels;
    double total = 0;
    uint32_t k = 0;
    for (size_t i = 0; i < rows; i++) {
        double sum = constants[ROOF_START];
        for (; k < ends[i]; k++) sum += roofline_kernel(constants, kernels[k].flops, kernels[k].bytes);
        total += fabs(log(sum / labels[i]));
    }
    return total / (double)rows;
}

/* Start points of the search: the shares of an average row that FLOPs, bytes, launches and the start explain. */
static const double starts[][ROOF_CONSTANTS] = {{0.6, 0.6, 0.1, 0.01}, {0.3, 0.3, 0.6, 0.01}};

static void begin(const sample *s, const double *shares, double *constants) {
    const double *labels = (const double *)(const void *)s->labels.data;
    const total_work *kernels = (const total_work *)(const void *)s->kernels.data;
    size_t rows = s->labels.length / sizeof *labels, count = s->kernels.length / sizeof *kernels;
    double label = 0, flops = 1, bytes = 1;
    for (size_t i = 0; i < rows; i++) label += labels[i];
    for (size_t i = 0; i < count; i++) {
        flops += kernels[i].flops;
        bytes += kernels[i].bytes;
    }
    constants[ROOF_FLOP] = shares[ROOF_FLOP] * label / flops;
    constants[ROOF_BYTE] = shares[ROOF_BYTE] * label / bytes;
    constants[ROOF_LAUNCH] = shares[ROOF_LAUNCH] * label / (double)(count > 0 ? count : 1);
    constants[ROOF_START] = shares[ROOF_START] * label / (double)rows;
}

/* Tries a step up and down in each constant; true when one of them helped. */
static bool sweep(const sample *s, double step, double *constants, double *best) {
    bool is_better = false;
    for (int c = 0; c < 2 * ROOF_CONSTANTS; c++) {
        double tried[ROOF_CONSTANTS];
        memcpy(tried, constants, sizeof tried);
        tried[c / 2] = c % 2 == 0 ? tried[c / 2] * step : tried[c / 2] / step;
        double found = loss(s, tried);
        if (!(found < *best)) continue;
        *best = found;
        memcpy(constants, tried, sizeof tried);
        is_better = true;
    }
    return is_better;
}

/* Least squares with each kernel bound by arithmetic or traffic as with the current constants. */
static ft_status solve_sides(const sample *s, const double *constants, float *solved, ft_error *error) {
    const uint32_t *ends = (const uint32_t *)(const void *)s->ends.data;
    const double *labels = (const double *)(const void *)s->labels.data;
    const total_work *kernels = (const total_work *)(const void *)s->kernels.data;
    relative_nnls r;
    FT_TRY(relative_nnls_init(&r, ROOF_CONSTANTS, error));
    uint32_t k = 0;
    for (size_t i = 0; i < s->labels.length / sizeof *labels; i++) {
        relative_nnls_entry row[ROOF_CONSTANTS] = {{ROOF_FLOP, 0}, {ROOF_BYTE, 0}, {ROOF_LAUNCH, 0}, {ROOF_START, 1}};
        for (; k < ends[i]; k++) {
            bool is_compute = constants[ROOF_FLOP] * kernels[k].flops > constants[ROOF_BYTE] * kernels[k].bytes;
            row[is_compute ? ROOF_FLOP : ROOF_BYTE].value += is_compute ? kernels[k].flops : kernels[k].bytes;
            row[ROOF_LAUNCH].value++;
        }
        relative_nnls_add(&r, row, ROOF_CONSTANTS, labels[i]);
    }
    ft_status status = relative_nnls_solve(&r, 0, solved, error);
    relative_nnls_free(&r);
    return status;
}

static ft_status refine(const sample *s, double *constants, double *best, ft_error *error) {
    for (int i = 0; i < STEPS; i++) {
        float solved[ROOF_CONSTANTS];
        double tried[ROOF_CONSTANTS];
        FT_TRY(solve_sides(s, constants, solved, error));
        for (size_t c = 0; c < ROOF_CONSTANTS; c++) tried[c] = (double)solved[c];
        double found = loss(s, tried);
        if (!(found < *best)) break;
        *best = found;
        memcpy(constants, tried, sizeof tried);
    }
    return FT_OK;
}

static ft_status search(sample *s, ft_error *error) {
    double lowest = INFINITY;
    for (size_t i = 0; i < sizeof starts / sizeof starts[0]; i++) {
        double constants[ROOF_CONSTANTS], step = 4;
        begin(s, starts[i], constants);
        double best = loss(s, constants);
        for (int j = 0; j < STEPS; j++) {
            for (int sweeps = 0; sweeps < 50 && sweep(s, step, constants, &best); sweeps++) continue;
            step = sqrt(step);
        }
        FT_TRY(refine(s, constants, &best, error));
        if (best >= lowest) continue;
        lowest = best;
        memcpy(s->constants, constants, sizeof constants);
    }
    return FT_OK;
}

static void search_part(void *user, uint32_t device, uint32_t worker) {
    (void)worker;
    sample *s = &((fitting *)user)->samples[device];
    s->status = search(s, &s->error);
}

/* --- Fitting ------------------------------------------------------------------------------------------------- */

static ft_status collect(fitting *f, const fit_context *context, ft_error *error) {
    scan_job job = {.threads = context->threads,
                    .visit = visit,
                    .gather = gather,
                    .user = f,
                    .context = context,
                    .to = 0.8,
                    .what = "reading models"};
    return scan_once(f->set->data, f->rows, &job, error);
}

static ft_status find_constants(fitting *f, const fit_context *context, roofline_model *m, ft_error *error) {
    FT_TRY(runtimes_open(f->set->data, f->set->devices, f->set->device_count, &m->runtimes, error));
    FT_TRY(collect(f, context, error));
    pool_run(context->threads, m->device_count, search_part, f);
    for (uint32_t i = 0; i < m->device_count; i++) {
        if (f->samples[i].status != FT_OK)
            return ft_fail(error, f->samples[i].status, "%s", f->samples[i].error.message);
        for (size_t c = 0; c < ROOF_CONSTANTS; c++)
            m->constants[(size_t)i * ROOF_CONSTANTS + c] = (float)f->samples[i].constants[c];
    }
    return FT_OK;
}

const ft_setting roofline_setting = {.name = "rows",
                                     .text = "records of each device that it is fitted to at most",
                                     .kind = FT_SETTING_INT,
                                     .usual = 3000,
                                     .lo = 10,
                                     .hi = 1e6};

ft_status roofline_fit(const fit_set *set, const fit_context *context, void **out, ft_error *error) {
    double limit;
    FT_TRY(settings_parse(context->config, &roofline_setting, 1, &limit, error));
    FT_TRY(fit_set_check(set, error));
    roofline_model *m = roofline_new(set->device_count);
    fitting f = {.set = set, .model = m, .samples = calloc((size_t)set->device_count + 1, sizeof *f.samples)};
    ft_status status = m != NULL && f.samples != NULL ? FT_OK : FT_NOMEM(error);
    if (status == FT_OK) status = thin_out(set, (uint32_t)limit, &f.rows, error);
    if (status == FT_OK) status = find_constants(&f, context, m, error);
    for (uint32_t i = 0; f.samples != NULL && i < set->device_count; i++) {
        buf_free(&f.samples[i].ends);
        buf_free(&f.samples[i].labels);
        buf_free(&f.samples[i].kernels);
    }
    free(f.samples);
    free((fit_row *)f.rows.items);
    if (status != FT_OK) {
        roofline_free(m);
        return status;
    }
    *out = m;
    return FT_OK;
}
