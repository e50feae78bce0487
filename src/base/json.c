#include "base/json.h"

#include "base/error.h"

ft_status json_parse(const void *text, size_t size, json_t **root, ft_error *error) {
    json_error_t where;
    *root = json_loadb(text, size, JSON_REJECT_DUPLICATES, &where);
    if (*root != NULL) return FT_OK;
    /* jansson says nothing at all when it cannot even begin. */
    if (json_error_code(&where) == json_error_out_of_memory || where.text[0] == '\0') return FT_NOMEM(error);
    return ft_fail(error, FT_ERR_DAMAGED, "line %d, column %d: %s", where.line, where.column, where.text);
}
