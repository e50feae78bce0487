/* gnn_data.c - collects training data of graph networks: labels by sample and column, then features of each sample. */
#include "predictor/gnn/gnn_data.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/num.h"
#include "data/dataset.h"
#include "data/devices.h"
#include "predictor/core/scan.h"

static const uint64_t EXTRACT_MEMORY = (uint64_t)512 << 20; /* limit for the features of one model */

/* --- Samples and columns ------------------------------------------------------------------------------------- */

/* Without padding, so that equal keys are equal bytes. */
typedef struct sample_key {
    uint64_t batch;
    uint32_t graph, dtype;
} sample_key;

typedef struct column_key {
    uint64_t setting; /* hash */
    uint32_t device, mode, dtype, metric;
} column_key;

typedef struct gathering {
    const fit_set *set;
    const gnn_kind *kind;
    const gnn_plan *plan;
    const void *extractor;
    gnn_data *data;
    row_table samples, columns;
    gnn_columns known;
    uint32_t metric_index[GNN_MAX_METRICS]; /* of the data set */
    fit_row *firsts;                        /* per sample: a row that has it */
    uint32_t *counts;                       /* labels per sample and column, which are averaged */
} gathering;

static ft_status find_metrics(gathering *g, ft_error *error) {
    gnn_data *data = g->data;
    if (g->set->other_count >= GNN_MAX_METRICS)
        return ft_fail(error, FT_ERR_LIMIT, "%u metrics; %d at most are learned together", g->set->other_count + 1,
                       GNN_MAX_METRICS);
    if (g->set->other_count > 0 && data->widths.column_values > 0)
        return ft_fail(
            error, FT_ERR_USAGE,
            "config: a network that reads data sheets has one output for one metric, so it cannot learn '%s' too",
            g->set->others[0]);
    data->metrics[data->metric_count++] = g->set->metric;
    for (uint32_t i = 0; i < g->set->other_count; i++) data->metrics[data->metric_count++] = g->set->others[i];
    for (uint32_t i = 1; i < data->metric_count; i++) {
        g->metric_index[i] = ft_dataset_metric(g->set->data, data->metrics[i]);
        if (g->metric_index[i] == FT_NONE)
            return ft_fail(error, FT_ERR_USAGE, "the data set has no metric '%s'", data->metrics[i]);
    }
    return FT_OK;
}

static ft_status read_sheet(const gathering *g, uint32_t device, float *values, ft_error *error) {
    ft_device *sheet = NULL;
    FT_TRY(device_open(g->set->data->folder, g->set->devices[device], &sheet, error));
    ft_status status = g->kind->sheet(sheet, values, error);
    ft_device_free(sheet);
    return status;
}

static ft_status add_column(gathering *g, const fit_row *row, uint32_t metric, ft_error *error) {
    const ft_record *record = &ft_dataset_records(g->set->data)[row->record];
    gnn_data *data = g->data;
    if (data->column_count == GNN_MAX_COLUMNS)
        return ft_fail(error, FT_ERR_LIMIT, "more than %d different devices, modes and settings", GNN_MAX_COLUMNS);
    size_t length = strlen(record->setting);
    if (length >= GNN_MAX_TEXT)
        return ft_fail(error, FT_ERR_LIMIT, "the setting of record %u is longer than %d bytes", row->record,
                       GNN_MAX_TEXT - 1);
    FT_TRY(row_grow((void **)&data->columns, data->column_count, &data->column_capacity, sizeof *data->columns, error));
    assert(row->device < g->set->device_count);
    gnn_column *column = &data->columns[data->column_count++];
    *column = (gnn_column){.device = row->device, .metric = metric, .mode = record->mode, .dtype = record->dtype};
    memcpy(column->setting, record->setting, length);
    return data->widths.column_values > 0 ? read_sheet(g, row->device, column->values, error) : FT_OK;
}

