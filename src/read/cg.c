/* cg.c - reader of the CG tables: models.csv, nodes.csv and edges.csv, each possibly gzipped (docs/formats/cg.md).
 *
 * The three tables are read in step: a row of models.csv states how many of the next rows of the other two belong to
 * it. Only the rows of one model are held at a time, so memory is that of the unpacked tables and one graph.
 * tfgraph.c interprets the nodes and repairs their shapes; cg_path.c finds the tables. */
#include "read/cg.h"

#include <assert.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/csv.h"
#include "base/input.h"
#include "base/map.h"
#include "read/read.h"
#include "read/tfgraph.h"

enum {
    MAX_COLUMNS = 64,
    NODE_COLUMNS = 17,
    SHAPE_COLUMNS = 5,
    MAX_TEXT = 256, /* of one cell that is kept */
    MAX_TYPES = 4096,
};

static const char *const node_columns[NODE_COLUMNS] = {"op",   "in0",  "in1",   "in2",    "in3", "in4",
                                                       "k_h",  "k_w",  "k_cin", "k_cout", "s_h", "s_w",
                                                       "out0", "out1", "out2",  "out3",   "out4"};
static const char *const edge_columns[] = {"src", "dst"};

struct cg_set {
    input tables[CG_TABLES];
    char *paths[CG_TABLES]; /* for messages */
    csv rows[CG_TABLES];
    char columns[MAX_COLUMNS][MAX_TEXT]; /* of models.csv */
    uint32_t column_count;
    uint32_t nodes_column, edges_column, name_column; /* FT_NONE when there is none */
    uint32_t family_column, index_column;
    uint64_t count;
    uint64_t uncounted_line; /* first line of models.csv without valid row counts; 0: none so far */
    bool is_over;
    arena memory; /* of the operator names */
    map types;
    tf_type *type_list;
    /* Of the current model; these arrays only grow. */
    tf_node *nodes;
    uint32_t *edges;   /* pairs */
    uint32_t *sources; /* the source of each edge, sorted by destination */
    size_t node_capacity, edge_capacity, source_capacity;
};

/* --- Opening ----------------------------------------------------------------------------------------------------- */

static ft_status check_header(cg_set *set, int table, const char *const *columns, uint32_t count, ft_error *error) {
    assert(table >= 0 && table < CG_TABLES);
    assert(count >= 2);
    csv_field fields[MAX_COLUMNS];
    uint32_t found;
    FT_TRY(csv_row(&set->rows[table], fields, MAX_COLUMNS, &found, error));
    bool is_right = found == count;
    for (uint32_t i = 0; i < found && is_right; i++) is_right = csv_field_is(&fields[i], columns[i]);
    if (is_right) return FT_OK;
    return ft_fail(error, FT_ERR_FORMAT, "%s: line 1: expected the %u columns %s,%s,... of a CG %s table",
                   set->paths[table], count, columns[0], columns[1], cg_table_names[table]);
}

static uint32_t find_column(const cg_set *set, const char *name) {
    for (uint32_t i = 0; i < set->column_count; i++) {
        if (strcmp(set->columns[i], name) == 0) return i;
    }
    return FT_NONE;
}

/* models.csv may have any columns besides the two counts: data sets measure different things. */
static ft_status read_models_header(cg_set *set, ft_error *error) {
    csv_field fields[MAX_COLUMNS];
    FT_TRY(csv_row(&set->rows[CG_MODELS], fields, MAX_COLUMNS, &set->column_count, error));
    for (uint32_t i = 0; i < set->column_count; i++) csv_unquote(&fields[i], set->columns[i], MAX_TEXT);
    set->nodes_column = find_column(set, "num_nodes");
    set->edges_column = find_column(set, "num_edges");
    set->name_column = find_column(set, "name");
    set->family_column = find_column(set, "family");
    set->index_column = find_column(set, "index");
    if (set->nodes_column == FT_NONE || set->edges_column == FT_NONE)
        return ft_fail(error, FT_ERR_FORMAT, "%s: line 1: expected the columns num_nodes and num_edges of a CG table",
                       set->paths[CG_MODELS]);
    csv rest = set->rows[CG_MODELS];
    set->count = csv_skip(&rest, UINT64_MAX);
    return FT_OK;
}

