/* report_document.c - documents about replays (begin, entries, end), and their JSON and CSV. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "replay/report_values.h"
#include "report/style.h"

/* --- JSON: an array of one object per replay (docs/schema/replay.schema.json) ----------------------------------- */

static void json_row(json_writer *j, const field *fields, const void *row) {
    jsonw_open_object(j, JSON_LINE);
    for (; fields->key != NULL; fields++) field_json(fields, row, NULL, j);
    jsonw_close(j);
}

static void json_engines(json_writer *j, const ft_replay *replay) {
    jsonw_key(j, "engines");
    jsonw_open_array(j, JSON_BLOCK);
    for (uint32_t i = FT_NONE, worker; engine_list_next(replay, &i, &worker);) {
        engine_row row;
        engine_row_fill(&replay->engines[i], worker, &row);
        json_row(j, engine_fields, &row);
    }
    jsonw_close(j);
}

static void json_event(ft_replay_report *r, json_writer *j, const ft_replay *replay, event_copy copy) {
    event_row row;
    event_row_fill(replay, &copy, &row);
    json_row(j, event_fields, &row);
    sink_relieve(&r->out);
}

static void json_critical(ft_replay_report *r, json_writer *j, const ft_replay *replay) {
    uint32_t count = 0, *chosen = select_events(replay, true, r->style.top, &count);
    if (chosen == NULL) r->out.text.failed = true;
    jsonw_key(j, "critical_path");
    jsonw_open_array(j, JSON_BLOCK);
    for (uint32_t i = 0; chosen != NULL && i < count; i++) json_event(r, j, replay, event_first(replay, chosen[i]));
    jsonw_close(j);
    free(chosen);
}

static void json_kernels(ft_replay_report *r, json_writer *j, const ft_replay *replay) {
    event_list list;
    event_copy copy;
    bool is_open = event_list_open(&list, replay, r->style.top);
    if (!is_open) r->out.text.failed = true;
    jsonw_key(j, "kernels");
    jsonw_open_array(j, JSON_BLOCK);
    while (is_open && event_list_next(&list, &copy)) json_event(r, j, replay, copy);
    jsonw_close(j);
    event_list_close(&list);
}

static void json_notes(json_writer *j, const ft_model_replays *entry, const ft_replay *replay) {
    const char *note;
    jsonw_key(j, "notes");
    jsonw_open_array(j, JSON_BLOCK);
    for (uint32_t i = 0; (note = replay_note(entry, replay, i)) != NULL; i++) jsonw_string(j, note);
    jsonw_close(j);
}

static void write_json(ft_replay_report *r, const ft_model_replays *entry) {
    for (uint32_t i = 0; i < entry->count; i++) {
        const ft_replay *replay = &entry->replays[i];
        replay_row row;
        json_writer j;
        replay_row_fill(entry, replay, &row);
        buf_text(&r->out.text, r->replay_count + i > 0 ? ",\n" : "[\n");
        jsonw_init(&j, &r->out.text);
        jsonw_open_object(&j, JSON_BLOCK);
        for (const field *f = replay_fields; f->key != NULL; f++) field_json(f, &row, NULL, &j);
        json_engines(&j, replay);
        json_critical(r, &j, replay);
        if (r->style.has_kernels) json_kernels(r, &j, replay);
        json_notes(&j, entry, replay);
        jsonw_close(&j);
    }
}

/* --- CSV: one row per replay, or per event ---------------------------------------------------------------------- */

static void csv_names(buf *out, const field *fields) {
    for (; fields->key != NULL; fields++) buf_format(out, "%s,", fields->key);
}

static void csv_values(buf *out, const field *fields, const void *row) {
    for (; fields->key != NULL; fields++) {
        field_csv(fields, row, NULL, out);
        buf_char(out, ',');
    }
}

/* Each cell ends in a comma, the last of a line in a newline. */
static void csv_end_line(buf *out) {
    if (out->length > 0 && !out->failed) out->data[out->length - 1] = '\n';
}

static void csv_cell_of(buf *out, buf *text) {
    if (text->failed) out->failed = true;
    if (text->data != NULL) csv_cell(out, text->data);
    buf_char(out, ',');
    buf_free(text);
}

/* "0:compute=0.93;network=0.2": the share of time that each engine is busy. */
static void csv_engines(buf *out, const ft_replay *replay) {
    buf text = {0};
    char number[DOUBLE_TEXT_SIZE];
    for (uint32_t i = FT_NONE, worker; engine_list_next(replay, &i, &worker);) {
        const ft_replay_engine *e = &replay->engines[i];
        double_text(e->use_ratio, number);
        if (text.length > 0) buf_char(&text, ';');
        if (worker != FT_NONE) buf_format(&text, "%u:", worker);
        buf_format(&text, "%s=%s", e->name, number);
    }
    csv_cell_of(out, &text);
}

