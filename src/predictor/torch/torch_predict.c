/* torch_predict.c - asking a trained torch-sum predictor.
 *
 * What the networks make of a kernel's features does not depend on device, setting or batch, so it is worked out once
 * for a subject and kept there; every further question costs a few exponentials for each distinct kernel. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "graph/graph.h"
#include "predictor/torch/torch_cost.h"
#include "predictor/torch/torch_model.h"

/* --- What a subject keeps ------------------------------------------------------------------------------------ */

static const void *key_of(const torch_model *m, torch_side side, bool is_compiled, torch_precision precision) {
    return &m->keys[side][torch_program_code(is_compiled, precision)];
}

/* The rows of kernels, each once. Most kernels of a model are the same as others: those have no row worked out. */
static ft_status find_rows(const torch_kernel *kernels, uint32_t count, double batch, torch_precision precision,
                           arena *memory, row_table *rows, uint32_t *row_of, ft_error *error) {
    row_table distinct = {.size = sizeof *kernels};
    uint32_t *row_of_distinct = ARENA_ARRAY(memory, uint32_t, count), known = 0, number = 0;
    ft_status status = row_of_distinct != NULL ? FT_OK : FT_NOMEM(error);
    for (uint32_t i = 0; status == FT_OK && i < count; i++) {
        status = row_table_add(&distinct, &kernels[i], &number, error);
        if (status == FT_OK && number == known) {
            torch_row row;
            torch_row_of(&kernels[i], batch, precision, &row);
            status = row_table_add(rows, &row, &row_of_distinct[known++], error);
        }
        if (status == FT_OK) row_of[i] = row_of_distinct[number];
    }
    row_table_free(&distinct);
    return status;
}

static ft_status make_view(const torch_model *m, torch_side side, model_view *s, const ft_rules *rules,
                           torch_precision precision, torch_view *view, ft_error *error) {
    torch_kernel *kernels;
    uint32_t count;
    row_table table = {.size = sizeof(torch_row)};
    FT_TRY(torch_kernels_of(s, rules, &s->memory, &kernels, &count, error));
    if (count == 0) return ft_fail(error, FT_ERR_GRAPH, "the model launches no kernel: there is nothing to predict");
    uint32_t *row_of = ARENA_ARRAY(&s->memory, uint32_t, count);
    if (row_of == NULL) return FT_NOMEM(error);
    double batch = (double)ft_graph_batch(s->bound);
    ft_status status = find_rows(kernels, count, batch, precision, &s->memory, &table, row_of, error);
    size_t each = (size_t)table.count * m->config.basis * TORCH_TERMS;
    torch_row *rows = arena_copy(&s->memory, table.rows, table.count * sizeof *rows);
    float *basis = ARENA_ARRAY(&s->memory, float, each * m->config.members + 1);
    bool *is_known = ARENA_ARRAY(&s->memory, bool, (size_t)table.count + 1);
    if (status == FT_OK && (rows == NULL || basis == NULL || is_known == NULL)) status = FT_NOMEM(error);
    if (status == FT_OK && !torch_model_hidden(m, side, rows, table.count, basis)) status = FT_NOMEM(error);
    for (uint32_t i = 0; status == FT_OK && i < table.count; i++)
        is_known[i] = torch_scaling_covers(&m->scaling[side], &rows[i]);
    *view = (torch_view){.kernel_count = count, .row_of = row_of, .rows = rows, .row_count = table.count};
    view->basis = basis;
    view->is_known = is_known;
    row_table_free(&table);
    return status;
}

static ft_status view_of(const torch_model *m, torch_side side, model_view *s, bool is_compiled,
                         torch_precision precision, const torch_view **out, ft_error *error) {
    const void *key = key_of(m, side, is_compiled, precision);
    model_view *owner = model_view_owner(s);
    torch_view *view = model_view_kept(owner, key);
    if (view == NULL) {
        view = ARENA_NEW(&owner->memory, torch_view);
        if (view == NULL) return FT_NOMEM(error);
        FT_TRY(make_view(m, side, owner, is_compiled ? m->rules.compiled : m->rules.eager, precision, view, error));
        model_view_keep(owner, key, view);
    }
    *out = view;
    return FT_OK;
}

/* --- Predicting ---------------------------------------------------------------------------------------------- */

/* What is asked, and from where it is answered. */
typedef struct resolved_request {
    torch_setting asked;
    torch_sheet sheet;
    torch_match match;
    uint32_t unit_costs; /* the row of them: of the column, or of its group for another device */
    torch_side side;     /* of the networks that answer: that of the column */
    double batch;
} resolved_request;

