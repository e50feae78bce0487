/* kernel_predict.c - predictions of a trained kernel-sum predictor.
 *
 * A model launches the same kernel many times, and devices of one runtime share kernels and networks, so the networks
 * run once per distinct kernel, for all devices of the runtime. The robust networks run only where a model has kernels
 * unlike those of training. */
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "predictor/kernel/kernel_model.h"

enum { ROWS_AT_ONCE = 4096 };

static const size_t TAPE_LIMIT = (size_t)1 << 30;

/* The weight of the specialist networks is the share of seen kernels to this power; chosen on held-out families. */
static const int SEEN_SHARE_POWER = 4;

/* --- Networks ------------------------------------------------------------------------------------------------ */

/* Adds the times that one network predicts for rows to `times`. */
static ft_status run_net(const kernel_net *net, uint32_t count, const float *inputs, const float *amounts,
                         double *times, ft_error *error) {
    tape *t = NULL;
    FT_TRY(tape_new(&net->values, TAPE_LIMIT, &t, error));
    tape_begin(t, TAPE_INFER, 0, 0);
    const tensor *predicted = kernel_net_times(net, t, count, inputs, amounts, NULL);
    ft_status status = tape_status(t, error);
    for (size_t i = 0; status == FT_OK && i < (size_t)count * net->devices; i++) times[i] += predicted->data[i];
    tape_free(t);
    return status;
}

/* Inputs and amounts of rows, and the times that each network predicts for each row and device. */
typedef struct inference {
    float *inputs, *amounts;
    double *times; /* networks x rows x devices */
} inference;

static void inference_free(inference *f) {
    free(f->inputs);
    free(f->amounts);
    free(f->times);
}

/* Runs the first `nets` networks on rows. */
static ft_status infer(const kernel_side_model *s, uint32_t nets, const kernel_row *rows, uint32_t count, inference *f,
                       ft_error *error) {
    assert(nets <= s->net_count);
    size_t cells = (size_t)count * s->device_count;
    *f = (inference){.inputs = malloc(((size_t)count * KERNEL_FEATURES + 1) * sizeof(float)),
                     .amounts = malloc((cells * KERNEL_TERMS + 1) * sizeof(float)),
                     .times = calloc(cells * nets + 1, sizeof(double))};
    if (f->inputs == NULL || f->amounts == NULL || f->times == NULL) return FT_NOMEM(error);
    for (uint32_t i = 0; i < count; i++) {
        kernel_scaling_apply(&s->scaling, &rows[i], f->inputs + (size_t)i * KERNEL_FEATURES);
        kernel_net_amounts(&rows[i], s->device_count, f->amounts + (size_t)i * s->device_count * KERNEL_TERMS);
    }
    for (uint32_t j = 0; j < nets; j++)
        FT_TRY(run_net(&s->nets[j], count, f->inputs, f->amounts, f->times + j * cells, error));
    return FT_OK;
}

ft_status kernel_model_times(const kernel_side_model *s, const kernel_row *rows, uint32_t count, double *times,
                             ft_error *error) {
    for (uint32_t first = 0; first < count; first += ROWS_AT_ONCE) {
        uint32_t some = count - first < ROWS_AT_ONCE ? count - first : ROWS_AT_ONCE;
        size_t cells = (size_t)some * s->device_count;
        inference f;
        ft_status status = infer(s, s->specialist_count, rows + first, some, &f, error);
        for (size_t i = 0; status == FT_OK && i < cells; i++) {
            double sum = 0;
            for (uint32_t j = 0; j < s->specialist_count; j++) sum += f.times[j * cells + i];
            times[(size_t)first * s->device_count + i] = sum / s->specialist_count;
        }
        inference_free(&f);
        FT_TRY(status);
    }
    return FT_OK;
}

/* --- Models -------------------------------------------------------------------------------------------------- */

/* The kernels of a model under a runtime, with the times of each distinct one. Kept with the model view. */
typedef struct timed_kernels {
    const ft_kernels *kernels;
    kernel_row *rows; /* distinct */
    uint32_t row_count;
    uint32_t *row_of; /* per kernel */
    bool *is_seen;    /* per row: like a kernel of training */
    double *times;    /* networks x rows x devices */
    uint32_t nets;    /* networks that ran: the specialist ones, or all */
} timed_kernels;