static column_key key_of(const gathering *g, const fit_row *row, uint32_t metric) {
    const ft_record *record = &ft_dataset_records(g->set->data)[row->record];
    return (column_key){.setting = hash_bytes(record->setting, strlen(record->setting)).low,
                        .device = row->device,
                        .mode = record->mode,
                        .dtype = record->dtype,
                        .metric = metric};
}

/* The label of a row in a metric; NaN if it has no valid one. */
static double label_of(const gathering *g, const fit_row *row, uint32_t metric) {
    double label =
        metric == 0 ? row->label : ft_dataset_records(g->set->data)[row->record].metrics[g->metric_index[metric]];
    return label_is_valid((label_form)g->plan->shared.target, label) ? label : NAN;
}

static ft_status copy_known_columns(gathering *g, ft_error *error) {
    gnn_data *data = g->data;
    for (uint32_t i = 0; i < g->known.count; i++) {
        const gnn_column *c = &g->known.items[i];
        column_key key = {.setting = hash_bytes(c->setting, strlen(c->setting)).low,
                          .device = c->device,
                          .mode = c->mode,
                          .dtype = c->dtype,
                          .metric = c->metric};
        uint32_t number;
        FT_TRY(row_table_add(&g->columns, &key, &number, error));
        FT_TRY(row_grow((void **)&data->columns, data->column_count, &data->column_capacity, sizeof *data->columns,
                        error));
        data->columns[data->column_count++] = *c;
    }
    return FT_OK;
}

/* Columns are those of the training rows. */
static ft_status find_columns(gathering *g, ft_error *error) {
    FT_TRY(copy_known_columns(g, error));
    for (uint32_t i = 0; i < g->set->train.count; i++) {
        for (uint32_t k = 0; k < g->data->metric_count; k++) {
            const fit_row *row = &g->set->train.items[i];
            column_key key = key_of(g, row, k);
            uint32_t number;
            if (isnan(label_of(g, row, k))) continue;
            FT_TRY(row_table_add(&g->columns, &key, &number, error));
            if (number == g->data->column_count) FT_TRY(add_column(g, row, k, error));
            g->data->columns[number].labels++;
        }
    }
    if (g->data->column_count == 0) return ft_fail(error, FT_ERR_USAGE, "there are no labels to learn from");
    return FT_OK;
}

static ft_status find_sample(gathering *g, const fit_row *row, uint32_t *number, ft_error *error) {
    const ft_record *record = &ft_dataset_records(g->set->data)[row->record];
    sample_key key = {.batch = (uint64_t)record->batch, .graph = record->graph, .dtype = record->dtype};
    FT_TRY(row_table_add(&g->samples, &key, number, error));
    assert(*number <= g->data->graph_count);
    if (*number == g->data->graph_count) g->firsts[g->data->graph_count++] = *row;
    return FT_OK;
}

static ft_status find_samples(gathering *g, ft_error *error) {
    uint32_t number;
    g->firsts = calloc((size_t)g->set->train.count + g->set->valid.count + 1, sizeof *g->firsts);
    if (g->firsts == NULL) return FT_NOMEM(error);
    for (uint32_t i = 0; i < g->set->train.count; i++) FT_TRY(find_sample(g, &g->set->train.items[i], &number, error));
    g->data->train_count = g->data->graph_count;
    for (uint32_t i = 0; i < g->set->valid.count; i++) FT_TRY(find_sample(g, &g->set->valid.items[i], &number, error));
    return FT_OK;
}

/* Graphs of one name form a group: programs of a task. */
static ft_status find_groups(gathering *g, ft_error *error) {
    gnn_data *data = g->data;
    row_table names = {.size = sizeof(hash128)};
    ft_status status = FT_OK;
    data->group_of = malloc(((size_t)data->graph_count + 1) * sizeof *data->group_of);
    if (data->group_of == NULL) return FT_NOMEM(error);
    for (uint32_t i = 0; status == FT_OK && i < data->graph_count; i++) {
        const char *name = ft_dataset_records(g->set->data)[g->firsts[i].record].name;
        hash128 key = hash_bytes(name, strlen(name));
        status = row_table_add(&names, &key, &data->group_of[i], error);
    }
    data->group_count = names.count;
    row_table_free(&names);
    return status;
}

