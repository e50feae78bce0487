/* yaml.c - YAML as JSON values, through the events of libyaml; see yaml.h. */
#include "base/yaml.h"

#include <assert.h>
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "base/error.h"
#include "base/library.h"
#include "base/text.h"

/* --- libyaml ------------------------------------------------------------------------------------------------- */

typedef struct yaml_functions {
    int (*initialize)(yaml_parser_t *parser);
    void (*set_input)(yaml_parser_t *parser, const unsigned char *text, size_t size);
    int (*parse)(yaml_parser_t *parser, yaml_event_t *event);
    void (*delete_event)(yaml_event_t *event);
    void (*delete_parser)(yaml_parser_t *parser);
} yaml_functions;

static ft_status load(yaml_functions *f, ft_error *error) {
    const library_function functions[] = {{"yaml_parser_initialize", &f->initialize},
                                          {"yaml_parser_set_input_string", &f->set_input},
                                          {"yaml_parser_parse", &f->parse},
                                          {"yaml_event_delete", &f->delete_event},
                                          {"yaml_parser_delete", &f->delete_parser}};
    ft_status status = library_load("libyaml-0.so.2", functions, sizeof functions / sizeof functions[0], error);
    return status == FT_OK ? FT_OK : ft_fail_prefix(error, status, "YAML needs libyaml (write JSON instead)");
}

typedef struct reader {
    yaml_functions yaml;
    yaml_parser_t parser;
    uint32_t depth, values;
    ft_error *error;
} reader;

static ft_status fail_at(const reader *r, const yaml_mark_t *mark, ft_status status, const char *why) {
    return ft_fail(r->error, status, "line %zu, column %zu: %s", mark->line + 1, mark->column + 1, why);
}

/* The event has to be deleted afterwards, unless this fails. */
static ft_status next_event(reader *r, yaml_event_t *event) {
    if (r->yaml.parse(&r->parser, event) != 0) return FT_OK;
    if (r->parser.error == YAML_MEMORY_ERROR) return FT_NOMEM(r->error);
    const yaml_mark_t *mark = r->parser.problem_mark.line > 0 || r->parser.problem_mark.column > 0
                                  ? &r->parser.problem_mark
                                  : &r->parser.mark;
    return fail_at(r, mark, FT_ERR_DAMAGED, r->parser.problem != NULL ? r->parser.problem : "not YAML");
}

/* --- Scalars ------------------------------------------------------------------------------------------------- */

static bool is_one_of(const char *text, const char *const *words) {
    for (; *words != NULL; words++)
        if (strcmp(text, *words) == 0) return true;
    return false;
}

static size_t count_digits(const char *text) {
    return strspn(text, "0123456789");
}

/* [-+]? ( . digits | digits ( . digits? )? ) ( [eE] [-+]? digits )? */
static bool is_number(const char *text, bool *is_whole) {
    text += *text == '-' || *text == '+';
    size_t before = count_digits(text), after = 0;
    text += before;
    *is_whole = *text == '\0';
    if (*text == '.') {
        after = count_digits(++text);
        text += after;
    }
    if (before + after == 0) return false;
    if (*text == 'e' || *text == 'E') {
        text++;
        text += *text == '-' || *text == '+';
        if (count_digits(text) == 0) return false;
        text += count_digits(text);
    }
    return *text == '\0';
}

/* 0o17 and 0x1F, without a sign. */
static bool is_based(const char *text, int *base) {
    *base = strncmp(text, "0o", 2) == 0 ? 8 : strncmp(text, "0x", 2) == 0 ? 16 : 0;
    const char *digits = *base == 8 ? "01234567" : "0123456789abcdefABCDEF";
    return *base != 0 && text[2] != '\0' && strspn(text + 2, digits) == strlen(text + 2);
}

/* Whole numbers that an int64_t cannot hold are real, as in JSON. NULL in *value: too large. */
static ft_status read_number(const char *text, bool is_whole, json_t **value, ft_error *error) {
    int64_t whole;
    char *end;
    text += *text == '+'; /* strtod() and text_int() differ about it */
    if (is_whole && text_int(text, strlen(text), &whole)) {
        *value = json_integer(whole);
        return *value != NULL ? FT_OK : FT_NOMEM(error);
    }
    /* The syntax was checked, and a decimal point is the only thing that depends on the locale: text_double() does not.
     */
    char *padded = malloc(strlen(text) + 3);
    if (padded == NULL) return FT_NOMEM(error);
    end = padded;
    if (*text == '-') *end++ = *text++;
    if (*text == '.') *end++ = '0';
    size_t head = strcspn(text, ".");
    memcpy(end, text, head);
    end += head;
    text += head;
    if (*text == '.' && count_digits(text + 1) == 0) text++; /* "5." and "5.e3" */
    memcpy(end, text, strlen(text) + 1);
    double real = NAN;
    bool is_read = text_double(padded, strlen(padded), &real) && isfinite(real);
    free(padded);
    *value = is_read ? json_real(real) : NULL;
    return !is_read || *value != NULL ? FT_OK : FT_NOMEM(error);
}

