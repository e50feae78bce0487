/* kernel_predict.c - asking a trained kernel-sum predictor.
 *
 * A model launches the same kernel many times, and devices of one runtime share its kernels and networks: each distinct
 * kernel of a subject is looked at once, for all devices of the runtime. Careful networks are asked only where a kernel
 * is unlike those of training. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "predictor/kernel/kernel_model.h"
#include "predictor/kernel/kernel_table.h"

enum { ROWS_AT_ONCE = 4096 };

static const size_t TAPE_LIMIT = (size_t)1 << 30;

/* Power of the share of near kernels by which close networks are trusted; chosen on families that were left out. */
static const int COMPANY = 4;

/* --- Networks ------------------------------------------------------------------------------------------------ */

/* What one network says of rows whose inputs and amounts are laid out; added to `times` with a weight. */
static ft_status ask_net(const kernel_net *net, uint32_t count, const float *inputs, const float *amounts,
                         double weight, double *times, ft_error *error) {
    tape *t = NULL;
    FT_TRY(tape_new(&net->values, TAPE_LIMIT, &t, error));
    tape_begin(t, TAPE_INFER, 0, 0);
    const tensor *said = kernel_net_times(net, t, count, inputs, amounts, NULL);
    ft_status status = tape_status(t, error);
    for (size_t i = 0; status == FT_OK && i < (size_t)count * net->devices; i++) times[i] += weight * said->data[i];
    tape_free(t);
    return status;
}

/* Inputs and amounts of rows, one after the other, and room for what each network says of each row and device. */
typedef struct question {
    float *inputs, *amounts;
    double *answers; /* by network */
} question;

static void question_free(question *q) {
    free(q->inputs);
    free(q->amounts);
    free(q->answers);
}

/* Asks the first networks about rows; answers[j] are those of network j: count x devices. */
static ft_status ask(const kernel_side_model *s, uint32_t nets, const kernel_row *rows, uint32_t count, question *q,
                     ft_error *error) {
    size_t cells = (size_t)count * s->device_count;
    *q = (question){.inputs = malloc(((size_t)count * KERNEL_FEATURES + 1) * sizeof(float)),
                    .amounts = malloc((cells * KERNEL_TERMS + 1) * sizeof(float)),
                    .answers = calloc(cells * nets + 1, sizeof(double))};
    if (q->inputs == NULL || q->amounts == NULL || q->answers == NULL) return FT_NOMEM(error);
    for (uint32_t i = 0; i < count; i++) {
        kernel_scaling_apply(&s->scaling, &rows[i], q->inputs + (size_t)i * KERNEL_FEATURES);
        kernel_net_amounts(&rows[i], s->device_count, q->amounts + (size_t)i * s->device_count * KERNEL_TERMS);
    }
    for (uint32_t j = 0; j < nets; j++)
        FT_TRY(ask_net(&s->nets[j], count, q->inputs, q->amounts, 1, q->answers + j * cells, error));
    return FT_OK;
}

ft_status kernel_model_times(const kernel_side_model *s, const kernel_row *rows, uint32_t count, double *times,
                             ft_error *error) {
    for (uint32_t first = 0; first < count; first += ROWS_AT_ONCE) {
        uint32_t some = count - first < ROWS_AT_ONCE ? count - first : ROWS_AT_ONCE;
        size_t cells = (size_t)some * s->device_count;
        question q;
        ft_status status = ask(s, s->specialist_count, rows + first, some, &q, error);
        for (size_t i = 0; status == FT_OK && i < cells; i++) {
            double sum = 0;
            for (uint32_t j = 0; j < s->specialist_count; j++) sum += q.answers[j * cells + i];
            times[(size_t)first * s->device_count + i] = sum / s->specialist_count;
        }
        question_free(&q);
        FT_TRY(status);
    }
    return FT_OK;
}

/* --- Subjects ------------------------------------------------------------------------------------------------ */

/* The kernels of a subject under a runtime, and what the networks say of each distinct one. */
typedef struct view {
    const ft_kernels *kernels;
    kernel_row *rows; /* distinct */
    uint32_t row_count;
    uint32_t *row_of; /* per kernel */
    bool *is_seen;    /* per row: like one of training */
    double *answers;  /* by network, row and device */
    uint32_t nets;    /* that were asked: the close ones, or all */
} view;

