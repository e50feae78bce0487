/* sizes.c - texts of sizes and bytes: "1,8,32", "1..256", "9.5GiB". */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/text.h"
#include "foretell/command.h"

/* --- Lists of sizes: "8", "1,8,32", "1..256" ------------------------------------------------------------------- */

typedef struct size_list {
    int64_t *items;
    uint32_t count, max_count;
} size_list;

static int64_t parse_one(const char **text) {
    char *end;
    errno = 0;
    if (**text < '0' || **text > '9') return 0;
    long long value = strtoll(*text, &end, 10);
    if (errno != 0 || value > FT_MAX_DIM) return 0;
    *text = end;
    return value;
}

static bool add_size(size_list *list, int64_t size) {
    for (uint32_t i = 0; i < list->count; i++)
        if (list->items[i] == size) return true;
    if (list->count == list->max_count) return false;
    list->items[list->count++] = size;
    return true;
}

/* A range doubles from its first size and ends at its last. */
static bool add_range(size_list *list, int64_t first, int64_t last) {
    for (int64_t size = first; size < last; size *= 2)
        if (!add_size(list, size)) return false;
    return add_size(list, last);
}

ft_status ft_sizes_parse(const char *text, int64_t *sizes, uint32_t max_count, uint32_t *count, ft_error *error) {
    FT_REQUIRE(error, text, sizes, count);
    size_list list = {.items = sizes, .max_count = max_count};
    const char *at = text;
    for (;;) {
        int64_t first = parse_one(&at), last = first;
        if (first >= 1 && strncmp(at, "..", 2) == 0) {
            at += 2;
            last = parse_one(&at);
        }
        if (first < 1 || last < first || (*at != ',' && *at != '\0'))
            return ft_fail(error, FT_ERR_USAGE, "%.100s: expected sizes from 1 to %lld, as 8, 1,8,32 or 1..256", text,
                           (long long)FT_MAX_DIM);
        if (!add_range(&list, first, last))
            return ft_fail(error, FT_ERR_USAGE, "%.100s: at most %u of them", text, max_count);
        if (*at == '\0') break;
        at++;
    }
    *count = list.count;
    return FT_OK;
}

/* --- Bytes ----------------------------------------------------------------------------------------------------- */

/* "", "B", "K", "KiB", "KB", ...: bytes of the unit; 0: not a unit. */
static double unit_bytes(const char *unit) {
    static const char prefixes[] = "KMGT";
    if (unit[0] == '\0' || strcmp(unit, "B") == 0) return 1;
    const char *prefix = strchr(prefixes, unit[0]);
    if (prefix == NULL) return 0;
    bool is_decimal = strcmp(unit + 1, "B") == 0;
    if (!is_decimal && unit[1] != '\0' && strcmp(unit + 1, "iB") != 0) return 0;
    double bytes = 1;
    for (ptrdiff_t i = 0; i <= prefix - prefixes; i++) bytes *= is_decimal ? 1000 : 1024;
    return bytes;
}

ft_status ft_bytes_parse(const char *text, double *bytes, ft_error *error) {
    FT_REQUIRE(error, text, bytes);
    double value = 0;
    size_t length = strspn(text, "0123456789.");
    bool is_number = *text >= '0' && *text <= '9' && text_double(text, length, &value);
    double unit = unit_bytes(text + length + strspn(text + length, " "));
    if (!is_number || unit == 0 || !(value * unit < 1.8e19))
        return ft_fail(error, FT_ERR_USAGE, "%.100s: expected bytes, as 4096, 64M or 9.5GiB", text);
    *bytes = value * unit;
    return FT_OK;
}
