/* json.c - typed access to JSON values with ranges, and building with checked results; json_parse.c parses. */
#include "base/json.h"

#include <string.h>

#include "base/error.h"

const char *json_kind(const json_t *value) {
    switch (value == NULL ? JSON_NULL : json_typeof(value)) {
    case JSON_OBJECT:
        return "an object";
    case JSON_ARRAY:
        return "a list";
    case JSON_STRING:
        return "a string";
    case JSON_INTEGER:
    case JSON_REAL:
        return "a number";
    case JSON_TRUE:
    case JSON_FALSE:
        return "a boolean";
    default:
        return value == NULL ? "absent" : "null";
    }
}

ft_status json_read_string(const json_t *value, const char **text, ft_error *error) {
    if (!json_is_string(value))
        return ft_fail(error, FT_ERR_DAMAGED, "is %s, but a string is expected", json_kind(value));
    if (strlen(json_string_value(value)) != json_string_length(value))
        return ft_fail(error, FT_ERR_DAMAGED, "contains a NUL character");
    *text = json_string_value(value);
    return FT_OK;
}

ft_status json_read_number(const json_t *value, double lo, double hi, double *number, ft_error *error) {
    if (!json_is_number(value))
        return ft_fail(error, FT_ERR_DAMAGED, "is %s, but a number is expected", json_kind(value));
    double found = json_number_value(value);
    if (!(found >= lo && found <= hi))
        return ft_fail(error, FT_ERR_DAMAGED, "is %g, but must be from %g to %g", found, lo, hi);
    *number = found;
    return FT_OK;
}

ft_status json_read_int(const json_t *value, int64_t lo, int64_t hi, int64_t *number, ft_error *error) {
    if (!json_is_integer(value))
        return ft_fail(error, FT_ERR_DAMAGED, "is %s, but a whole number is expected", json_kind(value));
    int64_t found = json_integer_value(value);
    if (found < lo || found > hi)
        return ft_fail(error, FT_ERR_DAMAGED, "is %lld, but must be from %lld to %lld", (long long)found, (long long)lo,
                       (long long)hi);
    *number = found;
    return FT_OK;
}

bool json_put(json_t *object, const char *key, json_t *value) {
    return json_object_set_new(object, key, value) == 0;
}

bool json_add(json_t *list, json_t *value) {
    return json_array_append_new(list, value) == 0;
}

bool json_replace(json_t *list, size_t index, json_t *value) {
    return json_array_set_new(list, index, value) == 0;
}

bool json_merge(json_t *object, const json_t *from) {
    return json_object_update(object, (json_t *)(uintptr_t)from) == 0;
}

json_t *json_with(json_t *object, const char *key, json_t *value) {
    if (json_put(object, key, value)) return object;
    json_decref(object);
    return NULL;
}

json_t *json_list_with(json_t *list, json_t *value) {
    if (json_add(list, value)) return list;
    json_decref(list);
    return NULL;
}

json_t *json_clone_object(const json_t *object) {
    json_t *copy = json_object();
    if (json_merge(copy, object)) return copy;
    json_decref(copy);
    return NULL;
}

json_t *json_clone(const json_t *value) {
    const char *key;
    json_t *item, *copy;
    switch (value == NULL ? JSON_NULL : json_typeof(value)) {
    case JSON_OBJECT:
        copy = json_object();
        json_object_foreach((json_t *)(uintptr_t)value, key, item) copy = json_with(copy, key, json_clone(item));
        return copy;
    case JSON_ARRAY:
        copy = json_array();
        for (size_t i = 0; i < json_array_size(value); i++)
            copy = json_list_with(copy, json_clone(json_array_get(value, i)));
        return copy;
    default:
        return value != NULL ? json_copy((json_t *)(uintptr_t)value) : NULL;
    }
}

void jsonw_json(json_writer *w, const json_t *value) {
    const char *key;
    const json_t *item;
    size_t i;
    json_style style = w->depth < 2 ? JSON_BLOCK : JSON_LINE;
    switch (json_typeof(value)) {
    case JSON_OBJECT:
        jsonw_open_object(w, style);
        json_object_foreach((json_t *)value, key, item) {
            jsonw_key(w, key);
            jsonw_json(w, item);
        }
        jsonw_close(w);
        break;
    case JSON_ARRAY:
        jsonw_open_array(w, style);
        for (i = 0; i < json_array_size(value); i++) jsonw_json(w, json_array_get(value, i));
        jsonw_close(w);
        break;
    case JSON_STRING:
        jsonw_string(w, json_string_value(value));
        break;
    case JSON_INTEGER:
        jsonw_int(w, json_integer_value(value));
        break;
    case JSON_REAL:
        jsonw_double(w, json_real_value(value));
        break;
    case JSON_NULL:
        jsonw_null(w);
        break;
    default:
        jsonw_bool(w, json_is_true(value));
    }
}