/* A plain scalar by the core schema. NULL in *value: a number that JSON does not have. */
static ft_status read_plain(const char *text, json_t **value, ft_error *error) {
    static const char *const nulls[] = {"", "~", "null", "Null", "NULL", NULL},
                             *const yes[] = {"true", "True", "TRUE", NULL},
                             *const no[] = {"false", "False", "FALSE", NULL}, *const infinite[] = {".inf", ".Inf",
                                                                                                   ".INF", ".nan",
                                                                                                   ".NaN", ".NAN",
                                                                                                   NULL};
    bool is_whole = false;
    int base;
    *value = NULL;
    if (is_one_of(text, nulls)) {
        *value = json_null();
    } else if (is_one_of(text, yes) || is_one_of(text, no)) {
        *value = json_boolean(is_one_of(text, yes));
    } else if (is_one_of(text + (*text == '-' || *text == '+'), infinite)) {
        return FT_OK;
    } else if (is_number(text, &is_whole)) {
        return read_number(text, is_whole, value, error);
    } else if (is_based(text, &base)) {
        unsigned long long number = strlen(text) <= 2 + 15 ? strtoull(text + 2, NULL, base) : ~0ULL;
        if (number > INT64_MAX) return FT_OK;
        *value = json_integer((json_int_t)number);
    } else {
        *value = json_string(text);
    }
    return *value != NULL ? FT_OK : FT_NOMEM(error);
}

static ft_status read_scalar(const reader *r, const yaml_event_t *event, json_t **value) {
    const char *text = (const char *)event->data.scalar.value;
    if (strlen(text) != event->data.scalar.length)
        return fail_at(r, &event->start_mark, FT_ERR_DAMAGED, "a text with a NUL character");
    if (event->data.scalar.style != YAML_PLAIN_SCALAR_STYLE) {
        *value = json_string(text);
        return *value != NULL ? FT_OK : FT_NOMEM(r->error);
    }
    FT_TRY(read_plain(text, value, r->error));
    if (*value != NULL) return FT_OK;
    return fail_at(r, &event->start_mark, FT_ERR_DAMAGED, "a number that is too large, infinite or none");
}

/* --- Values -------------------------------------------------------------------------------------------------- */

/* Refuses what makes a value depend on more than its own text, and counts. */
static ft_status check_event(reader *r, const yaml_event_t *event, const yaml_char_t *anchor, const yaml_char_t *tag) {
    if (event->type == YAML_ALIAS_EVENT || anchor != NULL)
        return fail_at(r, &event->start_mark, FT_ERR_UNSUPPORTED, "anchors and aliases are not read: repeat the value");
    if (tag != NULL) return fail_at(r, &event->start_mark, FT_ERR_UNSUPPORTED, "tags are not read: leave it out");
    if (++r->values <= YAML_MAX_VALUES) return FT_OK;
    return fail_at(r, &event->start_mark, FT_ERR_LIMIT, "too many values");
}

static ft_status read_value(reader *r, const yaml_event_t *event, json_t **value);

static ft_status read_items(reader *r, json_t *list) {
    for (;;) {
        yaml_event_t event;
        json_t *item = NULL;
        FT_TRY(next_event(r, &event));
        bool is_end = event.type == YAML_SEQUENCE_END_EVENT;
        ft_status status = is_end ? FT_OK : read_value(r, &event, &item);
        r->yaml.delete_event(&event);
        if (status != FT_OK || is_end) return status;
        if (!json_add(list, item)) return FT_NOMEM(r->error);
    }
}

/* *key: a copy, which the caller frees. */
static ft_status read_key(reader *r, const yaml_event_t *event, const json_t *object, char **key) {
    if (event->type != YAML_SCALAR_EVENT)
        return fail_at(r, &event->start_mark, FT_ERR_UNSUPPORTED, "a key that is a list or an object, or an alias");
    FT_TRY(check_event(r, event, event->data.scalar.anchor, event->data.scalar.tag));
    const char *text = (const char *)event->data.scalar.value;
    if (strlen(text) != event->data.scalar.length)
        return fail_at(r, &event->start_mark, FT_ERR_DAMAGED, "a key with a NUL character");
    if (strcmp(text, "<<") == 0 && event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE)
        return fail_at(r, &event->start_mark, FT_ERR_UNSUPPORTED, "merge keys are not read: repeat the values");
    if (json_object_get(object, text) != NULL) return fail_at(r, &event->start_mark, FT_ERR_DAMAGED, "a duplicate key");
    *key = strdup(text);
    return *key != NULL ? FT_OK : FT_NOMEM(r->error);
}

/* Reads a key and its value. *is_end: the object ends instead. */
static ft_status read_pair(reader *r, json_t *object, bool *is_end) {
    yaml_event_t event;
    char *key = NULL;
    json_t *value = NULL;
    FT_TRY(next_event(r, &event));
    *is_end = event.type == YAML_MAPPING_END_EVENT;
    ft_status status = *is_end ? FT_OK : read_key(r, &event, object, &key);
    r->yaml.delete_event(&event);
    if (status != FT_OK || *is_end) return status;
    status = next_event(r, &event);
    if (status == FT_OK) {
        status = read_value(r, &event, &value);
        r->yaml.delete_event(&event);
    }
    if (status == FT_OK && !json_put(object, key, value)) status = FT_NOMEM(r->error);
    free(key);
    return status;
}

