/* autotvm.c - parser of AutoTVM records, versions 0.1 and 0.2, built on the pull parser. */
#include "read/autotvm.h"

#include <assert.h>
#include <string.h>

#include "base/error.h"
#include "base/json_pull.h"

typedef struct reading {
    json_pull pull;
    autotvm_record *record;
    ft_error *error;
} reading;

static ft_status damaged(reading *r) {
    return ft_fail(r->error, FT_ERR_DAMAGED, "invalid record: %s",
                   r->pull.why != NULL ? r->pull.why : "a value is missing");
}

/* --- Values ------------------------------------------------------------------------------------------------------ */

static ft_status keep_bytes(reading *r, const char *bytes, size_t length, const char **text) {
    autotvm_record *record = r->record;
    if (length >= AUTOTVM_MAX_TEXT - record->text_length)
        return ft_fail(r->error, FT_ERR_LIMIT, "the strings of the record have more than %d bytes", AUTOTVM_MAX_TEXT);
    char *out = record->text + record->text_length;
    memcpy(out, bytes, length);
    out[length] = '\0';
    record->text_length += length + 1;
    *text = out;
    return FT_OK;
}

static ft_status keep_string(reading *r, const char **text) {
    json_text raw;
    if (!json_pull_string(&r->pull, &raw)) return damaged(r);
    FT_TRY(keep_bytes(r, raw.text, raw.length, text));
    if (!raw.has_escapes) return FT_OK;
    char *out = r->record->text + (*text - r->record->text);
    return json_text_decode(&raw, out, raw.length + 1) != SIZE_MAX
               ? FT_OK
               : ft_fail(r->error, FT_ERR_DAMAGED, "invalid record: invalid JSON escape");
}

/* Any JSON value, kept as its text. */
static ft_status keep_value(reading *r, const char **text) {
    json_pull_peek(&r->pull);
    const char *from = r->pull.at;
    if (!json_pull_skip(&r->pull)) return damaged(r);
    return keep_bytes(r, from, (size_t)(r->pull.at - from), text);
}

static ft_status skip_list_rest(reading *r, bool first) {
    while (json_pull_more(&r->pull, ']', &first)) {
        if (!json_pull_skip(&r->pull)) return damaged(r);
    }
    return r->pull.why == NULL ? FT_OK : damaged(r);
}

/* --- Knobs ------------------------------------------------------------------------------------------------------- */

static ft_status keep_number(reading *r, int64_t number) {
    assert(r->record->number_count <= AUTOTVM_MAX_NUMBERS);
    autotvm_record *record = r->record;
    if (record->number_count == AUTOTVM_MAX_NUMBERS)
        return ft_fail(r->error, FT_ERR_LIMIT, "the knobs have more than %d numbers", AUTOTVM_MAX_NUMBERS);
    record->numbers[record->number_count++] = number;
    return FT_OK;
}

/* A list of integers, or one integer, is stored as numbers; anything else as its JSON text. */
static ft_status read_knob_value(reading *r, autotvm_knob *knob) {
    autotvm_record *record = r->record;
    json_pull before = r->pull;
    uint32_t numbers = record->number_count;
    int64_t number;
    bool first = true, is_list = json_pull_peek(&r->pull) == '[';
    knob->numbers = record->numbers + numbers;
    if (is_list) json_pull_open(&r->pull, '[');
    while (!is_list || json_pull_more(&r->pull, ']', &first)) {
        if (json_pull_peek(&r->pull) != '0' || !json_pull_int(&r->pull, &number)) break;
        FT_TRY(keep_number(r, number));
        if (!is_list) break;
    }
    bool is_numbers = r->pull.why == NULL && (is_list ? r->pull.at[-1] == ']' : record->number_count > numbers);
    knob->count = is_numbers ? record->number_count - numbers : 0;
    if (is_numbers) return FT_OK;
    record->number_count = numbers;
    r->pull = before;
    return keep_value(r, &knob->text);
}

/* [name, kind, value] */
static ft_status read_knob(reading *r) {
    assert(r->record->knob_count <= AUTOTVM_MAX_KNOBS);
    static const char *const kinds[] = {"sp", "re", "an"};
    autotvm_record *record = r->record;
    bool first = true;
    json_text kind;
    if (record->knob_count == AUTOTVM_MAX_KNOBS)
        return ft_fail(r->error, FT_ERR_LIMIT, "the record has more than %d knobs", AUTOTVM_MAX_KNOBS);
    autotvm_knob *knob = &record->knobs[record->knob_count++];
    *knob = (autotvm_knob){.kind = AUTOTVM_OTHER, .text = ""};
    if (!json_pull_open(&r->pull, '[') || !json_pull_more(&r->pull, ']', &first)) return damaged(r);
    FT_TRY(keep_string(r, &knob->name));
    if (!json_pull_more(&r->pull, ']', &first) || !json_pull_string(&r->pull, &kind) ||
        !json_pull_more(&r->pull, ']', &first))
        return damaged(r);
    for (int i = 0; i < 3; i++) {
        if (json_text_is(&kind, kinds[i])) knob->kind = (autotvm_knob_kind)i;
    }
    FT_TRY(read_knob_value(r, knob));
    return skip_list_rest(r, first);
}

