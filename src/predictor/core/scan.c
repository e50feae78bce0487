/* scan.c - see scan.h. */
#include "predictor/core/scan.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/hash.h"
#include "base/num.h"

struct scan {
    arena memory;
    const ft_dataset *data;
    fit_rows rows;
    scan_item *items;
    uint32_t count;
};

/* Items between two reports of progress: enough work to share, few enough to stop soon. */
enum { BATCH = 256 };

/* --- Items --------------------------------------------------------------------------------------------------- */

static bool is_same(const ft_record *a, const ft_record *b) {
    return a->graph == b->graph && a->batch == b->batch && a->dtype == b->dtype && a->mode == b->mode &&
           strcmp(a->setting, b->setting) == 0;
}

/* Finds the item of each row by a chain of items per graph, as there are few of each. */
static ft_status find_items(scan *s, uint32_t *item_of_row, ft_error *error) {
    const ft_record *records = ft_dataset_records(s->data);
    uint32_t graphs = ft_dataset_graph_count(s->data);
    uint32_t *first = malloc(((size_t)graphs + 1) * sizeof *first); /* item of the graph */
    uint32_t *next = malloc(((size_t)s->rows.count + 1) * sizeof *next),
             *row_of = malloc(((size_t)s->rows.count + 1) * sizeof *row_of);
    if (first == NULL || next == NULL || row_of == NULL) {
        free(first);
        free(next);
        free(row_of);
        return FT_NOMEM(error);
    }
    for (uint32_t i = 0; i < graphs; i++) first[i] = FT_NONE;
    for (uint32_t row = 0; row < s->rows.count; row++) {
        const ft_record *record = &records[s->rows.items[row].record];
        uint32_t item = first[record->graph];
        while (item != FT_NONE && !is_same(record, &records[s->rows.items[row_of[item]].record])) item = next[item];
        if (item == FT_NONE) {
            item = s->count++;
            row_of[item] = row;
            next[item] = first[record->graph];
            first[record->graph] = item;
        }
        item_of_row[row] = item;
    }
    free(first);
    free(next);
    free(row_of);
    return FT_OK;
}

static ft_status make_items(scan *s, ft_error *error) {
    uint32_t *item_of_row = ARENA_ARRAY(&s->memory, uint32_t, (size_t)s->rows.count + 1);
    if (item_of_row == NULL) return FT_NOMEM(error);
    FT_TRY(find_items(s, item_of_row, error));
    uint32_t *rows = ARENA_ARRAY(&s->memory, uint32_t, (size_t)s->rows.count + 1);
    s->items = ARENA_ARRAY(&s->memory, scan_item, (size_t)s->count + 1);
    if (rows == NULL || s->items == NULL) return FT_NOMEM(error);
    for (uint32_t i = 0; i < s->rows.count; i++) s->items[item_of_row[i]].row_count++;
    uint32_t *at = rows;
    for (uint32_t i = 0; i < s->count; i++) {
        s->items[i].index = i;
        s->items[i].rows = at;
        at += s->items[i].row_count;
        s->items[i].row_count = 0;
    }
    for (uint32_t i = 0; i < s->rows.count; i++) {
        scan_item *item = &s->items[item_of_row[i]];
        rows[(size_t)(item->rows - rows) + item->row_count++] = i;
    }
    return FT_OK;
}

ft_status scan_new(const ft_dataset *data, fit_rows rows, scan **s, ft_error *error) {
    scan *made = calloc(1, sizeof *made);
    if (made == NULL) return FT_NOMEM(error);
    arena_init(&made->memory, UINT64_MAX);
    made->data = data;
    made->rows = rows;
    ft_status status = make_items(made, error);
    if (status != FT_OK) {
        scan_free(made);
        return status;
    }
    *s = made;
    return FT_OK;
}

void scan_free(scan *s) {
    if (s == NULL) return;
    arena_free(&s->memory);
    free(s);
}

uint32_t scan_count(const scan *s) {
    return s->count;
}

const scan_item *scan_item_at(const scan *s, uint32_t index) {
    assert(index < s->count);
    return &s->items[index];
}

/* --- Graphs -------------------------------------------------------------------------------------------------- */

ft_request scan_request(const ft_record *record) {
    return (ft_request){
        .device = record->device, .setting = record->setting, .dtype = record->dtype, .mode = record->mode};
}

ft_status scan_graph_open(const ft_dataset *data, const ft_record *record, scan_graph *graph, ft_error *error) {
    scan_graph made = {NULL, NULL};
    ft_status status = ft_dataset_graph(data, record->graph, &made.model, error);
    if (status == FT_OK) status = ft_graph_bind(made.model, &(ft_binding){.batch = record->batch}, &made.bound, error);
    if (status != FT_OK) {
        scan_graph_free(&made);
        return status;
    }
    *graph = made;
    return FT_OK;
}

void scan_graph_free(scan_graph *graph) {
    ft_graph_free(graph->bound);
    ft_graph_free(graph->model);
    *graph = (scan_graph){NULL, NULL};
}

/* --- Running ------------------------------------------------------------------------------------------------- */

typedef struct batch {
    const scan *scan;
    const scan_job *job;
    uint32_t first;
    buf found[BATCH];
    ft_status status[BATCH];
    ft_error error[BATCH];
} batch;

