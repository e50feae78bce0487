/* sample_space.c - computes the feature vectors of the models of a pool. */
#include "learn/sample/sample_space.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "data/dataset.h"
#include "learn/adapt/adapt_rows.h"
#include "predictor/core/adjust.h"
#include "predictor/core/scan.h"

enum { EXPLANATION_MEMORY = 1 << 28, MAX_DEVICES = 64 };

/* Typical magnitudes of the weights of an adjustment: of the bias, of terms, sizes, flags, and of the log time. */
static const double BIAS = 1, TERMS = 0.55, SIZES = 0.17, FLAGS = 0.8, TIME = 0.1;

/* The encoded result of visiting a model begins with this; its features follow. */
typedef struct visit_head {
    uint32_t terms, sizes, features;
    double rows; /* summed over devices */
    double log_time, uncertainty;
} visit_head;

typedef struct job {
    const ft_predictor *predictor;
    const ft_sample_options *options;
    uint32_t devices[MAX_DEVICES];
    uint32_t device_count;
    fit_row *rows; /* one per graph */
    uint32_t row_total;
    uint32_t *unit_of; /* per row: its point */
    sample_space *space;
    arena *memory;
    visit_head shape; /* the same for all models */
    double *sums;     /* sums of sizes over rows, then of their squares */
    double row_count;
} job;

/* --- Selecting models ----------------------------------------------------------------------------------------- */

static ft_status find_devices(job *j, ft_error *error) {
    const ft_sample_options *o = j->options;
    for (uint32_t i = 0; i < o->device_count && i < MAX_DEVICES; i++) {
        uint32_t device = predictor_device_index(j->predictor, o->devices[i]);
        if (device == FT_NONE)
            return ft_fail(
                error, FT_ERR_USAGE,
                "the predictor does not support the device '%s'; without --device, all that it supports are used",
                o->devices[i]);
        j->devices[j->device_count++] = device;
    }
    uint32_t known = predictor_known_count(j->predictor);
    for (uint32_t i = 0; o->device_count == 0 && i < known && i < MAX_DEVICES; i++) j->devices[j->device_count++] = i;
    return FT_OK;
}

/* One row per graph: its first eligible record. */
static ft_status find_models(job *j, const ft_dataset *data, ft_error *error) {
    const ft_sample_options *o = j->options;
    const ft_record *records = ft_dataset_records(data);
    uint32_t count = ft_dataset_record_count(data), graphs = ft_dataset_graph_count(data);
    available_records available;
    if (graphs == 0 || count == 0)
        return ft_fail(error, FT_ERR_USAGE, "the pool has no %s to choose from", graphs == 0 ? "graphs" : "records");
    for (uint32_t i = 0; i < o->family_count; i++) {
        uint32_t r = 0;
        while (r < count && strcmp(records[r].family, o->families[i]) != 0) r++;
        if (r == count) return dataset_unknown_family(data, o->families[i], error);
    }
    FT_TRY(available_records_find(j->predictor, data, o->split, o->seed, j->memory, &available, error));
    bool *is_seen = ARENA_ARRAY(j->memory, bool, graphs);
    j->rows = ARENA_ARRAY(j->memory, fit_row, graphs);
    if (is_seen == NULL || j->rows == NULL) return FT_NOMEM(error);
    bool has_unused = false; /* then only these are chosen, as in adapting */
    for (uint32_t pass = 0; pass < 2; pass++) {
        for (uint32_t i = 0; i < count; i++) {
            const ft_record *r = &records[i];
            if (is_seen[r->graph] || strcmp(r->part, "support") == 0) continue;
            if (!name_is_listed(o->families, o->family_count, r->family)) continue;
            if (!predictor_supports_mode(j->predictor, r->mode)) continue;
            bool is_new = predictor_device_index(j->predictor, r->device) == FT_NONE;
            ft_split_part part = available.parts != NULL ? (ft_split_part)available.parts[i] : FT_PART_TEST;
            /* The first pass takes records that the split leaves unused, on devices that are new to the predictor. */
            if (pass == 0 && !(part == FT_PART_UNUSED && is_new)) continue;
            if (pass == 1 && part != FT_PART_TEST) continue;
            has_unused = has_unused || pass == 0;
            is_seen[r->graph] = true;
            j->rows[j->row_total++] = (fit_row){.record = i, .graph = r->graph, .label = 1};
        }
        if (has_unused) break;
    }
    return FT_OK;
}

