/* options.h - the options of a command as a table: one row holds the name of an option, its help text and the field
 * that gets its value. argp parses the command line and writes --help.
 *
 *     static const option_row rows[] = {
 *         {.help = "Selection:", .group = 20},
 *         {"count", "N", "number of models to choose", 0, COUNT(arguments, count, 1000)},
 *         {"quiet", NULL, "no progress line", 0, FLAG(arguments, is_quiet)},
 *         {0},
 *     };
 *     static const option_set options = {.rows = rows, .doc = "Choose models to measure.", .check = check};
 *     options_parse(&options, argc, argv, &args);
 */
#ifndef CLI_OPTIONS_H
#define CLI_OPTIONS_H

#include <argp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "foretell/status.h"

typedef struct option_row option_row;

/* Parses the text of an option into a field. Ends the program with argp_error when it is not valid. */
typedef void option_parser(void *field, const char *text, const option_row *row, struct argp_state *state);

struct option_row {
    const char *name;     /* NULL: a heading */
    const char *value;    /* name of the value in --help; NULL: the option has none */
    const char *help;     /* or the text of a heading */
    int group;            /* where it stands in --help; 0: where the row before does */
    option_parser *parse; /* with at: one of those below */
    size_t at;            /* offset of the field in the structure that is parsed into */
    uint64_t min, max;
    bool is_value_optional; /* then text may be NULL */
    /* For shell completion: words of the value, separated by spaces; "@devices" stands for the names that `foretell
     * list devices` prints. NULL: paths when `value` is one, else nothing. */
    const char *choices;
};

/* Names that an option gathers when it is repeated. */
enum { OPTION_MAX_NAMES = 64 };
typedef struct name_list {
    const char *items[OPTION_MAX_NAMES];
    uint32_t count;
} name_list;

option_parser option_text, option_flag, option_u32, option_u64, option_name, option_bytes, option_whole_bytes,
    option_positive;
/* To an ft_mode, an ft_optimizer, an ft_output; a file that ends in .svg or .png, to a text. */
option_parser option_mode, option_optimizer, option_format, option_plot;

/* The target of a row: a field of a structure; the compiler checks its type. Types and fields cannot stand in
 * parentheses. NOLINTBEGIN(bugprone-macro-parentheses) */
/* clang-format off */
#define OPTION_AT(type, field, kind) (offsetof(type, field) + 0 * sizeof(_Generic(((type *)0)->field, kind: 0)))
#define TEXT(type, field) .parse = option_text, .at = OPTION_AT(type, field, const char *)
#define FLAG(type, field) .parse = option_flag, .at = OPTION_AT(type, field, bool)
#define NAMES(type, field) .parse = option_name, .at = OPTION_AT(type, field, name_list)
#define POSITIVE(type, field) .parse = option_positive, .at = OPTION_AT(type, field, double)
#define BYTES(type, field) \
    .parse = _Generic(((type *)0)->field, double: option_bytes, uint64_t: option_whole_bytes), .at = offsetof(type, field)
/* A whole number in a range, and one of 1 or more. */
#define NUMBER(type, field, from, to) \
    .parse = _Generic(((type *)0)->field, uint32_t: option_u32, uint64_t: option_u64, int64_t: option_u64), \
    .at = offsetof(type, field), .min = (from), .max = (to)
#define COUNT(type, field, to) NUMBER(type, field, 1, to)
/* By a function of the command's own: to a field, or to the whole structure. */
#define PARSED_BY(function, type, field) .parse = (function), .at = offsetof(type, field)
#define PARSED_WHOLE_BY(function) .parse = (function)

/* Rows that many commands have. */
#define SEED_ROW(type, field, text, group) \
    {"seed", "N", text, group, NUMBER(type, field, 0, UINT32_MAX)}
#define THREADS_ROW(type, field, group) \
    {"threads", "N", "number of threads (one per core); the result does not depend on it", group, COUNT(type, field, 1024)}
#define QUIET_ROW(type, field, group) \
    {"quiet", NULL, "no progress line and no notes; errors are still printed", group, FLAG(type, field)}
/* Those of an ft_time_filter. */
#define TIME_FILTER_ROWS(type, field) \
    {"max-noise", "R", \
     "skip records whose relative standard deviation is above R, where it was measured, as 0.01", 0, \
     POSITIVE(type, field.max_noise)}, \
    {"min-time", "US", "skip records below US microseconds", 0, \
     POSITIVE(type, field.min_time_us)}, \
    {"max-time", "US", "skip records above US microseconds", 0, POSITIVE(type, field.max_time_us)}
/* clang-format on */
/* NOLINTEND(bugprone-macro-parentheses) */

/* Values of --config: a file or an object of settings, and single ones beside it. */
enum { CONFIG_MAX_ITEMS = 256 };
typedef struct config_list {
    const char *path; /* of the file, or the object itself; NULL: none */
    bool is_object;
    char *text; /* the content of the file, once it is read */
    const char *items[CONFIG_MAX_ITEMS];
    uint32_t count;
} config_list;

/* FILE, {OBJECT} or KEY=VALUE, to a config_list. */
option_parser config_list_add;
/* Reads the file, if there is one; prints a message when it fails. */
ft_status config_list_read(config_list *s);
void config_list_free(config_list *s);

/* Arguments of the command line that are not options. */
typedef struct argument_list {
    char **items;
    uint32_t count;
} argument_list;

/* One-letter forms: a letter means the same option in every command, so rows have no letters of their own. The man page
 * has this list as a table. */
#define OPTION_LETTER_LIST(X)                                                                                          \
    X('b', "batch")                                                                                                    \
    X('c', "config")                                                                                                   \
    X('d', "data")                                                                                                     \
    X('D', "device")                                                                                                   \
    X('f', "format")                                                                                                   \
    X('k', "kernels")                                                                                                  \
    X('n', "count")                                                                                                    \
    X('o', "output")                                                                                                   \
    X('p', "predictor")                                                                                                \
    X('q', "quiet")                                                                                                    \
    X('s', "sort")                                                                                                     \
    X('t', "top")                                                                                                      \
    X('v', "verbose")                                                                                                  \
    X('w', "width")

/* The letter of an option; 0: it has none. */
int option_letter(const char *name);

enum { OPTION_MAX_PARTS = 5 };
typedef struct option_set option_set;
struct option_set {
    const option_row *rows; /* ends with {0}; NULL: none of its own */
    /* Checks the options once all are parsed; those of parts run first, the last part before the others. May be NULL.
     */
    void (*check)(void *input, struct argp_state *state);
    /* Sets that are shared by commands, and where their input is in that of this one. */
    struct {
        const option_set *set;
        size_t at;
    } parts[OPTION_MAX_PARTS];

    /* Of the set of a command, not of a part: */
    const char *doc, *args_doc;
    const char *hidden;         /* an option of a part that is an error here and not in --help; NULL: none */
    const char *first_argument; /* words it is completed with, as option_row.choices; NULL: paths */
    const char *refusal;        /* of arguments beside options, for a command that takes none; NULL: the usual one */
    /* For a command that takes some: one by one, or all into an argument_list, which is not the first field. */
    void (*argument)(void *input, char *text, struct argp_state *state);
    size_t arguments;
};

/* Parses into `input`. Ends the program after --help, or with a usage error. */
void options_parse(const option_set *set, int argc, char **argv, void *input);

#endif
