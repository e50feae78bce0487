/* records.c - the records of a data set, alone or with the costs of their graphs. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/json_writer.h"
#include "base/num.h"
#include "foretell/data_report.h"
#include "report/fields.h"
#include "report/grid.h"
#include "report/metric.h"
#include "report/style.h"

static const char *mode_name(ft_mode mode) {
    return mode == FT_TRAIN ? "train" : "infer";
}

static bool is_chosen(const ft_dataset *data, const ft_record *r, const ft_record_filter *filter) {
    if (filter->device != NULL && strcmp(filter->device, r->device) != 0) return false;
    if (filter->family != NULL && strcmp(filter->family, r->family) != 0) return false;
    return filter->graph == NULL || strcmp(filter->graph, ft_dataset_graph_id(data, r->graph)) == 0;
}

/* --- Costs of a graph ---------------------------------------------------------------------------------------- */

typedef struct totals {
    uint32_t graph; /* FT_NONE: no costs yet */
    int64_t batch;
    ft_dtype dtype;
    ft_mode mode;
    uint64_t ops, params, macs, flops, moved_bytes, weight_bytes, peak_bytes;
} totals;

static const field total_fields[] = {
    {.key = "graph_ops", .kind = FIELD_COUNT, .offset = offsetof(totals, ops)},
    {.key = "graph_params", .kind = FIELD_COUNT, .offset = offsetof(totals, params)},
    {.key = "graph_macs", .kind = FIELD_COUNT, .offset = offsetof(totals, macs)},
    {.key = "graph_flops", .kind = FIELD_COUNT, .offset = offsetof(totals, flops)},
    {.key = "graph_moved_bytes", .kind = FIELD_COUNT, .offset = offsetof(totals, moved_bytes)},
    {.key = "graph_weight_bytes", .kind = FIELD_COUNT, .offset = offsetof(totals, weight_bytes)},
    {.key = "graph_peak_bytes", .kind = FIELD_COUNT, .offset = offsetof(totals, peak_bytes)},
    {.key = NULL},
};

static void add_work(totals *t, const ft_work *work) {
    t->macs = num_add_sat(t->macs, work->macs);
    t->flops = num_add_sat(t->flops, work->flops);
    t->moved_bytes = num_add_sat(t->moved_bytes, num_add_sat(work->read_bytes, work->write_bytes));
}

static ft_status compute(const ft_graph *bound, totals *t, ft_error *error) {
    ft_cost_options options = ft_cost_options_default();
    ft_cost cost;
    ft_memory memory;
    options.mode = t->mode;
    options.dtype = ft_dtype_is_float(t->dtype) ? t->dtype : FT_DTYPE_UNKNOWN;
    FT_TRY(ft_memory_plan(bound, &options, &memory, NULL, NULL, error));
    FT_TRY(ft_cost_compute(bound, &options, &cost, error));
    t->ops = cost.op_count;
    t->params = cost.total.params;
    t->weight_bytes = cost.weight_bytes;
    t->peak_bytes = memory.peak_bytes;
    add_work(t, &cost.total.forward);
    add_work(t, &cost.total.backward_data);
    add_work(t, &cost.total.backward_weights);
    add_work(t, &cost.optimizer);
    ft_cost_free(&cost);
    return FT_OK;
}

/* Neighbouring records often share a graph: the costs of the last one are kept. */
static ft_status find_totals(const ft_dataset *data, const ft_record *r, totals *t, ft_error *error) {
    if (t->graph == r->graph && t->batch == r->batch && t->dtype == r->dtype && t->mode == r->mode) return FT_OK;
    ft_graph *graph = NULL, *bound = NULL;
    *t = (totals){.graph = r->graph, .batch = r->batch, .dtype = r->dtype, .mode = r->mode};
    FT_TRY(ft_dataset_graph(data, r->graph, &graph, error));
    ft_status status = ft_graph_bind(graph, &(ft_binding){.batch = r->batch}, &bound, error);
    if (status == FT_OK) status = compute(bound, t, error);
    if (status != FT_OK) ft_fail_prefix(error, status, "graph %s", ft_dataset_graph_id(data, r->graph));
    ft_graph_free(bound);
    ft_graph_free(graph);
    return status;
}

/* --- Rows ---------------------------------------------------------------------------------------------------- */