/* --- Labels -------------------------------------------------------------------------------------------------- */

/* Repeated measurements are averaged. */
static ft_status add_labels(gathering *g, fit_rows rows, ft_error *error) {
    gnn_data *data = g->data;
    for (uint32_t i = 0; i < rows.count; i++) {
        for (uint32_t k = 0; k < data->metric_count; k++) {
            column_key key = key_of(g, &rows.items[i], k);
            double label = label_of(g, &rows.items[i], k);
            uint32_t sample, column;
            if (isnan(label)) continue;
            FT_TRY(row_table_add(&g->columns, &key, &column, error));
            if (column >= data->column_count) continue; /* columns without training labels are not validated */
            FT_TRY(find_sample(g, &rows.items[i], &sample, error));
            size_t cell = (size_t)sample * data->column_count + column;
            uint32_t count = ++g->counts[cell];
            data->labels[cell] = count == 1 ? label : data->labels[cell] + (label - data->labels[cell]) / count;
        }
    }
    return FT_OK;
}

static ft_status make_labels(gathering *g, ft_error *error) {
    gnn_data *data = g->data;
    size_t cells, bytes;
    if (!num_mul_size(data->graph_count, data->column_count, &cells) || !num_mul_size(cells, sizeof(double), &bytes))
        return ft_fail(error, FT_ERR_LIMIT, "too many models and columns: the table of labels is too large");
    data->labels = calloc(1, bytes);
    g->counts = calloc(cells, sizeof *g->counts);
    if (data->labels == NULL || g->counts == NULL) return FT_NOMEM(error);
    for (size_t i = 0; i < cells; i++) data->labels[i] = NAN;
    FT_TRY(add_labels(g, g->set->train, error));
    return add_labels(g, g->set->valid, error);
}

/* Columns that share an output share its scale, which then also holds for new columns. `room`: memory for all labels of
 * the training part. */
static void scale_column(const gathering *g, gnn_column *column, uint32_t number, double *room) {
    const gnn_data *data = g->data;
    bool is_shared = data->widths.column_values > 0;
    size_t count = 0;
    for (size_t i = 0; i < (size_t)data->train_count * data->column_count; i++) {
        uint32_t of = (uint32_t)(i % data->column_count);
        if (isnan(data->labels[i])) continue;
        if (of == number || (is_shared && data->columns[of].metric == column->metric)) room[count++] = data->labels[i];
    }
    column->scale = label_scale_fit((label_form)g->plan->shared.target, room, count);
}

/* New columns of a model that is trained further have the scale of the output that they share. */
static ft_status copy_scale(const gathering *g, gnn_column *column, ft_error *error) {
    uint32_t like = 0;
    while (like < g->known.count && g->known.items[like].metric != column->metric) like++;
    if (like == g->known.count || g->data->widths.column_values == 0)
        return ft_fail(error, FT_ERR_UNSUPPORTED, "%s has no output for a new device, mode, type or setting",
                       g->kind->name);
    column->scale = g->known.items[like].scale;
    return FT_OK;
}

static ft_status scale_columns(const gathering *g, ft_error *error) {
    const gnn_data *data = g->data;
    for (uint32_t i = g->known.count; g->known.count > 0 && i < data->column_count; i++)
        FT_TRY(copy_scale(g, &data->columns[i], error));
    if (g->known.count > 0) return FT_OK;
    double *room = malloc((size_t)data->train_count * data->column_count * sizeof *room);
    if (room == NULL) return FT_NOMEM(error);
    for (uint32_t i = 0; i < data->column_count; i++) scale_column(g, &data->columns[i], i, room);
    free(room);
    return FT_OK;
}

/* --- Features ------------------------------------------------------------------------------------------------- */

typedef struct sample_head {
    uint32_t nodes, edges;
    double known_ratio;
} sample_head;

