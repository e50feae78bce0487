/* cli.c - messages to people, and arguments that are numbers. */
#include "cli.h"

#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum { FILE_BYTES_MAX = 1 << 20 };

static void message(const char *format, va_list args) {
    progress_hide();
    fflush(stdout); /* keeps the order of what a terminal shows */
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
        argp_error(state, "--%s %s: want a whole number from %llu to %llu", option, text, (unsigned long long)min,
                   (unsigned long long)max);
    return value;
}

/* "", "B", "K", "KiB", "KB", ...: what one of it is in bytes, 0 when it is no unit. */
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
        argp_error(state, "--%s %s: want bytes, as 4096, 64M or 9.5GiB", option, text);
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