/* Groups the rows by sampling unit: one point each. */
static ft_status group_units(job *j, const ft_dataset *data, ft_error *error) {
    sampling_units all;
    sample_space *space = j->space;
    FT_TRY(sampling_units_find(data, j->memory, &all, error));
    uint32_t *numbers = ARENA_ARRAY(j->memory, uint32_t, (size_t)all.count + 1); /* point + 1; 0: none yet */
    j->unit_of = ARENA_ARRAY(j->memory, uint32_t, (size_t)j->row_total + 1);
    space->uncertainty = ARENA_ARRAY(j->memory, double, (size_t)j->row_total + 1);
    space->members = ARENA_ARRAY(j->memory, double, (size_t)j->row_total + 1);
    space->records = ARENA_ARRAY(j->memory, uint32_t, (size_t)j->row_total + 1);
    if (numbers == NULL || j->unit_of == NULL || space->uncertainty == NULL || space->members == NULL ||
        space->records == NULL)
        return FT_NOMEM(error);
    for (uint32_t i = 0; i < j->row_total; i++) {
        uint32_t *unit = &numbers[all.of_graph[j->rows[i].graph]];
        if (*unit == 0) {
            space->records[space->count] = j->rows[i].record;
            *unit = ++space->count;
        }
        j->unit_of[i] = *unit - 1;
        space->members[*unit - 1]++;
    }
    return FT_OK;
}

/* --- Features ------------------------------------------------------------------------------------------------ */

/* Adds the features of a model on one device: means weighted by time, and moments of sizes over rows. */
static ft_status add_device(const explanation *p, double *means, double *moments, double weight, ft_error *error) {
    double total = 0, *repeats = calloc((size_t)p->row_count + 1, sizeof *repeats);
    if (repeats == NULL) return FT_NOMEM(error);
    for (uint32_t i = 0; i < p->count; i++) repeats[p->row_of != NULL ? p->row_of[i] : i]++;
    for (size_t i = 0; i < p->row_count; i++)
        for (uint32_t k = 0; k < p->term_count; k++) total += repeats[i] * p->times[i * p->term_count + k];
    for (size_t i = 0; i < p->row_count; i++) {
        double time = 0;
        for (uint32_t k = 0; k < p->term_count; k++) {
            double term = repeats[i] * p->times[i * p->term_count + k];
            means[k] += weight * term / total;
            time += term;
        }
        const float *features = p->features + i * p->feature_count;
        for (uint32_t k = 0; k < p->feature_count; k++) means[p->term_count + k] += weight * time / total * features[k];
        for (uint32_t k = 0; k < p->size_count; k++) {
            moments[k] += features[k];
            moments[p->size_count + k] += (double)features[k] * features[k];
        }
    }
    free(repeats);
    return FT_OK;
}

static ft_status encode_features(const job *j, model_view *s, arena *memory, buf *found, ft_error *error) {
    const ft_predictor *from = j->predictor;
    visit_head head = {.uncertainty = -INFINITY};
    double *means = NULL, *moments = NULL;
    for (uint32_t d = 0; d < j->device_count; d++) {
        uint32_t device = j->devices[d];
        const adjustment *adjusted = predictor_adjustment(from, device);
        target_device target = predictor_target(from, adjusted != NULL ? adjusted->base : device);
        explanation p = {0};
        model_output output;
        target.output = predictor_output(from);
        target.rules = adjusted != NULL ? adjusted->rules : NULL;
        if (adjusted != NULL) target.sheet = predictor_target(from, device).sheet;
        const predict_input in = {.view = s, .target = &target, .memory = memory};
        FT_TRY(adjust_explain(predictor_family(from), predictor_model(from), &in, &output, &p, error));
        if (d == 0) {
            head.terms = p.term_count;
            head.sizes = p.size_count;
            head.features = p.feature_count;
            means = ARENA_ARRAY(memory, double, (size_t)p.term_count + p.feature_count + 1);
            moments = ARENA_ARRAY(memory, double, 2 * (size_t)p.size_count + 1);
            if (means == NULL || moments == NULL) return FT_NOMEM(error);
        }
        FT_TRY(add_device(&p, means, moments, 1.0 / j->device_count, error));
        double q90 = predictor_q90(from, device);
        head.rows += p.row_count;
        head.log_time += log(output.value) / j->device_count;
        head.uncertainty = fmax(head.uncertainty, output.spread * (isnan(q90) ? 1 : q90));
    }
    buf_add(found, &head, sizeof head);
    buf_add(found, means, ((size_t)head.terms + head.features) * sizeof *means);
    buf_add(found, moments, 2 * (size_t)head.sizes * sizeof *moments);
    return FT_OK;
}

