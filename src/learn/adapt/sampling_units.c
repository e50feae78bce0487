/* sampling_units.c - finds the sampling units of a data set, and reads lists of them. */
#include "learn/adapt/sampling_units.h"

#include <assert.h>
#include <string.h>

#include "base/csv.h"
#include "base/error.h"
#include "base/input.h"
#include "base/map.h"
#include "base/text.h"
#include "data/dataset.h"

enum { MAX_COLUMNS = 64, MAX_TEXT = 1024 };

typedef struct columns {
    uint32_t graph, name, weight, count;
} columns;

static ft_status read_header(csv *rows, columns *c, ft_error *error) {
    csv_field cells[MAX_COLUMNS];
    *c = (columns){.graph = FT_NONE, .name = FT_NONE, .weight = FT_NONE};
    FT_TRY(csv_row(rows, cells, MAX_COLUMNS, &c->count, error));
    for (uint32_t i = 0; i < c->count; i++) {
        if (csv_field_is(&cells[i], "graph")) c->graph = i;
        if (csv_field_is(&cells[i], "name")) c->name = i;
        if (csv_field_is(&cells[i], "weight")) c->weight = i;
    }
    if (c->graph != FT_NONE || c->name != FT_NONE) return FT_OK;
    return ft_fail(error, FT_ERR_FORMAT,
                   "%s: line 1: a list of models needs a column 'graph' or 'name', as 'foretell sample' writes it",
                   rows->name);
}

static const char *keep(const csv_field *cells, uint32_t column, arena *memory) {
    char text[MAX_TEXT];
    if (column == FT_NONE) return "";
    csv_unquote(&cells[column], text, sizeof text);
    return arena_string(memory, text, strlen(text));
}

/* A model that represents no other has the weight 0, with which it would be ignored. */
static ft_status read_weight(const csv *rows, const csv_field *cells, uint32_t column, double *weight,
                             ft_error *error) {
    static const double MIN_WEIGHT = 1e-6;
    const csv_field *cell = column != FT_NONE ? &cells[column] : NULL;
    *weight = 1;
    if (cell == NULL || cell->length == 0) return FT_OK;
    if (!text_double(cell->text, cell->length, weight) || !(*weight >= 0 && *weight <= 1e9))
        return ft_fail(error, FT_ERR_DAMAGED, "%s: line %llu: the weight is '%.*s', but must be a number from 0 to 1e9",
                       rows->name, (unsigned long long)rows->line, (int)(cell->length < 40 ? cell->length : 40),
                       cell->text);
    if (*weight < MIN_WEIGHT) *weight = MIN_WEIGHT;
    return FT_OK;
}

static ft_status read_rows(csv *rows, const columns *c, arena *memory, model_list *list, ft_error *error) {
    csv rest = *rows;
    uint64_t total = csv_skip(&rest, UINT64_MAX);
    if (total > MODEL_LIST_MAX)
        return ft_fail(error, FT_ERR_LIMIT, "%s: more than %d models", rows->name, MODEL_LIST_MAX);
    list->items = ARENA_ARRAY(memory, listed_model, (size_t)total + 1);
    if (list->items == NULL) return FT_NOMEM(error);
    for (;;) {
        csv_field cells[MAX_COLUMNS];
        uint32_t found;
        FT_TRY(csv_row(rows, cells, MAX_COLUMNS, &found, error));
        if (found == 0) break;
        if (found != c->count)
            return ft_fail(error, FT_ERR_DAMAGED, "%s: line %llu: %u fields, but the header has %u", rows->name,
                           (unsigned long long)rows->line, found, c->count);
        assert(list->count < total);
        listed_model *model = &list->items[list->count++];
        *model = (listed_model){.graph = keep(cells, c->graph, memory), .name = keep(cells, c->name, memory)};
        if (model->graph == NULL || model->name == NULL) return FT_NOMEM(error);
        FT_TRY(read_weight(rows, cells, c->weight, &model->weight, error));
    }
    if (list->count == 0) return ft_fail(error, FT_ERR_USAGE, "%s: the list is empty", rows->name);
    return FT_OK;
}

