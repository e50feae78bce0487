/* report_devices.c - devices as documents: a list, or the data sheets of some of them. */
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/csv.h"
#include "base/error.h"
#include "base/json_writer.h"
#include "foretell/forecast_report.h"
#include "report/grid.h"
#include "report/metric.h"
#include "report/style.h"

enum { INDENT = 2 };

typedef struct device_list {
    const ft_predictor_set *set; /* may be NULL */
    const ft_style *style;
    char **names;       /* owned */
    ft_device **sheets; /* owned; NULL: only a predictor has the device */
    uint32_t count;
    bool has_sheets; /* every number of each data sheet, not a line a device */
    sink *out;       /* marked as failed when out of memory */
} device_list;

/* --- Choosing the devices ------------------------------------------------------------------------------------ */

static void list_free(device_list *l) {
    for (uint32_t i = 0; i < l->count; i++) {
        free(l->names[i]);
        ft_device_free(l->sheets[i]);
    }
    free(l->names);
    free(l->sheets);
}

static bool is_listed(const device_list *l, const char *name) {
    for (uint32_t i = 0; i < l->count; i++)
        if (strcmp(l->names[i], name) == 0) return true;
    return false;
}

static bool set_has_device(const ft_predictor_set *set, const char *name) {
    for (uint32_t i = 0; set != NULL && i < ft_predictor_set_device_count(set); i++)
        if (strcmp(ft_predictor_set_device(set, i), name) == 0) return true;
    return false;
}

/* Adds a device by any of its names, or by its file. */
static ft_status add_device(device_list *l, const char *name, ft_error *error) {
    ft_device *sheet = NULL;
    if (ft_device_canonical(name) != NULL || !set_has_device(l->set, name)) {
        FT_TRY(ft_device_open(name, &sheet, error));
        name = ft_device_name(sheet);
    }
    if (is_listed(l, name)) {
        ft_device_free(sheet);
        return FT_OK;
    }
    assert(sheet != NULL || set_has_device(l->set, name));
    l->names[l->count] = strdup(name);
    if (l->names[l->count] == NULL) {
        ft_device_free(sheet);
        return FT_NOMEM(error);
    }
    l->sheets[l->count++] = sheet;
    return FT_OK;
}

static ft_status add_devices(device_list *l, const char *const *names, uint32_t count, ft_error *error) {
    uint32_t bundled = ft_device_count(), trained = l->set != NULL ? ft_predictor_set_device_count(l->set) : 0;
    size_t max_count = (size_t)count + bundled + trained + 1;
    l->names = calloc(max_count, sizeof *l->names);
    l->sheets = calloc(max_count, sizeof *l->sheets);
    if (l->names == NULL || l->sheets == NULL) return FT_NOMEM(error);
    for (uint32_t i = 0; i < count; i++) FT_TRY(add_device(l, names[i], error));
    for (uint32_t i = 0; count == 0 && i < trained; i++)
        FT_TRY(add_device(l, ft_predictor_set_device(l->set, i), error));
    for (uint32_t i = 0; count == 0 && i < bundled; i++) FT_TRY(add_device(l, ft_device_name_at(i), error));
    assert(l->count <= max_count);
    return FT_OK;
}

/* --- Predictors of a device ---------------------------------------------------------------------------------- */

static const char *file_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

static bool has_device(const ft_predictor *predictor, const char *device) {
    for (uint32_t i = 0; i < ft_predictor_device_count(predictor); i++)
        if (strcmp(ft_predictor_device(predictor, i), device) == 0) return true;
    return false;
}

static bool file_has_device(const ft_predictor_set *set, uint32_t file, const char *device) {
    for (const ft_predictor *p = ft_predictor_set_at(set, file); p != NULL; p = ft_predictor_next(p))
        if (has_device(p, device)) return true;
    return false;
}

static const char *text_of(const device_list *l, uint32_t i) {
    return l->sheets[i] != NULL ? ft_device_text(l->sheets[i]) : "no data sheet: only a predictor has it";
}

static const char *kind_of(const device_list *l, uint32_t i) {
    return l->sheets[i] != NULL ? ft_device_kind(l->sheets[i]) : "";
}

static const char *runtime_of(const device_list *l, uint32_t i) {
    return l->sheets[i] != NULL ? ft_device_runtime(l->sheets[i]) : "";
}

static const char *architecture_of(const device_list *l, uint32_t i) {
    return l->sheets[i] != NULL ? ft_device_architecture(l->sheets[i]) : "";
}

static double number_of(const device_list *l, uint32_t i, const char *key) {
    return l->sheets[i] != NULL ? ft_device_number(l->sheets[i], key) : NAN;
}

static void add_predictors(const device_list *l, uint32_t device, const char *joint, buf *text) {
    for (uint32_t f = 0; l->set != NULL && f < ft_predictor_set_count(l->set); f++)
        if (file_has_device(l->set, f, l->names[device]))
            buf_format(text, "%s%s", text->length > 0 ? joint : "", file_name(ft_predictor_set_path(l->set, f)));
}

