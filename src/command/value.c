/* value.c - values of options in JSON: a value may be of its JSON type, or the text that the command takes. */
#include "command/value.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "foretell/command.h"

ft_status value_expected(const json_t *value, const char *what, ft_error *error) {
    if (json_is_string(value))
        return ft_fail(error, FT_ERR_USAGE, "'%.100s' is not valid: expected %s", json_string_value(value), what);
    return ft_fail(error, FT_ERR_USAGE, "is %s, but %s is expected", json_kind(value), what);
}

/* Strings with a NUL inside would be cut short. */
ft_status value_text(const json_t *value, char **text, const char *what, ft_error *error) {
    if (!json_is_string(value)) return value_expected(value, what, error);
    if (strlen(json_string_value(value)) != json_string_length(value))
        return ft_fail(error, FT_ERR_USAGE, "has a NUL character");
    for (const char *c = json_string_value(value); *c != '\0'; c++)
        if (iscntrl((unsigned char)*c)) return ft_fail(error, FT_ERR_USAGE, "has a control character");
    free(*text);
    *text = strdup(json_string_value(value));
    return *text != NULL ? FT_OK : FT_NOMEM(error);
}

ft_status value_flag(const json_t *value, bool *flag, ft_error *error) {
    static const char *const on[] = {"yes", "true", "1", ""}, *const off[] = {"no", "false", "0"};
    if (json_is_boolean(value)) {
        *flag = json_is_true(value);
        return FT_OK;
    }
    const char *text = json_is_string(value) ? json_string_value(value) : NULL;
    for (size_t i = 0; text != NULL && i < sizeof on / sizeof on[0]; i++)
        if (strcmp(text, on[i]) == 0) return *flag = true, FT_OK;
    for (size_t i = 0; text != NULL && i < sizeof off / sizeof off[0]; i++)
        if (strcmp(text, off[i]) == 0) return *flag = false, FT_OK;
    return value_expected(value, "true or false", error);
}

ft_status value_count(const json_t *value, int64_t max, int64_t *count, ft_error *error) {
    int64_t found = json_integer_value(value);
    bool is_number = json_is_integer(value);
    if (json_is_string(value) && isdigit((unsigned char)json_string_value(value)[0])) {
        char *end;
        found = strtoll(json_string_value(value), &end, 10);
        is_number = *end == '\0';
    }
    if (!is_number) return value_expected(value, "a whole number", error);
    if (found < 1 || found > max)
        return ft_fail(error, FT_ERR_USAGE, "is %lld, but must be from 1 to %lld", (long long)found, (long long)max);
    *count = found;
    return FT_OK;
}

ft_status value_bytes(const json_t *value, double *bytes, ft_error *error) {
    if (json_is_string(value)) return ft_bytes_parse(json_string_value(value), bytes, error);
    double number = json_number_value(value);
    if (!json_is_number(value) || !(number >= 0 && number < 1.8e19))
        return value_expected(value, "bytes, as 4096, \"64M\" or \"9.5GiB\",", error);
    *bytes = number;
    return FT_OK;
}
