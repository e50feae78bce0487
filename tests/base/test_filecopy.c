/* Tests of private copies of files: they keep the bytes that were there first, whatever happens to the file. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/filecopy.h"
#include "support/folder.h"

enum { SIZE = 1000003, BLOCK = 1 << 16 };

static const char path[] = "file";

static uint8_t byte_at(size_t i) {
    return (uint8_t)(i * 31 % 251 + 1);
}

static void write_file(size_t size) {
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    for (size_t i = 0; i < size; i++) putc(byte_at(i), file);
    assert_int_equal(fclose(file), 0);
}

static void overwrite_in_place(size_t from, size_t size) {
    uint8_t *bytes = malloc(size);
    int file = open(path, O_WRONLY);
    assert_true(file >= 0 && bytes != NULL);
    memset(bytes, 0xee, size);
    assert_int_equal(pwrite(file, bytes, size, (off_t)from), (ssize_t)size);
    close(file);
    free(bytes);
}

static filecopy open_copy(uint64_t whole_bytes) {
    filecopy copy;
    ft_error error;
    if (filecopy_open(path, whole_bytes, &copy, &error) != FT_OK) fail_msg("%s", error.message);
    assert_int_equal(copy.size, SIZE);
    return copy;
}

static void expect(const filecopy *copy, size_t from, size_t to) {
    for (size_t i = from; i < to; i++)
        if (copy->bytes[i] != byte_at(i)) fail_msg("byte %zu is %u", i, copy->bytes[i]);
}

static void a_whole_copy_keeps_its_bytes(void **state) {
    (void)state;
    write_file(SIZE);
    filecopy copy = open_copy(SIZE);
    overwrite_in_place(0, SIZE);
    expect(&copy, 0, SIZE);
    assert_int_equal(truncate(path, 0), 0);
    filecopy_load(&copy, copy.bytes, SIZE);
    expect(&copy, 0, SIZE);
    assert_int_equal(filecopy_check(&copy, path, NULL), FT_OK);
    uint8_t some[3];
    assert_true(filecopy_read(&copy, SIZE - 3, some, 3));
    assert_memory_equal(some, copy.bytes + SIZE - 3, 3);
    filecopy_close(&copy);
    assert_null(copy.bytes);
}

static void parts_are_copied_once(void **state) {
    (void)state;
    write_file(SIZE);
    filecopy copy = open_copy(SIZE - 1);
    assert_int_equal(copy.bytes[0], 0);
    filecopy_load(&copy, copy.bytes + BLOCK - 1, 1);
    expect(&copy, 0, BLOCK);
    assert_int_equal(copy.bytes[BLOCK], 0);
    filecopy_load(&copy, copy.bytes + 3 * BLOCK - 1, 2); /* two blocks */
    expect(&copy, 2 * (size_t)BLOCK, 4 * (size_t)BLOCK);
    assert_int_equal(copy.bytes[BLOCK], 0);
    filecopy_load(&copy, copy.bytes, SIZE);
    expect(&copy, 0, SIZE);
    assert_int_equal(filecopy_check(&copy, path, NULL), FT_OK);
    filecopy_close(&copy);
    filecopy_load(NULL, NULL, 7); /* bytes that are no copy */
}

static void what_was_copied_stays_and_changes_are_reported(void **state) {
    (void)state;
    ft_error error;
    write_file(SIZE);
    filecopy copy = open_copy(0);
    filecopy_load(&copy, copy.bytes, 2 * BLOCK);
    assert_int_equal(filecopy_check(&copy, path, &error), FT_OK);
    usleep(20000); /* times of files are no finer than a clock tick */
    overwrite_in_place(0, SIZE);
    filecopy_load(&copy, copy.bytes, SIZE);
    expect(&copy, 0, 2 * (size_t)BLOCK);
    assert_int_equal(filecopy_check(&copy, path, &error), FT_ERR_IO);
    assert_string_equal(error.message, "file: was changed while it was read: try again when it is complete");
    filecopy_close(&copy);
}

static void a_shorter_file_is_reported(void **state) {
    (void)state;
    ft_error error;
    write_file(SIZE);
    filecopy copy = open_copy(0);
    filecopy_load(&copy, copy.bytes, BLOCK);
    assert_int_equal(truncate(path, 3 * BLOCK + 5), 0);
    filecopy_load(&copy, copy.bytes, SIZE); /* beyond the end */
    expect(&copy, 0, BLOCK);
    assert_int_equal(filecopy_check(&copy, path, &error), FT_ERR_IO);
    assert_non_null(strstr(error.message, "was changed"));
    uint8_t byte;
    assert_false(filecopy_read(&copy, SIZE - 1, &byte, 1));
    filecopy_close(&copy);
}

/* Random loads of parts equal the file. */
static void any_order_of_loads_gives_the_file(void **state) {
    (void)state;
    write_file(SIZE);
    uint32_t random = 1;
    for (int round = 0; round < 20; round++) {
        filecopy copy = open_copy(0);
        for (int i = 0; i < 30; i++) {
            random = random * 1664525 + 1013904223;
            size_t from = random % SIZE;
            random = random * 1664525 + 1013904223;
            size_t size = (random >> 8) % (SIZE - from + 1) / (size_t)(1 + i);
            filecopy_load(&copy, copy.bytes + from, size);
            expect(&copy, from, from + size);
        }
        filecopy_close(&copy);
    }
}

static void what_is_no_file_is_refused(void **state) {
    (void)state;
    filecopy copy;
    ft_error error;
    assert_int_equal(filecopy_open("absent", 0, &copy, &error), FT_ERR_IO);
    assert_string_equal(error.message, "absent: No such file or directory");
    assert_int_equal(filecopy_open(".", 0, &copy, &error), FT_ERR_IO);
    write_file(0);
    assert_int_equal(filecopy_open(path, 0, &copy, &error), FT_ERR_FORMAT);
    /* A file larger than all memory can be opened in parts, and not as a whole. */
    assert_int_equal(truncate(path, (off_t)1 << 42), 0);
    assert_int_equal(filecopy_open(path, 1 << 20, &copy, &error), FT_OK);
    filecopy_load(&copy, copy.bytes + ((size_t)1 << 41), 5);
    assert_int_equal(filecopy_check(&copy, path, &error), FT_OK);
    filecopy_close(&copy);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_whole_copy_keeps_its_bytes),
        cmocka_unit_test(parts_are_copied_once),
        cmocka_unit_test(what_was_copied_stays_and_changes_are_reported),
        cmocka_unit_test(a_shorter_file_is_reported),
        cmocka_unit_test(any_order_of_loads_gives_the_file),
        cmocka_unit_test(what_is_no_file_is_refused),
    };
    return cmocka_run_group_tests_name("base/filecopy", tests, folder_enter, folder_leave);
}