ft_status model_list_parse(const char *name, const char *text, size_t size, arena *memory, model_list *list,
                           ft_error *error) {
    csv rows;
    columns c;
    *list = (model_list){0};
    csv_init(&rows, name, text, size);
    FT_TRY(read_header(&rows, &c, error));
    return read_rows(&rows, &c, memory, list, error);
}

ft_status model_list_read(const char *path, arena *memory, model_list *list, ft_error *error) {
    input in;
    FT_TRY(input_open(path, MODEL_LIST_MAX_BYTES, &in, error));
    ft_status status = model_list_parse(path, (const char *)in.bytes, in.size, memory, list, error);
    input_close(&in);
    return status;
}

/* --- Models of a data set ------------------------------------------------------------------------------------ */

ft_status model_list_find(const model_list *list, const ft_dataset *data, arena *memory, uint32_t *graphs,
                          ft_error *error) {
    map ids, names;
    map_init(&ids, memory);
    map_init(&names, memory);
    uint32_t unused;
    bool has_memory = true;
    for (uint32_t i = 0; has_memory && i < ft_dataset_graph_count(data); i++)
        has_memory = map_set(&ids, ft_dataset_graph_id(data, i), i);
    const ft_record *records = ft_dataset_records(data);
    for (uint32_t i = 0; has_memory && i < ft_dataset_record_count(data); i++)
        if (records[i].name[0] != '\0') has_memory = map_add(&names, records[i].name, records[i].graph, &unused);
    if (!has_memory) return FT_NOMEM(error);
    for (uint32_t i = 0; i < list->count; i++) {
        const listed_model *model = &list->items[i];
        graphs[i] = FT_NONE;
        if (!map_get(&ids, model->graph, &graphs[i]) && !map_get(&names, model->name, &graphs[i])) graphs[i] = FT_NONE;
    }
    return FT_OK;
}

/* --- Units of a data set ------------------------------------------------------------------------------------- */

static bool find_tasks(const ft_dataset *data, arena *memory, uint32_t *of_graph, const char **names,
                       sampling_units *found) {
    const ft_record *records = ft_dataset_records(data);
    map tasks;
    map_init(&tasks, memory);
    for (uint32_t i = 0; i < ft_dataset_record_count(data); i++) {
        uint32_t task = 0;
        if (of_graph[records[i].graph] != FT_NONE) continue;
        if (!map_get(&tasks, records[i].name, &task)) {
            task = found->count++;
            names[task] = records[i].name;
            if (!map_set(&tasks, records[i].name, task)) return false;
        }
        of_graph[records[i].graph] = task;
    }
    return true;
}

ft_status sampling_units_find(const ft_dataset *data, arena *memory, sampling_units *found, ft_error *error) {
    uint32_t graphs = ft_dataset_graph_count(data);
    uint32_t *of_graph = ARENA_ARRAY(memory, uint32_t, (size_t)graphs + 1);
    const char **names = ARENA_ARRAY(memory, const char *, (size_t)graphs + 1);
    if (of_graph == NULL || names == NULL) return FT_NOMEM(error);
    *found = (sampling_units){.of_graph = of_graph, .names = names};
    FT_TRY(dataset_holds_programs(data, &found->are_tasks, error));
    for (uint32_t i = 0; i < graphs; i++) of_graph[i] = FT_NONE;
    if (found->are_tasks && !find_tasks(data, memory, of_graph, names, found)) return FT_NOMEM(error);
    for (uint32_t i = 0; i < graphs; i++) { /* models, and programs without records */
        if (of_graph[i] != FT_NONE) continue;
        names[found->count] = ft_dataset_graph_id(data, i);
        of_graph[i] = found->count++;
    }
    assert(found->count <= graphs);
    return FT_OK;
}
