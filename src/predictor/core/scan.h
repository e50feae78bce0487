/* scan.h - visits the graphs of labelled rows on all threads, and gathers the results in a fixed order.
 *
 * Rows that were measured on the same graph with the same batch, type, mode and setting are one item: the graph is
 * unpacked, bound, costed and fused once for all of them. `visit` is called for each item on any thread, and writes
 * its result into a buffer of the item; `gather` is then called with these buffers on the caller's thread, in the order
 * of the items, which is that of their first rows. So the result does not depend on the number of threads.
 *
 *     scan_job job = {.threads = context->threads, .visit = measure, .gather = add_row, .user = &me};
 *     FT_TRY(scan_once(set->data, set->train, &job, error)); */
#ifndef PREDICTOR_CORE_SCAN_H
#define PREDICTOR_CORE_SCAN_H

#include "base/buf.h"
#include "predictor/core/family.h"

typedef struct scan_item {
    uint32_t index;       /* among the items */
    const uint32_t *rows; /* of the fit_rows, ascending */
    uint32_t row_count;
} scan_item;

typedef struct scan scan;

ft_status scan_new(const ft_dataset *data, fit_rows rows, scan **s, ft_error *error);
void scan_free(scan *s);
uint32_t scan_count(const scan *s);
const scan_item *scan_item_at(const scan *s, uint32_t index);

/* On any thread; `worker` is below pool_threads(). */
typedef ft_status scan_visit(void *user, const scan_item *item, model_view *view, uint32_t worker, buf *found,
                             ft_error *error);
/* On the caller's thread, in the order of the items. */
typedef ft_status scan_gather(void *user, const scan_item *item, const buf *found, ft_error *error);

typedef struct scan_job {
    pool *threads; /* NULL: the caller's alone */
    scan_visit *visit;
    scan_gather *gather; /* may be NULL */
    void *user;
    /* For progress: done_ratio goes from `from` to `to`. May be NULL. */
    const fit_context *context;
    double from, to;
    const char *what;
} scan_job;

/* Stops at the first item, in their order, that fails; the message names its model. */
ft_status scan_run(const scan *s, const scan_job *job, ft_error *error);

/* One pass over rows that needs no scan before or after. */
ft_status scan_once(const ft_dataset *data, fit_rows rows, const scan_job *job, ft_error *error);

/* A graph of the data set, bound as in a record; `bound` borrows from `model`. */
typedef struct scan_graph {
    ft_graph *model, *bound;
} scan_graph;

ft_status scan_graph_open(const ft_dataset *data, const ft_record *record, scan_graph *graph, ft_error *error);
void scan_graph_free(scan_graph *graph);
/* The request that a record is the measurement of. */
ft_request scan_request(const ft_record *record);

/* --- Distinct rows ------------------------------------------------------------------------------------------- */

/* Rows of bytes, equal ones stored once: models share most of their kernels, and what is computed per kernel is
 * computed once per distinct one. */
typedef struct row_table {
    size_t size; /* of a row */
    char *rows;
    uint32_t count, capacity;
    uint32_t *slots; /* row + 1, by hash; 0: free */
    uint32_t slot_count;
} row_table;

/* *index: that of an equal row, or of a new one. */
ft_status row_table_add(row_table *table, const void *row, uint32_t *index, ft_error *error);
void row_table_free(row_table *table);

/* Makes room for one more item of `size` bytes in an array of the caller's. */
ft_status row_grow(void **items, uint32_t count, uint32_t *capacity, size_t size, ft_error *error);

#endif
