/* units.c - see units.h. */
#include "learn/adapt/units.h"

#include "base/error.h"
#include "base/map.h"
#include "graph/graph.h"

/* A data set of logs has nothing but programs. */
static ft_status look_at_first(const ft_dataset *data, bool *is_program, ft_error *error) {
    ft_graph *graph = NULL;
    *is_program = false;
    if (ft_dataset_graph_count(data) == 0) return FT_OK;
    FT_TRY(ft_dataset_graph(data, 0, &graph, error));
    *is_program = graph_program_text(graph) != NULL;
    ft_graph_free(graph);
    return FT_OK;
}

static bool find_tasks(const ft_dataset *data, arena *memory, uint32_t *of, const char **names, units *found) {
    const ft_record *records = ft_dataset_records(data);
    map tasks;
    map_init(&tasks, memory);
    for (uint32_t i = 0; i < ft_dataset_record_count(data); i++) {
        uint32_t task = 0;
        if (of[records[i].graph] != FT_NONE) continue;
        if (!map_get(&tasks, records[i].name, &task)) {
            task = found->count++;
            names[task] = records[i].name;
            if (!map_set(&tasks, records[i].name, task)) return false;
        }
        of[records[i].graph] = task;
    }
    return true;
}

ft_status units_find(const ft_dataset *data, arena *memory, units *found, ft_error *error) {
    uint32_t graphs = ft_dataset_graph_count(data);
    uint32_t *of = ARENA_ARRAY(memory, uint32_t, (size_t)graphs + 1);
    const char **names = ARENA_ARRAY(memory, const char *, (size_t)graphs + 1);
    if (of == NULL || names == NULL) return FT_NOMEM(error);
    *found = (units){.of = of, .names = names};
    FT_TRY(look_at_first(data, &found->are_tasks, error));
    for (uint32_t i = 0; i < graphs; i++) of[i] = FT_NONE;
    if (found->are_tasks && !find_tasks(data, memory, of, names, found)) return FT_NOMEM(error);
    for (uint32_t i = 0; i < graphs; i++) { /* models, and programs that nothing is known of */
        if (of[i] != FT_NONE) continue;
        names[found->count] = ft_dataset_graph_id(data, i);
        of[i] = found->count++;
    }
    return FT_OK;
}
