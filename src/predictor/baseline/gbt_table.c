#include "predictor/baseline/gbt_table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "predictor/core/scan.h"

void table_free(table *t) {
    free(t->first);
    free(t->place);
    free(t->items);
    free(t->labels);
}

ft_status table_open(const gbt_rows *kind, void *extractor, const fit_rows *rows, uint32_t device_count, table *t,
                     ft_error *error) {
    *t = (table){.kind = kind, .extractor = extractor, .rows = rows};
    t->first = calloc((size_t)device_count + 2, sizeof *t->first);
    t->place = calloc((size_t)rows->count + 1, sizeof *t->place);
    t->labels = calloc((size_t)rows->count + 1, sizeof *t->labels);
    t->items = calloc((size_t)rows->count + 1, kind->columns * sizeof *t->items);
    if (t->first == NULL || t->place == NULL || t->labels == NULL || t->items == NULL) return FT_NOMEM(error);
    for (uint32_t i = 0; i < rows->count; i++) t->first[rows->items[i].device + 1]++;
    for (uint32_t i = 0; i < device_count; i++) t->first[i + 1] += t->first[i];
    size_t *next = malloc(((size_t)device_count + 1) * sizeof *next);
    if (next == NULL) return FT_NOMEM(error);
    memcpy(next, t->first, ((size_t)device_count + 1) * sizeof *next);
    for (uint32_t i = 0; i < rows->count; i++) {
        t->place[i] = next[rows->items[i].device]++;
        t->labels[t->place[i]] = (float)log(rows->items[i].label);
    }
    free(next);
    return FT_OK;
}

/* Each item writes only the rows that are its own. */
static ft_status visit(void *user, const scan_item *item, model_view *s, uint32_t worker, buf *found, ft_error *error) {
    (void)worker;
    (void)found;
    const table *t = user;
    size_t columns = t->kind->columns;
    float *first = t->items + t->place[item->rows[0]] * columns;
    double coverage_ratio = 1;
    FT_TRY(t->kind->look(t->extractor, s, &s->memory, first, &coverage_ratio, error));
    for (uint32_t i = 1; i < item->row_count; i++)
        memcpy(t->items + t->place[item->rows[i]] * columns, first, columns * sizeof *first);
    return FT_OK;
}

ft_status table_fill(const fit_set *set, const fit_context *context, double from, double to, table *t,
                     ft_error *error) {
    scan_job job = {.threads = context->threads,
                    .visit = visit,
                    .user = t,
                    .context = context,
                    .from = from,
                    .to = to,
                    .what = "reading models"};
    return scan_once(set->data, *t->rows, &job, error);
}

boost_rows table_rows(const table *t, uint32_t device) {
    size_t first = t->first[device];
    return (boost_rows){.items = t->items + first * t->kind->columns,
                        .count = t->first[device + 1] - first,
                        .features = t->kind->columns,
                        .labels = t->labels + first};
}