/* --- JSON and CSV -------------------------------------------------------------------------------------------- */

static void write_json(const device_list *l, sink *out) {
    json_writer j;
    jsonw_init(&j, &out->text);
    jsonw_open_array(&j, JSON_BLOCK);
    for (uint32_t i = 0; i < l->count; i++) {
        const struct {
            const char *key, *value;
        } texts[] = {{"name", l->names[i]},
                     {"text", text_of(l, i)},
                     {"kind", kind_of(l, i)},
                     {"runtime", runtime_of(l, i)},
                     {"architecture", architecture_of(l, i)}};
        jsonw_open_object(&j, JSON_BLOCK);
        for (size_t t = 0; t < sizeof texts / sizeof texts[0]; t++) {
            jsonw_pair_string(&j, texts[t].key, texts[t].value);
        }
        jsonw_key(&j, "predictors");
        jsonw_open_array(&j, JSON_LINE);
        for (uint32_t f = 0; l->set != NULL && f < ft_predictor_set_count(l->set); f++)
            if (file_has_device(l->set, f, l->names[i])) jsonw_string(&j, ft_predictor_set_path(l->set, f));
        jsonw_close(&j);
        jsonw_key(&j, "numbers");
        jsonw_open_object(&j, JSON_BLOCK);
        const char *key;
        for (uint32_t n = 0; (key = ft_device_number_name(n)) != NULL; n++) {
            if (isnan(number_of(l, i, key))) continue;
            jsonw_pair_double(&j, key, number_of(l, i, key));
        }
        jsonw_close(&j);
        jsonw_close(&j);
    }
    jsonw_close(&j);
    buf_char(&out->text, '\n');
}

static void csv_number(double value, buf *out) {
    char text[DOUBLE_TEXT_SIZE];
    buf_char(out, ',');
    if (isnan(value)) return;
    double_text(value, text);
    buf_text(out, text);
}

static void write_csv(const device_list *l, sink *out) {
    const char *key;
    buf_text(&out->text, "name,text,kind,runtime,predictors");
    for (uint32_t n = 0; (key = ft_device_number_name(n)) != NULL; n++) buf_format(&out->text, ",%s", key);
    buf_text(&out->text, ",architecture\n");
    for (uint32_t i = 0; i < l->count; i++) {
        buf predictors = {0};
        add_predictors(l, i, ";", &predictors);
        const char *cells[] = {l->names[i], text_of(l, i), kind_of(l, i), runtime_of(l, i),
                               predictors.data != NULL ? predictors.data : ""};
        for (size_t c = 0; c < sizeof cells / sizeof cells[0]; c++) {
            if (c > 0) buf_char(&out->text, ',');
            csv_cell(&out->text, cells[c]);
        }
        if (predictors.failed) out->text.failed = true;
        buf_free(&predictors);
        for (uint32_t n = 0; (key = ft_device_number_name(n)) != NULL; n++)
            csv_number(number_of(l, i, key), &out->text);
        buf_char(&out->text, ',');
        csv_cell(&out->text, architecture_of(l, i));
        buf_char(&out->text, '\n');
    }
}

/* --- Tables -------------------------------------------------------------------------------------------------- */

static void put_device(const void *user, uint32_t row, grid_cell *cells) {
    const device_list *l = user;
    buf predictors = {0};
    add_predictors(l, row, ", ", &predictors);
    const char *texts[] = {l->names[row], kind_of(l, row), text_of(l, row),
                           predictors.data != NULL ? predictors.data : "-"};
    for (int i = 0; i < 4; i++) text_fit(texts[i], UINT32_MAX, l->style, cells[i].text, sizeof cells[i].text);
    if (predictors.failed) l->out->text.failed = true;
    buf_free(&predictors);
}

static void write_list(const device_list *l, sink *out) {
    static const grid_column columns[] = {
        {.title = "Device"},
        {.title = "Kind"},
        {.title = "Description", .is_flexible = true, .wraps = true, .comfort = 24},
        {.title = "Predictors", .is_flexible = true, .wraps = true},
    };
    grid_write(&(grid){.style = l->style,
                       .columns = columns,
                       .column_count = 4,
                       .row = put_device,
                       .user = l,
                       .row_count = l->count},
               out);
}

static bool ends_in(const char *text, const char *ending) {
    size_t length = strlen(text), size = strlen(ending);
    return length >= size && strcmp(text + length - size, ending) == 0;
}

