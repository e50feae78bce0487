/* ansor.c - parser of TVM auto-scheduler records, built on the pull parser: logs have hundreds of megabytes.
 *
 * The arguments of a step are positional; `argument_forms` lists them for each tag. */
#include "read/ansor.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/json_pull.h"

static const char *const tags[] = {
#define ANSOR_STEP_TAG(name, tag) tag,
    ANSOR_STEP_LIST(ANSOR_STEP_TAG)
#undef ANSOR_STEP_TAG
};

const char *ansor_step_tag(ansor_kind kind) {
    return kind < ANSOR_KINDS ? tags[kind] : "?";
}

/* Arguments after the tag: s stage, i iterator, a and b the numbers of the unions, d the direction, l a list, t a
 * text. */
static const char *const argument_forms[ANSOR_KINDS] = {
    [ANSOR_SPLIT] = "siald",
    [ANSOR_REORDER] = "sl",
    [ANSOR_FUSE] = "sl",
    [ANSOR_ANNOTATE] = "sia",
    [ANSOR_PRAGMA] = "sit",
    [ANSOR_FOLLOW_SPLIT] = "siab",
    [ANSOR_FOLLOW_FUSED_SPLIT] = "silad",
    [ANSOR_STORAGE_ALIGN] = "siab",
    [ANSOR_COMPUTE_AT] = "sai",
    [ANSOR_COMPUTE_INLINE] = "s",
    [ANSOR_COMPUTE_ROOT] = "s",
    [ANSOR_CACHE_READ] = "stl",
    [ANSOR_CACHE_WRITE] = "st",
    [ANSOR_RFACTOR] = "sia",
};

typedef struct reading {
    json_pull pull;
    ansor_record *record;
    ft_error *error;
} reading;

static ft_status damaged(reading *r) {
    return ft_fail(r->error, FT_ERR_DAMAGED, "invalid record: %s",
                   r->pull.why != NULL ? r->pull.why : "a value is missing");
}

/* --- Values ------------------------------------------------------------------------------------------------------ */

static ft_status keep_text(reading *r, const char **text) {
    assert(r->record->text_length <= ANSOR_MAX_TEXT);
    ansor_record *record = r->record;
    json_text raw;
    if (!json_pull_string(&r->pull, &raw)) return damaged(r);
    size_t room = ANSOR_MAX_TEXT - record->text_length;
    char *out = record->text + record->text_length;
    if (raw.length >= room)
        return ft_fail(r->error, FT_ERR_LIMIT, "the strings of the record have more than %d bytes", ANSOR_MAX_TEXT);
    size_t length = raw.length;
    if (raw.has_escapes) {
        length = json_text_decode(&raw, out, room);
        if (length == SIZE_MAX) return ft_fail(r->error, FT_ERR_DAMAGED, "invalid record: invalid JSON escape");
    } else {
        memcpy(out, raw.text, length);
        out[length] = '\0';
    }
    *text = out;
    record->text_length += length + 1;
    return FT_OK;
}

static ft_status keep_list(reading *r, const int64_t **list, uint32_t *count) {
    assert(r->record->number_count <= ANSOR_MAX_NUMBERS);
    ansor_record *record = r->record;
    *list = record->numbers + record->number_count;
    uint32_t before = record->number_count;
    bool first = true;
    if (!json_pull_open(&r->pull, '[')) return damaged(r);
    while (json_pull_more(&r->pull, ']', &first)) {
        if (record->number_count == ANSOR_MAX_NUMBERS)
            return ft_fail(r->error, FT_ERR_LIMIT, "the steps have more than %d numbers", ANSOR_MAX_NUMBERS);
        if (!json_pull_int(&r->pull, &record->numbers[record->number_count++])) return damaged(r);
    }
    *count = record->number_count - before;
    return r->pull.why == NULL ? FT_OK : damaged(r);
}

/* Skips the remaining elements of a list and its closing bracket. */
static ft_status skip_list_rest(reading *r, bool first) {
    while (json_pull_more(&r->pull, ']', &first)) {
        if (!json_pull_skip(&r->pull)) return damaged(r);
    }
    return r->pull.why == NULL ? FT_OK : damaged(r);
}

