/* Tests of files and gzip. zlib's own deflate makes the packed bytes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "base/buf.h"
#include "base/input.h"
#include "support/folder.h"

static const uint64_t plenty = UINT64_C(1) << 24;

/* Appends one gzip member that holds the bytes. */
static void pack(buf *out, const void *bytes, size_t size) {
    z_stream stream = {0};
    assert_int_equal(deflateInit2(&stream, 9, Z_DEFLATED, 15 + 16, 9, Z_DEFAULT_STRATEGY), Z_OK);
    size_t room = deflateBound(&stream, size) + 64;
    uint8_t *packed = malloc(room);
    assert_non_null(packed);
    stream.next_in = (Bytef *)(uintptr_t)bytes;
    stream.avail_in = (uInt)size;
    stream.next_out = packed;
    stream.avail_out = (uInt)room;
    assert_int_equal(deflate(&stream, Z_FINISH), Z_STREAM_END);
    buf_add(out, packed, stream.total_out);
    deflateEnd(&stream);
    free(packed);
    assert_false(out->failed);
}

static ft_status open_bytes(const buf *bytes, uint64_t limit, input *in, ft_error *error) {
    return input_from_memory(bytes->data, bytes->length, "x.gz", limit, in, error);
}

static void expect_bytes(const buf *packed, uint64_t limit, const char *text, size_t size) {
    input in;
    ft_error error = {0};
    if (open_bytes(packed, limit, &in, &error) != FT_OK) fail_msg("%s", error.message);
    assert_int_equal(in.size, size);
    assert_memory_equal(in.bytes, text, size);
    input_close(&in);
}

static void test_plain_bytes_are_not_copied(void **state) {
    (void)state;
    input in;
    ft_error error;
    const char text[] = "just some text, long enough";
    assert_int_equal(input_from_memory(text, sizeof text, "x", plenty, &in, &error), FT_OK);
    assert_ptr_equal(in.bytes, text);
    assert_int_equal(in.size, sizeof text);
    input_close(&in);
    assert_null(in.bytes);
}

static void test_members(void **state) {
    (void)state;
    buf packed = {0};
    pack(&packed, "hello ", 6);
    expect_bytes(&packed, plenty, "hello ", 6);
    pack(&packed, "", 0);
    pack(&packed, "world", 5);
    expect_bytes(&packed, plenty, "hello world", 11);
    buf_add(&packed, "\0\0\0\0\0\0\0\0", 8); /* tapes and some packers pad with zeros */
    expect_bytes(&packed, plenty, "hello world", 11);
    buf_free(&packed);
}

static void test_empty_member(void **state) {
    (void)state;
    buf packed = {0};
    input in;
    ft_error error;
    pack(&packed, "", 0);
    assert_int_equal(open_bytes(&packed, plenty, &in, &error), FT_OK);
    assert_int_equal(in.size, 0);
    input_close(&in);
    buf_free(&packed);
}

/* Sizes around the first guess and its doublings. */
static void test_sizes(void **state) {
    (void)state;
    const size_t sizes[] = {1, 65535, 65536, 65537, 131072, 1000003};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        char *text = malloc(sizes[i]);
        buf packed = {0};
        assert_non_null(text);
        for (size_t k = 0; k < sizes[i]; k++) text[k] = (char)(k * 31 % 251);
        pack(&packed, text, sizes[i]);
        expect_bytes(&packed, plenty, text, sizes[i]);
        expect_bytes(&packed, sizes[i], text, sizes[i]); /* exactly the limit is allowed */
        packed.data[packed.length - 4] ^= 1;             /* the size it claims is only a hint, but it is checked */
        input in;
        ft_error error;
        assert_int_equal(open_bytes(&packed, plenty, &in, &error), FT_ERR_DAMAGED);
        buf_free(&packed);
        free(text);
    }
}

static void test_truncated_and_damaged(void **state) {
    (void)state;
    buf packed = {0};
    const char text[] = "some text that is packed, some text that is packed again";
    pack(&packed, text, sizeof text);
    for (size_t length = 18; length < packed.length; length++) {
        input in;
        ft_error error;
        buf cut = {.data = packed.data, .length = length};
        assert_int_equal(open_bytes(&cut, plenty, &in, &error), FT_ERR_DAMAGED);
        assert_non_null(strstr(error.message, "x.gz: damaged or truncated gzip data"));
    }
    packed.data[20] ^= 0x55;
    input in;
    ft_error error;
    assert_int_equal(open_bytes(&packed, plenty, &in, &error), FT_ERR_DAMAGED);
    buf_free(&packed);
}

