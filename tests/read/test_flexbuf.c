/* test_flexbuf.c - FlexBuffers written byte by byte, truncated and damaged. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "read/tflite/flexbuf.h"

/* {"n": 20} with everything one byte wide. */
static const uint8_t small[] = {
    'n', 0,         /* 0: the key */
    1,   3,         /* 2: one key, 3 bytes back from offset 3 */
    1,   1,      1, /* 4: the keys are 1 byte back, 1 byte wide; one value */
    20,  1 << 2,    /* 7: the value, and its type: an integer */
    2,   9 << 2, 1, /* 9: the root: 2 bytes back, a map, 1 byte wide */
};

/* {"b": true, "f": 1.5, "i": -3, "l": [], "s": "ok", "u": 7 (elsewhere)} with values 4 bytes wide. */
static const uint8_t large[] = {
    'b',         0,          'f',        0,           'i',        0,          'l', 0, 's', 0, 'u', 0, /* 0: keys */
    2,           'o',        'k',        0,                           /* 12: the string, its length in front */
    7,           0,                                                   /* 16: the indirect number, 2 bytes wide */
    6,                                                                /* 18: six keys */
    19,          18,         17,         16,          15,         14, /* 19 */
    0,           0,          0,                                       /* 25: up to a multiple of 4 */
    9,           0,          0,          0,                           /* 28: the keys are 9 bytes back */
    1,           0,          0,          0,                           /* 32: and 1 byte wide */
    6,           0,          0,          0,                           /* 36: six values */
    1,           0,          0,          0,                           /* 40: true */
    0,           0,          0xc0,       0x3f,                        /* 44: 1.5 */
    0xfd,        0xff,       0xff,       0xff,                        /* 48: -3 */
    0,           0,          0,          0,                           /* 52: a list, which is ignored */
    43,          0,          0,          0,                           /* 56: the string at 13 */
    44,          0,          0,          0,                           /* 60: the number at 16 */
    26 << 2 | 2, 3 << 2 | 2, 1 << 2 | 2, 10 << 2 | 2, 5 << 2 | 0, 7 << 2 | 1, /* 64: types */
    30,          9 << 2 | 2, 1,                                               /* 70: the root */
};

static void reads_a_small_map(void **state) {
    (void)state;
    flex_map map;
    flex_entry entry;
    assert_true(flex_root_map(small, sizeof small, &map));
    assert_int_equal(map.count, 1);
    assert_true(flex_map_entry(&map, 0, &entry));
    assert_string_equal(entry.key, "n");
    assert_int_equal(entry.kind, FLEX_INT);
    assert_int_equal(entry.i, 20);
    assert_false(flex_map_entry(&map, 1, &entry));
}

static void reads_every_kind(void **state) {
    (void)state;
    static const flex_kind kinds[] = {FLEX_INT, FLEX_FLOAT, FLEX_INT, FLEX_OTHER, FLEX_STRING, FLEX_INT};
    flex_map map;
    flex_entry e[6];
    assert_true(flex_root_map(large, sizeof large, &map));
    assert_int_equal(map.count, 6);
    for (uint32_t i = 0; i < 6; i++) {
        assert_true(flex_map_entry(&map, i, &e[i]));
        assert_int_equal(e[i].key[0], "bfilsu"[i]);
        assert_int_equal(e[i].kind, kinds[i]);
    }
    assert_int_equal(e[0].i, 1);
    assert_true(e[1].f == 1.5);
    assert_int_equal(e[2].i, -3);
    assert_int_equal(e[4].length, 2);
    assert_memory_equal(e[4].s, "ok", 2);
    assert_int_equal(e[5].i, 7);
}

/* ["x", "yes"] with everything one byte wide. */
static const uint8_t list[] = {1, 'x', 0, 3, 'y', 'e', 's', 0, 2, 8, 6, 5 << 2, 5 << 2, 4, 10 << 2, 1};

static void reads_a_list_of_strings(void **state) {
    (void)state;
    size_t length;
    const char *text = flex_root_string(list, sizeof list, 1, &length);
    assert_non_null(text);
    assert_int_equal(length, 3);
    assert_memory_equal(text, "yes", 3);
    assert_null(flex_root_string(list, sizeof list, 2, &length));
    assert_null(flex_root_string(small, sizeof small, 0, &length));
}

/* Reads everything after damage; the sanitizers detect reads out of bounds. */
static void walk(const uint8_t *bytes, size_t size) {
    flex_map map;
    flex_entry entry;
    size_t length;
    const char *text = flex_root_string(bytes, size, 1, &length);
    if (text != NULL) assert_true((const uint8_t *)text + length <= bytes + size);
    if (!flex_root_map(bytes, size, &map)) return;
    for (uint32_t i = 0; i < map.count && i < 300; i++) {
        if (!flex_map_entry(&map, i, &entry)) continue;
        assert_true(strlen(entry.key) < size);
        if (entry.kind == FLEX_STRING) assert_true(entry.length <= size);
    }
}

static void damage_is_survived(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof list; i++) {
        uint8_t copy[sizeof list];
        for (int value = 0; value < 256; value++) {
            memcpy(copy, list, sizeof list);
            copy[i] = (uint8_t)value;
            walk(copy, sizeof copy);
        }
    }
    for (size_t size = 0; size <= sizeof large; size++) {
        uint8_t *copy = malloc(size > 0 ? size : 1);
        assert_non_null(copy);
        memcpy(copy, large + sizeof large - size, size); /* it is read from the end, so cut the beginning */
        walk(copy, size);
        for (size_t i = 0; i < size; i++) {
            for (int value = 0; value < 256; value++) {
                uint8_t old = copy[i];
                copy[i] = (uint8_t)value;
                if (size == sizeof large || value % 51 == 0) walk(copy, size);
                copy[i] = old;
            }
        }
        free(copy);
    }
}

static void other_bytes_are_not_a_map(void **state) {
    (void)state;
    flex_map map;
    static const uint8_t plain[] = {1, 0, 0, 0, 2, 0, 0, 0};
    assert_false(flex_root_map(plain, sizeof plain, &map));
    assert_false(flex_root_map(NULL, 0, &map));
    uint8_t vector[sizeof small];
    memcpy(vector, small, sizeof small);
    vector[10] = 10 << 2;
    assert_false(flex_root_map(vector, sizeof vector, &map));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_a_small_map),         cmocka_unit_test(reads_every_kind),
        cmocka_unit_test(reads_a_list_of_strings),   cmocka_unit_test(damage_is_survived),
        cmocka_unit_test(other_bytes_are_not_a_map),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
