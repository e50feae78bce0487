/* adapt_write.c - writes an adaptation: one row per device with its errors before and after, on held-out models. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/csv.h"
#include "base/error.h"
#include "foretell/adapt.h"
#include "learn/evaluate/evaluation.h"
#include "report/grid.h"
#include "report/style.h"
#include "report/units.h"

enum { SCHEMA_VERSION = 1, INDENT = 2 };

/* The score of a device over all held-out records; NULL: there is none. */
static const ft_score *score_of(const ft_evaluation *e, const char *device) {
    for (uint32_t i = 0; i < e->score_count; i++)
        if (strcmp(e->scores[i].device, device) == 0 && strcmp(e->scores[i].family, "all") == 0) return &e->scores[i];
    return NULL;
}

/* The numbers of a device, in the order of all documents. */
enum { NUMBERS = 11 };
static const char *const number_keys[NUMBERS] = {"scale",       "cv_mape_keep", "cv_mape_scale", "cv_mape",
                                                 "mape_before", "mape_after",   "acc10_before",  "acc10_after",
                                                 "coverage90",  "width90",      "cv_mape_work"};

static void numbers_of(const ft_adaptation *a, const ft_adapted_device *d, double numbers[static NUMBERS]) {
    const ft_score *before = score_of(&a->before, d->device), *after = score_of(&a->after, d->device);
    const double all[NUMBERS] = {d->scale,
                                 d->cv_keep,
                                 d->cv_scale,
                                 d->cv,
                                 before != NULL ? before->mape : NAN,
                                 after != NULL ? after->mape : NAN,
                                 before != NULL ? before->acc10 : NAN,
                                 after != NULL ? after->acc10 : NAN,
                                 after != NULL ? after->coverage90 : NAN,
                                 after != NULL ? after->width90 : NAN,
                                 d->cv_work};
    memcpy(numbers, all, sizeof all);
}

/* --- Table --------------------------------------------------------------------------------------------------- */

typedef struct table {
    const ft_adaptation *a;
    const ft_style *style;
    uint32_t columns;
} table;

enum { COLUMNS = 10, COLUMNS_WITHOUT_TEST = 4 };

static void put_device(const void *user, uint32_t row, grid_cell *cells) {
    static const uint32_t shown[] = {3, 4, 5, 6, 7, 8, 9};
    const table *t = user;
    const ft_adapted_device *d = &t->a->devices[row];
    double numbers[NUMBERS];
    numbers_of(t->a, d, numbers);
    text_fit(d->device, UINT32_MAX, t->style, cells[0].text, sizeof cells[0].text);
    snprintf(cells[1].text, sizeof cells[1].text, "%s%s%s", d->method, d->base != NULL ? " of " : "",
             d->base != NULL ? d->base : "");
    snprintf(cells[2].text, sizeof cells[2].text, "%u", d->models);
    for (uint32_t i = 0; 3 + i < t->columns; i++) {
        char text[UNIT_TEXT_SIZE];
        unit_fixed(numbers[shown[i]], shown[i] < 6 ? 2 : 1, text);
        snprintf(cells[3 + i].text, sizeof cells[3 + i].text, "%s", text);
    }
}

static bool has_kept(const ft_adaptation *a) {
    uint32_t i = 0;
    while (i < a->device_count && strcmp(a->devices[i].method, "keep") != 0) i++;
    return i < a->device_count;
}

static void write_table(sink *out, const ft_adaptation *a, const char *title, const ft_style *style) {
    static const grid_column columns[COLUMNS] = {
        {.title = "Device"},
        {.title = "Method", .is_flexible = true},
        {.title = "Models", .is_right = true},
        {.title = "CV", .is_right = true, .drop = 2},
        {.title = "Before", .is_right = true},
        {.title = "After", .is_right = true},
        {.title = "<=10 %", .is_right = true},
        {.title = "after", .is_right = true},
        {.title = "Cover", .is_right = true, .drop = 1},
        {.title = "Width", .is_right = true, .drop = 3},
    };
    const table user = {a, style, a->after.case_count > 0 ? COLUMNS : COLUMNS_WITHOUT_TEST};
    char clean[GRID_CELL_SIZE];
    text_fit(title, UINT32_MAX, style, clean, sizeof clean);
    buf_format(&out->text, "%s%s%s\n", tone_begin(style, TONE_TITLE), clean, tone_end(style, TONE_TITLE));
    buf_format(&out->text, "  learned from %u model%s; tested on %u records of others\n\n", a->model_count,
               a->model_count == 1 ? "" : "s", a->after.case_count);
    grid_write(&(grid){.style = style,
                       .columns = columns,
                       .column_count = user.columns,
                       .indent = INDENT,
                       .row = put_device,
                       .user = &user,
                       .row_count = a->device_count},
               out);
    buf_text(&out->text, "\n  In percent. CV: mean absolute error in cross-validation over the models learned\n  from");
    if (user.columns == COLUMNS)
        buf_text(&out->text, "; Before, After: the same on models held out; <=10 %, after: the share of\n"
                             "  these within 10 %, before and after; Cover, Width: the share inside the 90 %\n"
                             "  interval, and its width");
    buf_text(&out->text, ".\n");
    if (has_kept(a))
        buf_text(&out->text, "  keep: the predictor is as accurate as on its validation part, and no other method\n"
                             "  is better in cross-validation; the device keeps its predictor.\n");
    for (uint32_t i = 0; i < a->note_count; i++) buf_format(&out->text, "  note: %s\n", a->notes[i]);
}