/* Finds the distinct rows. */
static ft_status fold_rows(view *v, const kernel_row *rows, arena *memory, ft_error *error) {
    row_table table = {.size = sizeof(kernel_row)};
    ft_status status = FT_OK;
    v->row_of = ARENA_ARRAY(memory, uint32_t, (size_t)v->kernels->count + 1);
    if (v->row_of == NULL) return FT_NOMEM(error);
    for (uint32_t i = 0; i < v->kernels->count && status == FT_OK; i++)
        status = row_table_add(&table, &rows[i], &v->row_of[i], error);
    if (status == FT_OK) v->rows = arena_copy(memory, table.rows, table.count * table.size);
    if (status == FT_OK && v->rows == NULL) status = FT_NOMEM(error);
    v->row_count = table.count;
    row_table_free(&table);
    return status;
}

/* Without careful networks there is nobody else to ask: all kernels are taken for near. */
static ft_status find_seen(const kernel_side_model *side, view *v, arena *memory, ft_error *error) {
    bool has_robust = side->net_count > side->specialist_count;
    v->nets = side->specialist_count;
    v->is_seen = ARENA_ARRAY(memory, bool, (size_t)v->row_count + 1);
    if (v->is_seen == NULL) return FT_NOMEM(error);
    for (uint32_t i = 0; i < v->row_count; i++) {
        v->is_seen[i] = !has_robust || kernel_seen_has(&side->seen, &v->rows[i]);
        if (!v->is_seen[i]) v->nets = side->net_count;
    }
    return FT_OK;
}

static ft_status make_view(const kernel_side_model *side, model_view *s, const ft_rules *rules, view *v,
                           ft_error *error) {
    kernel_row *rows;
    uint32_t count;
    question q;
    FT_TRY(model_view_kernels(s, rules, &v->kernels, error));
    FT_TRY(kernel_rows_seen(s, rules, side->has_array, &s->memory, &rows, &count, error));
    if (count == 0) return ft_fail(error, FT_ERR_GRAPH, "the model launches no kernel: there is nothing to predict");
    FT_TRY(fold_rows(v, rows, &s->memory, error));
    FT_TRY(find_seen(side, v, &s->memory, error));
    ft_status status = ask(side, v->nets, v->rows, v->row_count, &q, error);
    size_t cells = (size_t)v->nets * v->row_count * side->device_count;
    if (status == FT_OK) v->answers = arena_copy(&s->memory, q.answers, cells * sizeof *q.answers);
    question_free(&q);
    if (status == FT_OK && v->answers == NULL) status = FT_NOMEM(error);
    return status;
}

/* Kernels of another runtime than the side's own are not kept: only adapted predictors ask for them. */
static ft_status view_of(const kernel_side_model *side, model_view *s, const ft_rules *rules, bool is_own,
                         const view **found, ft_error *error) {
    view *v = is_own ? model_view_kept(s, side) : NULL;
    if (v == NULL) {
        v = ARENA_ARRAY(&s->memory, view, 1);
        if (v == NULL) return FT_NOMEM(error);
        FT_TRY(make_view(side, s, rules, v, error));
        if (is_own) model_view_keep(s, side, v);
    }
    *found = v;
    return FT_OK;
}

/* What the networks say of one device: a time per kernel, and the sum by network. */
typedef struct ensemble_result {
    double *times;
    double trust; /* in the close networks; the careful ones have the rest */
    double sums[2 * KERNEL_MAX_MEMBERS];
} ensemble_result;

/* What some networks say of each kernel on average, and the sum of each network. */
static ft_status average(const kernel_side_model *side, const view *v, uint32_t column, uint32_t first, uint32_t end,
                         arena *memory, double **times, double *sums, ft_error *error) {
    *times = ARENA_ARRAY(memory, double, (size_t)v->kernels->count + 1);
    if (*times == NULL) return FT_NOMEM(error);
    for (uint32_t j = first; j < end; j++) {
        const double *answers = v->answers + (size_t)j * v->row_count * side->device_count + column;
        for (uint32_t i = 0; i < v->kernels->count; i++) {
            double time = answers[(size_t)v->row_of[i] * side->device_count];
            (*times)[i] += time / (end - first);
            sums[j] += time;
        }
    }
    return FT_OK;
}

