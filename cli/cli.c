/* cli.c - messages to people, and arguments that are numbers. */
#include "cli.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>

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

uint64_t cli_parse_count(struct argp_state *state, const char *option, const char *text, uint64_t max) {
    return cli_parse_number(state, option, text, 1, max);
}
