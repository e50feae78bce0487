/* report_table_more.c - the lists below the table of results: parts of the memory, other metrics, notes.
 *
 * Many results share these: equal ones are written once, with the names of their devices. */
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "forecast/report.h"
#include "report/grid.h"
#include "report/metric.h"

enum { INDENT = 2, MAX_PARTS = 10, MAX_GROUPS = 4, MAX_NAMES = 4, MAX_NOTES = 8 };

static void heading(sink *out, const ft_style *style, const char *text) {
    buf_format(&out->text, "\n%s%s%s\n", tone_begin(style, TONE_TITLE), text, tone_end(style, TONE_TITLE));
}

/* --- Results that share something ---------------------------------------------------------------------------- */

typedef bool is_same(const ft_result *a, const ft_result *b, const void *user);

static bool is_first_of_equals(const ft_results *results, uint32_t index, is_same *same, const void *user) {
    for (uint32_t i = 0; i < index; i++)
        if (same(&results->items[i], &results->items[index], user)) return false;
    return true;
}

static bool same_batch(const ft_result *a, const ft_result *b) {
    return a->request.batch == b->request.batch;
}

/* Whether all results, or all of its batch, are like this one. */
static bool is_shared(const ft_results *results, uint32_t index, bool of_batch, is_same *same, const void *user) {
    const ft_result *sample = &results->items[index];
    assert(index < results->count);
    for (uint32_t i = 0; i < results->count; i++)
        if ((!of_batch || same_batch(sample, &results->items[i])) && !same(sample, &results->items[i], user))
            return false;
    return true;
}

/* "rtx-3090, rtx-4090 and 2 more": the devices whose results are the same as the first of them. */
static void name_devices(const ft_results *results, uint32_t first, is_same *same, const void *user, buf *text) {
    const ft_result *items = results->items, *sample = &items[first];
    uint32_t shown = 0, devices = 0;
    for (uint32_t i = first; i < results->count; i++) {
        if (!same(sample, &items[i], user)) continue;
        bool is_listed = false;
        for (uint32_t k = first; k < i && !is_listed; k++)
            is_listed = same(sample, &items[k], user) && strcmp(items[k].request.device, items[i].request.device) == 0;
        if (is_listed) continue;
        devices++;
        if (shown == MAX_NAMES) continue;
        buf_format(text, "%s%s", shown > 0 ? ", " : "", items[i].request.device);
        shown++;
    }
    if (devices > shown) buf_format(text, " and %u more", devices - shown);
}

/* --- Memory -------------------------------------------------------------------------------------------------- */

/* Devices whose memories have nothing in common, an accelerator with SRAM and flash beside a GPU, have a list each. */
typedef struct memory_list {
    const ft_results *results;
    const ft_style *style;
    const char *parts[MAX_PARTS];
    uint32_t part_count;
    sink *out; /* marked as failed when out of memory */
} memory_list;

static bool same_memory(const ft_result *a, const ft_result *b, const void *user) {
    (void)user;
    if (a->request.batch != b->request.batch || ft_result_memory(a)->part_count != ft_result_memory(b)->part_count)
        return false;
    for (uint32_t i = 0; i < ft_result_memory(a)->part_count; i++)
        if (strcmp(ft_result_memory(a)->parts[i].type, ft_result_memory(b)->parts[i].type) != 0 ||
            ft_result_memory(a)->parts[i].value != ft_result_memory(b)->parts[i].value)
            return false;
    return true;
}

static uint32_t find_part(const memory_list *l, const char *part) {
    for (uint32_t p = 0; p < l->part_count; p++)
        if (strcmp(l->parts[p], part) == 0) return p;
    return FT_NONE;
}

static bool is_in_list(const memory_list *l, const ft_result *result) {
    for (uint32_t i = 0; i < ft_result_memory(result)->part_count; i++)
        if (find_part(l, ft_result_memory(result)->parts[i].type) != FT_NONE) return true;
    return false;
}