/* Finds the distinct rows. */
static ft_status fold_rows(timed_kernels *k, const kernel_row *rows, arena *memory, ft_error *error) {
    row_table table = {.size = sizeof(kernel_row)};
    ft_status status = FT_OK;
    k->row_of = ARENA_ARRAY(memory, uint32_t, (size_t)k->kernels->count + 1);
    if (k->row_of == NULL) return FT_NOMEM(error);
    for (uint32_t i = 0; i < k->kernels->count && status == FT_OK; i++)
        status = row_table_add(&table, &rows[i], &k->row_of[i], error);
    if (status == FT_OK) k->rows = arena_copy(memory, table.rows, table.count * table.size);
    if (status == FT_OK && k->rows == NULL) status = FT_NOMEM(error);
    k->row_count = table.count;
    row_table_free(&table);
    return status;
}

/* Without robust networks all kernels count as seen. */
static ft_status find_seen(const kernel_side_model *side, timed_kernels *k, arena *memory, ft_error *error) {
    bool has_robust = side->net_count > side->specialist_count;
    k->nets = side->specialist_count;
    k->is_seen = ARENA_ARRAY(memory, bool, (size_t)k->row_count + 1);
    if (k->is_seen == NULL) return FT_NOMEM(error);
    for (uint32_t i = 0; i < k->row_count; i++) {
        k->is_seen[i] = !has_robust || kernel_seen_has(&side->seen, &k->rows[i]);
        if (!k->is_seen[i]) k->nets = side->net_count;
    }
    return FT_OK;
}

static ft_status time_kernels(const kernel_side_model *side, model_view *s, const ft_rules *rules, timed_kernels *k,
                              ft_error *error) {
    kernel_row *rows;
    uint32_t count;
    inference f;
    FT_TRY(model_view_kernels(s, rules, &k->kernels, error));
    FT_TRY(kernel_rows_extract_as(s, rules, side->has_array, &s->memory, &rows, &count, error));
    if (count == 0) return ft_fail(error, FT_ERR_GRAPH, "the model launches no kernel: there is nothing to predict");
    assert(count == k->kernels->count);
    FT_TRY(fold_rows(k, rows, &s->memory, error));
    FT_TRY(find_seen(side, k, &s->memory, error));
    ft_status status = infer(side, k->nets, k->rows, k->row_count, &f, error);
    size_t cells = (size_t)k->nets * k->row_count * side->device_count;
    if (status == FT_OK) k->times = arena_copy(&s->memory, f.times, cells * sizeof *f.times);
    inference_free(&f);
    if (status == FT_OK && k->times == NULL) status = FT_NOMEM(error);
    return status;
}

/* Kernels under another runtime than the side's own are not cached: only adapted predictors need them. */
static ft_status find_timed_kernels(const kernel_side_model *side, model_view *s, const ft_rules *rules, bool is_own,
                                    const timed_kernels **found, ft_error *error) {
    timed_kernels *k = is_own ? model_view_cached(s, side) : NULL;
    if (k == NULL) {
        k = ARENA_ARRAY(&s->memory, timed_kernels, 1);
        if (k == NULL) return FT_NOMEM(error);
        FT_TRY(time_kernels(side, s, rules, k, error));
        if (is_own) model_view_cache(s, side, k);
    }
    *found = k;
    return FT_OK;
}

/* --- Ensemble ------------------------------------------------------------------------------------------------ */

/* A model on one device: the side and the column of the device in it. */
typedef struct device_case {
    const kernel_side_model *side;
    const timed_kernels *kernels;
    uint32_t column;
} device_case;

/* Predictions of the networks for one device: a time per kernel, and the sum by network. */
typedef struct ensemble_result {
    double *times;
    double specialist_weight; /* the robust networks have the rest */
    double sums[2 * KERNEL_MAX_MEMBERS];
} ensemble_result;

/* The time of each kernel averaged over the networks from `first` to before `end`, and the sum of each network. */
static ft_status average(const device_case *c, uint32_t first, uint32_t end, arena *memory, double **times,
                         double *sums, ft_error *error) {
    const timed_kernels *k = c->kernels;
    *times = ARENA_ARRAY(memory, double, (size_t)k->kernels->count + 1);
    if (*times == NULL) return FT_NOMEM(error);
    for (uint32_t j = first; j < end; j++) {
        const double *of_net = k->times + (size_t)j * k->row_count * c->side->device_count + c->column;
        for (uint32_t i = 0; i < k->kernels->count; i++) {
            double time = of_net[(size_t)k->row_of[i] * c->side->device_count];
            (*times)[i] += time / (end - first);
            sums[j] += time;
        }
    }
    return FT_OK;
}

/* Specialist networks were fitted to sums over the models of training, where the cost of one kernel may compensate for
 * that of another. So one weight holds for all kernels of a model: the share of its time that seen kernels take. An
 * unseen kernel counts by the longer of its two predictions, since neither is reliable. */
