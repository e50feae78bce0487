/* Tests of drawing architectures: reproducible by seed, names are unique, every style occurs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "generate/arch.h"
#include "read/perfseer.h"

static arch draw(uint64_t seed, uint64_t stream) {
    rng random;
    arch a;
    memset(&a, 0, sizeof a);
    rng_init(&random, seed, stream);
    arch_draw(&random, &a);
    return a;
}

static void test_same_seed(void **state) {
    (void)state;
    char first[ARCH_NAME_SIZE], second[ARCH_NAME_SIZE], other[ARCH_NAME_SIZE];
    arch a = draw(3, 8), b = draw(3, 8), c = draw(4, 8);
    assert_string_equal(arch_name(&a, 4, first), arch_name(&b, 4, second));
    assert_string_not_equal(first, arch_name(&c, 4, other));
}

/* The reader of the data set can parse the names. */
static void test_names(void **state) {
    (void)state;
    uint32_t seen[STYLE_COUNT] = {0};
    size_t longest = 0;
    for (uint64_t i = 0; i < 2000; i++) {
        arch a = draw(1, i);
        char name[ARCH_NAME_SIZE];
        perfseer_name parsed;
        arch_name(&a, 256, name);
        if (strlen(name) > longest) longest = strlen(name);
        perfseer_parse_name(name, &parsed);
        assert_int_equal(parsed.batch, 256);
        assert_int_equal(parsed.style_count, ARCH_STAGES);
        assert_non_null(strstr(name, "_synthetic_"));
        assert_null(strchr(name, '.')); /* importers use the part before it */
        assert_null(strchr(name, '/'));
        for (int s = 0; s < ARCH_STAGES; s++) seen[a.stages[s].style]++;
    }
    assert_true(longest < 250); /* a file name has at most 255 bytes, with its ending */
    for (int s = 0; s < STYLE_COUNT; s++) assert_in_range(seen[s], 1400, 1800);
}

static void test_ranges(void **state) {
    (void)state;
    for (uint64_t i = 0; i < 2000; i++) {
        arch a = draw(2, i);
        for (int s = 0; s < ARCH_STAGES; s++) {
            const arch_stage *stage = &a.stages[s];
            assert_in_range(stage->width, 16, 2048);
            assert_int_equal(stage->width % 8, 0);
            assert_in_range(stage->depth, 1, 24);
            assert_int_equal(stage->width / stage->narrowing % stage->groups, 0);
            assert_true((stage->growth > 0) == (stage->style == STYLE_DENSENET));
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same_seed),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_ranges),
    };
    return cmocka_run_group_tests_name("generate/arch", tests, NULL, NULL);
}