/* --- JSON and CSV -------------------------------------------------------------------------------------------- */

static void write_json(sink *out, const ft_adaptation *a, const char *title) {
    json_writer writer, *j = &writer;
    jsonw_init(j, &out->text);
    jsonw_open_object(j, JSON_BLOCK);
    jsonw_pair_uint(j, "schema_version", SCHEMA_VERSION);
    jsonw_pair_string(j, "predictor", title);
    jsonw_pair_uint(j, "models", a->model_count);
    jsonw_pair_uint(j, "tested_records", a->after.case_count);
    jsonw_key(j, "devices");
    jsonw_open_array(j, JSON_BLOCK);
    for (uint32_t i = 0; i < a->device_count; i++) {
        const ft_adapted_device *d = &a->devices[i];
        double numbers[NUMBERS];
        numbers_of(a, d, numbers);
        jsonw_open_object(j, JSON_LINE);
        jsonw_pair_string(j, "device", d->device);
        jsonw_key(j, "is_new");
        jsonw_bool(j, d->is_new);
        jsonw_pair_string(j, "base", d->base);
        jsonw_pair_string(j, "method", d->method);
        jsonw_pair_uint(j, "models", d->models);
        jsonw_pair_uint(j, "records", d->records);
        for (uint32_t k = 0; k < NUMBERS; k++) jsonw_pair_double(j, number_keys[k], numbers[k]);
        jsonw_close(j);
    }
    jsonw_close(j);
    jsonw_key(j, "notes");
    jsonw_open_array(j, JSON_BLOCK);
    for (uint32_t i = 0; i < a->note_count; i++) jsonw_string(j, a->notes[i]);
    jsonw_close(j);
    jsonw_close(j);
    buf_char(&out->text, '\n');
}

static void write_csv(sink *out, const ft_adaptation *a) {
    buf_text(&out->text, "device,is_new,base,method,models,records,tested");
    for (uint32_t k = 0; k < NUMBERS; k++) buf_format(&out->text, ",%s", number_keys[k]);
    buf_char(&out->text, '\n');
    for (uint32_t i = 0; i < a->device_count; i++) {
        const ft_adapted_device *d = &a->devices[i];
        const ft_score *after = score_of(&a->after, d->device);
        double numbers[NUMBERS];
        numbers_of(a, d, numbers);
        csv_cell(&out->text, d->device);
        buf_format(&out->text, ",%s,", d->is_new ? "yes" : "no");
        if (d->base != NULL) csv_cell(&out->text, d->base);
        buf_format(&out->text, ",%s,%u,%u,%u", d->method, d->models, d->records, after != NULL ? after->n : 0);
        for (uint32_t k = 0; k < NUMBERS; k++) {
            char text[DOUBLE_TEXT_SIZE] = "";
            if (isfinite(numbers[k])) double_text(numbers[k], text);
            buf_format(&out->text, ",%s", text);
        }
        buf_char(&out->text, '\n');
    }
}

ft_status ft_adaptation_write(const ft_adaptation *adaptation, const char *title, const ft_style *style, FILE *stream,
                              ft_error *error) {
    FT_REQUIRE(error, adaptation, title, style, stream);
    FT_TRY(style_check(style, error));
    sink out = {.stream = stream};
    switch (style->output) {
    case FT_TABLE:
        write_table(&out, adaptation, title, style);
        break;
    case FT_JSON:
        write_json(&out, adaptation, title);
        break;
    case FT_CSV:
        write_csv(&out, adaptation);
        break;
    }
    ft_status status = sink_flush(&out, error);
    sink_free(&out);
    return status;
}