static ft_status resolve_request(const torch_model *m, const model_view *s, const target_device *where,
                                 resolved_request *q, ft_error *error) {
    FT_TRY(torch_setting_parse(s->query.setting, s->query.mode, s->query.dtype, &q->asked, error));
    q->asked.device = where->index;
    if (where->index != FT_NONE)
        q->sheet = m->sheets[where->index];
    else
        FT_TRY(torch_sheet_read(where->sheet, &q->sheet, error));
    q->match = torch_setting_nearest(m->settings, m->sheets, m->setting_count, &q->asked, &q->sheet);
    if (q->match.setting == FT_NONE) return ft_fail(error, FT_ERR_UNSUPPORTED, "the predictor knows no setting at all");
    q->side = torch_sheet_side(&m->sheets[m->settings[q->match.setting].device]);
    q->unit_costs = m->settings[q->match.setting].device == q->asked.device
                        ? q->match.setting
                        : m->setting_count + m->groups[q->match.setting];
    /* What was left open is as it was measured. */
    const torch_setting *known = &m->settings[q->match.setting];
    if (q->asked.dtype == FT_DTYPE_UNKNOWN) q->asked.dtype = known->dtype;
    if (q->asked.is_mixed == TORCH_OPEN) q->asked.is_mixed = known->is_mixed;
    if (q->asked.is_compiled == TORCH_OPEN) q->asked.is_compiled = known->is_compiled;
    q->batch = (double)ft_graph_batch(s->bound);
    return FT_OK;
}

/* Where the other mode was measured alone: backward takes about twice as long as forward. */
static double mode_ratio(const torch_model *m, const resolved_request *q) {
    static const double TRAINING = 3;
    ft_mode known = m->settings[q->match.setting].mode;
    if (known == q->asked.mode) return 1;
    return q->asked.mode == FT_TRAIN ? TRAINING : 1 / TRAINING;
}

/* What the members say: a time per distinct row on average, and the sum by member. */
typedef struct ensemble_result {
    double *times;
    double sums[TORCH_MAX_MEMBERS];
} ensemble_result;

static const float *ways_of(const torch_model *m, const torch_view *view, uint32_t member) {
    return view->basis + (size_t)member * view->row_count * m->config.basis * TORCH_TERMS;
}

static ft_status terms_of(const torch_view *view, const resolved_request *q, arena *memory, torch_term_list *list,
                          ft_error *error) {
    double anchors[TORCH_TERMS];
    torch_sheet_anchors(&q->sheet, &q->asked, anchors);
    bool is_made = torch_term_list_make(view->rows, view->row_count, q->side, anchors, q->batch, memory, list);
    return is_made ? FT_OK : FT_NOMEM(error);
}

static ft_status run_ensemble(const torch_model *m, const torch_view *view, const resolved_request *q, arena *memory,
                              ensemble_result *o, ft_error *error) {
    uint32_t members = m->config.members;
    double ratio = mode_ratio(m, q);
    torch_term_list list;
    FT_TRY(terms_of(view, q, memory, &list, error));
    uint32_t *launches = ARENA_ARRAY(memory, uint32_t, (size_t)view->row_count + 1);
    o->times = ARENA_ARRAY(memory, double, (size_t)view->row_count + 1);
    if (launches == NULL || o->times == NULL) return FT_NOMEM(error);
    for (uint32_t i = 0; i < view->kernel_count; i++) launches[view->row_of[i]]++;
    for (uint32_t j = 0; j < members; j++) {
        torch_term_list_cost(&list, m, q->side, j, q->unit_costs, ways_of(m, view, j));
        for (uint32_t i = 0; i < list.count;) {
            uint32_t row = list.rows[i];
            float sum = 0;
            while (i < list.count && list.rows[i] == row) sum += list.times[i++];
            o->times[row] += ratio * sum / members;
            o->sums[j] += ratio * sum * launches[row];
        }
    }
    return FT_OK;
}

/* Standard deviation of the logarithm of what the members say. */
static double disagreement(const ensemble_result *o, uint32_t members) {
    double mean = 0, squares = 0;
    for (uint32_t j = 0; j < members; j++) mean += log(o->sums[j]) / members;
    for (uint32_t j = 0; j < members; j++) squares += (log(o->sums[j]) - mean) * (log(o->sums[j]) - mean);
    return members > 1 ? sqrt(squares / (members - 1)) : 0;
}

/* Before a GPU can run a kernel, the processor has to launch it. Where batches were measured it never waited for that,
 * but with much smaller ones it may. Nobody measured that here: these are what PyTorch takes for an operator on usual
 * processors, Python and autocast included, by the latencies that people report for single images. */
static double launch_us(const torch_model *m, const resolved_request *q) {
    static const double EAGER_US = 30, COMPILED_US = 15, TRAINING = 3, MUCH_SMALLER = 4;
    if (!q->sheet.is_gpu || q->batch * MUCH_SMALLER >= m->settings[q->match.setting].typical_batch) return 0;
    return (q->asked.is_compiled == TORCH_YES ? COMPILED_US : EAGER_US) * (q->asked.mode == FT_TRAIN ? TRAINING : 1);
}

