/* report_fit.c - whether a step fits into memory, and the largest batch that does, as documents. */
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "forecast/job.h"
#include "forecast/report.h"
#include "report/grid.h"
#include "report/labelled.h"
#include "report/metric.h"
#include "report/style.h"

enum { INDENT = 2, MIN_PATH = 16 };

/* The values of both documents; those that a document lacks are NaN or NULL. */
typedef struct fit_facts {
    result_row row;
    double free_bytes;
    const char *free_from; /* "given", "data sheet" or "unknown" */
    const char *fits;      /* "yes", "no", "uncertain" */
    double used_ratio;     /* share of free_bytes that the runtime uses; NaN: all */
    double margin_bytes, margin_lo_bytes, margin_hi_bytes;
    uint64_t certain_batch, possible_batch, max_batch;
    /* Of a language model that is served; NaN: of any other. */
    double certain_sequences, possible_sequences, certain_context, possible_context, max_context;
} fit_facts;

#define FACT(member, kind)                                                                                             \
    { #member, kind, offsetof(fit_facts, member) }
#define RESULT_FACT(member, kind)                                                                                      \
    { #member, kind, offsetof(fit_facts, row.member) }
#define WHICH_FACTS RESULT_FACT(file, FIELD_TEXT), RESULT_FACT(device, FIELD_TEXT)
#define HOW_FACTS                                                                                                      \
    RESULT_FACT(mode, FIELD_TEXT), RESULT_FACT(dtype, FIELD_TEXT), RESULT_FACT(setting, FIELD_TEXT),                   \
        RESULT_FACT(optimizer, FIELD_TEXT), FACT(free_bytes, FIELD_WHOLE), FACT(free_from, FIELD_TEXT)
#define MEMORY_FACTS                                                                                                   \
    RESULT_FACT(peak_bytes, FIELD_WHOLE), RESULT_FACT(peak_lo_bytes, FIELD_WHOLE),                                     \
        RESULT_FACT(peak_hi_bytes, FIELD_WHOLE), RESULT_FACT(memory_provenance, FIELD_TEXT),                           \
        RESULT_FACT(memory_predictor, FIELD_TEXT)
#define CAPACITY_FACTS                                                                                                 \
    FACT(certain_sequences, FIELD_WHOLE), FACT(possible_sequences, FIELD_WHOLE), FACT(certain_context, FIELD_WHOLE),   \
        FACT(possible_context, FIELD_WHOLE), FACT(max_context, FIELD_WHOLE)
#define END                                                                                                            \
    { NULL, FIELD_TEXT, 0 }

static const field fit_fields[] = {
    WHICH_FACTS,
    RESULT_FACT(batch, FIELD_COUNT),
    HOW_FACTS,
    FACT(fits, FIELD_TEXT),
    FACT(margin_bytes, FIELD_WHOLE),
    FACT(margin_lo_bytes, FIELD_WHOLE),
    FACT(margin_hi_bytes, FIELD_WHOLE),
    MEMORY_FACTS,
    CAPACITY_FACTS,
    END,
};

static const field batch_fields[] = {
    WHICH_FACTS,
    HOW_FACTS,
    FACT(certain_batch, FIELD_COUNT),
    FACT(possible_batch, FIELD_COUNT),
    FACT(max_batch, FIELD_COUNT),
    RESULT_FACT(batch, FIELD_COUNT),
    MEMORY_FACTS,
    RESULT_FACT(time_us, FIELD_RATIO),
    RESULT_FACT(time_lo_us, FIELD_RATIO),
    RESULT_FACT(time_hi_us, FIELD_RATIO),
    RESULT_FACT(samples_per_s, FIELD_RATIO),
    RESULT_FACT(provenance, FIELD_TEXT),
    CAPACITY_FACTS,
    END,
};

/* What fits of a language model that is served, for as many sequences as `batch`: from the context that the results
 * were predicted in. */
static ft_status fill_capacity(const ft_model_results *entry, uint32_t index, int64_t batch, fit_facts *facts,
                               ft_error *error) {
    ft_request request = entry->results->items[index].request;
    ft_capacity c;
    if (!result_is_served(&entry->results->items[index]) || isnan(facts->free_bytes)) return FT_OK;
    request.batch = batch;
    request.setting = NULL;
    FT_TRY(context_capacity(entry->results->owner, &request, facts->free_bytes, &c, error));
    facts->certain_sequences = (double)c.certain_sequences;
    facts->possible_sequences = (double)c.possible_sequences;
    facts->certain_context = (double)c.certain_context;
    facts->possible_context = (double)c.possible_context;
    if (c.max_context > 0) facts->max_context = (double)c.max_context;
    return FT_OK;
}

static void fill_facts(const ft_model_results *entry, uint32_t index, double free_bytes, bool is_whole,
                       fit_facts *facts) {
    const ft_result *result = &entry->results->items[index];
    const model_facts none = {0};
    *facts = (fit_facts){.certain_sequences = NAN,
                         .possible_sequences = NAN,
                         .certain_context = NAN,
                         .possible_context = NAN,
                         .max_context = NAN,
                         .free_bytes = free_bytes,
                         .free_from = isnan(free_bytes) ? "unknown"
                                      : is_whole        ? "data sheet"
                                                        : "given"};
    result_row_fill(entry, &none, result, 0, &facts->row);
    facts->fits = ft_fit_name(ft_result_fit(result, free_bytes));
    double share = result->request.mode == FT_INFER ? result->request.serving.utilization_ratio : 0;
    if (share > 0) free_bytes *= share;
    facts->used_ratio = share > 0 && share < 1 ? share : NAN;
    facts->margin_bytes = round(free_bytes - ft_result_memory(result)->value);
    facts->margin_lo_bytes = round(free_bytes - ft_result_memory(result)->hi);
    facts->margin_hi_bytes = round(free_bytes - ft_result_memory(result)->lo);
}

/* --- JSON and CSV -------------------------------------------------------------------------------------------- */

/* A document without the time leaves out the notes about it. */
static uint32_t first_note(const field *fields, const ft_result *result) {
    return fields == batch_fields ? 0 : result->time_note_count;
}

static void write_object(json_writer *j, const field *fields, const fit_facts *facts, const ft_result *result) {
    jsonw_open_object(j, JSON_BLOCK);
    for (const field *at = fields; at->key != NULL; at++) field_json(at, facts, NULL, j);
    jsonw_key(j, "notes");
    jsonw_open_array(j, JSON_BLOCK);
    for (uint32_t i = first_note(fields, result); i < result->note_count; i++) jsonw_string(j, result->notes[i]);
    jsonw_close(j);
    jsonw_close(j);
}

static void write_csv_heading(sink *out, const field *fields) {
    for (const field *f = fields; f->key != NULL; f++)
        buf_format(&out->text, "%s%s", f->key, f[1].key != NULL ? "," : "\n");
}

static void write_csv_row(sink *out, const field *fields, const fit_facts *facts) {
    for (const field *f = fields; f->key != NULL; f++) {
        field_csv(f, facts, NULL, &out->text);
        buf_char(&out->text, f[1].key != NULL ? ',' : '\n');
    }
}

/* --- Tables -------------------------------------------------------------------------------------------------- */

/* "9.5 GiB", "-1.2 GiB". */
static void add_bytes(buf *out, double bytes) {
    char words[UNIT_TEXT_SIZE];
    metric_words("peak_bytes", fabs(bytes), words);
    buf_format(out, "%s%s", bytes < 0 ? "-" : "", words);
}

static void add_peak(labelled *l, const result_row *row, bool is_served) {
    buf *out = labelled_add(l, "Needs");
    char interval[INTERVAL_TEXT_SIZE];
    add_bytes(out, row->peak_bytes);
    metric_interval("peak_bytes", row->peak_lo_bytes, row->peak_hi_bytes, interval);
    if (is_served)
        buf_format(out, ", from what is assumed %s", interval);
    else if (interval[0] != '\0')
        buf_format(out, ", 90 %% interval %s", interval);
    else
        buf_text(out, ", assumed to be off by a fifth at most");
    buf_format(out, " (%s)", row->memory_provenance != NULL ? row->memory_provenance : "unknown");
}

/* "weights 15.0 GiB, kv_cache 4.0 GiB, ...": of a language model that is served, what could be made smaller. */
static void add_parts(labelled *l, const ft_result *result) {
    const ft_metric_result *memory = ft_result_memory(result);
    if (!result_is_served(result) || memory->part_count == 0) return;
    buf *out = labelled_add(l, "Parts");
    for (uint32_t i = 0; i < memory->part_count; i++) {
        buf_format(out, "%s%s ", i > 0 ? ", " : "", memory->parts[i].type);
        add_bytes(out, memory->parts[i].value);
    }
}

static void add_free(labelled *l, const fit_facts *facts) {
    buf *out = labelled_add(l, "Free");
    if (isnan(facts->free_bytes)) {
        buf_text(out, "unknown: the data sheet has no memory size; give --free BYTES");
        return;
    }
    add_bytes(out, facts->free_bytes);
    if (strcmp(facts->free_from, "given") != 0)
        buf_text(out, ", the whole memory by the data sheet; --free overrides it");
    if (!isnan(facts->used_ratio)) buf_format(out, "; the runtime uses %.3g of it", facts->used_ratio);
}

static void add_margin(labelled *l, const fit_facts *facts) {
    if (isnan(facts->margin_bytes)) return;
    buf *out = labelled_add(l, "Margin");
    add_bytes(out, facts->margin_bytes);
    if (isnan(facts->margin_lo_bytes) || isnan(facts->margin_hi_bytes)) return;
    buf_text(out, ", from ");
    add_bytes(out, facts->margin_lo_bytes);
    buf_text(out, " to ");
    add_bytes(out, facts->margin_hi_bytes);
}

/* "12 sequences of 8192 tokens (up to 15 possible)". */
static void add_capacity(labelled *l, const fit_facts *facts, const ft_result *result, uint64_t batch) {
    const ft_serving *s = &result->request.serving;
    if (isnan(facts->certain_sequences)) return;
    buf *out = labelled_add(l, "Sequences");
    buf_format(out, "%.0f of %lld tokens", facts->certain_sequences, (long long)s->context_tokens);
    if (facts->possible_sequences > facts->certain_sequences)
        buf_format(out, " (up to %.0f possible)", facts->possible_sequences);
    out = labelled_add(l, "Context");
    buf_format(out, "%.0f tokens for %llu sequence%s", facts->certain_context, (unsigned long long)batch,
               batch == 1 ? "" : "s");
    if (facts->possible_context > facts->certain_context)
        buf_format(out, " (up to %.0f possible)", facts->possible_context);
    if (facts->certain_context == facts->max_context) buf_text(out, ", the model's maximum");
}

static void add_notes(labelled *l, const ft_result *result, uint32_t first) {
    for (uint32_t i = first; i < result->note_count && i < first + 6; i++)
        buf_text(labelled_add(l, i == first ? "Note" : ""), result->notes[i]);
}

static void add_setting(buf *out, const result_row *row) {
    buf_format(out, "%s, %s", strcmp(row->mode, "train") == 0 ? "training" : "inference", row->dtype);
    if (row->optimizer != NULL) buf_format(out, ", %s", row->optimizer);
    if (row->setting[0] != '\0') buf_format(out, ", %s", row->setting);
}

static void write_head(sink *out, const ft_style *style, const fit_facts *facts, const char *verdict) {
    char file[GRID_CELL_SIZE], device[GRID_CELL_SIZE];
    text_fit(facts->row.device, UINT32_MAX, style, device, sizeof device);
    uint32_t others = text_columns(" on : ") + text_columns(device) + text_columns(verdict);
    uint32_t room = style->width > others + MIN_PATH ? style->width - others : MIN_PATH;
    text_fit(facts->row.file, room, style, file, sizeof file);
    buf_format(&out->text, "%s%s on %s: %s%s\n", tone_begin(style, TONE_TITLE), file, device, verdict,
               tone_end(style, TONE_TITLE));
}

/* One device in full. */
static void fit_table(sink *out, const ft_style *style, const fit_facts *facts, const ft_result *result) {
    labelled l = {0};
    write_head(out, style, facts,
               strcmp(facts->fits, "yes") == 0  ? "yes, it fits"
               : strcmp(facts->fits, "no") == 0 ? "no, it does not fit"
                                                : "uncertain, it may or may not fit");
    buf *setting = labelled_add(&l, "Batch");
    buf_format(setting, "%llu, ", (unsigned long long)facts->row.batch);
    add_setting(setting, &facts->row);
    add_peak(&l, &facts->row, result_is_served(result));
    add_parts(&l, result);
    add_free(&l, facts);
    add_margin(&l, facts);
    add_capacity(&l, facts, result, facts->row.batch);
    add_notes(&l, result, first_note(fit_fields, result));
    labelled_write(&l, style, INDENT, out);
}

static void add_speed(labelled *l, const result_row *row) {
    char time[UNIT_TEXT_SIZE], interval[INTERVAL_TEXT_SIZE], rate[UNIT_TEXT_SIZE];
    if (isnan(row->time_us)) return;
    buf *out = labelled_add(l, "Time");
    metric_words("time_us", row->time_us, time);
    metric_interval("time_us", row->time_lo_us, row->time_hi_us, interval);
    metric_words("samples_per_s", row->samples_per_s, rate);
    buf_format(out, "%s a step", time);
    if (interval[0] != '\0') buf_format(out, " (%s)", interval);
    buf_format(out, ", %s samples/s", rate);
}

static void batch_table(sink *out, const ft_style *style, const fit_facts *facts, const ft_result *result) {
    labelled l = {0};
    char verdict[96];
    unsigned long long certain = facts->certain_batch, possible = facts->possible_batch, limit = facts->max_batch;
    if (certain == 0)
        snprintf(verdict, sizeof verdict, possible == 0 ? "no batch fits" : "no batch surely fits");
    else
        snprintf(verdict, sizeof verdict, "batch %llu%s", certain, certain == limit ? " and maybe more" : "");
    write_head(out, style, facts, verdict);
    add_setting(labelled_add(&l, "Setting"), &facts->row);
    if (possible > certain)
        buf_format(labelled_add(&l, "Possible"), "up to %llu (lower end of the interval)", possible);
    if (certain == limit)
        buf_format(labelled_add(&l, "Searched"), "up to %llu; --max-batch-size raises the limit", limit);
    add_free(&l, facts);
    buf_format(labelled_add(&l, "At batch"), "%llu", (unsigned long long)facts->row.batch);
    add_peak(&l, &facts->row, result_is_served(result));
    add_parts(&l, result);
    add_speed(&l, &facts->row);
    add_capacity(&l, facts, result, 1);
    add_notes(&l, result, first_note(batch_fields, result));
    labelled_write(&l, style, INDENT, out);
}

/* --- Several devices ----------------------------------------------------------------------------------------- */

/* The results of a model and the memory of their devices. */
typedef struct fit_list {
    const ft_model_results *entry;
    const double *free_bytes;
    bool is_whole;
    const ft_style *style;
} fit_list;

static void put_fit(const void *user, uint32_t row, grid_cell *cells) {
    const fit_list *list = user;
    fit_facts facts;
    fill_facts(list->entry, row, list->free_bytes[row], list->is_whole, &facts);
    text_fit(facts.row.device, UINT32_MAX, list->style, cells[0].text, sizeof cells[0].text);
    snprintf(cells[1].text, sizeof cells[1].text, "%s", facts.fits);
    metric_words("peak_bytes", facts.row.peak_bytes, cells[2].text);
    metric_interval("peak_bytes", facts.row.peak_lo_bytes, facts.row.peak_hi_bytes, cells[3].text);
    if (isnan(facts.free_bytes)) {
        snprintf(cells[4].text, sizeof cells[4].text, "unknown");
        return;
    }
    metric_words("peak_bytes", facts.free_bytes, cells[4].text);
    snprintf(cells[5].text, sizeof cells[5].text, "%s", facts.margin_bytes < 0 ? "-" : "");
    metric_words("peak_bytes", fabs(facts.margin_bytes), cells[5].text + strlen(cells[5].text));
}

static void fit_grid(sink *out, const ft_style *style, const fit_list *list) {
    static const grid_column columns[] = {
        {.title = "Device", .is_flexible = true, .is_distinct = true},
        {.title = "Fits"},
        {.title = "Needs", .is_right = true},
        {.title = "90 % interval", .is_right = true},
        {.title = "Free", .is_right = true},
        {.title = "Margin", .is_right = true, .drop = 1},
    };
    fit_facts first;
    buf setting = {0};
    fill_facts(list->entry, 0, list->free_bytes[0], list->is_whole, &first);
    buf_format(&setting, "batch %llu, %s", (unsigned long long)first.row.batch,
               strcmp(first.row.mode, "train") == 0 ? "training" : "inference");
    char file[GRID_CELL_SIZE];
    uint32_t others = 2 + (uint32_t)setting.length;
    text_fit(first.row.file, style->width > others + MIN_PATH ? style->width - others : MIN_PATH, style, file,
             sizeof file);
    buf_format(&out->text, "%s%s: %s%s\n", tone_begin(style, TONE_TITLE), file,
               setting.data != NULL ? setting.data : "", tone_end(style, TONE_TITLE));
    if (setting.failed) out->text.failed = true;
    buf_free(&setting);
    grid_write(&(grid){.style = style,
                       .columns = columns,
                       .column_count = sizeof columns / sizeof columns[0],
                       .indent = INDENT,
                       .row = put_fit,
                       .user = list,
                       .row_count = list->entry->results->count},
               out);
}

/* --- Documents ----------------------------------------------------------------------------------------------- */

/* Writes all results; the facts of each are computed once. */
static ft_status write_fits(sink *out, const fit_list *list, ft_error *error) {
    const ft_results *results = list->entry->results;
    const ft_style *style = list->style;
    json_writer j;
    jsonw_init(&j, &out->text);
    if (style->output == FT_CSV) write_csv_heading(out, fit_fields);
    if (style->output == FT_JSON) jsonw_open_array(&j, JSON_BLOCK);
    for (uint32_t i = 0; i < results->count; i++) {
        fit_facts facts;
        fill_facts(list->entry, i, list->free_bytes[i], list->is_whole, &facts);
        FT_TRY(fill_capacity(list->entry, i, results->items[i].request.batch, &facts, error));
        if (style->output == FT_CSV) write_csv_row(out, fit_fields, &facts);
        if (style->output == FT_JSON) write_object(&j, fit_fields, &facts, &results->items[i]);
        if (style->output == FT_TABLE && results->count == 1) fit_table(out, style, &facts, &results->items[i]);
    }
    if (style->output == FT_TABLE && results->count > 1) fit_grid(out, style, list);
    if (style->output != FT_JSON) return FT_OK;
    jsonw_close(&j);
    buf_char(&out->text, '\n');
    return FT_OK;
}

ft_status ft_report_fit(FILE *stream, const ft_style *style, const ft_model_results *entry, const double *free_bytes,
                        bool is_whole, ft_error *error) {
    FT_REQUIRE(error, stream, style, entry, free_bytes);
    FT_TRY(style_check(style, error));
    const fit_list list = {entry, free_bytes, is_whole, style};
    sink out = {.stream = stream};
    assert(entry->results->count > 0);
    ft_status status = write_fits(&out, &list, error);
    if (status == FT_OK) status = sink_flush(&out, error);
    sink_free(&out);
    return status;
}

ft_status ft_report_max_batch(FILE *stream, const ft_style *style, const ft_model_results *entry,
                              const ft_max_batch_result *found, bool is_whole, ft_error *error) {
    FT_REQUIRE(error, stream, style, entry, found);
    FT_TRY(style_check(style, error));
    fit_facts facts;
    const ft_result *result = &entry->results->items[0];
    sink out = {.stream = stream};
    json_writer j;
    assert(entry->results->count > 0 && found->certain <= found->possible && found->possible <= found->max_batch);
    fill_facts(entry, 0, found->free_bytes, is_whole, &facts);
    facts.certain_batch = (uint64_t)found->certain;
    facts.possible_batch = (uint64_t)found->possible;
    facts.max_batch = (uint64_t)found->max_batch;
    FT_TRY(fill_capacity(entry, 0, 1, &facts, error));
    switch (style->output) {
    case FT_TABLE:
        batch_table(&out, style, &facts, result);
        break;
    case FT_JSON:
        jsonw_init(&j, &out.text);
        write_object(&j, batch_fields, &facts, result);
        buf_char(&out.text, '\n');
        break;
    case FT_CSV:
        write_csv_heading(&out, batch_fields);
        write_csv_row(&out, batch_fields, &facts);
        break;
    }
    ft_status status = sink_flush(&out, error);
    sink_free(&out);
    return status;
}
