/* Tables of options: each kind of row takes what it should, and refuses the rest with a message and exit 2. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../cli/options.h"
#include "foretell/foretell.h"

typedef struct part {
    const char *color;
    bool is_wide;
} part;

typedef struct arguments {
    const char *name;
    bool is_quiet;
    uint32_t count;
    uint64_t seed;
    int64_t batch;
    double bytes, ratio;
    uint64_t whole_bytes;
    ft_mode mode;
    ft_optimizer optimizer;
    ft_output format;
    const char *plot;
    name_list devices;
    const char *own;
    part part;
    argument_list paths;
} arguments;

static void parse_own(void *field, const char *text, const option_row *row, struct argp_state *state) {
    if (text != NULL && strcmp(text, "good") != 0) argp_error(state, "--%s %s: expected good", row->name, text);
    *(const char **)field = text != NULL ? text : "none";
}

static const option_row rows[] = {
    {.help = "All kinds:", .group = 1},
    {"name", "NAME", "a text", 0, TEXT(arguments, name)},
    {"count", "N", "1 to 10", 0, COUNT(arguments, count, 10)},
    SEED_ROW(arguments, seed, "of it all", 0),
    {"batch", "N", "2 to 64", 0, NUMBER(arguments, batch, 2, 64)},
    {"bytes", "BYTES", "as 64M", 0, BYTES(arguments, bytes)},
    {"whole", "BYTES", "as 64M", 0, BYTES(arguments, whole_bytes)},
    {"ratio", "R", "above 0", 0, POSITIVE(arguments, ratio)},
    {"mode", "MODE", "infer or train", 0, PARSED_BY(option_mode, arguments, mode)},
    {"optimizer", "NAME", "sgd or the like", 0, PARSED_BY(option_optimizer, arguments, optimizer)},
    {"format", "FORMAT", "table, json or csv", 0, PARSED_BY(option_format, arguments, format)},
    {"plot", "FILE", "a picture", 0, PARSED_BY(option_plot, arguments, plot)},
    {"device", "NAME", "may be repeated", 0, NAMES(arguments, devices)},
    {"own", "WHAT", "good", 0, PARSED_BY(parse_own, arguments, own), .is_value_optional = true},
    QUIET_ROW(arguments, is_quiet, 60),
    {0},
};

static const option_row part_rows[] = {
    {.help = "Of the part:", .group = 50},
    {"color", "WHEN", "a text", 0, TEXT(part, color)},
    {"wide", NULL, "a flag", 0, FLAG(part, is_wide)},
    {0},
};

static void check_part(void *input, struct argp_state *state) {
    const part *p = input;
    if (p->is_wide && p->color == NULL) argp_error(state, "--wide is for --color");
}

static void check(void *input, struct argp_state *state) {
    const arguments *args = input;
    if (args->name == NULL) argp_error(state, "--name is needed");
}

static const option_set part_set = {.rows = part_rows, .check = check_part};
static const option_set whole = {.rows = rows,
                                 .check = check,
                                 .parts = {{&part_set, offsetof(arguments, part)}},
                                 .doc = "Do it.",
                                 .args_doc = "FILE...",
                                 .arguments = offsetof(arguments, paths)};
static const option_set bare = {.rows = rows, .refusal = "no files"};

enum { MAX_WORDS = 80 };

/* Splits "--a b" and parses it. The words stay: what was taken points to them. */
static arguments parse(const option_set *set, const char *line) {
    static char text[2048];
    char *argv[MAX_WORDS + 1] = {"test"};
    int argc = 1;
    arguments args = {0};
    snprintf(text, sizeof text, "%s", line);
    for (char *word = strtok(text, " "); word != NULL && argc < MAX_WORDS; word = strtok(NULL, " "))
        argv[argc++] = word;
    options_parse(set, argc, argv, &args);
    static char *kept[MAX_WORDS]; /* arguments point into argv */
    for (uint32_t i = 0; i < args.paths.count; i++) kept[i] = args.paths.items[i];
    args.paths.items = kept;
    return args;
}

