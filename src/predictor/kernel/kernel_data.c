/* kernel_data.c - collects the kernels and labels of a fit set, one pass over its graphs per part. */
#include "predictor/kernel/kernel_data.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "predictor/core/scan.h"

enum { ROWS_LIMIT = 256 << 20 }; /* memory for the rows of one model */

/* --- Models -------------------------------------------------------------------------------------------------- */

ft_status kernel_models_open(kernel_models *models, const double *labels, ft_error *error) {
    if (models->count >= models->capacity) {
        uint32_t capacity = models->capacity;
        FT_TRY(row_grow((void **)&models->labels, models->count, &capacity, models->devices * sizeof(double), error));
        uint32_t *start = realloc(models->start, ((size_t)capacity + 1) * sizeof *start);
        if (start != NULL) models->start = start;
        uint32_t *repeats = realloc(models->repeats, capacity * sizeof *repeats);
        if (repeats != NULL) models->repeats = repeats;
        if (start == NULL || repeats == NULL) return FT_NOMEM(error);
        models->capacity = capacity;
        if (models->count == 0) start[0] = 0;
    }
    memcpy(&models->labels[(size_t)models->count * models->devices], labels, models->devices * sizeof *labels);
    models->repeats[models->count] = 1;
    models->count++;
    models->start[models->count] = models->start[models->count - 1];
    return FT_OK;
}

ft_status kernel_models_launch(kernel_models *models, uint32_t kernel, ft_error *error) {
    assert(models->count > 0);
    uint32_t *end = &models->start[models->count];
    FT_TRY(row_grow((void **)&models->index, *end, &models->index_capacity, sizeof *models->index, error));
    models->index[(*end)++] = kernel;
    return FT_OK;
}

void kernel_models_free(kernel_models *models) {
    free(models->start);
    free(models->index);
    free(models->labels);
    free(models->repeats);
    *models = (kernel_models){0};
}

/* --- Kernels and labels of a graph --------------------------------------------------------------------------- */

typedef struct gathering {
    const fit_set *set;
    const runtimes *runtimes;
    kernel_data *data;
    fit_rows rows;
    bool is_training;
    bool has_array;
} gathering;

/* Header of the rows that a visit writes for one runtime. */
typedef struct found_side {
    uint32_t side, rows;
} found_side;

static bool item_uses(const gathering *g, const scan_item *item, uint32_t side) {
    for (uint32_t i = 0; i < item->row_count; i++)
        if (g->runtimes->of_device[g->rows.items[item->rows[i]].device] == side) return true;
    return false;
}

static ft_status visit(void *user, const scan_item *item, model_view *view, uint32_t worker, buf *found,
                       ft_error *error) {
    (void)worker;
    const gathering *g = user;
    ft_status status = FT_OK;
    arena memory;
    arena_init(&memory, ROWS_LIMIT);
    for (uint32_t side = 0; status == FT_OK && side < g->runtimes->count; side++) {
        if (!item_uses(g, item, side)) continue;
        kernel_row *rows;
        found_side head = {.side = side};
        status =
            kernel_rows_extract_as(view, g->runtimes->rules[side], g->has_array, &memory, &rows, &head.rows, error);
        if (status != FT_OK) break;
        buf_add(found, &head, sizeof head);
        buf_add(found, rows, head.rows * sizeof *rows);
    }
    arena_free(&memory);
    return status;
}

/* The label of each device of a side; the geometric mean if measured more than once. */
static void label(const gathering *g, const scan_item *item, uint32_t side, double *labels) {
    const kernel_side *s = &g->data->sides[side];
    for (uint32_t d = 0; d < s->device_count; d++) {
        double logs = 0;
        uint32_t count = 0;
        for (uint32_t i = 0; i < item->row_count; i++) {
            const fit_row *row = &g->rows.items[item->rows[i]];
            if (row->device != s->devices[d]) continue;
            logs += log(row->label);
            count++;
        }
        labels[d] = count > 0 ? exp(logs / count) : NAN;
    }
}

static ft_status gather(void *user, const scan_item *item, const buf *found, ft_error *error) {
    const gathering *g = user;
    for (const char *at = found->data, *end = at + found->length; at < end;) {
        found_side head;
        memcpy(&head, at, sizeof head);
        at += sizeof head;
        kernel_side *side = &g->data->sides[head.side];
        kernel_models *models = g->is_training ? &side->train : &side->valid;
        double labels[KERNEL_MAX_DEVICES];
        label(g, item, head.side, labels);
        FT_TRY(kernel_models_open(models, labels, error));
        for (uint32_t i = 0; i < head.rows; i++, at += sizeof(kernel_row)) {
            kernel_row row;
            uint32_t number;
            memcpy(&row, at, sizeof row);
            FT_TRY(row_table_add(&side->kernels, &row, &number, error));
            FT_TRY(kernel_models_launch(models, number, error));
        }
    }
    return FT_OK;
}

/* --- Repeats ------------------------------------------------------------------------------------------------- */