/* The names of the kernels on the critical path. */
static void csv_critical(ft_replay_report *r, const ft_replay *replay) {
    buf text = {0};
    uint32_t count = 0, *chosen = select_events(replay, true, r->style.top, &count);
    if (chosen == NULL) text.failed = true;
    for (uint32_t i = 0; chosen != NULL && i < count; i++)
        buf_format(&text, "%s%s", i > 0 ? ";" : "", replay->events[chosen[i]].name);
    free(chosen);
    csv_cell_of(&r->out.text, &text);
}

static void csv_notes(buf *out, const ft_model_replays *entry, const ft_replay *replay) {
    buf text = {0};
    const char *note;
    for (uint32_t i = 0; (note = replay_note(entry, replay, i)) != NULL; i++)
        buf_format(&text, "%s%s", i > 0 ? "; " : "", note);
    csv_cell_of(out, &text);
}

/* The columns that identify the replay of an event. */
static const field which_fields[] = {{"file", FIELD_TEXT, offsetof(replay_row, file)},
                                     {"device", FIELD_TEXT, offsetof(replay_row, device)},
                                     {"workers", FIELD_COUNT, offsetof(replay_row, workers)},
                                     {NULL, FIELD_TEXT, 0}};

static void csv_events(ft_replay_report *r, const ft_replay *replay, const replay_row *which) {
    event_list list;
    event_copy copy;
    bool is_open = event_list_open(&list, replay, r->style.top);
    if (!is_open) r->out.text.failed = true;
    while (is_open && event_list_next(&list, &copy)) {
        event_row row;
        event_row_fill(replay, &copy, &row);
        csv_values(&r->out.text, which_fields, which);
        csv_values(&r->out.text, event_fields, &row);
        csv_end_line(&r->out.text);
        sink_relieve(&r->out);
    }
    event_list_close(&list);
}

static void csv_heading(ft_replay_report *r) {
    buf *out = &r->out.text;
    csv_names(out, r->style.has_kernels ? which_fields : replay_fields);
    if (r->style.has_kernels)
        csv_names(out, event_fields);
    else
        buf_text(out, "engines,critical_path,notes,");
    csv_end_line(out);
}

static void write_csv(ft_replay_report *r, const ft_model_replays *entry) {
    buf *out = &r->out.text;
    if (r->replay_count == 0) csv_heading(r);
    for (uint32_t i = 0; i < entry->count; i++) {
        replay_row row;
        replay_row_fill(entry, &entry->replays[i], &row);
        if (r->style.has_kernels) {
            csv_events(r, &entry->replays[i], &row);
            continue;
        }
        csv_values(out, replay_fields, &row);
        csv_engines(out, &entry->replays[i]);
        csv_critical(r, &entry->replays[i]);
        csv_notes(out, entry, &entry->replays[i]);
        csv_end_line(out);
        sink_relieve(&r->out);
    }
}

/* --- The document -------------------------------------------------------------------------------------------- */

ft_status ft_replay_report_begin(FILE *stream, const ft_replay_style *style, ft_replay_report **report,
                                 ft_error *error) {
    FT_REQUIRE(error, stream, style, report);
    FT_TRY(style_check(&style->style, error));
    ft_replay_report *r = calloc(1, sizeof *r);
    if (r == NULL) return FT_NOMEM(error);
    r->style = *style;
    r->out.stream = stream;
    *report = r;
    return FT_OK;
}

ft_status ft_replay_report_add(ft_replay_report *report, const ft_model_replays *entry, ft_error *error) {
    FT_REQUIRE(error, report, entry);
    switch (report->style.style.output) {
    case FT_TABLE:
        replay_table_model(report, entry);
        break;
    case FT_JSON:
        write_json(report, entry);
        break;
    case FT_CSV:
        write_csv(report, entry);
        break;
    }
    report->replay_count += entry->count;
    return sink_flush(&report->out, error);
}

ft_status ft_replay_report_end(ft_replay_report *report, ft_error *error) {
    if (report == NULL) return FT_OK;
    if (report->style.style.output == FT_JSON && report->replay_count > 0) buf_text(&report->out.text, "\n]\n");
    ft_status status = sink_flush(&report->out, error);
    sink_free(&report->out);
    free(report);
    return status;
}
