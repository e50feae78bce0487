/* sample_write.c - writes a sample as CSV (for measuring scripts, `adapt` and `import table`), as JSON, and as a table.
 */
#include <stdio.h>

#include "base/csv.h"
#include "base/error.h"
#include "base/json_writer.h"
#include "foretell/adapt.h"
#include "report/grid.h"
#include "report/sink.h"
#include "report/style.h"
#include "report/units.h"

enum { SCHEMA_VERSION = 1, INDENT = 2 };

typedef struct table {
    const ft_sample *sample;
    const ft_style *style;
} table;

static void put_model(const void *user, uint32_t row, grid_cell *cells) {
    const table *t = user;
    const ft_sampled *m = &t->sample->items[row];
    char weight[UNIT_TEXT_SIZE];
    snprintf(cells[0].text, sizeof cells[0].text, "%u", row + 1);
    text_fit(m->name, UINT32_MAX, t->style, cells[1].text, sizeof cells[1].text);
    text_fit(m->family, UINT32_MAX, t->style, cells[2].text, sizeof cells[2].text);
    unit_fixed(100 * m->weight, 1, weight);
    snprintf(cells[3].text, sizeof cells[3].text, "%s %%", weight);
    text_fit(m->reason, UINT32_MAX, t->style, cells[4].text, sizeof cells[4].text);
}

static void write_table(sink *out, const ft_sample *s, const ft_style *style) {
    static const grid_column columns[] = {
        {.title = "", .is_right = true},
        {.title = "Model", .is_flexible = true, .wraps = true, .comfort = 18},
        {.title = "Family", .is_flexible = true, .drop = 1},
        {.title = "Represents", .is_right = true},
        {.title = "Reason", .is_flexible = true, .wraps = true, .comfort = 20},
    };
    char own[UNIT_TEXT_SIZE], chance[UNIT_TEXT_SIZE];
    unit_number(s->discrepancy, own);
    unit_number(s->random_discrepancy, chance);
    buf_format(&out->text, "%u of %u models, by %s\n\n", s->count, s->pool_count, s->method);
    grid_write(&(grid){.style = style,
                       .columns = columns,
                       .column_count = sizeof columns / sizeof columns[0],
                       .indent = INDENT,
                       .row = put_model,
                       .user = &(table){s, style},
                       .row_count = s->count},
               out);
    buf_format(&out->text,
               "\n  Central moment discrepancy to the pool: %s; of a random sample: %s.\n"
               "  The smaller, the more similar the sample is to the pool.\n",
               own, chance);
}

static void write_json(sink *out, const ft_sample *s) {
    json_writer writer, *j = &writer;
    jsonw_init(j, &out->text);
    jsonw_open_object(j, JSON_BLOCK);
    jsonw_pair_uint(j, "schema_version", SCHEMA_VERSION);
    jsonw_pair_string(j, "method", s->method);
    jsonw_pair_uint(j, "pool", s->pool_count);
    jsonw_pair_double(j, "discrepancy", s->discrepancy);
    jsonw_pair_double(j, "random_discrepancy", s->random_discrepancy);
    jsonw_key(j, "models");
    jsonw_open_array(j, JSON_BLOCK);
    for (uint32_t i = 0; i < s->count; i++) {
        const ft_sampled *m = &s->items[i];
        jsonw_open_object(j, JSON_LINE);
        jsonw_pair_string(j, "name", m->name);
        jsonw_pair_string(j, "family", m->family);
        jsonw_pair_string(j, "graph", m->graph);
        jsonw_pair_double(j, "weight", m->weight);
        jsonw_pair_string(j, "reason", m->reason);
        jsonw_close(j);
    }
    jsonw_close(j);
    jsonw_close(j);
    buf_char(&out->text, '\n');
}

/* `model` is the path that a measuring script and `import table` read the model from: initially the name, to be
 * replaced by the user. */
static void write_csv(sink *out, const ft_sample *s) {
    buf_text(&out->text, "model,name,family,graph,weight,reason\n");
    for (uint32_t i = 0; i < s->count; i++) {
        const ft_sampled *m = &s->items[i];
        char weight[DOUBLE_TEXT_SIZE];
        double_text(m->weight, weight);
        csv_cell(&out->text, m->name);
        buf_char(&out->text, ',');
        csv_cell(&out->text, m->name);
        buf_char(&out->text, ',');
        csv_cell(&out->text, m->family);
        buf_format(&out->text, ",%s,%s,", m->graph, weight);
        csv_cell(&out->text, m->reason);
        buf_char(&out->text, '\n');
    }
}

ft_status ft_sample_write(const ft_sample *sample, const ft_style *style, FILE *stream, ft_error *error) {
    FT_REQUIRE(error, sample, style, stream);
    FT_TRY(style_check(style, error));
    sink out = {.stream = stream};
    switch (style->output) {
    case FT_TABLE:
        write_table(&out, sample, style);
        break;
    case FT_JSON:
        write_json(&out, sample);
        break;
    case FT_CSV:
        write_csv(&out, sample);
        break;
    }
    ft_status status = sink_flush(&out, error);
    sink_free(&out);
    return status;
}
