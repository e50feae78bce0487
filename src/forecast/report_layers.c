/* report_layers.c - the kernels of a result as a table: the time of each, and the operators it fuses. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "forecast/report.h"
#include "report/grid.h"
#include "report/metric.h"

enum { INDENT = 2 };

typedef struct layer_list {
    const ft_result *result;
    const ft_graph *model;
    const ft_style *style;
    const uint32_t *chosen;
    uint32_t count;
    bool has_rest; /* a row before the total sums those that are not listed */
} layer_list;

static double listed_time(const layer_list *l) {
    double sum = 0;
    for (uint32_t i = 0; i < l->count; i++) sum += ft_result_time(l->result)->parts[l->chosen[i]].value;
    return sum;
}

static void put_time(const layer_list *l, double time, grid_cell *cells) {
    metric_words("time_us", time, cells[3].text);
    unit_ratio(time > 0 ? time / ft_result_time(l->result)->value : 0, cells[4].text);
}

/* "conv1, relu1" */
static void put_operators(const layer_list *l, const ft_part *part, grid_cell *cell) {
    char names[GRID_CELL_SIZE];
    size_t used = 0;
    names[0] = '\0';
    for (uint32_t i = 0; i < part->op_count && used + 1 < sizeof names; i++) {
        const char *name = facts_op_name(l->model, &ft_graph_ops(l->model)[part->ops[i]]);
        int length = snprintf(names + used, sizeof names - used, "%s%s", i > 0 ? ", " : "", name);
        used = length > 0 ? used + (size_t)length : used;
    }
    text_fit(names, UINT32_MAX, l->style, cell->text, sizeof cell->text);
}

static void put_foot(const layer_list *l, uint32_t row, grid_cell *cells) {
    const ft_result *result = l->result;
    if (l->has_rest && row == l->count) {
        snprintf(cells[1].text, sizeof cells[1].text, "%u others", ft_result_time(result)->part_count - l->count);
        put_time(l, ft_result_time(result)->value - listed_time(l), cells);
        return;
    }
    snprintf(cells[1].text, sizeof cells[1].text, "all");
    put_time(l, ft_result_time(result)->value, cells);
}

static void put_layer(const void *user, uint32_t row, grid_cell *cells) {
    const layer_list *l = user;
    layer_row values;
    if (row >= l->count) {
        put_foot(l, row, cells);
        return;
    }
    layer_row_fill(l->result, l->chosen[row], &values);
    snprintf(cells[0].text, sizeof cells[0].text, "%u", values.index + 1);
    text_fit(values.kernel, UINT32_MAX, l->style, cells[1].text, sizeof cells[1].text);
    put_operators(l, &ft_result_time(l->result)->parts[l->chosen[row]], &cells[2]);
    put_time(l, values.time_us, cells);
    snprintf(cells[5].text, sizeof cells[5].text, "%s", values.bound != NULL ? values.bound : "-");
}

static void write_heading(sink *out, const ft_style *style, const ft_result *result) {
    char device[GRID_CELL_SIZE];
    text_fit(result->request.device, UINT32_MAX, style, device, sizeof device);
    buf_format(&out->text, "\n%sTime by kernel: %s, batch %lld%s\n", tone_begin(style, TONE_TITLE), device,
               (long long)result->request.batch, tone_end(style, TONE_TITLE));
}

void report_table_layers(sink *out, const ft_style *style, uint32_t top, const ft_model_results *entry,
                         const ft_result *result) {
    static const grid_column columns[] = {
        {.title = "#", .is_right = true},
        {.title = "Kernel", .is_flexible = true, .comfort = 16},
        {.title = "Operators", .is_flexible = true, .is_distinct = true, .comfort = 20},
        {.title = "Time", .is_right = true},
        {.title = "Share", .is_right = true},
        {.title = "Bound", .drop = 1},
    };
    write_heading(out, style, result);
    if (ft_result_time(result)->part_count == 0) {
        buf_format(&out->text, "%*s%s\n", INDENT, "",
                   ft_result_time(result)->missing_reason != NULL
                       ? "no time was predicted"
                       : "this predictor predicts the whole model, not its kernels");
        return;
    }
    layer_list l = {.result = result, .model = entry->model, .style = style};
    uint32_t *chosen = layers_choose(result, top, &l.count);
    if (chosen == NULL) {
        out->text.failed = true;
        return;
    }
    l.chosen = chosen;
    assert(l.count <= ft_result_time(result)->part_count);
    l.has_rest = l.count < ft_result_time(result)->part_count;
    uint32_t foot = l.has_rest ? 2 : 1;
    grid_write(&(grid){.style = style,
                       .columns = columns,
                       .column_count = sizeof columns / sizeof columns[0],
                       .indent = INDENT,
                       .row = put_layer,
                       .user = &l,
                       .row_count = l.count + foot,
                       .foot_count = foot},
               out);
    free(chosen);
}
