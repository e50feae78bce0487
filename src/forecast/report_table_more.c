/* report_table_more.c - what stands below the table of forecasts: the parts of the memory, what else is told of a
 * device, and what one should know.
 *
 * Many forecasts share these, so equal ones are said once, with the forecasts they are of. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "forecast/report_write.h"
#include "report/grid.h"
#include "report/metric.h"

enum { INDENT = 2, MOST_PARTS = 10, MOST_GROUPS = 4, NAMES_SHOWN = 4, NOTES_SHOWN = 8 };

static void heading(sink *out, const ft_style *style, const char *text) {
    buf_format(&out->text, "\n%s%s%s\n", tone_begin(style, TONE_TITLE), text, tone_end(style, TONE_TITLE));
}

/* --- Which forecasts share something -------------------------------------------------------------------------- */

typedef bool is_same(const ft_result *a, const ft_result *b, const void *user);

static bool is_first_of_its_kind(const ft_results *answers, uint32_t index, is_same *same, const void *user) {
    for (uint32_t i = 0; i < index; i++)
        if (same(&answers->items[i], &answers->items[index], user)) return false;
    return true;
}

static bool same_batch(const ft_result *a, const ft_result *b) {
    return a->request.batch == b->request.batch;
}

/* Whether all forecasts, or all of its batch, are like this one. */
static bool is_shared(const ft_results *answers, uint32_t index, bool of_batch, is_same *same, const void *user) {
    const ft_result *sample = &answers->items[index];
    for (uint32_t i = 0; i < answers->count; i++)
        if ((!of_batch || same_batch(sample, &answers->items[i])) && !same(sample, &answers->items[i], user))
            return false;
    return true;
}

/* "rtx-3090, rtx-4090 and 2 more": the devices that share something with the first of them. */
static void name_those(const ft_results *answers, uint32_t first, is_same *same, const void *user, buf *text) {
    const ft_result *items = answers->items, *sample = &items[first];
    uint32_t shown = 0, devices = 0;
    for (uint32_t i = first; i < answers->count; i++) {
        if (!same(sample, &items[i], user)) continue;
        bool is_told = false;
        for (uint32_t k = first; k < i && !is_told; k++)
            is_told = same(sample, &items[k], user) && strcmp(items[k].request.device, items[i].request.device) == 0;
        if (is_told) continue;
        devices++;
        if (shown == NAMES_SHOWN) continue;
        buf_format(text, "%s%s", shown > 0 ? ", " : "", items[i].request.device);
        shown++;
    }
    if (devices > shown) buf_format(text, " and %u more", devices - shown);
}

/* --- Memory -------------------------------------------------------------------------------------------------- */

/* Devices whose memories have nothing in common, an accelerator with SRAM and flash beside a GPU, have a list each. */
typedef struct memory_list {
    const ft_results *answers;
    const ft_style *style;
    const char *parts[MOST_PARTS];
    uint32_t part_count;
    sink *out; /* notes when memory runs out */
} memory_list;

static bool same_memory(const ft_result *a, const ft_result *b, const void *user) {
    (void)user;
    if (a->request.batch != b->request.batch || a->memory_part_count != b->memory_part_count) return false;
    for (uint32_t i = 0; i < a->memory_part_count; i++)
        if (strcmp(a->memory_parts[i].type, b->memory_parts[i].type) != 0 ||
            a->memory_parts[i].value != b->memory_parts[i].value)
            return false;
    return true;
}

static uint32_t find_part(const memory_list *l, const char *part) {
    for (uint32_t p = 0; p < l->part_count; p++)
        if (strcmp(l->parts[p], part) == 0) return p;
    return FT_NONE;
}

static bool is_in_list(const memory_list *l, const ft_result *f) {
    for (uint32_t i = 0; i < f->memory_part_count; i++)
        if (find_part(l, f->memory_parts[i].type) != FT_NONE) return true;
    return false;
}

static uint32_t memory_row_at(const memory_list *l, uint32_t row) {
    for (uint32_t i = 0; i < l->answers->count; i++) {
        if (!is_in_list(l, &l->answers->items[i])) continue;
        if (is_first_of_its_kind(l->answers, i, same_memory, NULL) && row-- == 0) return i;
    }
    return FT_NONE;
}

static void put_memory(const void *user, uint32_t row, grid_cell *cells) {
    const memory_list *l = user;
    uint32_t index = memory_row_at(l, row);
    const ft_result *f = &l->answers->items[index];
    buf names = {0};
    if (!is_shared(l->answers, index, true, same_memory, NULL))
        name_those(l->answers, index, same_memory, NULL, &names);
    text_fit(names.data != NULL ? names.data : "all", UINT32_MAX, l->style, cells[0].text, sizeof cells[0].text);
    if (names.failed) l->out->text.failed = true;
    buf_free(&names);
    snprintf(cells[1].text, sizeof cells[1].text, "%lld", (long long)f->request.batch);
    for (uint32_t p = 0; p < l->part_count; p++) {
        snprintf(cells[2 + p].text, sizeof cells[2 + p].text, "-");
        for (uint32_t i = 0; i < f->memory_part_count; i++) {
            double bytes = memory_part_bytes(f, i);
            if (strcmp(f->memory_parts[i].type, l->parts[p]) == 0 && bytes > 0)
                metric_words("peak_bytes", bytes, cells[2 + p].text);
        }
    }
    snprintf(cells[2 + l->part_count].text, sizeof cells[0].text, "%s",
             f->memory_by != NULL ? ft_provenance_name(f->memory.source) : "-");
}