static ft_status visit(void *user, const scan_item *item, model_view *s, uint32_t worker, buf *found, ft_error *error) {
    (void)item;
    (void)worker;
    arena memory;
    arena_init(&memory, EXPLANATION_MEMORY);
    ft_status status = encode_features(user, s, &memory, found, error);
    arena_free(&memory);
    return status;
}

/* Adds a model to its point; scale() follows when all are known. */
static ft_status gather(void *user, const scan_item *item, const buf *found, ft_error *error) {
    job *j = user;
    sample_space *space = j->space;
    visit_head head;
    memcpy(&head, found->data, sizeof head);
    const char *at = found->data + sizeof head;
    size_t width = (size_t)head.terms + head.features;
    if (space->points == NULL) {
        j->shape = head;
        space->width = 2 + head.terms + head.features;
        space->points = ARENA_ARRAY(j->memory, double, (size_t)space->count * space->width);
        j->sums = ARENA_ARRAY(j->memory, double, 2 * (size_t)head.sizes + 1);
        if (space->points == NULL || j->sums == NULL) return FT_NOMEM(error);
    }
    assert(head.terms == j->shape.terms && head.features == j->shape.features && head.sizes <= head.features);
    uint32_t unit = j->unit_of[item->rows[0]];
    double *point = space->points + (size_t)unit * space->width, share = 1 / space->members[unit];
    point[0] = 1;
    point[1] += share * head.log_time;
    for (size_t k = 0; k < width; k++) {
        double mean;
        memcpy(&mean, at + k * sizeof mean, sizeof mean);
        point[2 + k] += share * mean;
    }
    at += width * sizeof *point;
    for (uint32_t k = 0; k < 2 * head.sizes; k++) {
        double moment;
        memcpy(&moment, at + k * sizeof moment, sizeof moment);
        j->sums[k] += moment;
    }
    j->row_count += head.rows;
    space->uncertainty[unit] = fmax(space->uncertainty[unit], head.uncertainty);
    return FT_OK;
}

static void scale(const job *j) {
    const sample_space *space = j->space;
    uint32_t terms = j->shape.terms, sizes = j->shape.sizes;
    double mean_time = 0;
    for (size_t i = 0; i < space->count; i++) mean_time += space->points[i * space->width + 1] / space->count;
    for (size_t i = 0; i < space->count; i++) {
        double *point = space->points + i * space->width;
        point[0] = BIAS;
        point[1] = TIME * (point[1] - mean_time);
        for (uint32_t k = 0; k < terms; k++) point[2 + k] *= TERMS;
        for (uint32_t k = 0; k < j->shape.features; k++) {
            double *x = &point[2 + terms + k];
            if (k < sizes) {
                double mean = j->sums[k] / j->row_count, variance = j->sums[sizes + k] / j->row_count - mean * mean;
                *x = variance > 1e-6 ? SIZES * (*x - mean) / sqrt(variance) : 0;
            } else {
                *x *= FLAGS;
            }
        }
    }
}

/* --- All steps ----------------------------------------------------------------------------------------------- */

static bool show_progress(void *user, double done_ratio, const char *what) {
    const ft_sample_options *o = user;
    return o->progress(o->user, (uint64_t)(done_ratio * 1000), 1000, what);
}

ft_status sample_space_make(const ft_predictor *predictor, const ft_dataset *data, const ft_sample_options *options,
                            arena *memory, sample_space *space, ft_error *error) {
    job j = {.predictor = predictor, .options = options, .space = space, .memory = memory};
    const fit_context context = {.user = (void *)options, .progress = show_progress};
    *space = (sample_space){0};
    FT_TRY(find_devices(&j, error));
    FT_TRY(find_models(&j, data, error));
    if (j.row_total == 0)
        return ft_fail(error, FT_ERR_USAGE,
                       "the pool has no model to choose from: all are in the training part, or of other modes");
    FT_TRY(group_units(&j, data, error));
    pool *threads = NULL;
    FT_TRY(pool_new(options->threads, &threads, error));
    const scan_job work = {.threads = threads,
                           .visit = visit,
                           .gather = gather,
                           .user = &j,
                           .context = options->progress != NULL ? &context : NULL,
                           .to = 0.9,
                           .what = "predicting the pool"};
    ft_status status = scan_once(data, (fit_rows){j.rows, j.row_total}, &work, error);
    pool_free(threads);
    if (status == FT_OK) scale(&j);
    return status;
}