static double specialist_weight(const timed_kernels *k, const double *specialist, const double *robust) {
    double seen = 0, unseen = 0;
    for (uint32_t i = 0; i < k->kernels->count; i++) {
        if (k->is_seen[k->row_of[i]])
            seen += specialist[i];
        else
            unseen += fmax(specialist[i], robust[i]);
    }
    return pow(seen / (seen + unseen), SEEN_SHARE_POWER);
}

static ft_status run_ensemble(const device_case *c, arena *memory, ensemble_result *e, ft_error *error) {
    uint32_t specialists = c->side->specialist_count, nets = c->kernels->nets;
    double *robust;
    assert(c->column < c->side->device_count && nets <= 2 * KERNEL_MAX_MEMBERS);
    *e = (ensemble_result){.specialist_weight = 1};
    FT_TRY(average(c, 0, specialists, memory, &e->times, e->sums, error));
    if (nets == specialists) return FT_OK;
    FT_TRY(average(c, specialists, nets, memory, &robust, e->sums, error));
    double weight = specialist_weight(c->kernels, e->times, robust);
    e->specialist_weight = weight;
    for (uint32_t i = 0; i < c->kernels->kernels->count; i++)
        e->times[i] = weight * e->times[i] + (1 - weight) * robust[i];
    return FT_OK;
}

/* Mean and standard deviation of the logarithms of sums. */
static double deviation(const double *sums, uint32_t count, double *mean) {
    double squares = 0;
    *mean = 0;
    for (uint32_t j = 0; j < count; j++) *mean += log(sums[j]) / count;
    for (uint32_t j = 0; j < count; j++) squares += (log(sums[j]) - *mean) * (log(sums[j]) - *mean);
    return count > 1 ? sqrt(squares / (count - 1)) : 0;
}

/* Disagreement of the networks, weighted as they are; for robust ones also their distance from the specialist ones. */
static double disagreement(const device_case *c, const ensemble_result *e) {
    uint32_t specialists = c->side->specialist_count, nets = c->kernels->nets;
    double specialist_mean, robust_mean, specialist = deviation(e->sums, specialists, &specialist_mean);
    if (nets == specialists) return specialist;
    double robust = deviation(e->sums + specialists, nets - specialists, &robust_mean);
    double weight = e->specialist_weight;
    return weight * specialist + (1 - weight) * (robust + fabs(robust_mean - specialist_mean));
}

/* Applies the correction (*factor), by as much as the model is like those of training; returns the sum of the times
 * and the share of it that kernels covered by training take. */
static double correct(const device_case *c, ensemble_result *e, double *factor, double *covered_ratio) {
    const timed_kernels *k = c->kernels;
    kernel_mix mix = {0};
    double value = 0, covered = 0;
    for (uint32_t i = 0; i < k->kernels->count; i++) kernel_mix_add(&mix, &k->rows[k->row_of[i]], e->times[i]);
    *factor = kernel_correct(c->side->corrections[c->column], &mix);
    if (e->specialist_weight < 1) *factor = pow(*factor, e->specialist_weight);
    for (uint32_t i = 0; i < k->kernels->count; i++) {
        e->times[i] *= *factor;
        value += e->times[i];
        if (kernel_scaling_covers(&c->side->scaling, &k->rows[k->row_of[i]])) covered += e->times[i];
    }
    *covered_ratio = covered / value;
    return value;
}

/* --- Predictions --------------------------------------------------------------------------------------------- */

static ft_status make_parts(const ft_kernels *kernels, const double *times, arena *memory, model_output *out,
                            ft_error *error) {
    out->parts = ARENA_ARRAY(memory, ft_part, (size_t)kernels->count + 1);
    if (out->parts == NULL) return FT_NOMEM(error);
    out->part_count = kernels->count;
    for (uint32_t i = 0; i < kernels->count; i++) {
        const ft_kernel *kernel = &kernels->items[i];
        out->parts[i] = (ft_part){.type = kernel->type, .ops = kernel->ops, .op_count = kernel->op_count};
        out->parts[i].value = times[i];
    }
    return FT_OK;
}

/* A prediction, and what an explanation of it needs. */
typedef struct prediction {
    device_case on;
    double factor, specialist_weight;
    model_output output;
} prediction;

