/* cli.c - messages, numbers on the command line, counts of skipped records. */
#include "cli.h"

#include <errno.h>
#include <stdarg.h>
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

double cli_parse_bytes(struct argp_state *state, const char *option, const char *text) {
    ft_error error;
    double bytes = 0;
    if (ft_bytes_parse(text, &bytes, &error) != FT_OK) argp_error(state, "--%s %s", option, error.message);
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

uint32_t cli_parse_sizes(struct argp_state *state, const char *option, const char *text, int64_t *sizes,
                         uint32_t max_count) {
    ft_error error;
    uint32_t count = 0;
    if (ft_sizes_parse(text, sizes, max_count, &count, &error) != FT_OK)
        argp_error(state, "--%s %s", option, error.message);
    return count;
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