static void add_parts(memory_list *l, const ft_result *f) {
    for (uint32_t i = 0; i < f->memory_part_count; i++) {
        const ft_part *part = &f->memory_parts[i];
        if (part->value > 0 && l->part_count < MOST_PARTS && find_part(l, part->type) == FT_NONE)
            l->parts[l->part_count++] = part->type;
    }
}

/* Returns how many lists there are. */
static uint32_t group_parts(memory_list lists[MOST_GROUPS], const ft_results *answers) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < answers->count; i++) {
        uint32_t g = 0;
        while (g < count && !is_in_list(&lists[g], &answers->items[i])) g++;
        if (g == MOST_GROUPS) continue;
        add_parts(&lists[g], &answers->items[i]);
        if (g == count && lists[g].part_count > 0) count++;
    }
    return count;
}

static void write_memory(const memory_list *l) {
    grid_column columns[MOST_PARTS + 3] = {{.title = "On", .is_flexible = true, .wraps = true, .comfort = 20},
                                           {.title = "Batch", .is_right = true}};
    uint32_t rows = 0;
    for (uint32_t p = 0; p < l->part_count; p++)
        columns[2 + p] = (grid_column){.title = l->parts[p], .is_right = true, .drop = (uint8_t)(p > 3 ? 1 : 0)};
    columns[2 + l->part_count] = (grid_column){.title = "From", .drop = 2};
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

void forecast_table_memory(sink *out, const ft_style *style, const ft_results *answers) {
    memory_list lists[MOST_GROUPS];
    for (uint32_t g = 0; g < MOST_GROUPS; g++) lists[g] = (memory_list){.answers = answers, .style = style, .out = out};
    uint32_t count = group_parts(lists, answers);
    for (uint32_t g = 0; g < count; g++) {
        if (g == 0)
            heading(out, style, "Where the memory goes");
        else
            buf_char(&out->text, '\n');
        write_memory(&lists[g]);
    }
}

/* --- What else is told ---------------------------------------------------------------------------------------- */

typedef struct other_list {
    const ft_results *answers;
    const ft_style *style;
} other_list;

static const ft_metric_result *other_at(const ft_results *answers, uint32_t row, const ft_result **forecast) {
    for (uint32_t i = 0; i < answers->count; i++) {
        *forecast = &answers->items[i];
        if (row < (*forecast)->other_count) return &(*forecast)->others[row];
        row -= (*forecast)->other_count;
    }
    return NULL;
}

static void put_other(const void *user, uint32_t row, grid_cell *cells) {
    const other_list *l = user;
    const ft_result *f = NULL;
    const ft_metric_result *other = other_at(l->answers, row, &f);
    if (other == NULL) return; /* there are as many rows as others */
    char interval[INTERVAL_TEXT_SIZE];
    text_fit(f->request.device, UINT32_MAX, l->style, cells[0].text, sizeof cells[0].text);
    snprintf(cells[1].text, sizeof cells[1].text, "%lld", (long long)f->request.batch);
    text_fit(other->metric, UINT32_MAX, l->style, cells[2].text, sizeof cells[2].text);
    metric_words(other->metric, other->value, cells[3].text);
    metric_interval(other->metric, other->lo, other->hi, interval);
    snprintf(cells[4].text, sizeof cells[4].text, "%s", interval[0] != '\0' ? interval : "-");
    snprintf(cells[5].text, sizeof cells[5].text, "%s", ft_provenance_name(other->source));
}

void forecast_table_others(sink *out, const ft_style *style, const ft_results *answers) {
    static const grid_column columns[] = {
        {.title = "Device", .is_flexible = true, .comfort = 18},
        {.title = "Batch", .is_right = true},
        {.title = "What"},
        {.title = "Value", .is_right = true},
        {.title = "90 % interval", .is_right = true, .drop = 2},
        {.title = "From", .drop = 1},
    };
    const other_list l = {answers, style};
    uint32_t rows = 0;
    for (uint32_t i = 0; i < answers->count; i++) rows += answers->items[i].other_count;
    if (rows == 0) return;
    heading(out, style, "What else is told");
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

/* A note, and the forecast that has it. */
typedef struct noted {
    const ft_result *of;
    const char *text;
} noted;

/* The name of the device in it; NULL when it is not named. */
static const char *device_in(const noted *note) {
    return strstr(note->text, note->of->request.device);
}

/* The same words, but for the device that each is of. */
static bool is_same_note(const noted *a, const noted *b) {
    const char *x = device_in(a), *y = device_in(b);
    if (x == NULL || y == NULL) return x == y && strcmp(a->text, b->text) == 0;
    size_t before = (size_t)(x - a->text);
    return before == (size_t)(y - b->text) && strncmp(a->text, b->text, before) == 0 &&
           strcmp(x + strlen(a->of->request.device), y + strlen(b->of->request.device)) == 0;
}

static bool has_note(const ft_result *f, const noted *note) {
    for (uint32_t i = 0; i < f->note_count; i++)
        if (is_same_note(&(noted){f, f->notes[i]}, note)) return true;
    return false;
}

static bool both_have_note(const ft_result *a, const ft_result *b, const void *user) {
    return has_note(a, user) && has_note(b, user);
}

static bool same_lack(const char *a, const char *b) {
    return a != NULL && b != NULL && strcmp(a, b) == 0;
}

static bool same_no_time(const ft_result *a, const ft_result *b, const void *user) {
    (void)user;
    return same_lack(a->no_time, b->no_time);
}

static bool same_no_util(const ft_result *a, const ft_result *b, const void *user) {
    (void)user;
    return same_lack(a->no_util, b->no_util);
}

static bool same_type(const ft_result *a, const ft_result *b, const void *user) {
    (void)user;
    return a->request.dtype == b->request.dtype;
}

/* What the setting says, where it says something: predictors have their own usual ones. */
static bool same_setting(const ft_result *a, const ft_result *b, const void *user) {
    (void)user;
    return same_lack(a->request.setting, b->request.setting);
}

/* "those: what: text". */
static void write_note(sink *out, const ft_style *style, buf *those, const char *what, const char *note) {
    buf text = {0};
    if (those->length > 0) buf_format(&text, "%s: ", those->data);
    buf_format(&text, "%s%s", what, note);
    if (text.failed || those->failed) out->text.failed = true;
    text_paragraph(text.data != NULL ? text.data : "", INDENT, style, out);
    buf_free(&text);
    buf_free(those);
}

/* With the names of all that have it: where it names its device itself, or before it, unless all have it. */
static void write_shared_note(sink *out, const ft_style *style, const ft_results *answers, uint32_t index,
                              const noted *note) {
    const char *device = device_in(note);
    buf those = {0}, text = {0}, none = {0};
    if (device != NULL || !is_shared(answers, index, false, both_have_note, note))
        name_those(answers, index, both_have_note, note, &those);
    if (device == NULL || those.failed) {
        write_note(out, style, &those, "", note->text);
        return;
    }
    buf_format(&text, "%.*s%s%s", (int)(device - note->text), note->text, those.data,
               device + strlen(note->of->request.device));
    if (text.failed) out->text.failed = true;
    write_note(out, style, &none, "", text.data != NULL ? text.data : "");
    buf_free(&those);
    buf_free(&text);
}

typedef struct note_kind {
    const char *what;
    is_same *same;
    const char *(*text)(const ft_result *);
    bool is_told_above; /* when all have the same */
} note_kind;

static const char *type_of(const ft_result *f) {
    return ft_dtype_name(f->request.dtype);
}

static const char *no_time_of(const ft_result *f) {
    return f->no_time;
}

static const char *no_util_of(const ft_result *f) {
    return f->no_util;
}

static const char *setting_of(const ft_result *f) {
    return f->request.setting != NULL && f->request.setting[0] != '\0' ? f->request.setting : NULL;
}

static void write_kind(sink *out, const ft_style *style, const ft_results *answers, const note_kind *kind) {
    for (uint32_t i = 0; i < answers->count; i++) {
        const char *text = kind->text(&answers->items[i]);
        buf those = {0};
        bool is_of_all = is_shared(answers, i, false, kind->same, NULL);
        if (text == NULL || !is_first_of_its_kind(answers, i, kind->same, NULL)) continue;
        if (is_of_all && kind->is_told_above) continue;
        if (!is_of_all) name_those(answers, i, kind->same, NULL, &those);
        write_note(out, style, &those, kind->what, text);
    }
}

void forecast_table_notes(sink *out, const ft_style *style, const ft_results *answers) {
    static const note_kind kinds[] = {
        {"", same_type, type_of, true},
        {"setting ", same_setting, setting_of, false},
        {"no time: ", same_no_time, no_time_of, false},
        {"no utilisation: ", same_no_util, no_util_of, false},
    };
    uint32_t shown = 0, left_out = 0;
    buf_char(&out->text, '\n');
    for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++) write_kind(out, style, answers, &kinds[k]);
    for (uint32_t i = 0; i < answers->count; i++) {
        const ft_result *f = &answers->items[i];
        for (uint32_t n = 0; n < f->note_count; n++) {
            const noted note = {f, f->notes[n]};
            if (!is_first_of_its_kind(answers, i, both_have_note, &note)) continue;
            if (shown++ >= NOTES_SHOWN) {
                left_out++;
                continue;
            }
            write_shared_note(out, style, answers, i, &note);
        }
    }
    if (left_out > 0) buf_format(&out->text, "%*sand %u more notes, which --format json has\n", INDENT, "", left_out);
}
