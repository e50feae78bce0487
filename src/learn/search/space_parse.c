/* space_parse.c - search spaces from files, arguments and the declarations of families. */
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/text.h"
#include "base/yaml.h"
#include "learn/search/space.h"

enum { MAX_NAME_BYTES = 128, MAX_INTEGER = 1 << 30 };

static const double MAX_REAL = 1e100; /* larger than any setting; differences do not overflow */

ft_status space_open(space *s, ft_error *error) {
    *s = (space){0};
    arena_init(&s->memory, 16 << 20);
    s->keys = ARENA_ARRAY(&s->memory, space_key, SPACE_MAX_KEYS);
    return s->keys != NULL ? FT_OK : FT_NOMEM(error);
}

static void free_choices(space_key *k) {
    for (uint32_t i = 0; i < k->choice_count; i++) json_decref(k->choices[i]);
    k->choice_count = 0;
}

void space_free(space *s) {
    for (uint32_t i = 0; i < s->count; i++) free_choices(&s->keys[i]);
    arena_free(&s->memory);
    *s = (space){0};
}

void space_remove(space *s, const char *name) {
    uint32_t index = space_find(s, name);
    if (index == FT_NONE) return;
    free_choices(&s->keys[index]);
    memmove(&s->keys[index], &s->keys[index + 1], (s->count - index - 1) * sizeof *s->keys);
    s->count--;
    for (uint32_t i = 0; i < s->count; i++) {
        space_key *k = &s->keys[i];
        if (k->when == index) k->when = FT_NONE;
        if (k->when != FT_NONE && k->when > index) k->when--;
    }
}

/* --- Ranges -------------------------------------------------------------------------------------------------- */

static ft_status check_range(const space_key *k, ft_error *error) {
    bool is_whole = k->kind == SPACE_INT;
    if (fabs(k->lo) > MAX_REAL || fabs(k->hi) > MAX_REAL || (k->is_log && k->lo > 0 && k->lo < 1 / MAX_REAL))
        return ft_fail(error, FT_ERR_USAGE, "exceeds %g", MAX_REAL);
    if (!(k->lo <= k->hi)) return ft_fail(error, FT_ERR_USAGE, "the range goes from %g down to %g", k->lo, k->hi);
    if (k->is_log && !(k->lo > 0))
        return ft_fail(error, FT_ERR_USAGE, "begins at %g: a log range must be above 0", k->lo);
    if (is_whole &&
        (k->lo != trunc(k->lo) || k->hi != trunc(k->hi) || fabs(k->lo) > MAX_INTEGER || k->hi > MAX_INTEGER))
        return ft_fail(error, FT_ERR_USAGE, "needs integers up to %d", MAX_INTEGER);
    return FT_OK;
}

/* "1e-4..0.1" */
static ft_status parse_range(const char *text, space_key *k, ft_error *error) {
    const char *dots = strstr(text, "..");
    if (dots == NULL || !text_double(text, (size_t)(dots - text), &k->lo) ||
        !text_double(dots + 2, strlen(dots + 2), &k->hi))
        return ft_fail(error, FT_ERR_USAGE, "'%.60s' is not a range: write LOWEST..HIGHEST", text);
    return check_range(k, error);
}

static ft_status add_choice(space_key *k, json_t *value, ft_error *error) {
    if (value == NULL) return FT_NOMEM(error);
    bool is_scalar = json_is_string(value) || json_is_number(value) || json_is_boolean(value);
    if (is_scalar && k->choice_count < SPACE_MAX_CHOICES) {
        k->choices[k->choice_count++] = value;
        return FT_OK;
    }
    json_decref(value);
    return is_scalar ? ft_fail(error, FT_ERR_LIMIT, "has more than %d choices", SPACE_MAX_CHOICES)
                     : ft_fail(error, FT_ERR_USAGE, "has a choice that is neither number, text nor boolean");
}

/* "mape,log": each is JSON or plain text. */
static ft_status parse_choices(const char *text, space_key *k, ft_error *error) {
    k->kind = SPACE_CHOICE;
    for (;;) {
        size_t length = strcspn(text, ",");
        if (length == 0 || length > MAX_NAME_BYTES)
            return ft_fail(error, FT_ERR_USAGE, "has %s choice", length == 0 ? "an empty" : "too long a");
        json_t *value = NULL;
        ft_status status = json_parse_plain(text, length, &value, error);
        if (status == FT_ERR_USAGE) return ft_fail_prefix(error, status, "a choice");
        FT_TRY(status);
        FT_TRY(add_choice(k, value, error));
        if (text[length] == '\0') return FT_OK;
        text += length + 1;
    }
}

