/* output.c - the output options that all commands share, and files that appear complete.
 *
 * A file is written under a temporary name in the same folder, flushed to disk, and renamed: readers see the old file
 * or the complete new one. */
#include <errno.h>
#include <fcntl.h>
#include <langinfo.h>
#include <limits.h>
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

static ft_status fail_to_write(const char *path, int number) {
    return cli_fail(FT_ERR_IO, "%s: cannot write: %s", path, strerror(number));
}

/* Opens a new file beside the place, with the access rights of the one it will replace. */
static ft_status open_temporary(output *out, const struct stat *old) {
    if (asprintf(&out->temporary, "%s.%ld.tmp", out->path, (long)getpid()) < 0) {
        out->temporary = NULL;
        return cli_fail(FT_ERR_NOMEM, "out of memory");
    }
    int descriptor = open(out->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (descriptor < 0) {
        int number = errno;
        free(out->temporary);
        out->temporary = NULL;
        return fail_to_write(out->path, number);
    }
    if (old != NULL) fchmod(descriptor, old->st_mode & 07777); /* when that is not allowed, the usual rights do */
    stop_remove_file(out->temporary);
    out->stream = fdopen(descriptor, "w");
    if (out->stream == NULL) close(descriptor);
    return out->stream != NULL ? FT_OK : fail_to_write(out->path, errno);
}

static ft_status open_file(output *out, const char *path) {
    struct stat info;
    bool is_there = stat(path, &info) == 0, is_file = is_there && S_ISREG(info.st_mode);
    out->path = is_file ? realpath(path, NULL) : strdup(path); /* replaces the target of a link, not the link */
    if (out->path == NULL) return fail_to_write(path, errno);
    if (is_there && S_ISDIR(info.st_mode)) return fail_to_write(path, EISDIR);
    if (!is_there || is_file) return open_temporary(out, is_file ? &info : NULL);
    out->stream = fopen(path, "we");
    return out->stream != NULL ? FT_OK : fail_to_write(path, errno);
}

ft_status output_open(output_options *options, output *out) {
    *out = (output){0};
    ft_status status = FT_OK;
    if (options->path == NULL || strcmp(options->path, "-") == 0)
        out->stream = stdout;
    else
        status = open_file(out, options->path);
    if (status == FT_OK)
        settle_style(options, fileno(out->stream));
    else
        output_discard(out);
    return status;
}

/* The name in the folder, too, has to reach the disk. */
static void sync_folder(const char *path) {
    char *copy = strdup(path);
    if (copy == NULL) return;
    char *slash = strrchr(copy, '/');
    if (slash != NULL) slash[slash == copy ? 1 : 0] = '\0';
    int descriptor = open(slash != NULL ? copy : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (descriptor >= 0) {
        fsync(descriptor);
        close(descriptor);
    }
    free(copy);
}

static int finish_file(output *out) {
    int number = 0;
    if (fflush(out->stream) != 0) number = errno;
    if (number == 0 && out->temporary != NULL && fsync(fileno(out->stream)) != 0) number = errno;
    if (fclose(out->stream) != 0 && number == 0) number = errno;
    out->stream = NULL;
    if (number == 0 && out->temporary != NULL && rename(out->temporary, out->path) != 0) number = errno;
    return number;
}

ft_status output_commit(output *out) {
    if (out->path == NULL) {
        bool is_written = fflush(stdout) == 0;
        return is_written ? FT_OK : fail_to_write("standard output", errno);
    }
    int number = finish_file(out);
    ft_status status = number == 0 ? FT_OK : fail_to_write(out->path, number);
    if (number == 0 && out->temporary != NULL) {
        sync_folder(out->path);
        stop_remove_file(NULL);
        free(out->temporary);
        out->temporary = NULL;
    }
    output_discard(out);
    return status;
}

ft_status output_fail(const output *out, ft_status status, const char *about, const ft_error *error) {
    if (status == FT_ERR_IO && ferror(out->stream))
        return cli_fail(status, "%s: %s", out->path != NULL ? out->path : "standard output", error->message);
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
    if (out->stream != NULL && out->stream != stdout) fclose(out->stream);
    if (out->temporary != NULL) {
        unlink(out->temporary);
        stop_remove_file(NULL);
    }
    free(out->temporary);
    free(out->path);
    *out = (output){0};
}