static ft_status read_headers(cg_set *set, ft_error *error) {
    for (int table = 0; table < CG_TABLES; table++)
        csv_init(&set->rows[table], set->paths[table], (const char *)set->tables[table].bytes, set->tables[table].size);
    FT_TRY(read_models_header(set, error));
    FT_TRY(check_header(set, CG_NODES, node_columns, NODE_COLUMNS, error));
    return check_header(set, CG_EDGES, edge_columns, 2, error);
}

static cg_set *new_set(void) {
    cg_set *set = calloc(1, sizeof *set);
    if (set == NULL) return NULL;
    arena_init(&set->memory, FT_MAX_GRAPH_BYTES);
    map_init(&set->types, &set->memory);
    set->type_list = ARENA_ARRAY(&set->memory, tf_type, MAX_TYPES);
    if (set->type_list == NULL) {
        cg_close(set);
        return NULL;
    }
    return set;
}

static ft_status open_tables(cg_set *set, const char *path, ft_error *error) {
    char folder[PATH_MAX], table_path[PATH_MAX];
    if (!cg_find_folder(path, folder, sizeof folder))
        return ft_fail(error, FT_ERR_FORMAT, "%s: neither a folder of CG tables nor one of these tables", path);
    for (int table = 0; table < CG_TABLES; table++) {
        if (!cg_find_table(folder, table, table_path, sizeof table_path))
            return ft_fail(error, FT_ERR_IO, "%s: %s.csv or %s.csv.gz is missing", folder, cg_table_names[table],
                           cg_table_names[table]);
        set->paths[table] = arena_string(&set->memory, table_path, strlen(table_path));
        if (set->paths[table] == NULL) return FT_NOMEM(error);
        FT_TRY(input_open(table_path, FT_MAX_UNPACKED_BYTES, &set->tables[table], error));
    }
    return read_headers(set, error);
}

ft_status cg_open(const char *path, cg_set **set, ft_error *error) {
    cg_set *made = new_set();
    if (made == NULL) return FT_NOMEM(error);
    ft_status status = open_tables(made, path, error);
    if (status == FT_OK)
        *set = made;
    else
        cg_close(made);
    return status;
}

ft_status cg_open_memory(const cg_texts *tables, const char *name, cg_set **set, ft_error *error) {
    cg_set *made = new_set();
    if (made == NULL) return FT_NOMEM(error);
    ft_status status = FT_OK;
    for (int table = 0; table < CG_TABLES && status == FT_OK; table++) {
        made->paths[table] = arena_format(&made->memory, "%s/%s.csv", name, cg_table_names[table]);
        status = made->paths[table] == NULL
                     ? FT_NOMEM(error)
                     : input_from_memory(tables->texts[table], tables->sizes[table], made->paths[table],
                                         FT_MAX_UNPACKED_BYTES, &made->tables[table], error);
    }
    if (status == FT_OK) status = read_headers(made, error);
    if (status == FT_OK)
        *set = made;
    else
        cg_close(made);
    return status;
}

uint64_t cg_count(const cg_set *set) {
    return set->count;
}

void cg_close(cg_set *set) {
    if (set == NULL) return;
    for (int table = 0; table < CG_TABLES; table++) input_close(&set->tables[table]);
    arena_free(&set->memory);
    free(set->nodes);
    free(set->edges);
    free(set->sources);
    free(set);
}

/* --- The rows of a model ----------------------------------------------------------------------------------------- */

static bool reserve(void **items, size_t count, size_t *capacity, size_t size) {
    if (count < *capacity) return true;
    size_t larger = *capacity == 0 ? 256 : *capacity * 2;
    void *moved = larger > SIZE_MAX / size ? NULL : realloc(*items, larger * size);
    if (moved == NULL) return false;
    *items = moved;
    *capacity = larger;
    return true;
}

