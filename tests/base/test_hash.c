/* Tests of the 128-bit hash. Files keep hashes, so its values must never change. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "base/hash.h"

static void expect_hash(const char *text, const char *expected) {
    char digits[HASH_TEXT];
    assert_string_equal(hash_text(hash_bytes(text, strlen(text)), digits), expected);
}

static void test_known_values(void **state) {
    (void)state;
    expect_hash("", "99aa06d3014798d86001c324468d497f");
    expect_hash("foretell", "d0ac1b76808cd6600cd452a0b5e69be7");
    expect_hash("The quick brown fox jumps over the lazy dog", "ddd650205ca3e7fa24a1cc2e3a8a7651");
    char digits[HASH_TEXT];
    assert_string_equal(hash_text(hash_bytes(NULL, 0), digits), "99aa06d3014798d86001c324468d497f");
}

static void test_pieces(void **state) {
    (void)state;
    char text[5000];
    for (size_t i = 0; i < sizeof text; i++) text[i] = (char)(i * 7);
    for (size_t piece = 1; piece < sizeof text; piece = piece * 3 + 1) {
        hasher *h = hasher_new();
        assert_non_null(h);
        for (size_t at = 0; at < sizeof text; at += piece)
            hasher_add(h, text + at, sizeof text - at < piece ? sizeof text - at : piece);
        hasher_add(h, NULL, 0);
        assert_true(hash_is_equal(hasher_end(h), hash_bytes(text, sizeof text)));
    }
}

static void test_text_and_back(void **state) {
    (void)state;
    hash128 hash = {.low = UINT64_C(0x0123456789abcdef), .high = UINT64_C(0xfedcba9876543210)}, back;
    char digits[HASH_TEXT];
    hash_text(hash, digits);
    assert_string_equal(digits, "fedcba98765432100123456789abcdef");
    assert_true(hash_parse(digits, 32, &back));
    assert_true(hash_is_equal(hash, back));
    assert_false(hash_parse(digits, 31, &back));
    assert_false(hash_parse("FEDCBA98765432100123456789abcdef", 32, &back));
    assert_false(hash_parse("gedcba98765432100123456789abcdef", 32, &back));
    assert_false(hash_parse("", 0, &back));
    assert_false(hash_is_equal(hash, (hash128){.low = hash.low, .high = 1}));
    assert_false(hash_is_equal(hash, (hash128){.low = 1, .high = hash.high}));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_known_values),
        cmocka_unit_test(test_pieces),
        cmocka_unit_test(test_text_and_back),
    };
    return cmocka_run_group_tests_name("base/hash", tests, NULL, NULL);
}