/* --- Steps ------------------------------------------------------------------------------------------------------- */

static bool find_kind(const json_text *tag, ansor_kind *kind) {
    for (ansor_kind k = 0; k < ANSOR_KINDS; k++) {
        if (json_text_is(tag, tags[k])) {
            *kind = k;
            return true;
        }
    }
    return false;
}

static ft_status read_argument(reading *r, char form, ansor_step *step) {
    int64_t direction = 0;
    bool is_good;
    switch (form) {
    case 's':
        is_good = json_pull_int(&r->pull, &step->stage);
        break;
    case 'i':
        is_good = json_pull_int(&r->pull, &step->iter);
        break;
    case 'a':
        is_good = json_pull_int(&r->pull, &step->extent);
        break;
    case 'b':
        is_good = json_pull_int(&r->pull, &step->parts);
        break;
    case 'd':
        is_good = json_pull_int(&r->pull, &direction);
        step->is_inner_to_outer = direction != 0;
        break;
    case 'l':
        return keep_list(r, &step->list, &step->count);
    default:
        return keep_text(r, &step->text);
    }
    return is_good ? FT_OK : damaged(r);
}

static ft_status read_step(reading *r, ansor_step *step, uint32_t number) {
    json_text tag;
    bool first = true;
    if (!json_pull_open(&r->pull, '[') || !json_pull_more(&r->pull, ']', &first) || !json_pull_string(&r->pull, &tag))
        return damaged(r);
    *step = (ansor_step){.text = ""};
    if (!find_kind(&tag, &step->kind))
        return ft_fail(r->error, FT_ERR_UNSUPPORTED, "step %u: unknown kind of step \"%.*s\"", number,
                       tag.length < 20 ? (int)tag.length : 20, tag.text);
    for (const char *form = argument_forms[step->kind]; *form != '\0'; form++) {
        if (!json_pull_more(&r->pull, ']', &first))
            return ft_fail(r->error, FT_ERR_DAMAGED, "step %u: %s needs %d arguments; some are missing", number,
                           tags[step->kind], (int)strlen(argument_forms[step->kind]));
        FT_TRY(read_argument(r, *form, step));
    }
    return skip_list_rest(r, first);
}

/* [stages, steps]; TVM leaves the stages empty. */
static ft_status read_state(reading *r) {
    bool first = true, first_step = true;
    if (!json_pull_open(&r->pull, '[') || !json_pull_more(&r->pull, ']', &first) || !json_pull_skip(&r->pull) ||
        !json_pull_more(&r->pull, ']', &first) || !json_pull_open(&r->pull, '['))
        return damaged(r);
    ansor_record *record = r->record;
    while (json_pull_more(&r->pull, ']', &first_step)) {
        if (record->step_count == ANSOR_MAX_STEPS)
            return ft_fail(r->error, FT_ERR_LIMIT, "the record has more than %d steps", ANSOR_MAX_STEPS);
        FT_TRY(read_step(r, &record->steps[record->step_count], record->step_count));
        record->step_count++;
    }
    return r->pull.why == NULL ? skip_list_rest(r, first) : damaged(r);
}

/* --- The record -------------------------------------------------------------------------------------------------- */

static ft_status read_hardware(reading *r) {
    if (json_pull_peek(&r->pull) != '[') return json_pull_skip(&r->pull) ? FT_OK : damaged(r);
    bool first = true;
    json_pull_open(&r->pull, '[');
    for (int i = 0; i < ANSOR_HARDWARE && json_pull_more(&r->pull, ']', &first); i++) {
        if (!json_pull_int(&r->pull, &r->record->hardware[i])) return damaged(r);
        r->record->has_hardware = i == ANSOR_HARDWARE - 1;
    }
    return r->record->has_hardware ? skip_list_rest(r, first) : r->pull.why == NULL ? FT_OK : damaged(r);
}

