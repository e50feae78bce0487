/* test_flatbuf.c - FlatBuffers access: values are read, missing or damaged content is a fault and never a bad read. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "read/tflite/flatbuf.h"
#include "support/flatbuild.h"

/* A root table of 8 fields: 0 i8, 1 u64, 2 float, 3 string, 4 [int], 5 [table], 6 table, 7 absent. */
static flatbuild sample(void) {
    flatbuild b;
    flatbuild_open(&b, "TEST");
    size_t root = flatbuild_table(&b, 8);
    flatbuild_root(&b, root);
    flatbuild_int(&b, root, 0, -5, 1);
    flatbuild_int(&b, root, 1, -1, 8);
    flatbuild_float(&b, root, 2, 1.5F);
    flatbuild_ref(&b, root, 3, flatbuild_string(&b, "hello"));
    int32_t numbers[] = {7, -8, 9};
    flatbuild_ref(&b, root, 4, flatbuild_vector(&b, numbers, 3, 4));
    size_t list = flatbuild_offsets(&b, 2);
    flatbuild_ref(&b, root, 5, list);
    for (uint32_t i = 0; i < 2; i++) {
        size_t item = flatbuild_table(&b, 1);
        flatbuild_int(&b, item, 0, 100 + i, 4);
        flatbuild_offset(&b, list, i, item);
    }
    size_t child = flatbuild_table(&b, 1);
    flatbuild_int(&b, child, 0, 1, 1);
    flatbuild_ref(&b, root, 6, child);
    return b;
}

static void reads_present_fields(void **state) {
    (void)state;
    flatbuild b = sample();
    flatbuf file;
    flat_open(&file, b.bytes, b.size, NULL);
    flat_table root = flat_root(&file);
    assert_true(flat_is_table(&root));
    assert_int_equal(flat_int(&root, 0, FLAT_I8, 9), -5);
    assert_int_equal(flat_int(&root, 0, FLAT_U8, 9), 251);
    assert_int_equal(flat_int(&root, 1, FLAT_U64, 9), -1);
    assert_true(flat_float(&root, 2, FLAT_F32, 0) == 1.5);
    size_t length;
    const char *text = flat_string(&root, 3, &length);
    assert_int_equal(length, 5);
    assert_memory_equal(text, "hello", 5);
    flat_vector numbers = flat_numbers(&root, 4, FLAT_I32);
    assert_int_equal(numbers.count, 3);
    assert_int_equal(flat_int_at(&numbers, 1, FLAT_I32), -8);
    assert_int_equal(flat_int_at(&numbers, 3, FLAT_I32), 0);
    flat_vector list = flat_tables(&root, 5);
    assert_int_equal(list.count, 2);
    flat_table item = flat_table_at(&list, 1);
    assert_int_equal(flat_int(&item, 0, FLAT_I32, 0), 101);
    flat_table child = flat_child(&root, 6);
    assert_int_equal(flat_int(&child, 0, FLAT_BOOL, 0), 1);
    assert_int_equal(flat_check(&file, NULL), FT_OK);
    free(b.bytes);
}

static void absent_fields_give_defaults(void **state) {
    (void)state;
    flatbuild b = sample();
    flatbuf file;
    flat_open(&file, b.bytes, b.size, NULL);
    flat_table root = flat_root(&file);
    assert_false(flat_has(&root, 7));
    assert_true(flat_has(&root, 6));
    assert_int_equal(flat_int(&root, 7, FLAT_I32, 42), 42);
    assert_int_equal(flat_int(&root, 1000000, FLAT_I32, 43), 43);
    flat_table none = flat_child(&root, 7);
    assert_false(flat_is_table(&none));
    assert_int_equal(flat_int(&none, 0, FLAT_I32, 44), 44);
    assert_int_equal(flat_tables(&none, 0).count, 0);
    size_t length;
    assert_null(flat_string(&none, 0, &length));
    flat_vector empty = flat_tables(&root, 7);
    flat_table beyond = flat_table_at(&empty, 0);
    assert_false(flat_is_table(&beyond));
    assert_int_equal(flat_check(&file, NULL), FT_OK);
    free(b.bytes);
}