static ft_status make_parts(const ft_kernels *kernels, const torch_view *view, const double *times, arena *memory,
                            model_output *out, ft_error *error) {
    out->parts = ARENA_ARRAY(memory, ft_part, (size_t)kernels->count + 1);
    if (out->parts == NULL) return FT_NOMEM(error);
    out->part_count = kernels->count;
    for (uint32_t i = 0; i < kernels->count; i++) {
        const ft_kernel *kernel = &kernels->items[i];
        out->parts[i] = (ft_part){.type = kernel->type, .ops = kernel->ops, .op_count = kernel->op_count};
        out->parts[i].value = times[view->row_of[i]];
    }
    return FT_OK;
}

/* Training was measured on one GPU: nobody knows how others differ from it. */
static bool is_borrowed_training(const torch_model *m, const resolved_request *q) {
    return q->asked.mode == FT_TRAIN && m->settings[q->match.setting].device != q->asked.device;
}

/* Processors were measured with single images: what more of them do to caches and memory is known from the sizes of
 * other kernels at most. */
static bool is_far_batch(const torch_model *m, const resolved_request *q) {
    static const double MUCH_LARGER = 4;
    return !q->sheet.is_gpu && q->batch >= MUCH_LARGER * m->settings[q->match.setting].typical_batch;
}

/* How unsure of what was measured: as the networks are on architectures that they were not shown, and more where they
 * disagree. */
static double typical_width(const torch_model *m, const resolved_request *q, double apart) {
    double width = m->widths[q->match.setting], usual = m->typical_spread[q->side];
    return usual > 0 && apart > usual ? width * apart / usual : width;
}

/* How unsure: where members disagree, where kernels are new, where the answer is borrowed, and where the GPU may have
 * to wait. Files of an older foretell leave it to calibration what a spread is worth. */
static double spread_of(const torch_model *m, const resolved_request *q, const ensemble_result *o, double coverage,
                        bool may_wait) {
    static const double LEAST = 0.02, UNKNOWN = 0.3, ASSUMED = 0.1, OTHER_DEVICE = 0.02, MAY_WAIT = 0.2, WORTH = 3;
    double apart = disagreement(o, m->config.members), more = UNKNOWN * (1 - coverage);
    if (q->match.is_assumed || is_borrowed_training(m, q) || is_far_batch(m, q)) more += ASSUMED;
    if (m->settings[q->match.setting].device != q->asked.device) more += OTHER_DEVICE;
    if (may_wait) more += MAY_WAIT;
    return m->widths != NULL ? typical_width(m, q, apart) + WORTH * more : LEAST + apart + more;
}

/* Where the prediction goes beyond the training data, its provenance and the data that is missing. `launch_ratio`: time
 * to launch all kernels over the time they run; above 1, launching is all of the time. */
static ft_status set_provenance(const torch_model *m, const resolved_request *q, double launch, double launch_ratio,
                                arena *memory, model_output *out, ft_error *error) {
    char text[160] = "";
    if (q->match.is_assumed || is_borrowed_training(m, q) || is_far_batch(m, q)) out->provenance = FT_EXTRAPOLATED;
    if (launch_ratio > 0) {
        out->provenance = launch_ratio > 1 ? FT_ASSUMED : FT_EXTRAPOLATED;
        snprintf(text, sizeof text,
                 "batch %g was not measured on this device; launch overhead is assumed (%g us a kernel)", q->batch,
                 launch);
    } else if (is_borrowed_training(m, q)) {
        snprintf(text, sizeof text, "training was not measured on this device; it is extrapolated from another one");
    } else if (is_far_batch(m, q)) {
        snprintf(text, sizeof text, "batch %g was not measured on this device; it is extrapolated from smaller ones",
                 q->batch);
    } else if (q->match.is_assumed) {
        snprintf(text, sizeof text, "this setting was not measured on this device; the nearest measured one is used");
    }
    if (text[0] == '\0') return FT_OK;
    out->reason = arena_string(memory, text, strlen(text));
    return out->reason != NULL ? FT_OK : FT_NOMEM(error);
}