static void test_bomb(void **state) {
    (void)state;
    enum { SIZE = 8 << 20 };
    char *zeros = calloc(1, SIZE);
    buf packed = {0};
    input in;
    ft_error error;
    assert_non_null(zeros);
    pack(&packed, zeros, SIZE);
    assert_true(packed.length < 20000);
    assert_int_equal(open_bytes(&packed, 1 << 20, &in, &error), FT_ERR_LIMIT);
    assert_string_equal(error.message, "x.gz: unpacks to more than 1048576 bytes");
    assert_int_equal(open_bytes(&packed, SIZE - 1, &in, &error), FT_ERR_LIMIT);
    expect_bytes(&packed, SIZE, zeros, SIZE);
    /* Many members are as bad as one. */
    buf many = {0};
    for (int i = 0; i < 4; i++) pack(&many, zeros, SIZE / 4);
    assert_int_equal(open_bytes(&many, SIZE - 1, &in, &error), FT_ERR_LIMIT);
    buf_free(&many);
    buf_free(&packed);
    free(zeros);
}

/* --- Files --------------------------------------------------------------------------------------------------- */

static const char *write_file(const char *name, const void *bytes, size_t size) {
    FILE *file = fopen(name, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    fclose(file);
    return name;
}

static void test_files(void **state) {
    (void)state;
    input in;
    ft_error error;
    buf packed = {0};
    pack(&packed, "packed", 6);
    assert_int_equal(input_open(write_file("plain", "plain", 5), plenty, &in, &error), FT_OK);
    assert_int_equal(in.size, 5);
    assert_memory_equal(in.bytes, "plain", 5);
    assert_null(in.unpacked);
    input_close(&in);
    /* Content decides, not the name. */
    assert_int_equal(input_open(write_file("b.onnx", packed.data, packed.length), plenty, &in, &error), FT_OK);
    assert_int_equal(in.size, 6);
    assert_memory_equal(in.bytes, "packed", 6);
    input_close(&in);
    assert_int_equal(input_open(write_file("short.gz", packed.data, 20), plenty, &in, &error), FT_ERR_DAMAGED);
    assert_non_null(strstr(error.message, "short.gz: damaged or truncated"));
    buf_free(&packed);
}

static void test_what_cannot_be_opened(void **state) {
    (void)state;
    input in;
    ft_error error;
    assert_int_equal(input_open("/no/such/file", plenty, &in, &error), FT_ERR_IO);
    assert_string_equal(error.message, "/no/such/file: No such file or directory");
    assert_int_equal(input_open(".", plenty, &in, &error), FT_ERR_IO);
    assert_non_null(strstr(error.message, "is a folder"));
    const char *path = write_file("empty", "", 0);
    assert_int_equal(input_open(path, plenty, &in, &error), FT_ERR_FORMAT);
    assert_non_null(strstr(error.message, "is empty"));
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkfifo(path, 0600), 0); /* opening it must not wait for a writer */
    assert_int_equal(input_open(path, plenty, &in, &error), FT_ERR_IO);
    assert_non_null(strstr(error.message, "is not a regular file"));
    if (geteuid() == 0) return; /* root may read anything */
    path = write_file("secret", "x", 1);
    assert_int_equal(chmod(path, 0), 0);
    assert_int_equal(input_open(path, plenty, &in, &error), FT_ERR_IO);
    assert_non_null(strstr(error.message, "Permission denied"));
}

/* Pipes are read to their end, plain and packed; the limit holds for both. */
static void test_streams(void **state) {
    (void)state;
    buf packed = {0};
    pack(&packed, "through a pipe", 14);
    for (int is_packed = 0; is_packed < 2; is_packed++) {
        const void *bytes = is_packed ? (const void *)packed.data : "through a pipe";
        size_t size = is_packed ? packed.length : 14;
        for (uint64_t limit = 12; limit < 40; limit++) {
            int ends[2];
            char path[32];
            assert_int_equal(pipe(ends), 0);
            assert_int_equal(write(ends[1], bytes, size), (ssize_t)size);
            close(ends[1]);
            snprintf(path, sizeof path, "/dev/fd/%d", ends[0]);
            input in;
            ft_error error;
            bool is_stream = false;
            ft_status status = input_open_stream(path, limit, &in, &is_stream, &error);
            assert_true(is_stream);
            assert_int_equal(status, limit >= size && limit >= 14 ? FT_OK : FT_ERR_LIMIT);
            if (status == FT_OK) assert_int_equal(in.size, 14);
            if (status == FT_OK) assert_memory_equal(in.bytes, "through a pipe", 14);
            input_close(&in);
            close(ends[0]);
        }
    }
    buf_free(&packed);
    input in;
    bool is_stream = true;
    assert_int_equal(input_open_stream("/no/such/file", plenty, &in, &is_stream, NULL), FT_ERR_IO);
    assert_false(is_stream);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plain_bytes_are_not_copied),
        cmocka_unit_test(test_members),
        cmocka_unit_test(test_empty_member),
        cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_truncated_and_damaged),
        cmocka_unit_test(test_bomb),
        cmocka_unit_test(test_files),
        cmocka_unit_test(test_what_cannot_be_opened),
        cmocka_unit_test(test_streams),
    };
    return cmocka_run_group_tests_name("base/input", tests, folder_enter, folder_leave);
}