/* [workload, target, hardware, ...]; older logs stop after the target. */
static ft_status read_task(reading *r) {
    bool first = true;
    if (!json_pull_open(&r->pull, '[') || !json_pull_more(&r->pull, ']', &first)) return damaged(r);
    FT_TRY(keep_text(r, &r->record->workload));
    if (!json_pull_more(&r->pull, ']', &first)) return r->pull.why == NULL ? FT_OK : damaged(r);
    FT_TRY(keep_text(r, &r->record->target));
    if (!json_pull_more(&r->pull, ']', &first)) return r->pull.why == NULL ? FT_OK : damaged(r);
    FT_TRY(read_hardware(r));
    return skip_list_rest(r, first);
}

static ft_status read_input(reading *r) {
    bool first = true;
    if (!json_pull_open(&r->pull, '[') || !json_pull_more(&r->pull, ']', &first)) return damaged(r);
    FT_TRY(read_task(r));
    if (!json_pull_more(&r->pull, ']', &first)) return damaged(r);
    FT_TRY(read_state(r));
    return skip_list_rest(r, first);
}

/* [[seconds...], error, seconds of the whole measurement, time stamp] */
static ft_status read_result(reading *r) {
    ansor_record *record = r->record;
    bool first = true, first_cost = true;
    double stamp = 0;
    if (!json_pull_open(&r->pull, '[') || !json_pull_more(&r->pull, ']', &first) || !json_pull_open(&r->pull, '['))
        return damaged(r);
    while (json_pull_more(&r->pull, ']', &first_cost)) {
        if (record->cost_count == ANSOR_MAX_COSTS)
            return ft_fail(r->error, FT_ERR_LIMIT, "the record has more than %d times", ANSOR_MAX_COSTS);
        if (!json_pull_double(&r->pull, &record->costs[record->cost_count++])) return damaged(r);
    }
    if (!json_pull_more(&r->pull, ']', &first) || !json_pull_int(&r->pull, &record->error_no)) return damaged(r);
    if (!json_pull_more(&r->pull, ']', &first)) return r->pull.why == NULL ? FT_OK : damaged(r);
    if (!json_pull_skip(&r->pull)) return damaged(r);
    if (!json_pull_more(&r->pull, ']', &first)) return r->pull.why == NULL ? FT_OK : damaged(r);
    if (!json_pull_double(&r->pull, &stamp)) return damaged(r);
    if (stamp > 0 && stamp < 1e15) record->timestamp = (int64_t)stamp;
    return skip_list_rest(r, first);
}

static ft_status read_member(reading *r, const json_text *key, bool has[3]) {
    if (json_text_is(key, "i") && !has[0]) {
        has[0] = true;
        return read_input(r);
    }
    if (json_text_is(key, "r") && !has[1]) {
        has[1] = true;
        return read_result(r);
    }
    if (json_text_is(key, "v") && !has[2]) {
        has[2] = true;
        return keep_text(r, &r->record->version);
    }
    if (json_text_is(key, "fused")) return keep_text(r, &r->record->fused);
    return json_pull_skip(&r->pull) ? FT_OK : damaged(r);
}

ft_status ansor_read(const char *line, size_t length, ansor_record *record, bool *is_record, ft_error *error) {
    *is_record = false;
    record->workload = record->target = record->fused = record->version = "";
    record->step_count = record->cost_count = record->number_count = 0;
    record->error_no = record->timestamp = 0;
    record->has_hardware = false;
    record->text_length = 0;
    reading r = {.record = record, .error = error};
    json_pull_init(&r.pull, line, length);
    if (json_pull_peek(&r.pull) == 0 || *r.pull.at == '#') return FT_OK;
    bool first = true, has[3] = {false, false, false};
    if (!json_pull_open(&r.pull, '{')) return damaged(&r);
    while (json_pull_more(&r.pull, '}', &first)) {
        json_text key;
        if (!json_pull_key(&r.pull, &key)) return damaged(&r);
        FT_TRY(read_member(&r, &key, has));
    }
    if (r.pull.why != NULL || !json_pull_end(&r.pull)) return damaged(&r);
    if (!has[0] || !has[1])
        return ft_fail(error, FT_ERR_DAMAGED, "invalid record: \"%s\" is missing", has[0] ? "r" : "i");
    /* v0.5 and v0.6 differ only in fields after those that are read here. */
    if (strcmp(record->version, "v0.6") != 0 && strcmp(record->version, "v0.5") != 0)
        return ft_fail(error, FT_ERR_UNSUPPORTED, "record version \"%.20s\" is not supported; v0.5 and v0.6 are",
                       record->version);
    *is_record = true;
    return FT_OK;
}