/* Close networks know what kernels take in the company they were seen in: they were fitted to sums, where one kernel's
 * price may make up for another's. So one measure holds for all kernels of a model, the share of time from near ones.
 * A far kernel counts by the higher of its two prices: neither is to be believed. */
static double trust_in_close(const view *v, const double *specialist, const double *robust) {
    double near = 0, far = 0;
    for (uint32_t i = 0; i < v->kernels->count; i++) {
        if (v->is_seen[v->row_of[i]])
            near += specialist[i];
        else
            far += fmax(specialist[i], robust[i]);
    }
    return pow(near / (near + far), COMPANY);
}

static ft_status run_ensemble(const kernel_side_model *side, const view *v, uint32_t column, arena *memory,
                              ensemble_result *o, ft_error *error) {
    double *robust;
    *o = (ensemble_result){.trust = 1};
    FT_TRY(average(side, v, column, 0, side->specialist_count, memory, &o->times, o->sums, error));
    if (v->nets == side->specialist_count) return FT_OK;
    FT_TRY(average(side, v, column, side->specialist_count, v->nets, memory, &robust, o->sums, error));
    o->trust = trust_in_close(v, o->times, robust);
    for (uint32_t i = 0; i < v->kernels->count; i++) o->times[i] = o->trust * o->times[i] + (1 - o->trust) * robust[i];
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

/* How far apart the networks are that count; as far as careful ones do, also how far they are from the close ones. */
static double disagreement(const kernel_side_model *side, const view *v, const ensemble_result *o) {
    double specialist_mean, robust_mean, specialist = deviation(o->sums, side->specialist_count, &specialist_mean);
    if (v->nets == side->specialist_count) return specialist;
    double robust = deviation(o->sums + side->specialist_count, v->nets - side->specialist_count, &robust_mean);
    return o->trust * specialist + (1 - o->trust) * (robust + fabs(robust_mean - specialist_mean));
}

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

/* Applies the correction (*factor), as far as the model is like those that it was learned from, and tells the sum and
 * the share of it that is of known kernels. */
static double correct(const kernel_side_model *side, const view *v, uint32_t column, ensemble_result *o, double *factor,
                      double *known_ratio) {
    kernel_mix mix = {0};
    double value = 0, known = 0;
    for (uint32_t i = 0; i < v->kernels->count; i++) kernel_mix_add(&mix, &v->rows[v->row_of[i]], o->times[i]);
    *factor = kernel_correct(side->corrections[column], &mix);
    if (o->trust < 1) *factor = pow(*factor, o->trust);
    for (uint32_t i = 0; i < v->kernels->count; i++) {
        o->times[i] *= *factor;
        value += o->times[i];
        if (kernel_scaling_covers(&side->scaling, &v->rows[v->row_of[i]])) known += o->times[i];
    }
    *known_ratio = known / value;
    return value;
}

/* What is found out on the way to a prediction. */
typedef struct finding {
    const kernel_side_model *side;
    uint32_t column;
    const view *view;
    double factor, trust;
} finding;

static ft_status predict(const kernel_model *m, const predict_input *in, finding *f, model_output *out,
                         ft_error *error) {
    const target_device *target = in->target;
    static const double MIN_SPREAD = 0.01, UNKNOWN_SPREAD = 0.1;
    uint32_t device = target->index;
    const ft_rules *own = runtimes_rules(&m->runtimes, device);
    *f = (finding){.side = &m->sides[m->runtimes.of_device[device]], .column = m->column[device]};
    ensemble_result o;
    FT_TRY(view_of(f->side, in->view, target->rules != NULL ? target->rules : own, target->rules == NULL, &f->view,
                   error));
    FT_TRY(run_ensemble(f->side, f->view, f->column, in->memory, &o, error));
    f->trust = o.trust;
    model_output made = {.source = FT_LEARNED};
    made.value = correct(f->side, f->view, f->column, &o, &f->factor, &made.coverage_ratio);
    if (!(made.value > 0 && isfinite(made.value)))
        return ft_fail(error, FT_ERR_LIMIT, "the model is too large or too small for this predictor");
    made.spread = MIN_SPREAD + disagreement(f->side, f->view, &o) + UNKNOWN_SPREAD * (1 - made.coverage_ratio);
    if (in->has_parts) FT_TRY(make_parts(f->view->kernels, o.times, in->memory, &made, error));
    *out = made;
    return FT_OK;
}

ft_status kernel_model_predict(const void *model, const predict_input *in, model_output *out, ft_error *error) {
    finding f;
    return predict(model, in, &f, out, error);
}

/* --- What predictions are made of ---------------------------------------------------------------------------- */

const ft_rules *kernel_model_rules(const void *model, uint32_t device) {
    const kernel_model *m = model;
    return device < m->device_count ? runtimes_rules(&m->runtimes, device) : NULL;
}

/* Adds what each term of each row takes by one network. */
static ft_status add_terms(const kernel_net *net, uint32_t count, const float *inputs, const float *amounts,
                           uint32_t column, double weight, double *times, ft_error *error) {
    tape *t = NULL;
    FT_TRY(tape_new(&net->values, TAPE_LIMIT, &t, error));
    tape_begin(t, TAPE_INFER, 0, 0);
    const tensor *said = kernel_net_terms(net, t, count, inputs, amounts, NULL);
    ft_status status = tape_status(t, error);
    for (size_t i = 0; status == FT_OK && i < count; i++) {
        const float *terms = said->data + (i * net->devices + column) * KERNEL_TERMS;
        for (uint32_t k = 0; k < KERNEL_TERMS; k++) times[i * KERNEL_TERMS + k] += weight * terms[k];
    }
    tape_free(t);
    return status;
}

static ft_status terms_of(const finding *f, const float *inputs, const float *amounts, double *times, ft_error *error) {
    uint32_t specialist = f->side->specialist_count;
    for (uint32_t j = 0; j < f->view->nets; j++) {
        double weight = j < specialist ? f->trust / specialist : (1 - f->trust) / (f->view->nets - specialist);
        FT_TRY(add_terms(&f->side->nets[j], f->view->row_count, inputs, amounts, f->column, f->factor * weight, times,
                         error));
    }
    return FT_OK;
}

ft_status kernel_model_explain(const void *model, const predict_input *in, model_output *out, explanation *made_of,
                               ft_error *error) {
    finding f;
    FT_TRY(predict(model, in, &f, out, error));
    uint32_t count = f.view->row_count, devices = f.side->device_count;
    float *inputs = ARENA_ARRAY(in->memory, float, (size_t)count *KERNEL_FEATURES);
    float *amounts = ARENA_ARRAY(in->memory, float, (size_t)count *devices *KERNEL_TERMS);
    float *features = ARENA_ARRAY(in->memory, float, (size_t)count *KERNEL_FEATURES);
    double *times = ARENA_ARRAY(in->memory, double, (size_t)count *KERNEL_TERMS);
    if (inputs == NULL || amounts == NULL || features == NULL || times == NULL) return FT_NOMEM(error);
    for (uint32_t i = 0; i < count; i++) {
        const kernel_row *row = &f.view->rows[i];
        kernel_scaling_apply(&f.side->scaling, row, inputs + (size_t)i * KERNEL_FEATURES);
        kernel_net_amounts(row, devices, amounts + (size_t)i * devices * KERNEL_TERMS);
        memcpy(features + (size_t)i * KERNEL_FEATURES, row->features, sizeof row->features);
    }
    FT_TRY(terms_of(&f, inputs, amounts, times, error));
    *made_of = (explanation){.count = f.view->kernels->count, .row_of = f.view->row_of, .row_count = count};
    made_of->term_count = KERNEL_TERMS;
    made_of->times = times;
    made_of->size_count = KERNEL_SIZES;
    made_of->feature_count = KERNEL_FEATURES;
    made_of->features = features;
    return FT_OK;
}
