/* json.c - parsing with positions in messages, and typed access with ranges. */
#include "base/json.h"

#include <string.h>

#include "base/error.h"

ft_status json_parse(const void *text, size_t size, json_t **root, ft_error *error) {
    json_error_t where;
    *root = json_loadb(text, size, JSON_REJECT_DUPLICATES, &where);
    if (*root != NULL) return FT_OK;
    /* jansson leaves the text empty when its first allocation fails. */
    if (json_error_code(&where) == json_error_out_of_memory || where.text[0] == '\0') return FT_NOMEM(error);
    return ft_fail(error, FT_ERR_DAMAGED, "line %d, column %d: %s", where.line, where.column, where.text);
}

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
