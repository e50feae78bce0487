/* catalog.c - the documents of `foretell list`: formats, operators, runtimes and predictor families.
 *
 * Each is a table of texts, so one writer is enough. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "foretell/catalogue.h"
#include "foretell/predictor.h"
#include "report/fields.h"
#include "report/grid.h"
#include "report/style.h"

typedef struct catalog_column {
    const char *key;
    const char *title;
    bool is_list;   /* words separated by spaces: an array in JSON */
    bool is_number; /* a whole number */
} catalog_column;

typedef struct catalog {
    const catalog_column *columns;
    uint32_t column_count;
    uint32_t row_count;
    const char *(*cell)(const struct catalog *c, uint32_t row, uint32_t column);
    const ft_style *style;
    ft_format format; /* of operators: FT_FORMAT_UNKNOWN for all */
    buf *scratch;     /* for cells that are composed */
} catalog;

/* --- Writing ------------------------------------------------------------------------------------------------- */

static void words_json(json_writer *j, const char *words) {
    jsonw_open_array(j, JSON_LINE);
    while (*words != '\0') {
        char word[128];
        size_t length = strcspn(words, " ");
        snprintf(word, sizeof word, "%.*s", (int)length, words);
        if (length > 0) jsonw_string(j, word);
        words += length + (words[length] == ' ');
    }
    jsonw_close(j);
}

static void write_json(const catalog *c, sink *out) {
    json_writer j;
    jsonw_init(&j, &out->text);
    jsonw_open_array(&j, JSON_BLOCK);
    for (uint32_t r = 0; r < c->row_count; r++) {
        jsonw_open_object(&j, JSON_LINE);
        for (uint32_t i = 0; i < c->column_count; i++) {
            jsonw_key(&j, c->columns[i].key);
            if (c->columns[i].is_list)
                words_json(&j, c->cell(c, r, i));
            else if (c->columns[i].is_number)
                jsonw_uint(&j, strtoull(c->cell(c, r, i), NULL, 10));
            else
                jsonw_string(&j, c->cell(c, r, i));
        }
        jsonw_close(&j);
    }
    jsonw_close(&j);
    buf_char(&out->text, '\n');
}

static void write_csv(const catalog *c, sink *out) {
    for (uint32_t i = 0; i < c->column_count; i++)
        buf_format(&out->text, "%s%s", c->columns[i].key, i + 1 < c->column_count ? "," : "\n");
    for (uint32_t r = 0; r < c->row_count; r++) {
        for (uint32_t i = 0; i < c->column_count; i++) {
            csv_cell(&out->text, c->cell(c, r, i));
            buf_char(&out->text, i + 1 < c->column_count ? ',' : '\n');
        }
    }
}

static void table_row(const void *user, uint32_t row, grid_cell *cells) {
    const catalog *c = user;
    for (uint32_t i = 0; i < c->column_count; i++)
        text_fit(c->cell(c, row, i), UINT32_MAX, c->style, cells[i].text, sizeof cells[i].text);
}

static void write_table(const catalog *c, sink *out) {
    grid_column columns[GRID_COLUMNS] = {0};
    assert(c->column_count <= GRID_COLUMNS);
    for (uint32_t i = 0; i < c->column_count; i++)
        columns[i] = (grid_column){.title = c->columns[i].title, .is_flexible = i > 0, .wraps = i > 0};
    grid_write(&(grid){.style = c->style,
                       .columns = columns,
                       .column_count = c->column_count,
                       .row = table_row,
                       .user = c,
                       .row_count = c->row_count},
               out);
}

static ft_status write_catalog(FILE *stream, const catalog *c, ft_error *error) {
    sink out = {.stream = stream};
    switch (c->style->output) {
    case FT_TABLE:
        write_table(c, &out);
        break;
    case FT_JSON:
        write_json(c, &out);
        break;
    case FT_CSV:
        write_csv(c, &out);
        break;
    }
    if (c->scratch != NULL && c->scratch->failed) out.text.failed = true;
    ft_status status = sink_flush(&out, error);
    sink_free(&out);
    return status;
}

/* --- Formats ------------------------------------------------------------------------------------------------- */

static const struct {
    ft_format format;
    const char *extensions;
    const char *recognised_by;
} formats[] = {
#define FORMAT_ROW(id, name, text, extensions, identified_by) {FT_FORMAT_##id, extensions, identified_by},
    FT_FORMAT_LIST(FORMAT_ROW)
#undef FORMAT_ROW
};

static const char *format_cell(const catalog *c, uint32_t row, uint32_t column) {
    (void)c;
    switch (column) {
    case 0:
        return ft_format_name(formats[row].format);
    case 1:
        return ft_format_text(formats[row].format);
    case 2:
        return formats[row].extensions;
    default:
        return formats[row].recognised_by;
    }
}

