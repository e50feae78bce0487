/* test_shapes.c - shape and fold rules, one line of shapes.txt or shapes_contrib.txt a case.
 *
 *     FORMAT OPERATOR INPUTS... | ATTRIBUTES... | OUTPUTS...
 *
 * An input is a shape (2x3, scalar), maybe with a type before it (int64:2x3), a constant ([1,-1], [2.5], maybe with
 * int32: before it; a scalar is written (7)), or - for one that is absent. Attributes are name=1,2 or name=1.5 or
 * name=text. An output is a shape, maybe with its type, or a value in brackets, or ? when the rule must not set it,
 * or - when it is absent; "error" alone when the rule must fail. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "graph/graph.h"
#include "graph/shape.h"

enum { MAX_WORDS = 48 };

/* "[1,2]" or "(7)": the numbers, as int64 or as double when one has a point. */
static ft_value *parse_value(ft_graph *g, const char *text, int32_t *rank, int64_t *dims) {
    bool is_float = strpbrk(text, ".e") != NULL;
    double numbers[64];
    int64_t ints[64], count = 0;
    char copy[512];
    snprintf(copy, sizeof copy, "%s", text + 1);
    for (char *word = strtok(copy, ",])"); word != NULL; word = strtok(NULL, ",])")) {
        assert_in_range(count, 0, 63);
        ints[count] = strtoll(word, NULL, 10);
        numbers[count++] = strtod(word, NULL);
    }
    *rank = text[0] == '[';
    dims[0] = count;
    int64_t *i;
    double *f;
    ft_value *value = is_float ? graph_value_floats(g, count, &f) : graph_value_ints(g, count, &i);
    assert_non_null(value);
    for (int64_t k = 0; k < count; k++) {
        if (is_float)
            f[k] = numbers[k];
        else
            i[k] = ints[k];
    }
    return value;
}

static void parse_shape(const char *text, int32_t *rank, int64_t *dims) {
    *rank = 0;
    if (strcmp(text, "scalar") == 0) return;
    for (char *end; *text != '\0'; text = *end == 'x' ? end + 1 : end) {
        dims[(*rank)++] = strtoll(text, &end, 10);
        if (end == text) fail_msg("not a shape: '%s'", text);
    }
}

/* Fills a tensor from "type:2x3" or "type:[1,2]". */
static ft_tensor parse_tensor(ft_graph *g, const char *word, const char *name) {
    ft_tensor t = {.name = name, .dtype = FT_FLOAT32, .role = FT_INPUT};
    const char *colon = strchr(word, ':');
    bool has_type = false;
    if (colon != NULL) {
        char type[32];
        snprintf(type, sizeof type, "%.*s", (int)(colon - word), word);
        if (!ft_dtype_parse(type, &t.dtype)) fail_msg("not a type: '%s'", type);
        word = colon + 1;
        has_type = true;
    }
    if (word[0] == '[' || word[0] == '(') {
        t.role = FT_CONSTANT;
        t.value = parse_value(g, word, &t.rank, t.dims);
        if (!has_type && t.value->ints != NULL) t.dtype = FT_INT64;
    } else {
        parse_shape(word, &t.rank, t.dims);
    }
    return t;
}

static ft_attr parse_attribute(ft_graph *g, char *word) {
    char *value = strchr(word, '=');
    ft_attr attr;
    ft_error error;
    if (value == NULL) fail_msg("not an attribute: '%s'", word);
    *value++ = '\0';
    char *end;
    int64_t list[32];
    size_t count = 0;
    if (strchr(value, '.') != NULL && strpbrk(value, "-0123456789") == value) {
        double floats[32];
        for (char *at = value; *at != '\0'; at = *end == ',' ? end + 1 : end) floats[count++] = strtod(at, &end);
        assert_int_equal(graph_attr_floats(g, &attr, word, floats, count, &error), FT_OK);
        return attr;
    }
    if (strpbrk(value, "-0123456789") != value || strpbrk(value, ">") != NULL) {
        assert_int_equal(graph_attr_string(g, &attr, word, value, &error), FT_OK);
        return attr;
    }
    for (char *at = value; *at != '\0'; at = *end == ',' ? end + 1 : end) list[count++] = strtoll(at, &end, 10);
    bool is_list = count > 1 || value[strlen(value) - 1] == ',';
    assert_int_equal(is_list ? graph_attr_ints(g, &attr, word, list, count, &error)
                             : graph_attr_int(g, &attr, word, list[0], &error),
                     FT_OK);
    return attr;
}

static size_t split_words(char *text, char *words[MAX_WORDS]) {
    size_t count = 0;
    for (char *word = strtok(text, " \n"); word != NULL; word = strtok(NULL, " \n")) {
        assert_in_range(count, 0, MAX_WORDS - 1);
        words[count++] = word;
    }
    return count;
}

