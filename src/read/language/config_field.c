/* config_field.c - fields of a config.json, with their defaults. */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "read/language/config.h"

enum { KEY_SIZE = 64 };

void config_fail(config *c, ft_status status, const char *key, const char *what) {
    if (c->status == FT_OK) c->status = ft_fail(c->error, status, "\"%s\" %s", key, what);
}

static void fail_prefix(config *c, ft_status status, const char *key) {
    c->status = ft_fail_prefix(c->error, status, "\"%s\"", key);
}

const json_t *config_value(const config *c, const char *keys, const char **key) {
    while (*keys != '\0') {
        size_t length = strcspn(keys, " ");
        char name[KEY_SIZE] = "";
        if (length < sizeof name) memcpy(name, keys, length);
        const json_t *value = json_object_get(c->text, name);
        if (value != NULL && !json_is_null(value)) {
            *key = json_object_iter_key(json_object_iter_at((json_t *)(uintptr_t)c->text, name));
            return value;
        }
        keys += length + (keys[length] == ' ');
    }
    *key = "";
    return NULL;
}

/* Python writes counts as 4096.0 now and then. */
static ft_status read_int(const json_t *value, int64_t *number, ft_error *error) {
    if (json_is_real(value)) {
        double found = json_real_value(value);
        if (found >= 0 && found <= 1e15 && found == (double)(int64_t)found) {
            *number = (int64_t)found;
            return FT_OK;
        }
    }
    return json_read_int(value, 0, INT64_C(1) << 50, number, error);
}

/* The default of the architecture for the first of the keys that has one. Fields that are null have none. */
static bool find_default(const config *c, const char *keys, int64_t *value) {
    for (; *keys != '\0'; keys += strspn(keys, " ")) {
        size_t length = strcspn(keys, " ");
        for (int i = 0; c->arch != NULL && i < ARCHITECTURE_MAX_DEFAULTS && c->arch->defaults[i].key != NULL; i++) {
            const architecture_default *d = &c->arch->defaults[i];
            if (strlen(d->key) != length || strncmp(d->key, keys, length) != 0) continue;
            if (json_object_get(c->text, d->key) != NULL) continue; /* null */
            *value = d->value;
            return true;
        }
        keys += length;
    }
    return false;
}

int64_t config_int(config *c, const char *keys, int64_t fallback) {
    const char *key;
    int64_t number = fallback;
    if (c->status != FT_OK) return fallback;
    const json_t *value = config_value(c, keys, &key);
    if (value == NULL) return find_default(c, keys, &number) ? number : fallback;
    ft_status status = read_int(value, &number, c->error);
    if (status != FT_OK) fail_prefix(c, status, key);
    return c->status == FT_OK ? number : fallback;
}

int64_t config_layer_int(config *c, const char *keys, uint32_t layer, int64_t fallback) {
    const char *key;
    const json_t *value = config_value(c, keys, &key);
    if (!json_is_array(value)) return config_int(c, keys, fallback);
    if (layer >= json_array_size(value)) {
        config_fail(c, FT_ERR_DAMAGED, key, "is a list with fewer items than layers");
        return fallback;
    }
    return config_list_int(c, key, value, layer, fallback);
}

int64_t config_size(config *c, const char *keys) {
    const char *key;
    char first[KEY_SIZE];
    int64_t number = config_int(c, keys, 0);
    snprintf(first, sizeof first, "%.*s", (int)strcspn(keys, " "), keys);
    if (c->status != FT_OK) return 1;
    if (config_value(c, keys, &key) == NULL && number == 0)
        config_fail(c, FT_ERR_DAMAGED, first, "is missing");
    else if (number < 1)
        config_fail(c, FT_ERR_DAMAGED, key, "is 0, but must be at least 1");
    else if (number > LANGUAGE_MAX_SIZE)
        config_fail(c, FT_ERR_LIMIT, key, "is larger than the 268435456 that are supported");
    return c->status == FT_OK ? number : 1;
}

bool config_bool(config *c, const char *keys, bool fallback) {
    const char *key;
    int64_t number;
    const json_t *value = config_value(c, keys, &key);
    if (value == NULL) return find_default(c, keys, &number) ? number != 0 : fallback;
    if (json_is_integer(value) && json_integer_value(value) >= 0 && json_integer_value(value) <= 1)
        return json_integer_value(value) == 1;
    if (!json_is_boolean(value)) {
        config_fail(c, FT_ERR_DAMAGED, key, "is not true or false");
        return fallback;
    }
    return json_is_true(value);
}

bool config_trait(config *c, const char *field) {
    return field != NULL && (strcmp(field, "true") == 0 || config_bool(c, field, false));
}

const char *config_text(config *c, const char *keys, const char *fallback) {
    const char *key, *text = fallback;
    const json_t *value = config_value(c, keys, &key);
    if (value == NULL || c->status != FT_OK) return fallback;
    ft_status status = json_read_string(value, &text, c->error);
    if (status != FT_OK) fail_prefix(c, status, key);
    return c->status == FT_OK ? text : fallback;
}

const json_t *config_list(config *c, const char *keys) {
    const char *key;
    const json_t *value = config_value(c, keys, &key);
    if (value != NULL && !json_is_array(value)) {
        config_fail(c, FT_ERR_DAMAGED, key, "is not a list");
        return NULL;
    }
    return value;
}

const json_t *config_layer_list(config *c, const char *keys) {
    const char *key;
    const json_t *list = config_list(c, keys);
    config_value(c, keys, &key);
    if (list == NULL || json_array_size(list) >= c->model->layer_count) return list;
    config_fail(c, FT_ERR_DAMAGED, key, "is a list with fewer items than layers");
    return NULL;
}

int64_t config_list_int(config *c, const char *key, const json_t *list, size_t index, int64_t fallback) {
    int64_t number = fallback;
    const json_t *value = json_array_get(list, index);
    if (value == NULL || json_is_null(value) || c->status != FT_OK) return fallback;
    ft_status status = read_int(value, &number, c->error);
    if (status != FT_OK) fail_prefix(c, status, key);
    return c->status == FT_OK ? number : fallback;
}

bool config_list_has(const json_t *list, int64_t value) {
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *item = json_array_get(list, i);
        if (json_is_integer(item) && json_integer_value(item) == value) return true;
    }
    return false;
}

bool config_list_is(const json_t *list, size_t index, const char *word) {
    const char *text = json_string_value(json_array_get(list, index));
    return text != NULL && strcmp(text, word) == 0;
}

const json_t *config_enter(config *c, const char *key) {
    const json_t *outer = c->text, *inner = json_object_get(outer, key);
    if (inner == NULL || json_is_null(inner)) return outer;
    if (json_is_object(inner))
        c->text = inner;
    else
        config_fail(c, FT_ERR_DAMAGED, key, "is not an object");
    return outer;
}

void config_note(config *c, const char *format, ...) {
    char text[256];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    char *copy = arena_string(c->memory, text, strlen(text));
    if (copy == NULL && c->status == FT_OK) c->status = FT_NOMEM(c->error);
    if (copy != NULL) language_note(c->model, copy);
}
