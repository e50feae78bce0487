/* The table of commands: one meaning per letter, the letters of the man page, every option in every completion script.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../cli/commands.h"

typedef void option_visitor(const command *c, const option_row *row, void *user);

static void visit_rows(const command *c, const option_row *row, option_visitor *visit, void *user) {
    for (; row != NULL && row->help != NULL; row++)
        if (row->name != NULL) visit(c, row, user);
}

static void visit_all(option_visitor *visit, void *user) {
    for (const command *c = commands; c->name != NULL; c++) {
        visit_rows(c, c->options->rows, visit, user);
        for (int i = 0; i < OPTION_MAX_PARTS && c->options->parts[i].set != NULL; i++)
            visit_rows(c, c->options->parts[i].set->rows, visit, user);
    }
}

static char *read_all(FILE *stream) {
    enum { SIZE = 1 << 20 };
    char *text = calloc(1, SIZE + 1);
    assert_non_null(text);
    assert_non_null(stream);
    rewind(stream);
    assert_true(fread(text, 1, SIZE, stream) < SIZE);
    fclose(stream);
    return text;
}

/* --- Letters ------------------------------------------------------------------------------------------------- */

typedef struct letter_use {
    const char *name[128];
    bool has_value[128];
} letter_use;

static void collect_letter(const command *c, const option_row *row, void *user) {
    letter_use *use = user;
    int letter = option_letter(row->name);
    if (letter == 0) return;
    assert_true(letter > 0 && letter < 128);
    bool has_value = row->value != NULL;
    if (use->name[letter] == NULL) {
        use->name[letter] = row->name;
        use->has_value[letter] = has_value;
    }
    if (strcmp(use->name[letter], row->name) != 0)
        fail_msg("-%c is --%s in %s and --%s elsewhere", letter, row->name, c->name, use->name[letter]);
    if (use->has_value[letter] != has_value) fail_msg("-%c takes a value in some commands only (%s)", letter, c->name);
}

static void test_a_letter_has_one_meaning(void **state) {
    (void)state;
    letter_use use = {0};
    visit_all(collect_letter, &use);
    assert_null(use.name['h']); /* --help, --version and -? are argp's */
    assert_null(use.name['V']);
    assert_null(use.name['?']);
#define CHECK_IS_USED(letter, option)                                                                                  \
    if (use.name[letter] == NULL || strcmp(use.name[letter], option) != 0)                                             \
        fail_msg("-%c stands for --%s, but is --%s", letter, option,                                                   \
                 use.name[letter] != NULL ? use.name[letter] : "(no option)");
    OPTION_LETTER_LIST(CHECK_IS_USED)
#undef CHECK_IS_USED
}

/* A row of the man page's table is "\-b|\-\-batch|...". */
static void test_the_man_page_lists_the_letters(void **state) {
    (void)state;
    char *page = read_all(fopen("docs/man/foretell.1", "r"));
    unsigned count = 0;
#define CHECK_IS_LISTED(letter, option)                                                                                \
    {                                                                                                                  \
        char row[64];                                                                                                  \
        snprintf(row, sizeof row, "\n\\-%c|\\-\\-%s|", letter, option);                                                \
        if (strstr(page, row) == NULL)                                                                                 \
            fail_msg("the table of letters in the man page lacks -%c, --%s", letter, option);                          \
        count++;                                                                                                       \
    }
    OPTION_LETTER_LIST(CHECK_IS_LISTED)
#undef CHECK_IS_LISTED
    for (const char *at = page; (at = strstr(at, "|\\-\\-")) != NULL; at++) count--;
    assert_int_equal(count, 0);
    free(page);
}

/* --- Names --------------------------------------------------------------------------------------------------- */

static void check_is_once(const command *c, const option_row *row, void *user) {
    const command **of = user;
    static const char *names[64];
    static uint32_t count;
    if (*of != c) count = 0;
    *of = c;
    for (uint32_t i = 0; i < count; i++)
        if (strcmp(names[i], row->name) == 0) fail_msg("%s has --%s twice", c->name, row->name);
    assert_true(count < 64);
    names[count++] = row->name;
}

static void test_a_command_has_an_option_once(void **state) {
    (void)state;
    const command *of = NULL;
    visit_all(check_is_once, &of);
}

static void test_commands_are_found_by_name_and_group(void **state) {
    (void)state;
    assert_string_equal(command_find("predict", false)->name, "predict");
    assert_null(command_find("predict", true));
    assert_string_equal(command_find("devices", true)->name, "devices");
    assert_null(command_find("devices", false));
    assert_null(command_find("", false));
    for (const command *c = commands; c->name != NULL; c++) {
        assert_ptr_equal(command_find(c->name, c->group == GROUP_LIST), c);
        if (strlen(c->summary) > 60) fail_msg("%s: its summary is too long for 80 columns", c->name);
    }
}

/* --- Completion ---------------------------------------------------------------------------------------------- */

static const char *const shells[] = {"bash", "zsh", "fish"};

/* The part of a script that is about a command. */
static const char *section_of(const char *script, int shell, const command *c) {
    static const char *const starts[] = {"\n    %s%s)\n", "\n    %s%s)\n", "__foretell_using %s%s'"};
    char start[128];
    const char *list = c->group != GROUP_LIST ? "" : shell == 2 ? "list " : "list-";
    snprintf(start, sizeof start, starts[shell], list, c->name);
    const char *section = strstr(script, start);
    if (section == NULL) fail_msg("%s completion lacks the command %s", shells[shell], c->name);
    return section;
}

static void check_is_completed(const command *c, const option_row *row, void *user) {
    char *const *scripts = user;
    for (int shell = 0; shell < 3; shell++) {
        char option[128];
        const char *list = c->group == GROUP_LIST ? "list " : "";
        if (shell == 2)
            snprintf(option, sizeof option, "__foretell_using %s%s' -l %s ", list, c->name, row->name);
        else
            snprintf(option, sizeof option, "--%s", row->name);
        const char *section = section_of(scripts[shell], shell, c), *found = strstr(section, option);
        const char *end = shell == 2 ? NULL : strstr(section, "\n        ;;\n");
        bool is_completed = found != NULL && (end == NULL || found < end);
        bool is_hidden = c->options->hidden != NULL && strcmp(c->options->hidden, row->name) == 0;
        if (is_completed && is_hidden)
            fail_msg("%s completion has the hidden --%s of %s", shells[shell], row->name, c->name);
        if (!is_completed && !is_hidden) fail_msg("%s completion lacks --%s of %s", shells[shell], row->name, c->name);
    }
}

static void test_completion_has_every_command_and_option(void **state) {
    (void)state;
    char *scripts[3];
    for (int shell = 0; shell < 3; shell++) {
        FILE *stream = tmpfile();
        assert_non_null(stream);
        assert_true(completion_write(shells[shell], stream));
        scripts[shell] = read_all(stream);
        for (const command *c = commands; c->name != NULL; c++) section_of(scripts[shell], shell, c);
    }
    visit_all(check_is_completed, scripts);
    for (int shell = 0; shell < 3; shell++) free(scripts[shell]);
    assert_false(completion_write("csh", stderr));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_letter_has_one_meaning),
        cmocka_unit_test(test_the_man_page_lists_the_letters),
        cmocka_unit_test(test_a_command_has_an_option_once),
        cmocka_unit_test(test_commands_are_found_by_name_and_group),
        cmocka_unit_test(test_completion_has_every_command_and_option),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
