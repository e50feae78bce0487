/* Tests of npu/rules.c: every row of the rule table names an operator of the operator table. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "npu/rules.h"

static const char *const names[] = {
#define NAME(id, name, lowering, constraint, typed_inputs, flags) name,
    NPU_RULE_LIST(NAME)};

static const ft_opdef *def_of(const char *name) {
    for (uint32_t i = 0; i < ft_opdef_count(); i++) {
        if (strcmp(ft_opdef_at(i)->name, name) == 0) return ft_opdef_at(i);
    }
    return NULL;
}

static void each_row_names_an_operator(void **state) {
    (void)state;
    npu_rule_cache cache = {{NULL}, {NULL}};
    for (size_t i = 0; i < NPU_OP_COUNT; i++) {
        const ft_opdef *def = def_of(names[i]);
        if (def == NULL) fail_msg("'%s' is not in the operator table", names[i]);
        const npu_rule *rule = npu_rule_find(def, &cache);
        assert_non_null(rule);
        assert_int_equal(rule->id, i);
        assert_non_null(rule->lower);
        assert_non_null(rule->check);
        assert_ptr_equal(npu_rule_find(def, &cache), rule); /* the second time from the cache */
    }
}

static void rules_are_as_many_as_operators_that_have_one(void **state) {
    (void)state;
    npu_rule_cache cache = {{NULL}, {NULL}};
    uint32_t found = 0;
    for (uint32_t i = 0; i < ft_opdef_count(); i++) found += npu_rule_find(ft_opdef_at(i), &cache) != NULL;
    assert_int_equal(found, NPU_OP_COUNT);
    assert_null(npu_rule_find(def_of("Conv3D"), &cache));
}

/* Products check data and weights, views only the data: their biases, shapes and axes may have any type. */
static void constraints_follow_the_kind_of_operator(void **state) {
    (void)state;
    npu_rule_cache cache = {{NULL}, {NULL}};
    for (size_t i = 0; i < NPU_OP_COUNT; i++) {
        const ft_opdef *def = def_of(names[i]);
        const npu_rule *rule = npu_rule_find(def, &cache);
        bool is_product = def->cost == COST_CONV || def->cost == COST_CONV_TRANSPOSE || def->cost == COST_MATMUL;
        bool is_first_only = def->op_class == FT_CLASS_VIEW || rule->id == NPU_OP_LSTM;
        assert_int_equal(rule->typed_inputs, is_product ? 2 : is_first_only ? 1 : NPU_ANY);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_row_names_an_operator),
        cmocka_unit_test(rules_are_as_many_as_operators_that_have_one),
        cmocka_unit_test(constraints_follow_the_kind_of_operator),
    };
    return cmocka_run_group_tests_name("npu/rules", tests, NULL, NULL);
}