/* What a child says and exits with that parses the line. */
static int run(const option_set *set, const char *line, char *said, size_t size) {
    int pipes[2], status;
    size_t used = 0;
    assert_int_equal(pipe(pipes), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        dup2(pipes[1], STDOUT_FILENO);
        dup2(pipes[1], STDERR_FILENO);
        close(pipes[0]);
        argp_err_exit_status = 2;
        parse(set, line);
        _exit(0);
    }
    close(pipes[1]);
    for (ssize_t got; used + 1 < size && (got = read(pipes[0], said + used, size - 1 - used)) > 0;) used += (size_t)got;
    said[used] = '\0';
    close(pipes[0]);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void refuses(const option_set *set, const char *line, const char *message) {
    char said[4096];
    assert_int_equal(run(set, line, said, sizeof said), 2);
    if (strstr(said, message) == NULL) fail_msg("%s: %s, not %s", line, said, message);
}

static void test_fields_get_their_values(void **state) {
    (void)state;
    arguments args =
        parse(&whole, "--name n -n 10 --seed 0 --batch=64 --bytes 2K --own --device a -Db -q --wide --color x");
    assert_string_equal(args.name, "n");
    assert_int_equal(args.count, 10);
    assert_int_equal(args.batch, 64);
    assert_true(args.bytes == 2048);
    assert_int_equal(args.devices.count, 2);
    assert_string_equal(args.devices.items[1], "b");
    assert_string_equal(args.own, "none");
    assert_true(args.is_quiet);
    assert_string_equal(args.part.color, "x");
    assert_true(args.part.is_wide);
    assert_int_equal(args.paths.count, 0);
    args = parse(&whole, "--name n --own=good --seed 4294967295");
    assert_string_equal(args.own, "good");
    assert_int_equal(args.seed, UINT32_MAX);
    assert_false(args.is_quiet);
}

static void test_words_become_values(void **state) {
    (void)state;
    arguments args =
        parse(&whole, "--name n --whole 1K --ratio 0.5 --mode train --optimizer adam --format csv --plot a.png");
    assert_int_equal(args.whole_bytes, 1024);
    assert_true(args.ratio == 0.5);
    assert_int_equal(args.mode, FT_TRAIN);
    assert_int_equal(args.optimizer, FT_ADAM);
    assert_int_equal(args.format, FT_CSV);
    assert_string_equal(args.plot, "a.png");
    assert_int_equal(parse(&whole, "--name n --mode train --mode infer").mode, FT_INFER);
}

static void test_arguments_are_those_beside_options(void **state) {
    (void)state;
    arguments args = parse(&whole, "a --name n b -q -- --c");
    assert_int_equal(args.paths.count, 3);
    assert_string_equal(args.paths.items[0], "a");
    assert_string_equal(args.paths.items[2], "--c");
}

static void test_wrong_values_are_reported(void **state) {
    (void)state;
    refuses(&whole, "--count 0", "--count 0: expected a whole number from 1 to 10");
    refuses(&whole, "-n 11", "--count 11: expected a whole number from 1 to 10");
    refuses(&whole, "--batch 1", "--batch 1: expected a whole number from 2 to 64");
    refuses(&whole, "--seed -1", "--seed -1: expected a whole number from 0 to 4294967295");
    refuses(&whole, "--bytes much", "--bytes much: expected bytes");
    refuses(&whole, "--whole 1Q", "--whole 1Q: expected bytes");
    refuses(&whole, "--ratio 0", "--ratio: '0' is no number above 0");
    refuses(&whole, "--ratio nan", "--ratio: 'nan' is no number above 0");
    refuses(&whole, "--mode fly", "--mode fly: expected infer or train");
    refuses(&whole, "--optimizer none", "--optimizer none: expected sgd, momentum, adam, adamw");
    refuses(&whole, "--format xml", "--format xml: expected table, json or csv");
    refuses(&whole, "--plot a.jpg", "--plot a.jpg: expected a file that ends in .svg or .png");
    refuses(&whole, "--plot .svg", "--plot .svg: expected a file that ends in .svg or .png");
    refuses(&whole, "--own=bad", "--own bad: expected good");
    refuses(&whole, "--name", "requires an argument");
    refuses(&whole, "--nothing", "unrecognized option");
    refuses(&bare, "x", "'x': no files");
    refuses(&part_set, "x", "'x': this command takes only options");
}

static void parse_first(void *input, char *text, struct argp_state *state) {
    arguments *args = input;
    if (state->arg_num > 0) argp_error(state, "'%s': one at a time", text);
    args->name = text;
}

static void test_arguments_come_one_by_one(void **state) {
    (void)state;
    static const option_set one = {.rows = rows, .argument = parse_first};
    assert_string_equal(parse(&one, "-q a").name, "a");
    refuses(&one, "a -q b", "'b': one at a time");
}

static void test_too_many_names_are_reported(void **state) {
    (void)state;
    char line[1024] = "--name n";
    for (int i = 0; i < OPTION_MAX_NAMES; i++) strcat(line, " -Da");
    assert_int_equal(parse(&whole, line).devices.count, OPTION_MAX_NAMES);
    refuses(&whole, strcat(line, " -Da"), "--device: at most 64 of them");
}

static void test_parts_are_checked_first(void **state) {
    (void)state;
    refuses(&whole, "", "--name is needed");
    refuses(&whole, "--wide", "--wide is for --color");
}

static void test_help_lists_all_rows(void **state) {
    (void)state;
    char said[4096], short_form[4096];
    assert_int_equal(run(&whole, "--help", said, sizeof said), 0);
    assert_int_equal(run(&whole, "-h", short_form, sizeof short_form), 0);
    assert_string_equal(said, short_form);
    static const char *const expected[] = {"FILE...\nDo it.", " All kinds:\n", "-n, --count=N ", "--own[=WHAT]",
                                           " Of the part:\n", "--color=WHEN ", "-q, --quiet "};
    for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++)
        if (strstr(said, expected[i]) == NULL) fail_msg("--help lacks '%s': %s", expected[i], said);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fields_get_their_values),
        cmocka_unit_test(test_words_become_values),
        cmocka_unit_test(test_arguments_are_those_beside_options),
        cmocka_unit_test(test_wrong_values_are_reported),
        cmocka_unit_test(test_arguments_come_one_by_one),
        cmocka_unit_test(test_too_many_names_are_reported),
        cmocka_unit_test(test_parts_are_checked_first),
        cmocka_unit_test(test_help_lists_all_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