ft_status ft_report_formats(FILE *stream, const ft_style *style, ft_error *error) {
    FT_REQUIRE(error, stream, style);
    FT_TRY(style_check(style, error));
    static const catalog_column columns[] = {
        {.key = "name", .title = "Format"},
        {.key = "text", .title = "Description"},
        {.key = "extensions", .title = "Usual names", .is_list = true},
        {.key = "recognised_by", .title = "Recognised by"},
    };
    return write_catalog(stream,
                         &(catalog){.columns = columns,
                                    .column_count = 4,
                                    .row_count = sizeof formats / sizeof formats[0],
                                    .cell = format_cell,
                                    .style = style},
                         error);
}

/* --- Models ------------------------------------------------------------------------------------------------------ */

static const char *model_cell(const catalog *c, uint32_t row, uint32_t column) {
    switch (column) {
    case 0:
        return ft_model_name(row);
    case 1:
        return ft_model_text(row);
    case 2:
        c->scratch->length = 0;
        buf_format(c->scratch, "%llu", (unsigned long long)ft_model_params(row));
        return c->scratch->failed ? "" : c->scratch->data;
    case 3:
        return ft_model_symbols(row);
    case 4:
        return ft_model_family(row);
    default:
        return ft_model_other_names(row);
    }
}

ft_status ft_report_models(FILE *stream, const ft_style *style, ft_error *error) {
    FT_REQUIRE(error, stream, style);
    FT_TRY(style_check(style, error));
    static const catalog_column columns[] = {
        {.key = "name", .title = "Model"},
        {.key = "text", .title = "Description"},
        {.key = "params", .title = "Parameters", .is_number = true},
        {.key = "symbols", .title = "Needs", .is_list = true},
        {.key = "family", .title = "Family"},
        {.key = "other_names", .title = "Other names", .is_list = true},
    };
    buf scratch = {0};
    ft_status status = write_catalog(stream,
                                     &(catalog){.columns = columns,
                                                .column_count = style->output == FT_TABLE ? 4 : 6,
                                                .row_count = ft_model_count(),
                                                .cell = model_cell,
                                                .style = style,
                                                .scratch = &scratch},
                                     error);
    buf_free(&scratch);
    return status;
}

/* --- Operators ----------------------------------------------------------------------------------------------- */

/* The n-th operator that the format has. Walking from the start each time is quadratic in a table of a few hundred. */
static const ft_opdef *nth_op(ft_format format, uint32_t n) {
    for (uint32_t i = 0; i < ft_opdef_count(); i++) {
        const ft_opdef *def = ft_opdef_at(i);
        if (format != FT_FORMAT_UNKNOWN && ft_opdef_spellings(def, format)[0] == '\0') continue;
        if (n-- == 0) return def;
    }
    return NULL;
}

/* For tables: three columns of names would be too narrow to read. */
static const char *all_spellings(const catalog *c, const ft_opdef *def) {
    static const struct {
        ft_format format;
        const char *title;
    } columns[] = {
        {FT_FORMAT_ONNX, "ONNX"}, {FT_FORMAT_TFLITE, "TFLite"}, {FT_FORMAT_CG, "TensorFlow"}, {FT_FORMAT_NCNN, "ncnn"}};
    c->scratch->length = 0;
    for (size_t i = 0; i < sizeof columns / sizeof columns[0]; i++) {
        const char *words = ft_opdef_spellings(def, columns[i].format);
        if (words[0] == '\0') continue;
        buf_format(c->scratch, "%s%s: %s", c->scratch->length > 0 ? ", " : "", columns[i].title, words);
    }
    return c->scratch->length > 0 ? c->scratch->data : "";
}

static const char *op_cell(const catalog *c, uint32_t row, uint32_t column) {
    const ft_opdef *def = nth_op(c->format, row);
    assert(def != NULL);
    if (column == 0) return ft_opdef_name(def);
    if (column == 1) return ft_op_class_name(ft_opdef_class(def));
    if (c->format != FT_FORMAT_UNKNOWN) return ft_opdef_spellings(def, c->format);
    if (c->style->output == FT_TABLE) return all_spellings(c, def);
    static const ft_format formats_of_columns[] = {FT_FORMAT_ONNX, FT_FORMAT_TFLITE, FT_FORMAT_CG, FT_FORMAT_NCNN};
    return ft_opdef_spellings(def, formats_of_columns[column - 2]);
}

ft_status ft_report_ops(FILE *stream, const ft_style *style, ft_format format, ft_error *error) {
    FT_REQUIRE(error, stream, style);
    FT_TRY(style_check(style, error));
    static const catalog_column all[] = {
        {.key = "name", .title = "Operator"},
        {.key = "class", .title = "Class"},
        {.key = "onnx", .title = "ONNX", .is_list = true},
        {.key = "tflite", .title = "TFLite", .is_list = true},
        {.key = "tensorflow", .title = "TensorFlow", .is_list = true},
        {.key = "ncnn", .title = "ncnn", .is_list = true},
    };
    static const catalog_column one[] = {{.key = "name", .title = "Operator"},
                                         {.key = "class", .title = "Class"},
                                         {.key = "spellings", .title = "Spelled", .is_list = true}};
    if ((unsigned)format >= FT_FORMAT_COUNT) return FT_OUT_OF_RANGE(error, "operators: format", format, "ft_format");
    bool is_one = format != FT_FORMAT_UNKNOWN || style->output == FT_TABLE;
    buf scratch = {0};
    uint32_t count = 0;
    while (nth_op(format, count) != NULL) count++;
    ft_status status = write_catalog(stream,
                                     &(catalog){.columns = is_one ? one : all,
                                                .column_count = is_one ? 3 : 6,
                                                .row_count = count,
                                                .cell = op_cell,
                                                .style = style,
                                                .format = format,
                                                .scratch = &scratch},
                                     error);
    buf_free(&scratch);
    return status;
}