static uint32_t memory_row_at(const memory_list *l, uint32_t row) {
    for (uint32_t i = 0; i < l->results->count; i++) {
        if (!is_in_list(l, &l->results->items[i])) continue;
        if (is_first_of_equals(l->results, i, same_memory, NULL) && row-- == 0) return i;
    }
    return FT_NONE;
}

static void put_memory(const void *user, uint32_t row, grid_cell *cells) {
    const memory_list *l = user;
    uint32_t index = memory_row_at(l, row);
    assert(index != FT_NONE && l->part_count <= MAX_PARTS);
    const ft_result *result = &l->results->items[index];
    buf names = {0};
    if (!is_shared(l->results, index, true, same_memory, NULL))
        name_devices(l->results, index, same_memory, NULL, &names);
    text_fit(names.data != NULL ? names.data : "all", UINT32_MAX, l->style, cells[0].text, sizeof cells[0].text);
    if (names.failed) l->out->text.failed = true;
    buf_free(&names);
    snprintf(cells[1].text, sizeof cells[1].text, "%lld", (long long)result->request.batch);
    for (uint32_t p = 0; p < l->part_count; p++) {
        snprintf(cells[2 + p].text, sizeof cells[2 + p].text, "-");
        for (uint32_t i = 0; i < ft_result_memory(result)->part_count; i++) {
            double bytes = memory_part_bytes(result, i);
            if (strcmp(ft_result_memory(result)->parts[i].type, l->parts[p]) == 0 && bytes > 0)
                metric_words("peak_bytes", bytes, cells[2 + p].text);
        }
    }
    snprintf(cells[2 + l->part_count].text, sizeof cells[0].text, "%s",
             ft_result_memory(result)->predictor != NULL ? ft_provenance_name(ft_result_memory(result)->provenance)
                                                         : "-");
}

static void add_parts(memory_list *l, const ft_result *result) {
    for (uint32_t i = 0; i < ft_result_memory(result)->part_count; i++) {
        const ft_part *part = &ft_result_memory(result)->parts[i];
        if (part->value > 0 && l->part_count < MAX_PARTS && find_part(l, part->type) == FT_NONE)
            l->parts[l->part_count++] = part->type;
    }
}

/* Returns how many lists there are. */
static uint32_t group_parts(memory_list lists[MAX_GROUPS], const ft_results *results) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < results->count; i++) {
        uint32_t g = 0;
        while (g < count && !is_in_list(&lists[g], &results->items[i])) g++;
        if (g == MAX_GROUPS) continue;
        add_parts(&lists[g], &results->items[i]);
        if (g == count && lists[g].part_count > 0) count++;
    }
    assert(count <= MAX_GROUPS);
    return count;
}

static void write_memory(const memory_list *l) {
    grid_column columns[MAX_PARTS + 3] = {{.title = "On", .is_flexible = true, .wraps = true, .comfort = 20},
                                          {.title = "Batch", .is_right = true}};
    uint32_t rows = 0;
    for (uint32_t p = 0; p < l->part_count; p++)
        columns[2 + p] = (grid_column){.title = l->parts[p], .is_right = true, .drop = (uint8_t)(p > 3 ? 1 : 0)};
    columns[2 + l->part_count] = (grid_column){.title = "Provenance", .drop = 2};
    while (memory_row_at(l, rows) != FT_NONE) rows++;
    grid_write(&(grid){.style = l->style,
                       .columns = columns,
                       .column_count = l->part_count + 3,
                       .indent = INDENT,
                       .row = put_memory,
                       .user = l,
                       .row_count = rows},
               l->out);
}