/* A small family is repeated until it has at least this share of the average family: measurements of single operators
 * carry information that no sum over a network has, and would be lost among thousands of networks. */
static const double MIN_FAMILY_SHARE = 0.3;

typedef struct family_count {
    map numbers; /* by name */
    uint32_t *models;
} family_count;

static const char *family_of(const gathering *g, const scan_item *item) {
    return ft_dataset_records(g->set->data)[g->rows.items[item->rows[0]].record].family;
}

/* Counts the models of each family. */
static ft_status count_families(const gathering *g, const scan *s, arena *memory, family_count *f, ft_error *error) {
    map_init(&f->numbers, memory);
    f->models = ARENA_ARRAY(memory, uint32_t, (size_t)scan_count(s) + 1);
    if (f->models == NULL) return FT_NOMEM(error);
    for (uint32_t i = 0; i < scan_count(s); i++) {
        uint32_t number;
        if (!map_add(&f->numbers, family_of(g, scan_item_at(s, i)), f->numbers.count, &number)) return FT_NOMEM(error);
        f->models[number]++;
    }
    return FT_OK;
}

/* Items are collected in order, so model k of a side is the k-th item that uses it. */
static void set_repeats(const gathering *g, const scan *s, const family_count *f) {
    double average = (double)scan_count(s) / f->numbers.count;
    uint32_t seen[MAX_RUNTIMES] = {0};
    for (uint32_t i = 0; i < scan_count(s); i++) {
        const scan_item *item = scan_item_at(s, i);
        uint32_t number = 0;
        map_get(&f->numbers, family_of(g, item), &number);
        double repeats = MIN_FAMILY_SHARE * average / f->models[number];
        for (uint32_t side = 0; side < g->runtimes->count; side++) {
            if (!item_uses(g, item, side)) continue;
            g->data->sides[side].train.repeats[seen[side]++] = repeats > 1 ? (uint32_t)repeats : 1;
        }
    }
}

static ft_status repeat_few(const gathering *g, const scan *s, ft_error *error) {
    if (!g->is_training) return FT_OK;
    arena memory;
    family_count f;
    arena_init(&memory, UINT64_MAX);
    ft_status status = count_families(g, s, &memory, &f, error);
    if (status == FT_OK) set_repeats(g, s, &f);
    arena_free(&memory);
    return status;
}

/* --- Gathering ----------------------------------------------------------------------------------------------- */

static ft_status gather_part(gathering *g, const fit_context *context, double from, double to, ft_error *error) {
    if (g->rows.count == 0) return FT_OK;
    scan *s = NULL;
    FT_TRY(scan_new(g->set->data, g->rows, &s, error));
    scan_job job = {.threads = context->threads, .visit = visit, .gather = gather, .user = g};
    job.context = context;
    job.from = from;
    job.to = to;
    job.what = "kernels";
    ft_status status = scan_run(s, &job, error);
    if (status == FT_OK) status = repeat_few(g, s, error);
    scan_free(s);
    return status;
}

static ft_status assign_devices(const fit_set *set, const runtimes *r, kernel_data *data, ft_error *error) {
    data->side_count = r->count;
    data->device_count = set->device_count;
    data->column = calloc(set->device_count, sizeof *data->column);
    if (data->column == NULL) return FT_NOMEM(error);
    for (uint32_t side = 0; side < r->count; side++) {
        kernel_side *s = &data->sides[side];
        s->devices = calloc(set->device_count, sizeof *s->devices);
        if (s->devices == NULL) return FT_NOMEM(error);
        for (uint32_t d = 0; d < set->device_count; d++) {
            if (r->of_device[d] != side) continue;
            data->column[d] = s->device_count;
            assert(s->device_count < KERNEL_MAX_DEVICES);
            s->devices[s->device_count++] = d;
        }
        s->train.devices = s->valid.devices = s->device_count;
        s->kernels.size = sizeof(kernel_row);
    }
    return FT_OK;
}

ft_status kernel_data_gather(const fit_set *set, const fit_context *context, const runtimes *r, bool has_array,
                             kernel_data *data, ft_error *error) {
    *data = (kernel_data){0};
    gathering g = {
        .set = set, .runtimes = r, .data = data, .rows = set->train, .is_training = true, .has_array = has_array};
    ft_status status = assign_devices(set, r, data, error);
    if (status == FT_OK) status = gather_part(&g, context, 0, 0.04, error);
    for (uint32_t i = 0; i < r->count; i++) data->sides[i].trained = data->sides[i].kernels.count;
    g.rows = set->valid;
    g.is_training = false;
    if (status == FT_OK) status = gather_part(&g, context, 0.04, 0.05, error);
    if (status != FT_OK) kernel_data_free(data);
    return status;
}

void kernel_data_free(kernel_data *data) {
    for (uint32_t i = 0; i < data->side_count; i++) {
        kernel_side *side = &data->sides[i];
        free(side->devices);
        row_table_free(&side->kernels);
        kernel_models_free(&side->train);
        kernel_models_free(&side->valid);
    }
    free(data->column);
    *data = (kernel_data){0};
}