static ft_status predict(const torch_model *m, const predict_input *in, resolved_request *question,
                         const torch_view **seen, model_output *out, ft_error *error) {
    resolved_request q = {0};
    const torch_view *view = NULL;
    ensemble_result o = {0};
    FT_TRY(resolve_request(m, in->view, in->target, &q, error));
    bool is_compiled = q.asked.is_compiled == TORCH_YES;
    FT_TRY(view_of(m, q.side, in->view, is_compiled, torch_setting_precision(&q.asked), &view, error));
    FT_TRY(run_ensemble(m, view, &q, in->memory, &o, error));
    *question = q;
    *seen = view;
    double value = 0, known = 0;
    for (uint32_t i = 0; i < view->kernel_count; i++) {
        double time = o.times[view->row_of[i]];
        value += time;
        if (view->is_known[view->row_of[i]]) known += time;
    }
    if (!(value > 0 && isfinite(value)))
        return ft_fail(error, FT_ERR_LIMIT, "the model is too large or too small for this predictor");
    model_output made = {.value = value, .coverage_ratio = known / value, .provenance = FT_LEARNED};
    double launch = launch_us(m, &q), launches = launch * view->kernel_count;
    if (launches > value) { /* the GPU waits: each kernel takes as long as it takes to launch it */
        for (uint32_t i = 0; i < view->row_count; i++) o.times[i] = launches / view->kernel_count;
        made.value = launches;
    }
    bool may_wait = 2 * launches > value;
    FT_TRY(set_provenance(m, &q, launch, may_wait ? launches / value : 0, in->memory, &made, error));
    made.spread = spread_of(m, &q, &o, made.coverage_ratio, may_wait);
    if (in->has_parts) {
        const ft_kernels *kernels;
        FT_TRY(model_view_kernels(in->view, is_compiled ? m->rules.compiled : m->rules.eager, &kernels, error));
        FT_TRY(make_parts(kernels, view, o.times, in->memory, &made, error));
    }
    *out = made;
    return FT_OK;
}

ft_status torch_model_predict(const void *model, const predict_input *in, model_output *out, ft_error *error) {
    const torch_model *m = model;
    resolved_request q;
    const torch_view *view;
    return predict(m, in, &q, &view, out, error);
}

/* --- What predictions are made of ---------------------------------------------------------------------------- */

/* Columns of a new device differ in more than its scale: eager PyTorch may be off where a compiled model is not. */
enum { SETTING_FLAGS = 5, LOOK_FEATURES = TORCH_FEATURES + SETTING_FLAGS };

static void put_features(const torch_row *row, const torch_setting *asked, float *features) {
    const float flags[SETTING_FLAGS] = {asked->is_compiled == TORCH_YES, asked->is_nhwc == TORCH_YES,
                                        asked->is_mixed == TORCH_YES, asked->dtype == FT_FLOAT32,
                                        asked->mode == FT_TRAIN};
    memcpy(features, row->features, sizeof row->features);
    memcpy(features + TORCH_FEATURES, flags, sizeof flags);
}

/* What each term of each row takes, on average over the members. */
static ft_status find_terms(const torch_model *m, const torch_view *view, const resolved_request *q, arena *memory,
                            double *terms, ft_error *error) {
    torch_term_list list;
    FT_TRY(terms_of(view, q, memory, &list, error));
    for (uint32_t j = 0; j < m->config.members; j++) {
        torch_term_list_cost(&list, m, q->side, j, q->unit_costs, ways_of(m, view, j));
        for (uint32_t i = 0; i < list.count; i++)
            terms[(size_t)list.rows[i] * TORCH_TERMS + list.terms[i]] += (double)list.times[i] / m->config.members;
    }
    return FT_OK;
}

ft_status torch_model_explain(const void *model, const predict_input *in, model_output *out, explanation *made_of,
                              ft_error *error) {
    const torch_model *m = model;
    resolved_request q;
    const torch_view *view;
    double sum = 0;
    FT_TRY(predict(m, in, &q, &view, out, error));
    double *times = ARENA_ARRAY(in->memory, double, (size_t)view->row_count *TORCH_TERMS);
    float *features = ARENA_ARRAY(in->memory, float, (size_t)view->row_count *LOOK_FEATURES);
    if (times == NULL || features == NULL) return FT_NOMEM(error);
    FT_TRY(find_terms(m, view, &q, in->memory, times, error));
    for (uint32_t i = 0; i < view->row_count; i++)
        put_features(&view->rows[i], &q.asked, features + (size_t)i * LOOK_FEATURES);
    for (uint32_t i = 0; i < view->kernel_count; i++)
        for (uint32_t k = 0; k < TORCH_TERMS; k++) sum += times[(size_t)view->row_of[i] * TORCH_TERMS + k];
    /* Where launching takes longer than the work, that is what is told. */
    for (size_t i = 0; i < (size_t)view->row_count * TORCH_TERMS; i++) times[i] *= out->value / sum;
    *made_of = (explanation){.count = view->kernel_count, .row_of = view->row_of, .row_count = view->row_count};
    made_of->term_count = TORCH_TERMS;
    made_of->times = times;
    made_of->size_count = TORCH_SIZES;
    made_of->feature_count = LOOK_FEATURES;
    made_of->setting_count = SETTING_FLAGS;
    made_of->features = features;
    return FT_OK;
}