void report_table_memory(sink *out, const ft_style *style, const ft_results *results) {
    memory_list lists[MAX_GROUPS];
    for (uint32_t g = 0; g < MAX_GROUPS; g++) lists[g] = (memory_list){.results = results, .style = style, .out = out};
    uint32_t count = group_parts(lists, results);
    for (uint32_t g = 0; g < count; g++) {
        if (g == 0)
            heading(out, style, "Memory at the peak");
        else
            buf_char(&out->text, '\n');
        write_memory(&lists[g]);
    }
}

/* --- Utilisation --------------------------------------------------------------------------------------------- */

/* Metrics that have a table of their own, a row for each result. */
static const char *const util_metrics[] = {
    "gpu_util_ratio",  "sm_active_ratio",     "sm_occupancy_ratio",   "power_w",
    "energy_j",        "peak_gpu_util_ratio", "peak_sm_active_ratio", "peak_sm_occupancy_ratio",
    "dram_util_ratio", "peak_dram_util_ratio"};
enum { UTIL_METRICS = sizeof util_metrics / sizeof util_metrics[0], UTIL_SHOWN = 5, UTIL_INTERVALS = 1 };

static bool is_util_metric(const char *metric) {
    for (size_t i = 0; i < UTIL_METRICS; i++)
        if (strcmp(metric, util_metrics[i]) == 0) return true;
    return false;
}

typedef struct util_list {
    const ft_results *results;
    const ft_style *style;
} util_list;

static const ft_result *util_at(const ft_results *results, uint32_t row) {
    for (uint32_t i = 0; i < results->count; i++)
        if (ft_result_metric(&results->items[i], util_metrics[0]) != NULL && row-- == 0) return &results->items[i];
    return NULL;
}

static void put_util(const void *user, uint32_t row, grid_cell *cells) {
    const util_list *l = user;
    const ft_result *result = util_at(l->results, row);
    if (result == NULL) return; /* there are as many rows as results with the metric */
    const ft_metric_result *busy = ft_result_metric(result, util_metrics[0]);
    text_fit(result->request.device, UINT32_MAX, l->style, cells[0].text, sizeof cells[0].text);
    snprintf(cells[1].text, sizeof cells[1].text, "%lld", (long long)result->request.batch);
    uint32_t cell = 2;
    for (size_t i = 0; i < UTIL_SHOWN; i++) {
        const ft_metric_result *m = ft_result_metric(result, util_metrics[i]);
        char interval[INTERVAL_TEXT_SIZE] = "";
        if (m != NULL) metric_words(m->metric, m->value, cells[cell].text);
        cell++;
        if (i >= UTIL_INTERVALS) continue;
        if (m != NULL) metric_interval(m->metric, m->lo, m->hi, interval);
        snprintf(cells[cell++].text, sizeof cells[0].text, "%s", interval);
    }
    snprintf(cells[cell].text, sizeof cells[cell].text, "%s", ft_provenance_name(busy->provenance));
}

void report_table_utilisation(sink *out, const ft_style *style, const ft_results *results) {
    static const grid_column columns[] = {
        {.title = "Device", .is_flexible = true, .is_distinct = true, .comfort = 18},
        {.title = "Batch", .is_right = true},
        {.title = "GPU busy", .is_right = true},
        {.title = "90 % interval", .is_right = true, .drop = 1},
        {.title = "SM active", .is_right = true},
        {.title = "Occupancy", .is_right = true},
        {.title = "Power, W", .is_right = true},
        {.title = "Energy, J", .is_right = true, .drop = 2},
        {.title = "Provenance", .drop = 3},
    };
    const util_list l = {results, style};
    uint32_t rows = 0;
    while (util_at(results, rows) != NULL) rows++;
    if (rows == 0) return;
    heading(out, style, "Utilisation");
    grid_write(&(grid){.style = style,
                       .columns = columns,
                       .column_count = sizeof columns / sizeof columns[0],
                       .indent = INDENT,
                       .row = put_util,
                       .user = &l,
                       .row_count = rows},
               out);
}

/* --- Other metrics ------------------------------------------------------------------------------------------- */