static void write_sample(const gnn_sample *s, const gnn_widths *w, buf *found) {
    sample_head head = {.nodes = s->nodes, .edges = s->edges, .known_ratio = s->known_ratio};
    buf_add(found, &head, sizeof head);
    for (size_t i = 0; i < s->nodes; i++) {
        buf_add(found, &s->kinds[i], sizeof s->kinds[i]);
        if (w->node_values > 0) buf_add(found, s->node_values + i * w->node_values, w->node_values * sizeof(float));
    }
    const struct {
        const void *items;
        size_t bytes;
    } rest[] = {{s->node_marks, (size_t)s->nodes * w->node_marks * sizeof(float)},
                {s->from, s->edges * sizeof *s->from},
                {s->to, s->edges * sizeof *s->to},
                {s->edge_values, (size_t)s->edges * w->edge_values * sizeof(float)},
                {s->global_values, w->global_values * sizeof(float)},
                {s->global_marks, w->global_marks * sizeof(float)}};
    for (size_t i = 0; i < sizeof rest / sizeof rest[0]; i++)
        if (rest[i].bytes > 0) buf_add(found, rest[i].items, rest[i].bytes);
}

static ft_status visit(void *user, const scan_item *item, model_view *view, uint32_t worker, buf *found,
                       ft_error *error) {
    (void)item;
    (void)worker;
    const gathering *g = user;
    gnn_sample sample = {0};
    arena memory;
    arena_init(&memory, EXTRACT_MEMORY);
    ft_status status = g->kind->extract(g->plan->own, g->extractor, view, &memory, &sample, error);
    if (status == FT_OK) write_sample(&sample, &g->plan->widths, found);
    arena_free(&memory);
    return status;
}

static ft_status add_nodes(gnn_data *data, const char **at, uint32_t count, ft_error *error) {
    const char *node = *at, *mark = node + (size_t)count * data->nodes.size;
    for (uint32_t i = 0; i < count; i++, node += data->nodes.size, mark += data->marks.size) {
        FT_TRY(row_grow((void **)&data->node_row, data->node_count, &data->node_capacity, sizeof(uint32_t), error));
        FT_TRY(row_grow((void **)&data->mark_row, data->node_count, &data->mark_capacity, sizeof(uint32_t), error));
        FT_TRY(row_table_add(&data->nodes, node, &data->node_row[data->node_count], error));
        data->mark_row[data->node_count] = 0;
        if (data->marks.size > 0) FT_TRY(row_table_add(&data->marks, mark, &data->mark_row[data->node_count], error));
        data->node_count++;
    }
    *at = mark;
    return FT_OK;
}

static ft_status add_edges(gnn_data *data, const char **at, uint32_t count, ft_error *error) {
    const char *from = *at, *to = from + count * sizeof(uint32_t), *values = to + count * sizeof(uint32_t);
    for (uint32_t i = 0; i < count; i++, values += data->edges.size) {
        uint32_t e = data->edge_count;
        FT_TRY(row_grow((void **)&data->from, e, &data->from_capacity, sizeof(uint32_t), error));
        FT_TRY(row_grow((void **)&data->to, e, &data->to_capacity, sizeof(uint32_t), error));
        FT_TRY(row_grow((void **)&data->edge_row, e, &data->row_capacity, sizeof(uint32_t), error));
        memcpy(&data->from[e], from + i * sizeof(uint32_t), sizeof(uint32_t));
        memcpy(&data->to[e], to + i * sizeof(uint32_t), sizeof(uint32_t));
        data->edge_row[e] = 0;
        if (data->edges.size > 0) FT_TRY(row_table_add(&data->edges, values, &data->edge_row[e], error));
        data->edge_count++;
    }
    *at = values;
    return FT_OK;
}