typedef struct lister {
    const ft_dataset *data;
    const ft_style *style;
    const ft_record_filter *filter;
    bool has_costs;
    sink out;
    json_writer json;
    totals totals;
    const uint32_t *rows; /* of a table */
} lister;

static void csv_header(lister *l) {
    buf *out = &l->out.text;
    buf_text(out, "graph,name,family,device,batch,dtype,mode,setting,part,source");
    for (uint32_t i = 0; i < ft_dataset_metric_count(l->data); i++)
        buf_format(out, ",%s", ft_dataset_metric_name(l->data, i));
    for (const field *f = total_fields; l->has_costs && f->key != NULL; f++) buf_format(out, ",%s", f->key);
    buf_char(out, '\n');
}

static void csv_row_of(lister *l, const ft_record *r) {
    buf *out = &l->out.text;
    const char *const before[] = {r->name, r->family, r->device}, *const after[] = {r->setting, r->part};
    buf_text(out, ft_dataset_graph_id(l->data, r->graph));
    for (int i = 0; i < 3; i++) {
        buf_char(out, ',');
        csv_cell(out, before[i]);
    }
    buf_format(out, ",%lld,%s,%s", (long long)r->batch, ft_dtype_name(r->dtype), mode_name(r->mode));
    for (int i = 0; i < 2; i++) {
        buf_char(out, ',');
        csv_cell(out, after[i]);
    }
    buf_text(out, r->is_synthetic ? ",synthetic" : ",measured");
    for (uint32_t i = 0; i < ft_dataset_metric_count(l->data); i++) {
        char text[DOUBLE_TEXT_SIZE] = "";
        if (!isnan(r->metrics[i])) double_text(r->metrics[i], text);
        buf_format(out, ",%s", text);
    }
    for (const field *f = total_fields; l->has_costs && f->key != NULL; f++) {
        buf_char(out, ',');
        field_csv(f, &l->totals, NULL, out);
    }
    buf_char(out, '\n');
}

static void json_row(lister *l, const ft_record *r) {
    json_writer *j = &l->json;
    jsonw_open_object(j, JSON_LINE);
    jsonw_pair_string(j, "graph", ft_dataset_graph_id(l->data, r->graph));
    jsonw_pair_string(j, "name", r->name);
    jsonw_pair_string(j, "family", r->family);
    jsonw_pair_string(j, "device", r->device);
    jsonw_key(j, "batch");
    jsonw_int(j, r->batch);
    jsonw_pair_string(j, "dtype", ft_dtype_name(r->dtype));
    jsonw_pair_string(j, "mode", mode_name(r->mode));
    jsonw_pair_string(j, "setting", r->setting);
    jsonw_pair_string(j, "part", r->part);
    jsonw_pair_string(j, "source", r->is_synthetic ? "synthetic" : "measured");
    for (uint32_t i = 0; i < ft_dataset_metric_count(l->data); i++) {
        jsonw_key(j, ft_dataset_metric_name(l->data, i));
        jsonw_double(j, r->metrics[i]);
    }
    for (const field *f = total_fields; l->has_costs && f->key != NULL; f++) field_json(f, &l->totals, NULL, j);
    jsonw_close(j);
}

static void begin_rows(lister *l) {
    if (l->style->output != FT_JSON) {
        csv_header(l);
        return;
    }
    jsonw_init(&l->json, &l->out.text);
    jsonw_open_array(&l->json, JSON_BLOCK);
}

static ft_status write_rows(lister *l, ft_progress *progress, void *user, ft_error *error) {
    uint32_t count = ft_dataset_record_count(l->data), shown = 0;
    begin_rows(l);
    for (uint32_t i = 0; i < count && (l->filter->limit == 0 || shown < l->filter->limit); i++) {
        const ft_record *r = &ft_dataset_records(l->data)[i];
        if (!is_chosen(l->data, r, l->filter)) continue;
        if (l->has_costs) FT_TRY(find_totals(l->data, r, &l->totals, error));
        if (l->style->output == FT_JSON)
            json_row(l, r);
        else
            csv_row_of(l, r);
        sink_relieve(&l->out);
        if (++shown % 256 == 0 && progress != NULL && !progress(user, i, count, r->name))
            return ft_fail(error, FT_ERR_CANCELLED, "stopped");
    }
    if (l->style->output == FT_JSON) {
        jsonw_close(&l->json);
        buf_char(&l->out.text, '\n');
    }
    return sink_flush(&l->out, error);
}

/* --- Tables -------------------------------------------------------------------------------------------------- */