/* Each distinct operator name is looked up once for the whole set. */
static ft_status find_type(cg_set *set, const csv_field *field, tf_type *type, ft_error *error) {
    char name[MAX_TEXT];
    uint32_t index;
    csv_unquote(field, name, sizeof name);
    if (!map_get(&set->types, name, &index)) {
        index = set->types.count;
        if (index >= MAX_TYPES)
            return ft_fail(error, FT_ERR_LIMIT, "%s: line %llu: more than %d different operators", set->paths[CG_NODES],
                           (unsigned long long)set->rows[CG_NODES].line, MAX_TYPES);
        const char *copy = arena_string(&set->memory, name, strlen(name));
        if (copy == NULL || !map_set(&set->types, copy, index)) return FT_NOMEM(error);
        set->type_list[index] = tf_type_of(copy);
    }
    *type = set->type_list[index];
    return FT_OK;
}

/* Zero-padded at the end. A batch of -1 is open; in this data set it means one image. */
static tf_shape shape_of(const int64_t *columns) {
    tf_shape shape = {.rank = SHAPE_COLUMNS};
    while (shape.rank > 0 && columns[shape.rank - 1] == 0) shape.rank--;
    memcpy(shape.dims, columns, (size_t)shape.rank * sizeof columns[0]);
    if (shape.rank > 0 && shape.dims[0] == -1) shape.dims[0] = 1;
    if (shape.rank == 0) shape.rank = -1;
    return shape;
}

static ft_status read_node(cg_set *set, tf_node *node, bool *has_row, ft_error *error) {
    csv *rows = &set->rows[CG_NODES];
    csv_field fields[NODE_COLUMNS];
    int64_t values[NODE_COLUMNS] = {0};
    uint32_t found;
    ft_status status = csv_row(rows, fields, NODE_COLUMNS, &found, error);
    *has_row = status != FT_OK || found > 0;
    if (status != FT_OK || found == 0) return status;
    if (found != NODE_COLUMNS)
        return ft_fail(error, FT_ERR_DAMAGED, "%s: line %llu: has %u fields instead of %d", set->paths[CG_NODES],
                       (unsigned long long)rows->line, found, NODE_COLUMNS);
    *node = (tf_node){0};
    FT_TRY(find_type(set, &fields[0], &node->type, error));
    for (int i = 1; i < NODE_COLUMNS; i++) {
        bool is_batch = i == 1 || i == NODE_COLUMNS - SHAPE_COLUMNS;
        FT_TRY(csv_int(rows, &fields[i], node_columns[i], is_batch ? -1 : 0, FT_MAX_DIM, &values[i], error));
    }
    node->in = shape_of(values + 1);
    memcpy(node->kernel, values + 6, sizeof node->kernel);
    memcpy(node->strides, values + 10, sizeof node->strides);
    node->out = shape_of(values + NODE_COLUMNS - SHAPE_COLUMNS);
    if (node->type.kind == TF_CONST && node->out.rank < 0) node->out.rank = 0;
    return FT_OK;
}

static ft_status read_edge(cg_set *set, uint32_t node_count, uint32_t *edge, bool *has_row, ft_error *error) {
    csv *rows = &set->rows[CG_EDGES];
    csv_field fields[2];
    uint32_t found;
    ft_status status = csv_row(rows, fields, 2, &found, error);
    *has_row = status != FT_OK || found > 0;
    if (status != FT_OK || found == 0) return status;
    if (found != 2)
        return ft_fail(error, FT_ERR_DAMAGED, "%s: line %llu: expected two node numbers, src,dst", set->paths[CG_EDGES],
                       (unsigned long long)rows->line);
    for (int end = 0; end < 2; end++) {
        int64_t value;
        FT_TRY(csv_int(rows, &fields[end], edge_columns[end], 0, (int64_t)node_count - 1, &value, error));
        edge[end] = (uint32_t)value;
    }
    return FT_OK;
}

/* Every later model fails in the same way, so that callers that count skipped models get the right number. */
static ft_status truncated_table(const cg_set *set, int table, uint64_t found, uint64_t expected, ft_error *error) {
    assert(table == CG_NODES || table == CG_EDGES);
    assert(found < expected);
    return ft_fail(error, FT_ERR_DAMAGED, "%s: truncated: has %llu of the %llu rows that %s:%llu announces",
                   set->paths[table], (unsigned long long)found, (unsigned long long)expected, set->paths[CG_MODELS],
                   (unsigned long long)set->rows[CG_MODELS].line);
}

