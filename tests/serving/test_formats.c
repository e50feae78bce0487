/* Packed formats: bits of a number with its share of scales. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "serving/serving.h"

static void bits_have_their_share_of_scales(void **state) {
    (void)state;
    assert_true(ft_packed_format_bits("q8_0") == (32 * 8 + 16) / 32.0);
    assert_true(ft_packed_format_bits("q4_0") == (32 * 4 + 16) / 32.0);
    assert_true(ft_packed_format_bits("q6_k") == (256 * 6 + 16 * 8 + 16) / 256.0);
    assert_true(ft_packed_format_bits("mxfp4") == (32 * 4 + 8) / 32.0);
    assert_true(ft_packed_format_bits("nvfp4") == (16 * 4 + 8) / 16.0);
    assert_true(ft_packed_format_bits("int4") == (128 * 4 + 16 + 4) / 128.0);
}

static void names_are_found_in_any_case_and_by_their_aliases(void **state) {
    (void)state;
    assert_ptr_equal(packed_format_find("Q4_K_M"), packed_format_find("q4_k_m"));
    assert_ptr_equal(packed_format_find("bf16"), packed_format_find("bfloat16"));
    assert_ptr_equal(packed_format_find("awq"), packed_format_find("int4"));
    assert_null(packed_format_find("q99"));
    assert_null(packed_format_find("a name that is longer than any format has"));
    assert_true(isnan(ft_packed_format_bits("q99")));
    assert_true(isnan(ft_packed_format_bits(NULL)));
}

static void every_listed_format_exists(void **state) {
    (void)state;
    uint32_t count = 0;
    for (; ft_packed_format_name(count) != NULL; count++)
        assert_true(ft_packed_format_bits(ft_packed_format_name(count)) >= 2);
    assert_true(count > 20);
    char list[512];
    packed_format_list(true, list, sizeof list);
    assert_non_null(strstr(list, "fp8"));
    assert_null(strstr(list, "q4_k_m"));
    packed_format_list(false, list, sizeof list);
    assert_non_null(strstr(list, "q2_k"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bits_have_their_share_of_scales),
        cmocka_unit_test(names_are_found_in_any_case_and_by_their_aliases),
        cmocka_unit_test(every_listed_format_exists),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
