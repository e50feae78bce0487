/* output.c - the output options that all commands share; files appear when they are complete (foretell/outfile.h). */
#include <errno.h>
#include <langinfo.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli.h"

enum { WIDTH_MIN = 20, WIDTH_MAX = 1000, WIDTH_DEFAULT = 80 };

/* --- Options ------------------------------------------------------------------------------------------------- */

static void parse_color(void *field, const char *text, const option_row *row, struct argp_state *state) {
    option_text(field, text, row, state);
    if (strcmp(text, "auto") != 0 && strcmp(text, "always") != 0 && strcmp(text, "never") != 0)
        argp_error(state, "--%s %s: expected auto, always or never", row->name, text);
}

static const option_row rows[] = {
    {.help = "Output:", .group = 50},
    {"format", "FORMAT", "table, json or csv (table)", 0, PARSED_BY(option_format, output_options, style.output),
     .choices = "table json csv"},
    {"output", "FILE", "write to FILE, which appears only when it is complete; - is standard output", 0,
     TEXT(output_options, path)},
    {"width", "COLUMNS", "width of tables (that of the terminal, or 80)", 0, COUNT(output_options, width, WIDTH_MAX)},
    {"color", "WHEN", "auto, always or never (auto: on a terminal, unless NO_COLOR is set)", 0,
     PARSED_BY(parse_color, output_options, color), .choices = "auto always never"},
    {0},
};

const option_set output_set = {.rows = rows};

output_options output_options_default(void) {
    return (output_options){.style = ft_style_default(), .color = "auto"};
}

/* --- Style --------------------------------------------------------------------------------------------------- */

static uint32_t find_width(uint32_t chosen, int descriptor) {
    const char *columns = getenv("COLUMNS");
    long width = chosen;
    struct winsize size;
    if (width == 0 && columns != NULL) width = strtol(columns, NULL, 10);
    if (width <= 0 && ioctl(descriptor, TIOCGWINSZ, &size) == 0) width = size.ws_col;
    if (width <= 0) width = WIDTH_DEFAULT;
    if (width < WIDTH_MIN) width = WIDTH_MIN;
    return width > WIDTH_MAX ? WIDTH_MAX : (uint32_t)width;
}

static bool wants_color(const char *when, int descriptor) {
    if (strcmp(when, "auto") != 0) return strcmp(when, "always") == 0;
    const char *no_color = getenv("NO_COLOR"), *terminal = getenv("TERM");
    if (no_color != NULL && no_color[0] != '\0') return false;
    return isatty(descriptor) && terminal != NULL && strcmp(terminal, "dumb") != 0;
}

static void settle_style(output_options *options, int descriptor) {
    options->style.width = find_width(options->width, descriptor);
    options->style.has_color = wants_color(options->color, descriptor);
    options->style.has_utf8 = strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
}

/* --- Files --------------------------------------------------------------------------------------------------- */

ft_status output_open(output_options *options, output *out) {
    *out = (output){0};
    ft_error error;
    if (options->path == NULL || strcmp(options->path, "-") == 0) {
        out->stream = stdout;
    } else {
        ft_status status = ft_outfile_open(options->path, &out->file, &error);
        if (status != FT_OK) return cli_fail(status, "%s", error.message);
        stop_remove_file(out->file.temporary);
        out->stream = out->file.stream;
    }
    settle_style(options, fileno(out->stream));
    return FT_OK;
}

ft_status output_commit(output *out) {
    ft_error error;
    if (out->stream == stdout)
        return fflush(stdout) == 0 ? FT_OK : cli_fail(FT_ERR_IO, "standard output: cannot write: %s", strerror(errno));
    stop_remove_file(NULL);
    ft_status status = ft_outfile_commit(&out->file, &error);
    return status == FT_OK ? FT_OK : cli_fail(status, "%s", error.message);
}

ft_status output_fail(const output *out, ft_status status, const char *about, const ft_error *error) {
    if (status == FT_ERR_IO && ferror(out->stream))
        return cli_fail(status, "%s: %s", out->file.path != NULL ? out->file.path : "standard output", error->message);
    if (about == NULL || strncmp(error->message, about, strlen(about)) == 0)
        return cli_fail(status, "%s", error->message);
    return cli_fail(status, "%s: %s", about, error->message);
}

ft_status output_end(output *out, ft_status status, const ft_error *error) {
    status = status == FT_OK ? output_commit(out) : output_fail(out, status, NULL, error);
    output_discard(out);
    return status;
}

void output_discard(output *out) {
    if (out->file.stream != NULL) stop_remove_file(NULL);
    ft_outfile_discard(&out->file);
    *out = (output){0};
}