/* --- Runtimes ------------------------------------------------------------------------------------------------ */

static const char *runtime_cell(const catalog *c, uint32_t row, uint32_t column) {
    (void)c;
    return column == 0 ? ft_rules_name_at(row) : ft_rules_text_at(row);
}

ft_status ft_report_runtimes(FILE *stream, const ft_style *style, ft_error *error) {
    FT_REQUIRE(error, stream, style);
    FT_TRY(style_check(style, error));
    static const catalog_column columns[] = {{.key = "name", .title = "Runtime"},
                                             {.key = "text", .title = "Description"}};
    return write_catalog(
        stream,
        &(catalog){
            .columns = columns, .column_count = 2, .row_count = ft_rules_count(), .cell = runtime_cell, .style = style},
        error);
}

/* --- Families ------------------------------------------------------------------------------------------------ */

static const char *family_cell(const catalog *c, uint32_t row, uint32_t column) {
    (void)c;
    return column == 0 ? ft_family_name(row) : ft_family_text(row);
}

static void value_json(json_writer *j, const ft_setting *s, double value) {
    if (s->kind == FT_SETTING_WORD)
        jsonw_string(j, s->words[(uint32_t)value]);
    else
        jsonw_double(j, value);
}

static void range_json(json_writer *j, const char *key, double from, double to) {
    jsonw_key(j, key);
    jsonw_open_array(j, JSON_LINE);
    jsonw_double(j, from);
    jsonw_double(j, to);
    jsonw_close(j);
}

static void setting_json(json_writer *j, const ft_setting *s) {
    jsonw_open_object(j, JSON_LINE);
    jsonw_pair_string(j, "name", s->name);
    jsonw_pair_string(j, "text", s->text);
    jsonw_pair_string(j, "kind", ft_setting_kind_name(s->kind));
    jsonw_key(j, "default");
    value_json(j, s, s->usual);
    if (s->kind == FT_SETTING_WORD) {
        jsonw_key(j, "words");
        jsonw_open_array(j, JSON_LINE);
        for (uint32_t i = 0; i < s->word_count; i++) jsonw_string(j, s->words[i]);
        jsonw_close(j);
    } else {
        range_json(j, "bounds", s->lo, s->hi);
    }
    jsonw_key(j, "is_searched");
    jsonw_bool(j, s->is_searched);
    if (s->is_searched && s->kind != FT_SETTING_WORD) {
        range_json(j, "searched", s->from, s->to);
        jsonw_key(j, "is_log");
        jsonw_bool(j, s->is_log);
    }
    jsonw_key(j, "is_effort");
    jsonw_bool(j, s->is_effort);
    jsonw_pair_string(j, "off", s->off);
    jsonw_close(j);
}

/* With the settings of each, which a table has no room for. */
static ft_status families_json(FILE *stream, ft_error *error) {
    sink out = {.stream = stream};
    json_writer j;
    jsonw_init(&j, &out.text);
    jsonw_open_array(&j, JSON_BLOCK);
    for (uint32_t i = 0; i < ft_family_count(); i++) {
        ft_setting settings[FT_MAX_SETTINGS];
        uint32_t count = ft_family_settings(i, settings, FT_MAX_SETTINGS);
        jsonw_open_object(&j, JSON_BLOCK);
        jsonw_pair_string(&j, "name", ft_family_name(i));
        jsonw_pair_string(&j, "text", ft_family_text(i));
        jsonw_key(&j, "settings");
        jsonw_open_array(&j, count > 0 ? JSON_BLOCK : JSON_LINE);
        for (uint32_t k = 0; k < count; k++) setting_json(&j, &settings[k]);
        jsonw_close(&j);
        jsonw_close(&j);
    }
    jsonw_close(&j);
    buf_char(&out.text, '\n');
    ft_status status = sink_flush(&out, error);
    sink_free(&out);
    return status;
}

ft_status ft_report_families(FILE *stream, const ft_style *style, ft_error *error) {
    FT_REQUIRE(error, stream, style);
    FT_TRY(style_check(style, error));
    static const catalog_column columns[] = {{.key = "name", .title = "Family"},
                                             {.key = "text", .title = "Description"}};
    if (style->output == FT_JSON) return families_json(stream, error);
    return write_catalog(
        stream,
        &(catalog){
            .columns = columns, .column_count = 2, .row_count = ft_family_count(), .cell = family_cell, .style = style},
        error);
}