/* "peak_float32_flops" and 82.58e12: "82.6 TFLOP/s". Bytes are in powers of 1024, rates are not; counts are whole. */
static void number_text(const char *key, double value, char text[static UNIT_TEXT_SIZE]) {
    static const struct {
        const char *ending, *unit;
    } rates[] = {{"_flops", "FLOP/s"}, {"_ops", "OP/s"}, {"_bytes_per_s", "B/s"},
                 {"_hz", "Hz"},        {"power_w", "W"}, {"_bits_per_s", "bit/s"}};
    static const char *const counts[] = {"threads", "units", "registers", "_bits", "_count"};
    char number[UNIT_TEXT_SIZE];
    if (strcmp(key, "compute_capability") == 0) {
        snprintf(text, UNIT_TEXT_SIZE, "%.1f", value);
        return;
    }
    for (size_t i = 0; i < sizeof rates / sizeof rates[0]; i++) {
        if (!ends_in(key, rates[i].ending)) continue;
        unit_number(value, number);
        snprintf(text, UNIT_TEXT_SIZE, "%.14s%s%s", number, strchr(number, ' ') != NULL ? "" : " ", rates[i].unit);
        return;
    }
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        if (!ends_in(key, counts[i]) || value != floor(value)) continue;
        unit_fixed(value, 0, text);
        return;
    }
    metric_words(strcmp(key, "launch_s") == 0 ? "launch_us" : key, strcmp(key, "launch_s") == 0 ? value * 1e6 : value,
                 text);
}

typedef struct sheet_view {
    const device_list *list;
    uint32_t device;
    const char *keys[64];
    uint32_t text_count, key_count;
} sheet_view;

enum { TEXT_ROWS = 4 };

static void put_sheet(const void *user, uint32_t row, grid_cell *cells) {
    const sheet_view *v = user;
    const device_list *l = v->list;
    static const char *const labels[TEXT_ROWS] = {"kind", "runtime", "predictors", "architecture"};
    if (row >= v->text_count) {
        const char *key = v->keys[row - v->text_count];
        snprintf(cells[0].text, sizeof cells[0].text, "%s", key);
        number_text(key, number_of(l, v->device, key), cells[1].text);
        return;
    }
    buf predictors = {0};
    add_predictors(l, v->device, ", ", &predictors);
    const char *values[TEXT_ROWS] = {kind_of(l, v->device), runtime_of(l, v->device),
                                     predictors.data != NULL ? predictors.data : "none: predicted from the data sheet",
                                     architecture_of(l, v->device)};
    snprintf(cells[0].text, sizeof cells[0].text, "%s", labels[row]);
    text_fit(values[row], UINT32_MAX, l->style, cells[1].text, sizeof cells[1].text);
    if (predictors.failed) l->out->text.failed = true;
    buf_free(&predictors);
}

static void write_sheet(const device_list *l, uint32_t device, sink *out) {
    static const grid_column columns[] = {{.title = ""}, {.title = "", .is_flexible = true, .wraps = true}};
    bool has_architecture = architecture_of(l, device)[0] != '\0';
    sheet_view v = {.list = l, .device = device, .text_count = has_architecture ? TEXT_ROWS : TEXT_ROWS - 1};
    char name[GRID_CELL_SIZE], text[GRID_CELL_SIZE];
    const char *key;
    for (uint32_t n = 0; (key = ft_device_number_name(n)) != NULL && v.key_count < 64; n++)
        if (!isnan(number_of(l, device, key))) v.keys[v.key_count++] = key;
    text_fit(l->names[device], UINT32_MAX, l->style, name, sizeof name);
    text_fit(text_of(l, device), UINT32_MAX, l->style, text, sizeof text);
    buf_format(&out->text, "%s%s%s%s: %s\n", device > 0 ? "\n" : "", tone_begin(l->style, TONE_TITLE), name,
               tone_end(l->style, TONE_TITLE), text);
    grid_write(&(grid){.style = l->style,
                       .columns = columns,
                       .column_count = 2,
                       .indent = INDENT,
                       .row = put_sheet,
                       .user = &v,
                       .row_count = v.text_count + v.key_count,
                       .has_no_heading = true},
               out);
}

static void write_table(const device_list *l, sink *out) {
    if (!l->has_sheets) {
        write_list(l, out);
        return;
    }
    for (uint32_t i = 0; i < l->count; i++) write_sheet(l, i, out);
}

ft_status ft_report_devices(FILE *stream, const ft_style *style, const ft_predictor_set *set, const char *const *names,
                            uint32_t count, ft_error *error) {
    FT_REQUIRE(error, stream, style);
    if (count > 0) FT_REQUIRE(error, names);
    FT_TRY(style_check(style, error));
    sink out = {.stream = stream};
    device_list l = {.set = set, .style = style, .has_sheets = count > 0, .out = &out};
    ft_status status = add_devices(&l, names, count, error);
    if (status == FT_OK) {
        if (style->output == FT_TABLE) write_table(&l, &out);
        if (style->output == FT_JSON) write_json(&l, &out);
        if (style->output == FT_CSV) write_csv(&l, &out);
        status = sink_flush(&out, error);
    }
    sink_free(&out);
    list_free(&l);
    return status;
}