/* Version 0.1 has the knobs as a list "e", version 0.2 as "entity". */
static ft_status read_config(reading *r) {
    bool first = true;
    if (json_pull_peek(&r->pull) != '{') return json_pull_skip(&r->pull) ? FT_OK : damaged(r);
    json_pull_open(&r->pull, '{');
    while (json_pull_more(&r->pull, '}', &first)) {
        json_text key;
        if (!json_pull_key(&r->pull, &key)) return damaged(r);
        if (json_text_is(&key, "i") || json_text_is(&key, "index")) {
            if (!json_pull_int(&r->pull, &r->record->index)) return damaged(r);
        } else if (json_text_is(&key, "e") || json_text_is(&key, "entity")) {
            bool first_knob = true;
            if (!json_pull_open(&r->pull, '[')) return damaged(r);
            while (json_pull_more(&r->pull, ']', &first_knob)) FT_TRY(read_knob(r));
        } else if (!json_pull_skip(&r->pull)) {
            return damaged(r);
        }
    }
    return r->pull.why == NULL ? FT_OK : damaged(r);
}

/* --- The record -------------------------------------------------------------------------------------------------- */

/* Version 0.2: [target, template, arguments, {}]. Version 0.1: [target, template, arguments, {}, workload, config]. */
static ft_status read_input(reading *r) {
    bool first = true;
    if (!json_pull_open(&r->pull, '[') || !json_pull_more(&r->pull, ']', &first)) return damaged(r);
    FT_TRY(keep_string(r, &r->record->target));
    if (!json_pull_more(&r->pull, ']', &first)) return damaged(r);
    FT_TRY(keep_string(r, &r->record->workload));
    if (!json_pull_more(&r->pull, ']', &first)) return damaged(r);
    FT_TRY(keep_value(r, &r->record->arguments));
    for (int i = 3; json_pull_more(&r->pull, ']', &first); i++) {
        if (i == 5 && r->record->version == 0.1)
            FT_TRY(read_config(r));
        else if (!json_pull_skip(&r->pull))
            return damaged(r);
    }
    return r->pull.why == NULL ? FT_OK : damaged(r);
}

/* [[seconds...], error, all, time]; a failed run has a text in place of the seconds. */
static ft_status read_result(reading *r) {
    autotvm_record *record = r->record;
    bool first = true, first_cost = true;
    if (!json_pull_open(&r->pull, '[') || !json_pull_more(&r->pull, ']', &first)) return damaged(r);
    if (json_pull_peek(&r->pull) == '[') {
        json_pull_open(&r->pull, '[');
        while (json_pull_more(&r->pull, ']', &first_cost)) {
            char next = json_pull_peek(&r->pull);
            if (record->cost_count == AUTOTVM_MAX_COSTS)
                return ft_fail(r->error, FT_ERR_LIMIT, "the record has more than %d times", AUTOTVM_MAX_COSTS);
            if (next == '0' ? !json_pull_double(&r->pull, &record->costs[record->cost_count++])
                            : !json_pull_skip(&r->pull))
                return damaged(r);
        }
    } else if (!json_pull_skip(&r->pull)) {
        return damaged(r);
    }
    if (!json_pull_more(&r->pull, ']', &first) || !json_pull_int(&r->pull, &record->error_no)) return damaged(r);
    return skip_list_rest(r, first);
}

static ft_status read_member(reading *r, const json_text *key, bool has[2]) {
    autotvm_record *record = r->record;
    bool is_old = json_text_is(key, "i"), is_new = json_text_is(key, "input");
    if (is_old || is_new) {
        if (record->version == 0) record->version = is_old ? 0.1 : 0.2;
        has[0] = true;
        return read_input(r);
    }
    if (json_text_is(key, "r") || json_text_is(key, "result")) {
        has[1] = true;
        return read_result(r);
    }
    if (json_text_is(key, "config")) return read_config(r);
    double version;
    if (!json_text_is(key, "v") && !json_text_is(key, "version")) return json_pull_skip(&r->pull) ? FT_OK : damaged(r);
    if (json_pull_peek(&r->pull) != '0' || !json_pull_double(&r->pull, &version)) return damaged(r);
    if (version != 0.1 && version != 0.2)
        return ft_fail(r->error, FT_ERR_UNSUPPORTED, "record version %g is not supported; 0.1 and 0.2 are", version);
    return FT_OK;
}

ft_status autotvm_read(const char *line, size_t length, autotvm_record *record, bool *is_record, ft_error *error) {
    *is_record = false;
    record->target = record->workload = record->arguments = "";
    record->knob_count = record->cost_count = record->number_count = 0;
    record->index = -1;
    record->error_no = 0;
    record->version = 0;
    record->text_length = 0;
    reading r = {.record = record, .error = error};
    json_pull_init(&r.pull, line, length);
    if (json_pull_peek(&r.pull) == 0 || *r.pull.at == '#') return FT_OK;
    bool first = true, has[2] = {false, false};
    if (!json_pull_open(&r.pull, '{')) return damaged(&r);
    while (json_pull_more(&r.pull, '}', &first)) {
        json_text key;
        if (!json_pull_key(&r.pull, &key)) return damaged(&r);
        FT_TRY(read_member(&r, &key, has));
    }
    if (r.pull.why != NULL || !json_pull_end(&r.pull)) return damaged(&r);
    if (!has[0] || !has[1])
        return ft_fail(error, FT_ERR_DAMAGED, "invalid record: the %s is missing", has[0] ? "result" : "input");
    *is_record = true;
    return FT_OK;
}