static ft_status visit_item(batch *b, uint32_t part, uint32_t worker, ft_error *error) {
    const scan *s = b->scan;
    const scan_item *item = &s->items[b->first + part];
    uint32_t record = s->rows.items[item->rows[0]].record;
    const ft_record *r = &ft_dataset_records(s->data)[record];
    scan_graph graph = {NULL, NULL};
    ft_status status = scan_graph_open(s->data, r, &graph, error);
    if (status == FT_OK) {
        ft_request request = scan_request(r);
        model_view view;
        model_view_init(&view, graph.bound, &request);
        status = b->job->visit(b->job->user, item, &view, worker, &b->found[part], error);
        model_view_free(&view);
    }
    if (status == FT_OK && b->found[part].failed) status = FT_NOMEM(error);
    scan_graph_free(&graph);
    return status == FT_OK ? FT_OK : ft_fail_prefix(error, status, "model '%s' (record %u)", r->name, record);
}

static void run_part(void *user, uint32_t part, uint32_t worker) {
    batch *b = user;
    b->status[part] = visit_item(b, part, worker, &b->error[part]);
}

static ft_status gather_batch(batch *b, uint32_t count, ft_error *error) {
    ft_status status = FT_OK;
    for (uint32_t i = 0; i < count; i++) {
        const scan_item *item = &b->scan->items[b->first + i];
        if (status == FT_OK && b->status[i] != FT_OK) {
            status = b->status[i];
            if (error != NULL) *error = b->error[i];
        }
        if (status == FT_OK && b->job->gather != NULL) status = b->job->gather(b->job->user, item, &b->found[i], error);
        buf_free(&b->found[i]);
        b->found[i] = (buf){0};
    }
    return status;
}

static ft_status report(const scan *s, const scan_job *job, uint32_t done, ft_error *error) {
    if (job->context == NULL || job->context->progress == NULL) return FT_OK;
    double ratio = job->from + (job->to - job->from) * (s->count > 0 ? (double)done / s->count : 1);
    if (job->context->progress(job->context->user, ratio, job->what)) return FT_OK;
    return ft_fail(error, FT_ERR_CANCELLED, "cancelled");
}

ft_status scan_run(const scan *s, const scan_job *job, ft_error *error) {
    batch *b = calloc(1, sizeof *b);
    if (b == NULL) return FT_NOMEM(error);
    b->scan = s;
    b->job = job;
    ft_status status = FT_OK;
    while (status == FT_OK && b->first < s->count) {
        uint32_t count = s->count - b->first < BATCH ? s->count - b->first : BATCH;
        pool_run(job->threads, count, run_part, b);
        status = gather_batch(b, count, error);
        b->first += count;
        if (status == FT_OK) status = report(s, job, b->first, error);
    }
    free(b);
    return status;
}

ft_status scan_once(const ft_dataset *data, fit_rows rows, const scan_job *job, ft_error *error) {
    scan *s;
    FT_TRY(scan_new(data, rows, &s, error));
    ft_status status = scan_run(s, job, error);
    scan_free(s);
    return status;
}

/* --- Distinct rows ------------------------------------------------------------------------------------------- */

ft_status row_grow(void **items, uint32_t count, uint32_t *capacity, size_t size, ft_error *error) {
    if (count < *capacity) return FT_OK;
    size_t wanted = *capacity > 0 ? (size_t)*capacity * 2 : 256, bytes;
    if (wanted > UINT32_MAX / 2 || !num_mul_size(wanted, size, &bytes))
        return ft_fail(error, FT_ERR_LIMIT, "the data set launches too many kernels");
    void *moved = realloc(*items, bytes);
    if (moved == NULL) return FT_NOMEM(error);
    *items = moved;
    *capacity = (uint32_t)wanted;
    return FT_OK;
}

static const char *row_at(const row_table *table, uint32_t index) {
    return table->rows + (size_t)index * table->size;
}

/* The slot of an equal row, or the free one where it belongs. */
static uint32_t find_slot(const row_table *table, const void *row) {
    uint32_t mask = table->slot_count - 1, slot = (uint32_t)hash_bytes(row, table->size).low & mask;
    while (table->slots[slot] != 0 && memcmp(row_at(table, table->slots[slot] - 1), row, table->size) != 0)
        slot = (slot + 1) & mask;
    return slot;
}

static ft_status widen_slots(row_table *table, ft_error *error) {
    uint32_t wanted = table->slot_count > 0 ? table->slot_count * 2 : 1024;
    uint32_t *slots = calloc(wanted, sizeof *slots);
    if (slots == NULL) return FT_NOMEM(error);
    free(table->slots);
    table->slots = slots;
    table->slot_count = wanted;
    for (uint32_t i = 0; i < table->count; i++) slots[find_slot(table, row_at(table, i))] = i + 1;
    return FT_OK;
}

ft_status row_table_add(row_table *table, const void *row, uint32_t *index, ft_error *error) {
    assert(table->size > 0);
    if (table->count >= table->slot_count / 2) FT_TRY(widen_slots(table, error));
    uint32_t slot = find_slot(table, row);
    if (table->slots[slot] == 0) {
        FT_TRY(row_grow((void **)&table->rows, table->count, &table->capacity, table->size, error));
        memcpy(table->rows + (size_t)table->count * table->size, row, table->size);
        table->count++;
        table->slots[slot] = table->count;
    }
    *index = table->slots[slot] - 1;
    return FT_OK;
}

void row_table_free(row_table *table) {
    free(table->rows);
    free(table->slots);
    *table = (row_table){.size = table->size};
}