static ft_status predict(const kernel_model *m, const predict_input *in, prediction *p, ft_error *error) {
    const target_device *target = in->target;
    static const double MIN_SPREAD = 0.01, UNKNOWN_SPREAD = 0.1;
    uint32_t device = target->index;
    assert(device < m->device_count);
    const ft_rules *own = runtimes_rules(&m->runtimes, device);
    *p = (prediction){.on.side = &m->sides[m->runtimes.of_device[device]], .on.column = m->column[device]};
    ensemble_result e;
    FT_TRY(find_timed_kernels(p->on.side, in->view, target->rules != NULL ? target->rules : own, target->rules == NULL,
                              &p->on.kernels, error));
    FT_TRY(run_ensemble(&p->on, in->memory, &e, error));
    p->specialist_weight = e.specialist_weight;
    model_output *out = &p->output;
    out->provenance = FT_LEARNED;
    out->value = correct(&p->on, &e, &p->factor, &out->coverage_ratio);
    if (!(out->value > 0 && isfinite(out->value)))
        return ft_fail(error, FT_ERR_LIMIT, "the model is too large or too small for this predictor");
    out->spread = MIN_SPREAD + disagreement(&p->on, &e) + UNKNOWN_SPREAD * (1 - out->coverage_ratio);
    return in->has_parts ? make_parts(p->on.kernels->kernels, e.times, in->memory, out, error) : FT_OK;
}

ft_status kernel_model_predict(const void *model, const predict_input *in, model_output *out, ft_error *error) {
    prediction p;
    FT_TRY(predict(model, in, &p, error));
    *out = p.output;
    return FT_OK;
}

/* --- Explanations -------------------------------------------------------------------------------------------- */

const ft_rules *kernel_model_rules(const void *model, uint32_t device) {
    const kernel_model *m = model;
    return device < m->device_count ? runtimes_rules(&m->runtimes, device) : NULL;
}

/* Adds the time of each term of each row by one network. */
static ft_status add_terms(const device_case *c, const kernel_net *net, const inference *f, double weight,
                           double *times, ft_error *error) {
    tape *t = NULL;
    uint32_t count = c->kernels->row_count;
    FT_TRY(tape_new(&net->values, TAPE_LIMIT, &t, error));
    tape_begin(t, TAPE_INFER, 0, 0);
    const tensor *predicted = kernel_net_terms(net, t, count, f->inputs, f->amounts, NULL);
    ft_status status = tape_status(t, error);
    for (size_t i = 0; status == FT_OK && i < count; i++) {
        const float *terms = predicted->data + (i * net->devices + c->column) * KERNEL_TERMS;
        for (uint32_t k = 0; k < KERNEL_TERMS; k++) times[i * KERNEL_TERMS + k] += weight * terms[k];
    }
    tape_free(t);
    return status;
}

static ft_status find_terms(const prediction *p, const inference *f, double *times, ft_error *error) {
    uint32_t specialists = p->on.side->specialist_count, nets = p->on.kernels->nets;
    for (uint32_t j = 0; j < nets; j++) {
        double weight =
            j < specialists ? p->specialist_weight / specialists : (1 - p->specialist_weight) / (nets - specialists);
        FT_TRY(add_terms(&p->on, &p->on.side->nets[j], f, p->factor * weight, times, error));
    }
    return FT_OK;
}

ft_status kernel_model_explain(const void *model, const predict_input *in, model_output *out, explanation *made_of,
                               ft_error *error) {
    prediction p;
    FT_TRY(predict(model, in, &p, error));
    *out = p.output;
    const timed_kernels *kernels = p.on.kernels;
    uint32_t count = kernels->row_count, devices = p.on.side->device_count;
    inference f = {.inputs = ARENA_ARRAY(in->memory, float, (size_t)count *KERNEL_FEATURES),
                   .amounts = ARENA_ARRAY(in->memory, float, (size_t)count *devices *KERNEL_TERMS)};
    float *features = ARENA_ARRAY(in->memory, float, (size_t)count *KERNEL_FEATURES);
    double *times = ARENA_ARRAY(in->memory, double, (size_t)count *KERNEL_TERMS);
    if (f.inputs == NULL || f.amounts == NULL || features == NULL || times == NULL) return FT_NOMEM(error);
    for (uint32_t i = 0; i < count; i++) {
        const kernel_row *row = &kernels->rows[i];
        kernel_scaling_apply(&p.on.side->scaling, row, f.inputs + (size_t)i * KERNEL_FEATURES);
        kernel_net_amounts(row, devices, f.amounts + (size_t)i * devices * KERNEL_TERMS);
        memcpy(features + (size_t)i * KERNEL_FEATURES, row->features, sizeof row->features);
    }
    FT_TRY(find_terms(&p, &f, times, error));
    *made_of = (explanation){.count = kernels->kernels->count, .row_of = kernels->row_of, .row_count = count};
    made_of->term_count = KERNEL_TERMS;
    made_of->times = times;
    made_of->size_count = KERNEL_SIZES;
    made_of->feature_count = KERNEL_FEATURES;
    made_of->features = features;
    return FT_OK;
}