static const char *const error_names[] = {"",
                                          "the schedule could not be instantiated",
                                          "compilation for the host failed",
                                          "compilation for the device failed",
                                          "the run failed",
                                          "the result was wrong",
                                          "the build timed out",
                                          "the run timed out",
                                          "unknown error"};

/* The time that tuners write for a failed run: 1e10 s in the auto-scheduler, 1e9 s in AutoTVM. */
static const double FAILED_RUN_SECONDS = 1e9;

ft_status ansor_mean_seconds(const ansor_record *record, double *seconds, ft_error *error) {
    if (record->error_no != 0) {
        bool is_known =
            record->error_no > 0 && record->error_no < (int64_t)(sizeof error_names / sizeof error_names[0]);
        return ft_fail(error, FT_ERR_DAMAGED, "not measured: %s (error %lld)",
                       error_names[is_known ? record->error_no : 8], (long long)record->error_no);
    }
    if (record->cost_count == 0) return ft_fail(error, FT_ERR_DAMAGED, "not measured: the record has no time");
    double sum = 0;
    for (uint32_t i = 0; i < record->cost_count; i++) {
        double cost = record->costs[i];
        if (!isfinite(cost) || cost <= 0 || cost >= FAILED_RUN_SECONDS)
            return ft_fail(error, FT_ERR_DAMAGED, "invalid time %g s", cost);
        sum += cost;
    }
    *seconds = sum / record->cost_count;
    return FT_OK;
}

/* --- Writing ----------------------------------------------------------------------------------------------------- */

static void put_string(buf *out, const char *text) {
    buf_char(out, '"');
    for (; *text != '\0'; text++) {
        if (*text == '"' || *text == '\\') buf_char(out, '\\');
        if ((unsigned char)*text >= 0x20) buf_char(out, *text);
    }
    buf_char(out, '"');
}

static void put_list(buf *out, const int64_t *list, uint32_t count) {
    buf_char(out, '[');
    for (uint32_t i = 0; i < count; i++) {
        if (i > 0) buf_char(out, ',');
        buf_int(out, list[i]);
    }
    buf_char(out, ']');
}

static void put_argument(buf *out, char form, const ansor_step *step) {
    switch (form) {
    case 's':
        buf_int(out, step->stage);
        break;
    case 'i':
        buf_int(out, step->iter);
        break;
    case 'a':
        buf_int(out, step->extent);
        break;
    case 'b':
        buf_int(out, step->parts);
        break;
    case 'd':
        buf_char(out, step->is_inner_to_outer ? '1' : '0');
        break;
    case 'l':
        put_list(out, step->list, step->count);
        break;
    default:
        put_string(out, step->text);
    }
}

void ansor_write_program(const ansor_record *record, const char *workload, buf *out) {
    buf_text(out, "{\"i\":[[");
    put_string(out, workload);
    buf_text(out, "],[[],[");
    for (uint32_t i = 0; i < record->step_count; i++) {
        const ansor_step *step = &record->steps[i];
        assert(step->kind < ANSOR_KINDS);
        buf_text(out, i > 0 ? ",[\"" : "[\"");
        buf_text(out, tags[step->kind]);
        buf_char(out, '"');
        for (const char *form = argument_forms[step->kind]; *form != '\0'; form++) {
            buf_char(out, ',');
            put_argument(out, *form, step);
        }
        buf_char(out, ']');
    }
    buf_text(out, "]]],\"r\":[[],0],\"v\":\"v0.6\"");
    if (record->fused[0] != '\0') {
        buf_text(out, ",\"fused\":");
        put_string(out, record->fused);
    }
    buf_char(out, '}');
}
