/* ablation_write.c - writes an ablation as a table, as JSON and as CSV. */
#include <math.h>
#include <stdio.h>

#include "base/csv.h"
#include "base/error.h"
#include "base/json_writer.h"
#include "learn/search/trials.h"
#include "report/grid.h"
#include "report/style.h"

enum { SCHEMA_VERSION = 1 };

/* --- CSV ----------------------------------------------------------------------------------------------------- */

static void add_number(buf *out, double value) {
    char text[DOUBLE_TEXT_SIZE] = "";
    if (isfinite(value)) double_text(value, text);
    buf_format(out, ",%s", text);
}

void ablation_csv(const ft_ablation *a, buf *out) {
    buf_format(out, "without,n,%s,%s_deviation,difference,difference_deviation\n", a->objective, a->objective);
    for (uint32_t i = 0; i < a->count; i++) {
        const ft_factor *f = &a->factors[i];
        csv_cell(out, i == 0 ? "nothing" : f->name);
        buf_format(out, ",%u", f->n);
        add_number(out, f->value);
        add_number(out, f->value_deviation);
        add_number(out, f->difference);
        add_number(out, f->difference_deviation);
        buf_char(out, '\n');
    }
}

/* --- JSON ---------------------------------------------------------------------------------------------------- */

static void json_factor(json_writer *j, const ft_ablation *a, uint32_t i) {
    const ft_factor *f = &a->factors[i];
    jsonw_open_object(j, JSON_LINE);
    jsonw_pair_string(j, "without", i == 0 ? "nothing" : f->name);
    jsonw_pair_uint(j, "n", f->n);
    jsonw_pair_double(j, "value", f->value);
    jsonw_pair_double(j, "deviation", f->value_deviation);
    jsonw_pair_double(j, "difference", f->difference);
    jsonw_pair_double(j, "difference_deviation", f->difference_deviation);
    jsonw_key(j, "by_seed");
    jsonw_open_array(j, JSON_LINE);
    for (uint32_t s = 0; s < a->seeds; s++) jsonw_double(j, f->values[s]);
    jsonw_close(j);
    jsonw_pair_string(j, "error", f->error);
    jsonw_close(j);
}

static void write_json(sink *out, const ft_ablation *a) {
    json_writer writer, *j = &writer;
    jsonw_init(j, &out->text);
    jsonw_open_object(j, JSON_BLOCK);
    jsonw_pair_uint(j, "schema_version", SCHEMA_VERSION);
    jsonw_pair_string(j, "family", a->family);
    jsonw_pair_string(j, "metric", a->metric);
    jsonw_pair_string(j, "split", a->split);
    jsonw_pair_string(j, "part", ft_split_part_name(a->part));
    jsonw_pair_string(j, "objective", a->objective);
    jsonw_pair_uint(j, "seed", a->seed);
    jsonw_pair_uint(j, "seeds", a->seeds);
    jsonw_key(j, "is_complete");
    jsonw_bool(j, a->is_complete);
    jsonw_key(j, "results");
    jsonw_open_array(j, JSON_BLOCK);
    for (uint32_t i = 0; i < a->count; i++) json_factor(j, a, i);
    jsonw_close(j);
    jsonw_close(j);
    buf_char(&out->text, '\n');
}

/* --- Table --------------------------------------------------------------------------------------------------- */

static void put(grid_cell *cell, const char *format, double value) {
    if (!isnan(value)) snprintf(cell->text, sizeof cell->text, format, value);
}

static void table_row(const void *user, uint32_t row, grid_cell *cells) {
    const ft_ablation *a = user;
    const ft_factor *f = &a->factors[row];
    snprintf(cells[0].text, sizeof cells[0].text, "%s", row == 0 ? "(all)" : f->name);
    snprintf(cells[1].text, sizeof cells[1].text, "%u", f->n);
    put(&cells[2], "%.3f", f->value);
    put(&cells[3], "%.3f", f->value_deviation);
    put(&cells[4], "%+.3f", f->difference);
    put(&cells[5], "%.3f", f->difference_deviation);
}

static void write_table(sink *out, const ft_ablation *a, const ft_style *style) {
    static const char *const parts[] = {[FT_PART_VALID] = "validation", [FT_PART_TEST] = "test"};
    const grid_column columns[] = {{.title = "Without", .is_flexible = true}, {.title = "n", .is_right = true},
                                   {.title = a->objective, .is_right = true}, {.title = "+-", .is_right = true},
                                   {.title = "difference", .is_right = true}, {.title = "+-", .is_right = true}};
    char clean[GRID_CELL_SIZE];
    text_fit(a->split, UINT32_MAX, style, clean, sizeof clean);
    buf_format(&out->text, "%s%s%s: %s of %s on the %s part of split %s, %u seed%s from %llu\n\n",
               tone_begin(style, TONE_TITLE), a->family, tone_end(style, TONE_TITLE), a->objective, a->metric,
               parts[a->part], clean, a->seeds, a->seeds == 1 ? "" : "s", (unsigned long long)a->seed);
    grid_write(&(grid){.style = style,
                       .columns = columns,
                       .column_count = sizeof columns / sizeof columns[0],
                       .indent = 2,
                       .row = table_row,
                       .user = a,
                       .row_count = a->count},
               out);
    buf_format(&out->text,
               "\n  Means over seeds; +-: standard deviation; difference: to the same seed with\n"
               "  everything, %s is worse.\n",
               a->is_higher_better ? "less" : "more");
    for (uint32_t i = 0; i < a->count; i++)
        if (a->factors[i].error != NULL)
            buf_format(&out->text, "  %s failed: %s\n", a->factors[i].name, a->factors[i].error);
    if (!a->is_complete) buf_text(&out->text, "  Time was up before all were trained.\n");
}

ft_status ft_ablation_write(const ft_ablation *ablation, const ft_style *style, FILE *stream, ft_error *error) {
    FT_REQUIRE(error, ablation, style, stream);
    FT_TRY(style_check(style, error));
    sink out = {.stream = stream};
    switch (style->output) {
    case FT_TABLE:
        write_table(&out, ablation, style);
        break;
    case FT_JSON:
        write_json(&out, ablation);
        break;
    case FT_CSV:
        ablation_csv(ablation, &out.text);
        break;
    }
    ft_status status = sink_flush(&out, error);
    sink_free(&out);
    return status;
}