/* Both loops skip the remaining rows after an error, so that the next model starts at its own rows. */
static ft_status read_nodes(cg_set *set, uint32_t count, ft_error *error) {
    for (uint32_t i = 0; i < count; i++) {
        bool has_row = true;
        ft_status status = reserve((void **)&set->nodes, i, &set->node_capacity, sizeof *set->nodes)
                               ? read_node(set, &set->nodes[i], &has_row, error)
                               : FT_NOMEM(error);
        if (!has_row) return truncated_table(set, CG_NODES, i, count, error);
        if (status == FT_OK) continue;
        csv_skip(&set->rows[CG_NODES], count - i - 1);
        return status;
    }
    return FT_OK;
}

static ft_status read_edges(cg_set *set, uint32_t count, uint32_t node_count, ft_error *error) {
    for (uint32_t i = 0; i < count; i++) {
        bool has_row = true;
        ft_status status = reserve((void **)&set->edges, i, &set->edge_capacity, 2 * sizeof *set->edges)
                               ? read_edge(set, node_count, set->edges + 2 * (size_t)i, &has_row, error)
                               : FT_NOMEM(error);
        if (!has_row) return truncated_table(set, CG_EDGES, i, count, error);
        if (status == FT_OK) continue;
        csv_skip(&set->rows[CG_EDGES], count - i - 1);
        return status;
    }
    return FT_OK;
}

/* Assigns every node its range of one list of sources, in the order of the edges. */
static ft_status connect(cg_set *set, uint32_t node_count, uint32_t edge_count, ft_error *error) {
    while (set->source_capacity < edge_count) {
        if (!reserve((void **)&set->sources, set->source_capacity, &set->source_capacity, sizeof *set->sources))
            return FT_NOMEM(error);
    }
    for (uint32_t i = 0; i < edge_count; i++) set->nodes[set->edges[2 * (size_t)i + 1]].input_count++;
    uint32_t *next = set->sources;
    for (uint32_t i = 0; i < node_count; i++) {
        set->nodes[i].inputs = next;
        if (next != NULL) next += set->nodes[i].input_count;
        set->nodes[i].input_count = 0;
    }
    for (uint32_t i = 0; i < edge_count; i++) {
        tf_node *node = &set->nodes[set->edges[2 * (size_t)i + 1]];
        set->sources[(size_t)(node->inputs - set->sources) + node->input_count++] = set->edges[2 * (size_t)i];
    }
    return FT_OK;
}

/* --- A model ----------------------------------------------------------------------------------------------------- */

static void model_name(const cg_set *set, const csv_field *fields, char *name, size_t size) {
    char family[MAX_TEXT] = "", index[MAX_TEXT] = "";
    name[0] = '\0';
    if (set->name_column != FT_NONE) csv_unquote(&fields[set->name_column], name, size);
    if (name[0] != '\0') return;
    if (set->family_column != FT_NONE) csv_unquote(&fields[set->family_column], family, sizeof family);
    if (set->index_column != FT_NONE) csv_unquote(&fields[set->index_column], index, sizeof index);
    if (index[0] == '\0') snprintf(index, sizeof index, "line %llu", (unsigned long long)set->rows[CG_MODELS].line);
    snprintf(name, size, "%.120s%s%.120s", family, family[0] != '\0' ? "_" : "", index);
}

static ft_status set_meta(const cg_set *set, const csv_field *fields, ft_graph *graph, ft_error *error) {
    char value[MAX_TEXT];
    for (uint32_t i = 0; i < set->column_count; i++) {
        if (fields[i].length == 0) continue; /* not measured */
        FT_TRY(graph_set_meta(graph, set->columns[i], csv_unquote(&fields[i], value, sizeof value), error));
    }
    return FT_OK;
}

