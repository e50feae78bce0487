/* report_programs.c - predicted times of tensor programs, a row each: as a table, JSON and CSV. */
#include <stdio.h>

#include "base/error.h"
#include "foretell/forecast_report.h"
#include "report/fields.h"
#include "report/grid.h"
#include "report/metric.h"
#include "report/style.h"

#define FIELD(member, kind)                                                                                            \
    { #member, kind, offsetof(ft_program_result, member) }

static const field fields[] = {
    FIELD(file, FIELD_TEXT),        FIELD(line, FIELD_COUNT),       FIELD(task, FIELD_TEXT),
    FIELD(device, FIELD_TEXT),      FIELD(rank, FIELD_COUNT),       FIELD(time_us, FIELD_RATIO),
    FIELD(time_lo_us, FIELD_RATIO), FIELD(time_hi_us, FIELD_RATIO), FIELD(measured_us, FIELD_RATIO),
    {NULL, FIELD_TEXT, 0},
};

static void write_json(sink *out, const ft_program_result *programs, uint32_t count) {
    json_writer j;
    jsonw_init(&j, &out->text);
    jsonw_open_array(&j, JSON_BLOCK);
    for (uint32_t i = 0; i < count; i++) {
        jsonw_open_object(&j, JSON_LINE);
        for (const field *f = fields; f->key != NULL; f++) field_json(f, &programs[i], NULL, &j);
        jsonw_close(&j);
        sink_relieve(out);
    }
    jsonw_close(&j);
    buf_char(&out->text, '\n');
}

static void write_csv(sink *out, const ft_program_result *programs, uint32_t count) {
    for (const field *f = fields; f->key != NULL; f++)
        buf_format(&out->text, "%s%s", f->key, f[1].key != NULL ? "," : "\n");
    for (uint32_t i = 0; i < count; i++) {
        for (const field *f = fields; f->key != NULL; f++) {
            field_csv(f, &programs[i], NULL, &out->text);
            buf_char(&out->text, f[1].key != NULL ? ',' : '\n');
        }
        sink_relieve(out);
    }
}

typedef struct listing {
    const ft_program_result *programs;
    const ft_style *style;
} listing;

static void put_row(const void *user, uint32_t row, grid_cell *cells) {
    const listing *l = user;
    const ft_program_result *p = &l->programs[row];
    snprintf(cells[0].text, sizeof cells[0].text, "%llu", (unsigned long long)p->line);
    text_fit(p->task, UINT32_MAX, l->style, cells[1].text, sizeof cells[1].text);
    snprintf(cells[2].text, sizeof cells[2].text, "%llu", (unsigned long long)p->rank);
    metric_words("time_us", p->time_us, cells[3].text);
    metric_interval("time_us", p->time_lo_us, p->time_hi_us, cells[4].text);
    metric_words("time_us", p->measured_us, cells[5].text);
}

static void write_table(sink *out, const ft_program_result *programs, uint32_t count, const ft_style *style) {
    static const grid_column columns[] = {
        {.title = "Line", .is_right = true},          {.title = "Task", .is_flexible = true, .comfort = 24},
        {.title = "Rank", .is_right = true},          {.title = "Time", .is_right = true},
        {.title = "90 % interval", .is_right = true}, {.title = "Measured", .is_right = true, .drop = 2},
    };
    grid_write(&(grid){.style = style,
                       .columns = columns,
                       .column_count = sizeof columns / sizeof columns[0],
                       .row = put_row,
                       .user = &(listing){programs, style},
                       .row_count = count},
               out);
}

ft_status ft_report_programs(FILE *stream, const ft_style *style, const ft_program_result *programs, uint32_t count,
                             ft_error *error) {
    FT_REQUIRE(error, stream, style);
    if (count > 0) FT_REQUIRE(error, programs);
    FT_TRY(style_check(style, error));
    sink out = {.stream = stream};
    switch (style->output) {
    case FT_TABLE:
        write_table(&out, programs, count, style);
        break;
    case FT_JSON:
        write_json(&out, programs, count);
        break;
    case FT_CSV:
        write_csv(&out, programs, count);
        break;
    }
    ft_status status = sink_flush(&out, error);
    sink_free(&out);
    return status;
}
