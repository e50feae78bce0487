/* cli.h - shared by the commands: messages, output, interruption, progress, folders.
 *
 * The command is a thin user of the library: it includes only the public headers. */
#ifndef CLI_CLI_H
#define CLI_CLI_H

#include <argp.h>

#include "foretell/foretell.h"
#include "options.h"

/* --- Messages (cli.c) ------------------------------------------------------------------------------------------ */

/* Prints "foretell: message" on standard error and removes the progress line. Returns `status`. */
ft_status cli_fail(ft_status status, const char *format, ...) FT_PRINTF(2, 3);
void cli_note(const char *format, ...) FT_PRINTF(1, 2);

/* A whole number in a range. Ends the program with a usage error when it is none. */
uint64_t cli_parse_number(struct argp_state *state, const char *option, const char *text, uint64_t min, uint64_t max);

/* Sizes: "8", "1,8,32", or "1..256", which doubles; each once. Returns how many. Ends the program with a usage error
 * when it is something else. */
uint32_t cli_parse_sizes(struct argp_state *state, const char *option, const char *text, int64_t *sizes, uint32_t max);

/* Bytes: "4096", "64M" and "9.5GiB" (powers of 1024), "24GB" (powers of 1000). Ends the program with a usage error when
 * it is something else. */
double cli_parse_bytes(struct argp_state *state, const char *option, const char *text);

/* A whole file of settings as a string, which the caller frees; NULL after a message. */
char *cli_read_file(const char *path);

/* --- Output (output.c) --------------------------------------------------------------------------------------- */

/* The options that every command has: --format, --output, --width, --color. `input` is an output_options. */
extern const option_set output_set;

typedef struct output_options {
    ft_style style;
    const char *path; /* NULL or "-": standard output */
    const char *color;
    uint32_t width; /* 0: as wide as the terminal */
} output_options;

output_options output_options_default(void);

typedef struct output {
    FILE *stream;
    ft_outfile file; /* zeros for standard output */
} output;

/* Opens the output and sets width, colours and characters by the terminal where options leave them open. */
ft_status output_open(output_options *options, output *out);
/* Puts the file in its place. After a failure the old file is still there. */
ft_status output_commit(output *out);
/* Removes the temporary file. Does nothing after output_commit. */
void output_discard(output *out);
/* Prints the error of a document and returns `status`. A failing stream is reported with the name of the output; other
 * messages get `about`, a path, in front unless they begin with it. `about` may be NULL. */
ft_status output_fail(const output *out, ft_status status, const char *about, const ft_error *error);
/* Ends a document: commits it, or prints the error. */
ft_status output_end(output *out, ft_status status, const ft_error *error);

/* --- Interruption (stop.c) ------------------------------------------------------------------------------------- */

/* The first SIGINT, SIGTERM or SIGHUP ends the command between two models; a second one ends it at once. */
void stop_install(void);
bool stop_requested(void);
/* The file to remove when a second signal ends the process; NULL: none. */
void stop_remove_file(const char *path);
/* When a signal came: ends the process the way that signal does, as shells expect. */
void stop_finish(void);

/* --- Progress (progress.c) ------------------------------------------------------------------------------------- */

/* One line on standard error, only on a terminal and only when it takes longer than two seconds. */
void progress_begin(uint64_t total, bool is_quiet);
/* `done` files of the total, and `part` of the current one. */
void progress_show(uint64_t done, double part, const char *what);
/* The same for calls of the library that take long: an ft_progress. Returns false, to stop, after a signal. */
bool progress_step(void *user, uint64_t done, uint64_t total, const char *what);
/* Erases the line, so that something else may be printed. */
void progress_hide(void);

/* --- Skipped records (cli.c) --------------------------------------------------------------------------------- */

enum { SKIP_REASONS = 24 };

typedef struct skip_list {
    bool is_verbose; /* name each */
    size_t count;
    struct {
        char text[160];
        uint64_t times;
    } items[SKIP_REASONS];
} skip_list;

/* An ft_skip whose user is a skip_list. */
void skip_note(void *user, const char *where, const char *why);
/* Prints how many records were skipped, by reason. */
void skip_summary(const skip_list *list, const char *source);

/* --- Folders (folder.c) -------------------------------------------------------------------------------------- */

/* The entries of a folder, sorted by name, hidden ones left out. NULL with *count = 0 when it cannot be read, after a
 * message. */
char **folder_list(const char *path, size_t *count, ft_status *status);
void folder_free(char **entries, size_t count);
typedef enum path_kind { PATH_FILE, PATH_FOLDER, PATH_OTHER } path_kind;
/* The kind of a path. A folder behind a symbolic link counts only when `is_explicit`: others could contain themselves.
 */
path_kind path_kind_of(const char *path, bool is_explicit);
/* Files at or under a path, the total of the progress line. */
uint64_t folder_count_files(const char *path, bool is_explicit, uint32_t depth);

#endif
