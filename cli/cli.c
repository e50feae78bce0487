/* cli.c - messages, numbers on the command line, counts of skipped records. */
#include "cli.h"

#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum { FILE_BYTES_MAX = 1 << 20 };

static void message(const char *format, va_list args) {
    progress_hide();
    fflush(stdout); /* keeps the order of lines on a terminal */
    fputs("foretell: ", stderr);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
}

ft_status cli_fail(ft_status status, const char *format, ...) {
    va_list args;
    va_start(args, format);
    message(format, args);
    va_end(args);
    return status;
}

void cli_note(const char *format, ...) {
    va_list args;
    va_start(args, format);
    message(format, args);
    va_end(args);
}

uint64_t cli_parse_number(struct argp_state *state, const char *option, const char *text, uint64_t min, uint64_t max) {
    char *end;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    if (errno != 0 || *text < '0' || *text > '9' || *end != '\0' || value < min || value > max)
        argp_error(state, "--%s %s: expected a whole number from %llu to %llu", option, text, (unsigned long long)min,
                   (unsigned long long)max);
    return value;
}

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

double cli_parse_bytes(struct argp_state *state, const char *option, const char *text) {
    char *end;
    errno = 0;
    double value = strtod(text, &end); /* LC_NUMERIC is that of the C locale */
    while (*end == ' ') end++;
    double bytes = value * unit_bytes(end);
    if (errno != 0 || *text < '0' || *text > '9' || unit_bytes(end) == 0 || !(bytes < 1.8e19))
        argp_error(state, "--%s %s: expected bytes, as 4096, 64M or 9.5GiB", option, text);
    return bytes;
}

char *cli_read_file(const char *path) {
    FILE *file = fopen(path, "re");
    char *text = file != NULL ? malloc(FILE_BYTES_MAX + 1) : NULL;
    size_t size = text != NULL ? fread(text, 1, FILE_BYTES_MAX, file) : 0;
    bool is_read = text != NULL && !ferror(file) && feof(file);
    if (file != NULL) fclose(file);
    if (!is_read) {
        free(text);
        cli_fail(FT_ERR_IO, "%s: cannot read it%s", path, size == FILE_BYTES_MAX ? ": it is too long" : "");
        return NULL;
    }
    text[size] = '\0';
    return text;
}

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

uint32_t cli_parse_sizes(struct argp_state *state, const char *option, const char *text, int64_t *sizes,
                         uint32_t max_count) {
    size_list list = {.items = sizes, .max_count = max_count};
    const char *at = text;
    for (;;) {
        int64_t first = parse_one(&at), last = first;
        if (first >= 1 && strncmp(at, "..", 2) == 0) {
            at += 2;
            last = parse_one(&at);
        }
        if (first < 1 || last < first || (*at != ',' && *at != '\0'))
            argp_error(state, "--%s %s: expected sizes from 1 to %lld, as 8, 1,8,32 or 1..256", option, text,
                       (long long)FT_MAX_DIM);
        if (!add_range(&list, first, last)) argp_error(state, "--%s %s: at most %u of them", option, text, max_count);
        if (*at == '\0') return list.count;
        at++;
    }
}

/* --- Skipped records ------------------------------------------------------------------------------------------ */

void skip_note(void *user, const char *where, const char *why) {
    skip_list *list = user;
    if (list->is_verbose) cli_note("skipped: %s: %s", where, why);
    size_t i = 0;
    while (i < list->count && strncmp(list->items[i].text, why, sizeof list->items[i].text - 1) != 0) i++;
    if (i == SKIP_REASONS) i--; /* reasons are few; a surplus counts with the last */
    if (i == list->count) {
        snprintf(list->items[i].text, sizeof list->items[i].text, "%s", why);
        list->count++;
    }
    list->items[i].times++;
}

void skip_summary(const skip_list *list, const char *source) {
    for (size_t i = 0; i < list->count; i++)
        cli_note("%s: skipped %llu: %s", source, (unsigned long long)list->items[i].times, list->items[i].text);
    if (list->count > 0 && !list->is_verbose) cli_note("--verbose names what is skipped");
}