typedef struct other_list {
    const ft_results *results;
    const ft_style *style;
} other_list;

/* The metric in a row of the list; NULL after the last. */
static const ft_metric_result *other_at(const ft_results *results, uint32_t row, const ft_result **result) {
    for (uint32_t i = 0; i < results->count; i++) {
        *result = &results->items[i];
        for (uint32_t m = 0; m < (*result)->metric_count; m++)
            if (is_other_metric(*result, m) && !is_util_metric((*result)->metrics[m].metric) && row-- == 0)
                return &(*result)->metrics[m];
    }
    return NULL;
}

static void put_other(const void *user, uint32_t row, grid_cell *cells) {
    const other_list *l = user;
    const ft_result *result = NULL;
    const ft_metric_result *other = other_at(l->results, row, &result);
    if (other == NULL) return; /* there are as many rows as others */
    char interval[INTERVAL_TEXT_SIZE];
    text_fit(result->request.device, UINT32_MAX, l->style, cells[0].text, sizeof cells[0].text);
    snprintf(cells[1].text, sizeof cells[1].text, "%lld", (long long)result->request.batch);
    text_fit(other->metric, UINT32_MAX, l->style, cells[2].text, sizeof cells[2].text);
    metric_words(other->metric, other->value, cells[3].text);
    metric_interval(other->metric, other->lo, other->hi, interval);
    snprintf(cells[4].text, sizeof cells[4].text, "%s", interval[0] != '\0' ? interval : "-");
    snprintf(cells[5].text, sizeof cells[5].text, "%s", ft_provenance_name(other->provenance));
}

void report_table_others(sink *out, const ft_style *style, const ft_results *results) {
    static const grid_column columns[] = {
        {.title = "Device", .is_flexible = true, .is_distinct = true, .comfort = 18},
        {.title = "Batch", .is_right = true},
        {.title = "Metric"},
        {.title = "Value", .is_right = true},
        {.title = "90 % interval", .is_right = true},
        {.title = "Provenance", .drop = 1},
    };
    const other_list l = {results, style};
    const ft_result *last;
    uint32_t rows = 0;
    while (other_at(results, rows, &last) != NULL) rows++;
    if (rows == 0) return;
    heading(out, style, "Other metrics");
    grid_write(&(grid){.style = style,
                       .columns = columns,
                       .column_count = sizeof columns / sizeof columns[0],
                       .indent = INDENT,
                       .row = put_other,
                       .user = &l,
                       .row_count = rows},
               out);
}

/* --- Notes --------------------------------------------------------------------------------------------------- */

/* A note, and the result that has it. */
typedef struct noted {
    const ft_result *of;
    const char *text;
} noted;

/* The name of the device in it; NULL when it is not named. */
static const char *device_in(const noted *note) {
    return strstr(note->text, note->of->request.device);
}

/* Equal but for the name of the device. */
static bool is_same_note(const noted *a, const noted *b) {
    const char *x = device_in(a), *y = device_in(b);
    if (x == NULL || y == NULL) return x == y && strcmp(a->text, b->text) == 0;
    size_t before = (size_t)(x - a->text);
    return before == (size_t)(y - b->text) && strncmp(a->text, b->text, before) == 0 &&
           strcmp(x + strlen(a->of->request.device), y + strlen(b->of->request.device)) == 0;
}

static bool has_note(const ft_result *result, const noted *note) {
    for (uint32_t i = 0; i < result->note_count; i++)
        if (is_same_note(&(noted){result, result->notes[i]}, note)) return true;
    return false;
}

static bool both_have_note(const ft_result *a, const ft_result *b, const void *user) {
    return has_note(a, user) && has_note(b, user);
}

static bool same_text(const char *a, const char *b) {
    return a != NULL && b != NULL && strcmp(a, b) == 0;
}

static bool same_no_time(const ft_result *a, const ft_result *b, const void *user) {
    (void)user;
    return same_text(ft_result_time(a)->missing_reason, ft_result_time(b)->missing_reason);
}