/* "log-int:16..128", or choices. */
static ft_status parse_spec(const char *text, space_key *k, ft_error *error) {
    static const struct {
        const char *word;
        space_kind kind;
        bool is_log;
    } kinds[] = {{"int:", SPACE_INT, false},
                 {"log-int:", SPACE_INT, true},
                 {"real:", SPACE_REAL, false},
                 {"log-real:", SPACE_REAL, true}};
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        size_t length = strlen(kinds[i].word);
        if (strncmp(text, kinds[i].word, length) != 0) continue;
        k->kind = kinds[i].kind;
        k->is_log = kinds[i].is_log;
        return parse_range(text + length, k, error);
    }
    if (strstr(text, "..") != NULL)
        return ft_fail(error, FT_ERR_USAGE, "'%.60s': write int:, log-int:, real: or log-real: before a range", text);
    return parse_choices(text, k, error);
}

static ft_status read_list(const json_t *list, space_key *k, ft_error *error) {
    size_t i;
    json_t *value;
    k->kind = SPACE_CHOICE;
    json_array_foreach(list, i, value) FT_TRY(add_choice(k, json_incref(value), error));
    return k->choice_count > 0 ? FT_OK : ft_fail(error, FT_ERR_USAGE, "has no choices");
}

/* --- Conditions ---------------------------------------------------------------------------------------------- */

static ft_status mark_choice(space_key *k, const space_key *of, const json_t *value, ft_error *error) {
    for (uint32_t i = 0; i < of->choice_count; i++) {
        if (!json_equal(of->choices[i], value)) continue;
        k->when_mask |= (uint64_t)1 << i;
        return FT_OK;
    }
    return ft_fail(error, FT_ERR_USAGE, "'when': '%s' has no such choice", of->name);
}

/* {"loss": ["mape", "log"]} */
static ft_status read_when(const space *s, const json_t *when, space_key *k, ft_error *error) {
    const char *name;
    const json_t *values;
    if (!json_is_object(when) || json_object_size(when) != 1)
        return ft_fail(error, FT_ERR_USAGE, "'when' is %s, but an object with one key and its values is expected",
                       json_kind(when));
    json_object_foreach((json_t *)(uintptr_t)when, name, values) {
        size_t i;
        const json_t *value;
        k->when = space_find(s, name);
        if (k->when == FT_NONE || s->keys[k->when].kind != SPACE_CHOICE)
            return ft_fail(error, FT_ERR_USAGE, "'when' names '%.60s', which is not a choice before it", name);
        const space_key *of = &s->keys[k->when];
        if (!json_is_array(values)) return mark_choice(k, of, values, error);
        json_array_foreach(values, i, value) FT_TRY(mark_choice(k, of, value, error));
    }
    return FT_OK;
}

static ft_status read_value(const space *s, const json_t *value, space_key *k, ft_error *error);

static ft_status read_object(const space *s, const json_t *object, space_key *k, ft_error *error) {
    const json_t *range = json_object_get(object, "range"), *when = json_object_get(object, "when");
    if (range == NULL || json_is_object(range) || json_object_size(object) > (when != NULL ? 2 : 1))
        return ft_fail(error, FT_ERR_USAGE, "an object must have 'range', may have 'when', and nothing else");
    FT_TRY(read_value(s, range, k, error));
    return when != NULL ? read_when(s, when, k, error) : FT_OK;
}

static ft_status read_value(const space *s, const json_t *value, space_key *k, ft_error *error) {
    if (json_is_string(value)) return parse_spec(json_string_value(value), k, error);
    if (json_is_array(value)) return read_list(value, k, error);
    if (json_is_object(value)) return read_object(s, value, k, error);
    k->kind = SPACE_CHOICE;
    return add_choice(k, json_incref((json_t *)(uintptr_t)value), error);
}

/* --- Keys ---------------------------------------------------------------------------------------------------- */