static ft_status read_pairs(reader *r, json_t *object) {
    for (bool is_end = false; !is_end;) FT_TRY(read_pair(r, object, &is_end));
    return FT_OK;
}

static ft_status read_whole(reader *r, const yaml_event_t *event, json_t **value) {
    bool is_object = event->type == YAML_MAPPING_START_EVENT;
    if (r->depth == YAML_MAX_DEPTH)
        return fail_at(r, &event->start_mark, FT_ERR_LIMIT, "lists and objects are nested too deeply");
    json_t *whole = is_object ? json_object() : json_array();
    if (whole == NULL) return FT_NOMEM(r->error);
    r->depth++;
    ft_status status = is_object ? read_pairs(r, whole) : read_items(r, whole);
    r->depth--;
    if (status == FT_OK)
        *value = whole;
    else
        json_decref(whole);
    return status;
}

static ft_status read_value(reader *r, const yaml_event_t *event, json_t **value) {
    switch (event->type) {
    case YAML_SCALAR_EVENT:
        FT_TRY(check_event(r, event, event->data.scalar.anchor, event->data.scalar.tag));
        return read_scalar(r, event, value);
    case YAML_SEQUENCE_START_EVENT:
        FT_TRY(check_event(r, event, event->data.sequence_start.anchor, event->data.sequence_start.tag));
        return read_whole(r, event, value);
    case YAML_MAPPING_START_EVENT:
        FT_TRY(check_event(r, event, event->data.mapping_start.anchor, event->data.mapping_start.tag));
        return read_whole(r, event, value);
    default:
        return check_event(r, event, (const yaml_char_t *)"", NULL); /* an alias */
    }
}

/* --- Documents ----------------------------------------------------------------------------------------------- */

/* Skips an event of this type. *is_there: it was one. */
static ft_status skip_event(reader *r, yaml_event_type_t type, bool *is_there) {
    yaml_event_t event;
    FT_TRY(next_event(r, &event));
    *is_there = event.type == type;
    r->yaml.delete_event(&event);
    return FT_OK;
}

static ft_status read_document(reader *r, json_t **root) {
    yaml_event_t event;
    bool is_there = false;
    FT_TRY(skip_event(r, YAML_STREAM_START_EVENT, &is_there));
    assert(is_there);
    FT_TRY(skip_event(r, YAML_DOCUMENT_START_EVENT, &is_there));
    if (!is_there) return ft_fail(r->error, FT_ERR_DAMAGED, "line 1, column 1: an object or a list is expected");
    FT_TRY(next_event(r, &event));
    bool is_whole = event.type == YAML_MAPPING_START_EVENT || event.type == YAML_SEQUENCE_START_EVENT;
    ft_status status = is_whole ? read_value(r, &event, root)
                                : fail_at(r, &event.start_mark, FT_ERR_DAMAGED, "an object or a list is expected");
    r->yaml.delete_event(&event);
    if (status == FT_OK) status = skip_event(r, YAML_DOCUMENT_END_EVENT, &is_there);
    if (status == FT_OK) status = skip_event(r, YAML_STREAM_END_EVENT, &is_there);
    if (status == FT_OK && !is_there) status = ft_fail(r->error, FT_ERR_UNSUPPORTED, "has more than one document");
    if (status == FT_OK) return FT_OK;
    json_decref(*root);
    *root = NULL;
    return status;
}

static ft_status yaml_parse(const void *text, size_t size, json_t **root, ft_error *error) {
    reader r = {.error = error};
    *root = NULL;
    if (size > YAML_MAX_BYTES)
        return ft_fail(error, FT_ERR_LIMIT, "has %zu bytes; YAML may have %d", size, YAML_MAX_BYTES);
    FT_TRY(load(&r.yaml, error));
    if (r.yaml.initialize(&r.parser) == 0) return FT_NOMEM(error);
    r.yaml.set_input(&r.parser, text, size);
    ft_status status = read_document(&r, root);
    r.yaml.delete_parser(&r.parser);
    return status;
}

ft_status config_text_parse(const void *text, size_t size, json_t **root, ft_error *error) {
    const char *at = text, *end = at + size;
    while (at < end && isspace((unsigned char)*at)) at++;
    bool is_json = at == end || *at == '{' || *at == '[';
    return is_json ? json_parse(text, size, root, error) : yaml_parse(text, size, root, error);
}

bool config_is_file_name(const char *name) {
    static const char *const endings[] = {".json", ".yaml", ".yml"};
    size_t length = strlen(name);
    for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++) {
        size_t ending = strlen(endings[i]);
        if (length > ending && strcmp(name + length - ending, endings[i]) == 0) return true;
    }
    return false;
}