static void check_value(const char *line, const ft_tensor *got, const ft_tensor *wanted) {
    if (got->value == NULL) fail_msg("%s: has no value", line);
    assert_int_equal(got->value->count, wanted->value->count);
    for (int64_t i = 0; i < wanted->value->count; i++) {
        double a = got->value->ints != NULL ? (double)got->value->ints[i] : got->value->floats[i];
        double b = wanted->value->ints != NULL ? (double)wanted->value->ints[i] : wanted->value->floats[i];
        if (a < b - 1e-9 || a > b + 1e-9) fail_msg("%s: element %d is %g, not %g", line, (int)i, a, b);
    }
}

static void check_output(const char *line, const ft_graph *bound, const ft_tensor *got, const char *word) {
    char shape[128];
    if (strcmp(word, "?") == 0) {
        if (got->rank >= 0) fail_msg("%s: should stay silent, says %s", line, shape_text(bound, got, shape, 128));
        return;
    }
    ft_graph *scratch = NULL;
    ft_error error;
    assert_int_equal(graph_new(FT_FORMAT_ONNX, FT_NCHW, "scratch", &scratch, &error), FT_OK);
    ft_tensor wanted = parse_tensor(scratch, word, "wanted");
    bool is_same = got->rank == wanted.rank;
    for (int32_t i = 0; is_same && i < wanted.rank; i++) is_same = got->dims[i] == wanted.dims[i];
    if (!is_same) fail_msg("%s: got %s", line, shape_text(bound, got, shape, sizeof shape));
    if (strchr(word, ':') != NULL && got->dtype != wanted.dtype)
        fail_msg("%s: got type %s", line, ft_dtype_name(got->dtype));
    if (wanted.value != NULL) check_value(line, got, &wanted);
    ft_graph_free(scratch);
}

static ft_format format_named(const char *name) {
    if (strcmp(name, "onnx") == 0) return FT_FORMAT_ONNX;
    if (strcmp(name, "tf") == 0) return FT_FORMAT_CG;
    return strcmp(name, "ncnn") == 0 ? FT_FORMAT_NCNN : FT_FORMAT_TFLITE;
}

static ft_graph *build(char *head, char *attributes, size_t output_count) {
    char *words[MAX_WORDS], *attr_words[MAX_WORDS];
    size_t count = split_words(head, words), attr_count = split_words(attributes, attr_words);
    assert_in_range(count, 2, MAX_WORDS);
    ft_format format = format_named(words[0]);
    ft_graph *g = NULL;
    ft_error error;
    assert_int_equal(
        graph_new(format, format == FT_FORMAT_ONNX || format == FT_FORMAT_NCNN ? FT_NCHW : FT_NHWC, "case", &g, &error),
        FT_OK);
    uint32_t inputs[MAX_WORDS], outputs[MAX_WORDS];
    for (size_t i = 2; i < count; i++) {
        inputs[i - 2] = FT_NONE;
        if (strcmp(words[i], "-") == 0) continue;
        ft_tensor t = parse_tensor(g, words[i], words[i]);
        assert_int_equal(graph_add_tensor(g, &t, &inputs[i - 2], &error), FT_OK);
        if (t.role == FT_INPUT) assert_int_equal(graph_add_input(g, inputs[i - 2], &error), FT_OK);
    }
    for (size_t i = 0; i < output_count; i++) {
        ft_tensor t = {.name = "", .role = FT_ACTIVATION, .rank = -1};
        assert_int_equal(graph_add_tensor(g, &t, &outputs[i], &error), FT_OK);
    }
    ft_attr *attrs = ARENA_ARRAY(&g->memory, ft_attr, attr_count);
    for (size_t i = 0; i < attr_count; i++) attrs[i] = parse_attribute(g, attr_words[i]);
    ft_op op = {.name = "op", .type = words[1], .inputs = inputs, .input_count = (uint32_t)(count - 2)};
    op.outputs = outputs;
    op.output_count = (uint32_t)output_count;
    op.attrs = attrs;
    op.attr_count = (uint32_t)attr_count;
    assert_int_equal(graph_add_op(g, &op, &error), FT_OK);
    if (!ft_opdef_is_known(g->ops[0].def)) fail_msg("%s %s: not in the table", words[0], words[1]);
    assert_int_equal(graph_finish(g, &error), FT_OK);
    return g;
}

static void check_line(const char *line) {
    char copy[1024], *words[MAX_WORDS];
    snprintf(copy, sizeof copy, "%s", line);
    char *bar = strchr(copy, '|'), *second = bar != NULL ? strchr(bar + 1, '|') : NULL;
    if (second == NULL) fail_msg("%s: needs two bars", line);
    *bar = *second = '\0';
    size_t count = split_words(second + 1, words);
    bool is_error = count == 1 && strcmp(words[0], "error") == 0;
    ft_graph *g = build(copy, bar + 1, count), *bound = NULL;
    ft_error error;
    ft_status status = ft_graph_bind(g, NULL, &bound, &error);
    if (is_error && status == FT_OK) fail_msg("%s: accepted", line);
    if (!is_error && status != FT_OK) fail_msg("%s: %s", line, error.message);
    for (size_t i = 0; i < count && !is_error; i++) {
        if (strcmp(words[i], "-") != 0) check_output(line, bound, &bound->tensors[bound->ops[0].outputs[i]], words[i]);
    }
    ft_graph_free(bound);
    ft_graph_free(g);
}

