/* batches.c - lists of sizes, as --batch and --workers take them: "8", "1,8,32", "1..256". */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

typedef struct size_list {
    int64_t *items;
    uint32_t count, most;
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
    if (list->count == list->most) return false;
    list->items[list->count++] = size;
    return true;
}

/* A range doubles from its beginning on, and ends at its end. */
static bool add_range(size_list *list, int64_t first, int64_t last) {
    for (int64_t size = first; size < last; size *= 2)
        if (!add_size(list, size)) return false;
    return add_size(list, last);
}

uint32_t cli_parse_sizes(struct argp_state *state, const char *option, const char *text, int64_t *sizes,
                         uint32_t most) {
    size_list list = {.items = sizes, .most = most};
    const char *at = text;
    for (;;) {
        int64_t first = parse_one(&at), last = first;
        if (first >= 1 && strncmp(at, "..", 2) == 0) {
            at += 2;
            last = parse_one(&at);
        }
        if (first < 1 || last < first || (*at != ',' && *at != '\0'))
            argp_error(state, "--%s %s: want sizes from 1 to %lld, as 8, 1,8,32 or 1..256", option, text,
                       (long long)FT_MAX_DIM);
        if (!add_range(&list, first, last)) argp_error(state, "--%s %s: at most %u of them", option, text, most);
        if (*at == '\0') return list.count;
        at++;
    }
}