static bool same_type(const ft_result *a, const ft_result *b, const void *user) {
    (void)user;
    return a->request.dtype == b->request.dtype;
}

/* Settings are only noted where the request has one; the defaults differ between predictors. */
static bool same_setting(const ft_result *a, const ft_result *b, const void *user) {
    (void)user;
    return same_text(a->request.setting, b->request.setting);
}

/* "devices: label: text". */
static void write_note(sink *out, const ft_style *style, buf *names, const char *label, const char *note) {
    buf text = {0};
    if (names->length > 0) buf_format(&text, "%s: ", names->data);
    buf_format(&text, "%s%s", label, note);
    if (text.failed || names->failed) out->text.failed = true;
    text_paragraph(text.data != NULL ? text.data : "", INDENT, style, out);
    buf_free(&text);
    buf_free(names);
}

/* Names all devices that have the note: in the note where it names its own, else before it unless all have it. */
static void write_shared_note(sink *out, const ft_style *style, const ft_results *results, uint32_t index,
                              const noted *note) {
    const char *device = device_in(note);
    buf names = {0}, text = {0}, none = {0};
    if (device != NULL || !is_shared(results, index, false, both_have_note, note))
        name_devices(results, index, both_have_note, note, &names);
    if (device == NULL || names.failed) {
        write_note(out, style, &names, "", note->text);
        return;
    }
    buf_format(&text, "%.*s%s%s", (int)(device - note->text), note->text, names.data,
               device + strlen(note->of->request.device));
    if (text.failed) out->text.failed = true;
    write_note(out, style, &none, "", text.data != NULL ? text.data : "");
    buf_free(&names);
    buf_free(&text);
}

typedef struct note_kind {
    const char *label;
    is_same *same;
    const char *(*text)(const ft_result *);
    bool is_in_heading; /* when all results have the same */
} note_kind;

static const char *type_of(const ft_result *result) {
    return ft_dtype_name(result->request.dtype);
}

static const char *time_reason(const ft_result *result) {
    return ft_result_time(result)->missing_reason;
}

static const char *setting_of(const ft_result *result) {
    return result->request.setting != NULL && result->request.setting[0] != '\0' ? result->request.setting : NULL;
}

static void write_kind(sink *out, const ft_style *style, const ft_results *results, const note_kind *kind) {
    for (uint32_t i = 0; i < results->count; i++) {
        const char *text = kind->text(&results->items[i]);
        buf names = {0};
        bool is_shared_by_all = is_shared(results, i, false, kind->same, NULL);
        if (text == NULL || !is_first_of_equals(results, i, kind->same, NULL)) continue;
        if (is_shared_by_all && kind->is_in_heading) continue;
        if (!is_shared_by_all) name_devices(results, i, kind->same, NULL, &names);
        write_note(out, style, &names, kind->label, text);
    }
}

void report_table_notes(sink *out, const ft_style *style, const ft_results *results) {
    static const note_kind kinds[] = {
        {"", same_type, type_of, true},
        {"setting ", same_setting, setting_of, false},
        {"no time: ", same_no_time, time_reason, false},
    };
    uint32_t shown = 0, left_out = 0;
    buf_char(&out->text, '\n');
    for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++) write_kind(out, style, results, &kinds[k]);
    for (uint32_t i = 0; i < results->count; i++) {
        const ft_result *result = &results->items[i];
        for (uint32_t n = 0; n < result->note_count; n++) {
            const noted note = {result, result->notes[n]};
            if (!is_first_of_equals(results, i, both_have_note, &note)) continue;
            if (shown++ >= MAX_NOTES) {
                left_out++;
                continue;
            }
            write_shared_note(out, style, results, i, &note);
        }
    }
    if (left_out > 0) buf_format(&out->text, "%*sand %u more notes, listed by --format json\n", INDENT, "", left_out);
}