enum { TABLE_TEXTS = 7, TABLE_METRICS = GRID_COLUMNS - TABLE_TEXTS };

static void table_row(const void *user, uint32_t row, grid_cell *cells) {
    const lister *l = user;
    const ft_record *r = &ft_dataset_records(l->data)[l->rows[row]];
    const char *const texts[TABLE_TEXTS] = {ft_dataset_graph_id(l->data, r->graph),
                                            r->name,
                                            r->family,
                                            r->device,
                                            mode_name(r->mode),
                                            ft_dtype_name(r->dtype),
                                            NULL};
    for (int i = 0; i < TABLE_TEXTS - 1; i++)
        text_fit(texts[i], i == 0 ? 8 : UINT32_MAX, l->style, cells[i].text, sizeof cells[i].text);
    snprintf(cells[0].text, sizeof cells[0].text, "%.8s", texts[0]);
    snprintf(cells[TABLE_TEXTS - 1].text, sizeof cells[0].text, "%lld", (long long)r->batch);
    for (uint32_t i = 0; i < ft_dataset_metric_count(l->data) && i < TABLE_METRICS; i++)
        metric_words(ft_dataset_metric_name(l->data, i), r->metrics[i], cells[TABLE_TEXTS + i].text);
}

static ft_status write_table(lister *l, ft_error *error) {
    grid_column columns[GRID_COLUMNS] = {
        {.title = "Graph"},
        {.title = "Name", .is_flexible = true},
        {.title = "Family", .is_flexible = true, .drop = 2},
        {.title = "Device", .is_flexible = true},
        {.title = "Mode", .drop = 3},
        {.title = "Type", .drop = 4},
        {.title = "Batch", .is_right = true},
    };
    uint32_t metrics = ft_dataset_metric_count(l->data);
    if (metrics > TABLE_METRICS) metrics = TABLE_METRICS;
    for (uint32_t i = 0; i < metrics; i++)
        columns[TABLE_TEXTS + i] =
            (grid_column){.title = ft_dataset_metric_name(l->data, i), .is_right = true, .drop = i > 0 ? 1 : 0};
    arena memory;
    arena_init(&memory, UINT64_MAX);
    uint32_t count = ft_dataset_record_count(l->data), shown = 0, chosen = 0;
    uint32_t *rows = ARENA_ARRAY(&memory, uint32_t, (size_t)count + 1);
    for (uint32_t i = 0; rows != NULL && i < count; i++) {
        if (!is_chosen(l->data, &ft_dataset_records(l->data)[i], l->filter)) continue;
        chosen++;
        if (l->filter->limit == 0 || shown < l->filter->limit) rows[shown++] = i;
    }
    l->rows = rows;
    if (rows != NULL)
        grid_write(&(grid){.style = l->style,
                           .columns = columns,
                           .column_count = TABLE_TEXTS + metrics,
                           .row = table_row,
                           .user = l,
                           .row_count = shown},
                   &l->out);
    if (chosen > shown) buf_format(&l->out.text, "%u of %u records; --limit 0 shows all of them\n", shown, chosen);
    arena_free(&memory);
    return rows != NULL ? sink_flush(&l->out, error) : FT_NOMEM(error);
}

ft_status ft_report_records(FILE *stream, const ft_style *style, const ft_dataset *data, const ft_record_filter *filter,
                            ft_error *error) {
    FT_REQUIRE(error, stream, style, data);
    FT_TRY(style_check(style, error));
    static const ft_record_filter all;
    lister l = {.data = data, .style = style, .filter = filter != NULL ? filter : &all, .out = {.stream = stream}};
    ft_status status = style->output == FT_TABLE ? write_table(&l, error) : write_rows(&l, NULL, NULL, error);
    sink_free(&l.out);
    return status;
}

ft_status ft_report_record_costs(FILE *stream, const ft_style *style, const ft_dataset *data,
                                 const ft_record_filter *filter, ft_progress *progress, void *user, ft_error *error) {
    FT_REQUIRE(error, stream, style, data);
    FT_TRY(style_check(style, error));
    static const ft_record_filter all;
    lister l = {.data = data,
                .style = style,
                .filter = filter != NULL ? filter : &all,
                .has_costs = true,
                .out = {.stream = stream},
                .totals = {.graph = FT_NONE}};
    ft_status status = write_rows(&l, progress, user, error);
    sink_free(&l.out);
    return status;
}
