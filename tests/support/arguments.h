/* arguments.h - calls every public function with one wrong argument after the other.
 *
 * A test describes each function once, as a call whose arguments say what may be wrong with them:
 *
 *     CALL(ft_graph_bind) {
 *         ft_graph *bound = NULL;
 *         ft_status status = ft_graph_bind(REQUIRED(model), OPTIONAL(&binding), REQUIRED(&bound), ERROR);
 *         ft_graph_free(bound);
 *         return status;
 *     }
 *     GET(ft_graph_op_count, ft_graph_op_count(REQUIRED(model)) == 0)
 *
 * arguments_try runs it once for each way in which one argument is wrong, once with all wrong, and once as it is. What
 * is marked as refused must give FT_ERR_USAGE and a message, of a GET the value in the comparison; anything else that
 * is odd must give FT_OK or a status with a message. Sanitizers find the rest.
 * tests/api/test_arguments.sh compares the rows of all tables with the symbols of the shared library. */
#ifndef TESTS_ARGUMENTS_H
#define TESTS_ARGUMENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "foretell/foretell.h"

typedef ft_status argument_call(ft_error *error);

typedef struct argument_row {
    const char *name;
    argument_call *call;
} argument_row;

#define CALL(function) static ft_status call_##function(ft_error *argument_error_)
/* A getter, and whether it returns what it has to for a wrong argument. */
#define GET(function, is_neutral)                                                                                      \
    CALL(function) {                                                                                                   \
        return arguments_neutral(is_neutral, argument_error_);                                                         \
    }
#define ROW(function)                                                                                                  \
    { #function, call_##function }

/* Arguments of a call. */
#define REQUIRED(pointer) (arguments_is_wrong(true) ? NULL : (pointer))
#define OPTIONAL(pointer) (arguments_is_wrong(false) ? NULL : (pointer))
#define ERROR             OPTIONAL(argument_error_)
/* A number: the right one, then those to try. */
#define REFUSED(type, right, ...)                                                                                      \
    (*(const type *)arguments_value(&(const type){right}, (const type[]){__VA_ARGS__}, sizeof(type),                   \
                                    sizeof((const type[]){__VA_ARGS__}) / sizeof(type), true))
#define ODD(type, right, ...)                                                                                          \
    (*(const type *)arguments_value(&(const type){right}, (const type[]){__VA_ARGS__}, sizeof(type),                   \
                                    sizeof((const type[]){__VA_ARGS__}) / sizeof(type), false))
/* A pointer to a structure: the right one, then an array of others and their number; NULL is refused, too. */
#define REFUSED_OF(right, others, count) REQUIRED(arguments_value((right), (others), sizeof *(others), (count), true))
#define ODD_OF(right, others, count)     arguments_value((right), (others), sizeof *(others), (count), false)
#define COUNT_OF(array)                  (sizeof(array) / sizeof *(array))

/* Used by the macros above. */
bool arguments_is_wrong(bool is_refused);
const void *arguments_value(const void *right, const void *others, size_t size, size_t count, bool is_refused);
ft_status arguments_neutral(bool is_neutral, ft_error *error);

/* Tries all rows; the test fails where a function does not refuse. Prints the number of calls. */
void arguments_try(const argument_row *rows, size_t count);

/* Texts that no caller should pass: of 1 MiB, and "". */
const char *argument_long_text(void);

#endif