static ft_status build_graph(cg_set *set, const csv_field *fields, uint32_t node_count, uint32_t edge_count,
                             const char *name, ft_graph **graph, ft_error *error) {
    FT_TRY(connect(set, node_count, edge_count, error));
    ft_graph *made;
    FT_TRY(graph_new(FT_FORMAT_CG, FT_NHWC, name, &made, error));
    ft_status status = set_meta(set, fields, made, error);
    if (status == FT_OK) status = tf_build(set->nodes, node_count, made, error);
    if (status == FT_OK)
        *graph = made;
    else
        ft_graph_free(made);
    return status;
}

static ft_status read_counts(cg_set *set, const csv_field *fields, uint32_t found, int64_t *nodes, int64_t *edges,
                             ft_error *error) {
    const csv *rows = &set->rows[CG_MODELS];
    if (found != set->column_count)
        return ft_fail(error, FT_ERR_DAMAGED, "%s: line %llu: has %u fields, but the header has %u", rows->name,
                       (unsigned long long)rows->line, found, set->column_count);
    FT_TRY(csv_int(rows, &fields[set->nodes_column], "num_nodes", 1, FT_MAX_OPS, nodes, error));
    return csv_int(rows, &fields[set->edges_column], "num_edges", 0, 4 * (int64_t)FT_MAX_OPS, edges, error);
}

/* After the last model the other tables must be used up, too. */
static ft_status finish(cg_set *set, ft_error *error) {
    set->is_over = true;
    if (set->uncounted_line > 0) return FT_OK; /* leftover rows cannot be assigned to a model */
    for (int table = CG_NODES; table <= CG_EDGES; table++) {
        uint64_t left = csv_skip(&set->rows[table], UINT64_MAX);
        if (left > 0)
            return ft_fail(error, FT_ERR_DAMAGED, "%s: has %llu rows more than the models in %s announce",
                           set->paths[table], (unsigned long long)left, set->paths[CG_MODELS]);
    }
    return FT_OK;
}

/* Reads the nodes and edges of a model into a graph. */
static ft_status read_model(cg_set *set, const csv_field *fields, uint32_t nodes, uint32_t edges, ft_graph **graph,
                            ft_error *error) {
    char name[MAX_TEXT];
    model_name(set, fields, name, sizeof name);
    ft_error edge_error;
    ft_status status = read_nodes(set, nodes, error);
    ft_status edge_status = read_edges(set, edges, nodes, &edge_error);
    if (status == FT_OK && edge_status != FT_OK) {
        status = edge_status;
        if (error != NULL) *error = edge_error;
    }
    if (status == FT_OK) {
        status = build_graph(set, fields, nodes, edges, name, graph, error);
        if (status != FT_OK) ft_fail_prefix(error, status, "%s", set->paths[CG_MODELS]);
    }
    return status != FT_OK ? ft_fail_prefix(error, status, "model '%s'", name) : FT_OK;
}

ft_status cg_next(cg_set *set, ft_graph **graph, ft_error *error) {
    *graph = NULL;
    if (set->is_over) return FT_OK;
    const csv *rows = &set->rows[CG_MODELS];
    csv_field fields[MAX_COLUMNS];
    uint32_t found;
    int64_t nodes, edges;
    ft_status status = csv_row(&set->rows[CG_MODELS], fields, MAX_COLUMNS, &found, error);
    if (status == FT_OK && found == 0) return finish(set, error);
    if (set->uncounted_line > 0)
        return ft_fail(error, FT_ERR_DAMAGED,
                       "%s: line %llu: the first row of this model is unknown: line %llu has no valid num_nodes and "
                       "num_edges",
                       rows->name, (unsigned long long)rows->line, (unsigned long long)set->uncounted_line);
    if (status == FT_OK) status = read_counts(set, fields, found, &nodes, &edges, error);
    if (status == FT_OK) return read_model(set, fields, (uint32_t)nodes, (uint32_t)edges, graph, error);
    set->uncounted_line = rows->line;
    return status;
}

/* A CG set is a folder of three tables, which cg_open reads: no single file is one. */
static bool matches_no_file(const uint8_t *bytes, size_t size) {
    (void)bytes;
    (void)size;
    return false;
}

const reader cg_reader = {.format = FT_FORMAT_CG, .matches = matches_no_file};