/* Adds a key, or replaces the one of the same name. */
static ft_status put_key(space *s, const char *name, size_t length, space_key *k, ft_error *error) {
    char *copy = arena_string(&s->memory, name, length);
    if (copy == NULL) return FT_NOMEM(error);
    for (size_t i = 0, step; copy[i] != '\0'; i += step) {
        step = utf8_length(copy + i);
        if (step == 0) return ft_fail(error, FT_ERR_USAGE, "is not UTF-8");
    }
    k->name = copy;
    uint32_t index = space_find(s, copy);
    if (index == FT_NONE && s->count == SPACE_MAX_KEYS)
        return ft_fail(error, FT_ERR_LIMIT, "there are more than %d keys", SPACE_MAX_KEYS);
    if (k->when != FT_NONE && k->when >= index)
        return ft_fail(error, FT_ERR_USAGE, "'when' names '%.60s', which comes after it", s->keys[k->when].name);
    if (index == FT_NONE)
        index = s->count++;
    else
        free_choices(&s->keys[index]);
    for (uint32_t i = 0; i < s->count; i++)
        if (s->keys[i].when == index) s->keys[i].when = FT_NONE; /* the choices of its condition may be gone */
    assert(index < s->count && s->count <= SPACE_MAX_KEYS);
    s->keys[index] = *k;
    return FT_OK;
}

static ft_status add(space *s, const char *name, const json_t *value, ft_error *error) {
    space_key k = {.when = FT_NONE};
    ft_status status = name[0] != '\0' && strlen(name) <= MAX_NAME_BYTES
                           ? read_value(s, value, &k, error)
                           : ft_fail(error, FT_ERR_USAGE, "not a name of a setting");
    if (status == FT_OK) status = put_key(s, name, strlen(name), &k, error);
    if (status == FT_OK) return FT_OK;
    free_choices(&k);
    return ft_fail_prefix(error, status, "'%.60s'", name);
}

ft_status space_add_text(space *s, const char *text, size_t size, ft_error *error) {
    json_t *root = NULL;
    const char *name;
    const json_t *value;
    if (size > SPACE_MAX_BYTES) return ft_fail(error, FT_ERR_LIMIT, "is longer than %d bytes", SPACE_MAX_BYTES);
    FT_TRY(config_text_parse(text, size, &root, error));
    ft_status status = FT_OK;
    if (!json_is_object(root))
        status = ft_fail(error, FT_ERR_USAGE, "is %s, but an object is expected", json_kind(root));
    json_object_foreach(root, name, value) {
        if (status == FT_OK) status = add(s, name, value, error);
    }
    json_decref(root);
    return status;
}

ft_status space_set(space *s, const char *spec, ft_error *error) {
    const char *equal = strchr(spec, '=');
    if (equal == NULL || equal == spec || equal - spec > MAX_NAME_BYTES)
        return ft_fail(error, FT_ERR_USAGE, "'%.60s': write KEY=RANGE, like rate=log-real:1e-4..0.1 or loss=mape,log",
                       spec);
    space_key k = {.when = FT_NONE};
    ft_status status = parse_spec(equal + 1, &k, error);
    if (status == FT_OK) status = put_key(s, spec, (size_t)(equal - spec), &k, error);
    if (status == FT_OK) return FT_OK;
    free_choices(&k);
    return ft_fail_prefix(error, status, "'%.*s'", (int)(equal - spec), spec);
}

/* --- Families ------------------------------------------------------------------------------------------------ */

static ft_status add_words(const ft_setting *setting, space_key *k, ft_error *error) {
    k->kind = SPACE_CHOICE;
    for (uint32_t i = 0; i < setting->word_count; i++) FT_TRY(add_choice(k, json_string(setting->words[i]), error));
    return FT_OK;
}

ft_status space_add_settings(space *s, const ft_setting *settings, uint32_t count, ft_error *error) {
    for (uint32_t i = 0; i < count; i++) {
        const ft_setting *setting = &settings[i];
        if (!setting->is_searched) continue;
        space_key k = {.kind = setting->kind == FT_SETTING_INT ? SPACE_INT : SPACE_REAL,
                       .is_log = setting->is_log,
                       .lo = setting->from,
                       .hi = setting->to,
                       .when = FT_NONE};
        ft_status status = setting->kind == FT_SETTING_WORD ? add_words(setting, &k, error) : FT_OK;
        if (status == FT_OK) status = put_key(s, setting->name, strlen(setting->name), &k, error);
        if (status == FT_OK) continue;
        free_choices(&k);
        return status;
    }
    return FT_OK;
}