/* Reads the whole sample after it was damaged. */
static void walk(const uint8_t *bytes, size_t size, flatbuf *file) {
    flat_open(file, bytes, size, NULL);
    flat_table root = flat_root(file);
    for (uint32_t i = 0; i < 12; i++) {
        size_t length;
        (void)flat_int(&root, i, FLAT_I64, 0);
        (void)flat_float(&root, i, FLAT_F64, 0);
        const char *text = flat_string(&root, i, &length);
        if (text != NULL && length > 0) assert_true((const uint8_t *)text + length <= bytes + size);
        flat_vector list = flat_tables(&root, i);
        for (uint32_t k = 0; k < list.count && k < 8; k++) {
            flat_table item = flat_table_at(&list, k);
            (void)flat_int(&item, 0, FLAT_I64, 0);
        }
        flat_table child = flat_child(&root, i);
        (void)flat_int(&child, 0, FLAT_I64, 0);
    }
}

/* Each prefix in a block of its own, so that the sanitizers see a read past its end. */
static void cut_files_are_faults(void **state) {
    (void)state;
    flatbuild b = sample();
    for (size_t size = 0; size < b.size; size++) {
        uint8_t *copy = malloc(size > 0 ? size : 1);
        memcpy(copy, b.bytes, size);
        flatbuf file;
        walk(copy, size, &file);
        assert_non_null(file.fault);
        assert_int_equal(flat_check(&file, NULL), FT_ERR_DAMAGED);
        free(copy);
    }
    free(b.bytes);
}

static void flipped_bits_never_read_outside(void **state) {
    (void)state;
    flatbuild b = sample();
    for (size_t i = 0; i < b.size; i++) {
        for (int bit = 0; bit < 8; bit++) {
            b.bytes[i] ^= (uint8_t)(1 << bit);
            flatbuf file;
            walk(b.bytes, b.size, &file);
            b.bytes[i] ^= (uint8_t)(1 << bit);
        }
    }
    free(b.bytes);
}

static void huge_counts_are_faults(void **state) {
    (void)state;
    flatbuild b = sample();
    flatbuf file;
    flat_open(&file, b.bytes, b.size, NULL);
    flat_table root = flat_root(&file);
    flat_vector numbers = flat_numbers(&root, 4, FLAT_I32);
    memset(b.bytes + numbers.at - 4, 0xff, 4);
    assert_int_equal(flat_numbers(&root, 4, FLAT_I32).count, 0);
    ft_error error;
    assert_int_equal(flat_check(&file, &error), FT_ERR_DAMAGED);
    assert_non_null(strstr(error.message, "a vector that runs past the end of the file at byte"));
    free(b.bytes);
}

/* Loads from odd addresses: the sanitizers complain when one of them is not safe. */
static void loads_from_any_alignment(void **state) {
    (void)state;
    uint8_t bytes[16] = {0, 0x01, 0x02, 0x03, 0x84, 0x05, 0x06, 0x07, 0x88};
    assert_int_equal(flat_load_int(bytes + 1, FLAT_U16), 0x0201);
    assert_int_equal(flat_load_int(bytes + 1, FLAT_I32), (int32_t)0x84030201);
    assert_int_equal(flat_load_int(bytes + 1, FLAT_U32), 0x84030201);
    assert_true(flat_load_int(bytes + 1, FLAT_I64) == (int64_t)UINT64_C(0x8807060584030201));
    double value = -2.25;
    memcpy(bytes + 3, &value, sizeof value);
    assert_true(flat_load_float(bytes + 3, FLAT_F64) == -2.25);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_present_fields),   cmocka_unit_test(absent_fields_give_defaults),
        cmocka_unit_test(cut_files_are_faults),   cmocka_unit_test(flipped_bits_never_read_outside),
        cmocka_unit_test(huge_counts_are_faults), cmocka_unit_test(loads_from_any_alignment),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
