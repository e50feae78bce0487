/* arguments.c - one wrong argument after the other: each argument of a call takes a few numbers of the count of
 * faults, and is wrong when the number of the present trial is among them. */
#include "support/arguments.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

enum { LONG_TEXT = 1 << 20 };

/* The present trial. */
static struct {
    size_t fault; /* number of the wrong value, among those of all arguments */
    size_t seen;  /* values of the arguments so far */
    bool is_all;  /* every argument is wrong */
    bool is_wrong, is_refused;
    bool is_getter; /* has no status, and nothing to see of it when all its arguments are wrong */
} trial;

/* The number of the wrong value to take, from 1; 0: the right one. */
static size_t choose(size_t count, bool is_refused) {
    size_t first = trial.seen;
    trial.seen += count;
    bool is_here = trial.is_all || (trial.fault >= first && trial.fault < first + count);
    if (!is_here) return 0;
    trial.is_wrong = true;
    trial.is_refused |= is_refused;
    return trial.is_all ? 1 : trial.fault - first + 1;
}

bool arguments_is_wrong(bool is_refused) {
    return choose(1, is_refused) > 0;
}

const void *arguments_value(const void *right, const void *others, size_t size, size_t count, bool is_refused) {
    size_t chosen = choose(count, is_refused);
    return chosen == 0 ? right : (const char *)others + (chosen - 1) * size;
}

ft_status arguments_neutral(bool is_neutral, ft_error *error) {
    trial.is_getter = true;
    if (!trial.is_refused || !is_neutral) return FT_OK;
    *error = (ft_error){FT_ERR_USAGE, "it is neutral"};
    return FT_ERR_USAGE;
}

static void run(const argument_row *row, size_t fault, bool is_all) {
    ft_error error = {.message = ""};
    memset(&trial, 0, sizeof trial);
    trial.fault = fault;
    trial.is_all = is_all;
    ft_status status = row->call(&error);
    const char *where = is_all ? "all" : trial.is_wrong ? "one" : "no";
    if (!trial.is_wrong && status != FT_OK) fail_msg("%s fails as it is: %s", row->name, error.message);
    if (trial.is_refused && status == FT_OK && !(is_all && trial.is_getter))
        fail_msg("%s, wrong argument %zu (%s wrong) is taken", row->name, fault, where);
    if (trial.is_refused && !is_all && status != FT_ERR_USAGE)
        fail_msg("%s, wrong argument %zu: %s instead of FT_ERR_USAGE: %s", row->name, fault, ft_status_name(status),
                 error.message);
    bool has_message = error.message[0] != '\0' && error.status == status;
    if (trial.is_wrong && !trial.is_refused && error.message[0] == '\0') return; /* the error may be what is missing */
    if (status != FT_OK && !is_all && !has_message)
        fail_msg("%s, wrong argument %zu: %s without a message", row->name, fault, ft_status_name(status));
}

void arguments_try(const argument_row *rows, size_t count) {
    size_t calls = 0;
    for (size_t i = 0; i < count; i++) {
        run(&rows[i], 0, true);
        for (size_t fault = 0;; fault++) {
            run(&rows[i], fault, false);
            calls++;
            if (!trial.is_wrong) break;
        }
        calls++;
    }
    print_message("%zu functions, %zu calls\n", count, calls);
}

const char *argument_long_text(void) {
    static char text[LONG_TEXT + 1];
    memset(text, 'x', LONG_TEXT);
    return text;
}
