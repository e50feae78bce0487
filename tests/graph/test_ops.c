/* test_ops.c - the operator table as a whole. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "graph/opdef.h"

/* Calls `visit` for each spelling of each entry in a format; returns how many there are. */
static int each_spelling(ft_format format, void (*visit)(ft_format, const ft_opdef *, const char *)) {
    int count = 0;
    for (uint32_t i = 0; i < ft_opdef_count(); i++) {
        const ft_opdef *def = ft_opdef_at(i);
        char list[512];
        snprintf(list, sizeof list, "%s", ft_opdef_spellings(def, format));
        for (char *word = strtok(list, " "); word != NULL; word = strtok(NULL, " "), count++) visit(format, def, word);
    }
    return count;
}

/* Fails when two entries claim the same name: only the first would ever be found. */
static void is_found(ft_format format, const ft_opdef *def, const char *spelling) {
    const ft_opdef *found = opdef_find(format, spelling);
    if (found != def)
        fail_msg("%s leads to %s, not to %s", spelling, found != NULL ? found->name : "nothing", def->name);
}

static void spellings_are_unique(void **state) {
    (void)state;
    assert_true(each_spelling(FT_FORMAT_ONNX, is_found) >= 150);
    assert_true(each_spelling(FT_FORMAT_TFLITE, is_found) >= 100);
    assert_true(each_spelling(FT_FORMAT_CG, is_found) >= 20);
    assert_true(each_spelling(FT_FORMAT_NCNN, is_found) >= 60);
}

static void entries_are_complete(void **state) {
    (void)state;
    for (uint32_t i = 0; i < ft_opdef_count(); i++) {
        const ft_opdef *def = ft_opdef_at(i);
        if (def->op_class == FT_CLASS_UNKNOWN) fail_msg("%s has no class", def->name);
        if (def->cost == COST_UNKNOWN) fail_msg("%s has no cost", def->name);
        if (def->onnx == NULL && def->tflite == NULL && def->tf == NULL && def->ncnn == NULL)
            fail_msg("%s has no spelling", def->name);
        bool needs_factor = def->cost == COST_ELEMENTWISE || def->cost == COST_INPUTWISE || def->cost == COST_POOL ||
                            def->cost == COST_RECURRENT;
        if (needs_factor && def->flops == 0) fail_msg("%s has no FLOP factor", def->name);
        for (uint32_t k = 0; k < i; k++) {
            if (strcmp(ft_opdef_at(k)->name, def->name) == 0) fail_msg("%s is there twice", def->name);
        }
    }
}

static void names_of_one_format_are_not_those_of_another(void **state) {
    (void)state;
    assert_non_null(opdef_find(FT_FORMAT_ONNX, "Conv"));
    assert_null(opdef_find(FT_FORMAT_TFLITE, "ConvInteger"));
    assert_null(opdef_find(FT_FORMAT_ONNX, "CONV_2D"));
    assert_null(opdef_find(FT_FORMAT_ONNX, ""));
    assert_null(opdef_find(FT_FORMAT_ONNX, "Con"));
    assert_ptr_equal(opdef_find(FT_FORMAT_CG, "Relu"), opdef_find(FT_FORMAT_ONNX, "Relu"));
    assert_ptr_equal(opdef_find(FT_FORMAT_PERFSEER, "Gemm"), opdef_find(FT_FORMAT_ONNX, "Gemm"));
}

/* FLOPs, gradients and memory of every model depend on these columns. tests/graph/operators.txt lists them, so that a
 * change is deliberate; FLOP factors follow docs/cost.md. After a wanted change, copy $BUILD/graph-operators.txt. */
static void columns_are_as_listed(void **state) {
    (void)state;
    const char *build = getenv("BUILD");
    char path[256], want[256], got[256];
    snprintf(path, sizeof path, "%s/graph-operators.txt", build != NULL ? build : "build");
    FILE *out = fopen(path, "w");
    assert_non_null(out);
    for (uint32_t i = 0; i < ft_opdef_count(); i++) {
        const ft_opdef *d = ft_opdef_at(i);
        fprintf(out, "%s: %s, cost %d, flops %u, flags %x, auxiliary %x, x %u, w %u, layout %d", d->name,
                ft_op_class_name(d->op_class), (int)d->cost, (unsigned)d->flops, (unsigned)d->flags,
                (unsigned)d->aux_inputs, (unsigned)d->x, (unsigned)d->w, (int)d->layout);
        if (d->table_inputs != 0) fprintf(out, ", tables %x", (unsigned)d->table_inputs);
        if (d->scale_inputs != 0) fprintf(out, ", scales %x", (unsigned)d->scale_inputs);
        if (d->packed_inputs != 0) fprintf(out, ", packed %x", (unsigned)d->packed_inputs);
        fprintf(out, d->outputs != 0 ? ", outputs %u\n" : "\n", (unsigned)d->outputs);
    }
    fclose(out);
    FILE *expected = fopen("tests/graph/operators.txt", "r"), *found = fopen(path, "r");
    assert_non_null(expected);
    assert_non_null(found);
    for (;;) {
        const char *a = fgets(want, sizeof want, expected), *b = fgets(got, sizeof got, found);
        if (a == NULL && b == NULL) break;
        if (a == NULL || b == NULL || strcmp(a, b) != 0)
            fail_msg("expected %sfound    %s", a != NULL ? a : "no more\n", b != NULL ? b : "no more\n");
    }
    fclose(expected);
    fclose(found);
}

static void the_table_can_be_listed(void **state) {
    (void)state;
    assert_null(ft_opdef_at(ft_opdef_count()));
    assert_false(ft_opdef_is_known(ft_opdef_unknown()));
    assert_string_equal(ft_opdef_spellings(opdef_find(FT_FORMAT_ONNX, "Relu"), FT_FORMAT_TFLITE), "RELU");
    assert_string_equal(ft_opdef_spellings(opdef_find(FT_FORMAT_ONNX, "Det"), FT_FORMAT_TFLITE), "");
    assert_string_equal(ft_op_class_name(FT_CLASS_CONV), "convolution");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(spellings_are_unique),
        cmocka_unit_test(entries_are_complete),
        cmocka_unit_test(names_of_one_format_are_not_those_of_another),
        cmocka_unit_test(the_table_can_be_listed),
        cmocka_unit_test(columns_are_as_listed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