/* --- Files of lines ------------------------------------------------------------------------------------------ */

static const char *const files[] = {"tests/graph/shapes.txt", "tests/graph/shapes_contrib.txt"};

static int each_line(void (*visit)(const char *line, void *context), void *context) {
    int cases = 0;
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        FILE *file = fopen(files[i], "r");
        assert_non_null(file);
        char line[1024];
        while (fgets(line, sizeof line, file) != NULL) {
            line[strcspn(line, "\n")] = '\0';
            if (line[0] == '\0' || line[0] == '#') continue;
            visit(line, context);
            cases++;
        }
        fclose(file);
    }
    return cases;
}

static void check_visited(const char *line, void *context) {
    (void)context;
    check_line(line);
}

static void every_line_of_the_tables(void **state) {
    (void)state;
    assert_true(each_line(check_visited, NULL) > 300);
}

/* --- Every operator of the table ----------------------------------------------------------------------------- */

typedef struct wanted_case {
    const ft_opdef *def;
    uint32_t outputs;
    bool is_found;
} wanted_case;

/* Looks for a line of the operator in which all of its outputs have a shape. */
static void look_at_line(const char *line, void *context) {
    wanted_case *w = context;
    char copy[1024], *words[MAX_WORDS];
    snprintf(copy, sizeof copy, "%s", line);
    char *bar = strchr(copy, '|'), *outputs = bar != NULL ? strchr(bar + 1, '|') : NULL;
    assert_non_null(outputs);
    *bar = '\0';
    const char *format = strtok(copy, " "), *type = strtok(NULL, " ");
    if (opdef_find(format_named(format), type) != w->def) return;
    size_t count = split_words(outputs + 1, words), known = 0;
    for (size_t i = 0; i < count; i++)
        known += strcmp(words[i], "?") != 0 && strcmp(words[i], "-") != 0 && strcmp(words[i], "error") != 0;
    if (known == count && count >= w->outputs) w->is_found = true;
}

/* Operators of one rule, with one output and operands of the same shape, need no line each. */
static bool check_plain(const ft_opdef *def) {
    bool is_same = def->shape == shape_same, is_compare = def->shape == shape_compare;
    bool is_broadcast = def->shape == shape_broadcast;
    if (def->outputs > 1 || !(is_same || is_compare || is_broadcast || def->shape == shape_reduce)) return false;
    static const ft_format formats[] = {FT_FORMAT_ONNX, FT_FORMAT_TFLITE, FT_FORMAT_CG, FT_FORMAT_NCNN};
    static const char *const names[] = {"onnx", "tflite", "tf", "ncnn"};
    for (int i = 0; i < 4; i++) {
        char list[512], line[256];
        snprintf(list, sizeof list, "%s", ft_opdef_spellings(def, formats[i]));
        for (char *type = list; *type != '\0';) {
            size_t length = strcspn(type, " ");
            const char *inputs = is_broadcast || is_compare ? "2x3x4 3x4" : "2x3x4";
            snprintf(line, sizeof line, "%s %.*s %s | | %s", names[i], (int)length, type, inputs,
                     def->shape == shape_reduce ? "1x1x1"
                     : is_compare               ? "bool:2x3x4"
                                                : "2x3x4");
            check_line(line);
            type += length;
            while (*type == ' ') type++;
        }
    }
    return true;
}

/* A graph collapses behind an output without a shape: so each operator has a case with all outputs it can have, or is
 * marked as one whose shapes depend on data or are only in the file. */
static void every_operator_gives_all_its_outputs_a_shape(void **state) {
    (void)state;
    int missing = 0;
    for (uint32_t i = 0; i < ft_opdef_count(); i++) {
        wanted_case w = {.def = ft_opdef_at(i), .outputs = ft_opdef_at(i)->outputs};
        bool is_open = (w.def->flags & OP_OPEN_SHAPE) != 0;
        if (w.def->shape == NULL && is_open) continue;
        if (w.outputs == OUTPUTS_ANY) w.outputs = 2;
        if (w.outputs == 0) w.outputs = 1;
        if (w.def->shape == NULL)
            print_error("%s has no shape rule and is not marked OP_OPEN_SHAPE\n", w.def->name);
        else if (check_plain(w.def))
            w.is_found = true;
        else
            each_line(look_at_line, &w);
        if (!w.is_found) print_error("%s: no case with %u outputs that all have a shape\n", w.def->name, w.outputs);
        missing += !w.is_found;
    }
    assert_int_equal(missing, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_line_of_the_tables),
                                       cmocka_unit_test(every_operator_gives_all_its_outputs_a_shape)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