static ft_status gather(void *user, const scan_item *item, const buf *found, ft_error *error) {
    const gathering *g = user;
    gnn_data *data = g->data;
    const char *at = found->data;
    sample_head head;
    memcpy(&head, at, sizeof head);
    at += sizeof head;
    if (head.nodes == 0) return ft_fail(error, FT_ERR_GRAPH, "the model has no operators to predict from");
    assert(item->index < data->graph_count);
    data->graphs[item->index] = (gnn_graph){.first_node = data->node_count,
                                            .nodes = head.nodes,
                                            .first_edge = data->edge_count,
                                            .edges = head.edges,
                                            .known_ratio = head.known_ratio};
    FT_TRY(add_nodes(data, &at, head.nodes, error));
    FT_TRY(add_edges(data, &at, head.edges, error));
    size_t width = (size_t)data->widths.global_values + data->widths.global_marks;
    if (width > 0) memcpy(data->globals + item->index * width, at, width * sizeof(float));
    return FT_OK;
}

static ft_status extract_samples(gathering *g, const fit_context *context, ft_error *error) {
    gnn_data *data = g->data;
    size_t width = (size_t)data->widths.global_values + data->widths.global_marks;
    scan *s = NULL;
    data->graphs = calloc((size_t)data->graph_count + 1, sizeof *data->graphs);
    data->globals = calloc(data->graph_count * width + 1, sizeof *data->globals);
    if (data->graphs == NULL || data->globals == NULL) return FT_NOMEM(error);
    FT_TRY(scan_new(g->set->data, (fit_rows){.items = g->firsts, .count = data->graph_count}, &s, error));
    scan_job job = {.threads = context->threads, .visit = visit, .gather = gather, .user = g, .context = context};
    job.to = 0.05;
    job.what = "graphs";
    ft_status status = scan_run(s, &job, error);
    scan_free(s);
    return status;
}

/* --- Collecting -------------------------------------------------------------------------------------------- */

static ft_status gather_all(gathering *g, const fit_context *context, ft_error *error) {
    FT_TRY(find_metrics(g, error));
    FT_TRY(find_columns(g, error));
    FT_TRY(find_samples(g, error));
    FT_TRY(find_groups(g, error));
    FT_TRY(make_labels(g, error));
    FT_TRY(scale_columns(g, error));
    return extract_samples(g, context, error);
}

ft_status gnn_data_gather(const fit_set *set, const fit_context *context, const gnn_data_options *options,
                          gnn_data *data, ft_error *error) {
    const gnn_widths *w = &options->plan->widths;
    *data = (gnn_data){.widths = *w,
                       .nodes.size = (1 + w->node_values) * sizeof(float),
                       .marks.size = w->node_marks * sizeof(float),
                       .edges.size = w->edge_values * sizeof(float)};
    gathering g = {.set = set,
                   .kind = options->kind,
                   .plan = options->plan,
                   .extractor = options->extractor,
                   .data = data,
                   .known = options->known};
    g.samples.size = sizeof(sample_key);
    g.columns.size = sizeof(column_key);
    ft_status status = gather_all(&g, context, error);
    row_table_free(&g.samples);
    row_table_free(&g.columns);
    free(g.firsts);
    free(g.counts);
    if (status != FT_OK) gnn_data_free(data);
    return status;
}

void gnn_data_free(gnn_data *data) {
    row_table_free(&data->nodes);
    row_table_free(&data->marks);
    row_table_free(&data->edges);
    free(data->columns);
    free(data->node_row);
    free(data->mark_row);
    free(data->from);
    free(data->to);
    free(data->edge_row);
    free(data->graphs);
    free(data->globals);
    free(data->group_of);
    free(data->labels);
    *data = (gnn_data){0};
}

const float *gnn_column_values(const gnn_column *columns, uint32_t count, uint32_t width, arena *memory) {
    float *values = ARENA_ARRAY(memory, float, (size_t)count *width + 1);
    for (uint32_t i = 0; values != NULL && i < count; i++)
        memcpy(values + (size_t)i * width, columns[i].values, width * sizeof *values);
    return values;
}

uint32_t gnn_node_kind(const gnn_data *data, uint32_t row) {
    uint32_t kind;
    assert(row < data->nodes.count);
    memcpy(&kind, data->nodes.rows + (size_t)row * data->nodes.size, sizeof kind);
    return kind;
}
