/* Predictor files as bytes: encoding and decoding, and a message for each kind of damage. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/hash.h"
#include "predictor/core/file.h"
#include "support/failing.h"

static const float numbers[] = {0, -1.5F, 1e18F, 1e-42F, 7};

static buf make(const char *header) {
    json_t *root = NULL;
    ft_error error;
    buf bytes = {0};
    assert_int_equal(json_parse(header, strlen(header), &root, &error), FT_OK);
    assert_int_equal(predictor_file_encode(root, numbers, 5, &bytes, &error), FT_OK);
    json_decref(root);
    return bytes;
}

/* The hash again, so that what a test changed looks intended. */
static void seal(buf *bytes) {
    hash128 hash = hash_bytes(bytes->data, bytes->length - 16);
    for (int i = 0; i < 8; i++) {
        bytes->data[bytes->length - 16 + (size_t)i] = (char)(hash.low >> 8 * i);
        bytes->data[bytes->length - 8 + (size_t)i] = (char)(hash.high >> 8 * i);
    }
}

static void refuses(const void *bytes, size_t size, ft_status status, const char *part) {
    predictor_file file = {0};
    ft_error error = {.message = ""};
    ft_status found = predictor_file_decode(bytes, size, &file, &error);
    if (found != status || strstr(error.message, part) == NULL)
        fail_msg("status %d \"%s\" instead of %d \"%s\"", found, error.message, status, part);
    assert_null(file.root);
}

static void decoding_restores_what_was_encoded(void **state) {
    (void)state;
    buf bytes = make("{\"a\": [1, 0.1]}");
    assert_int_equal(bytes.length % 4, 0);
    predictor_file file = {0};
    ft_error error;
    assert_int_equal(predictor_file_decode(bytes.data, bytes.length, &file, &error), FT_OK);
    assert_int_equal(file.count, 5);
    assert_memory_equal(file.block, numbers, sizeof numbers);
    assert_true(json_number_value(json_array_get(json_object_get(file.root, "a"), 1)) == 0.1);
    assert_non_null(strstr(file.text, "\"a\""));
    predictor_file_free(&file);
    predictor_file_free(NULL);
    buf_free(&bytes);
}

/* Scores are not parsed, whatever is in them; what only looks like them is. */
static void scores_are_only_in_the_text(void **state) {
    (void)state;
    static const char *const with[] = {"{\"a\": 1, \"accuracy\": [{\"device\": \"}],\\\"\", \"n\": [1, 2]}], \"b\": 2}",
                                       "{\"a\": 1, \"b\": 2, \"accuracy\": {\"accuracy\": \"\\\\\"}}",
                                       "{\"accuracy\" : \"long enough\", \"a\": 1, \"b\": 2}"};
    static const char *const without[] = {"{\"a\": 1, \"b\": 2, \"in\": {\"accuracy\": [1, 2, 3]}}",
                                          "{\"a\": 1, \"b\": 2, \"text\": \"accuracy\"}",
                                          "{\"a\": 1, \"b\": 2, \"accuracy\": 7}"};
    for (size_t i = 0; i < 6; i++) {
        buf bytes = make(i < 3 ? with[i] : without[i - 3]);
        predictor_file file = {0};
        ft_error error;
        assert_int_equal(predictor_file_decode(bytes.data, bytes.length, &file, &error), FT_OK);
        assert_int_equal(json_integer_value(json_object_get(file.root, "a")), 1);
        assert_int_equal(json_integer_value(json_object_get(file.root, "b")), 2);
        assert_true(json_is_null(json_object_get(file.root, "accuracy")) == (i < 3));
        assert_non_null(strstr(file.text, "accuracy"));
        if (i == 3) assert_int_equal(json_array_size(json_object_get(json_object_get(file.root, "in"), "accuracy")), 3);
        predictor_file_free(&file);
        buf_free(&bytes);
    }
}

/* The layout is a promise: docs/formats/predictor.md. */
static void layout(void **state) {
    (void)state;
    buf bytes = make("{}");
    static const unsigned char expected[] = {0x89, 'F', 'T', 'M', '\r', '\n', 0x1a, '\n', 1,   0,   0,    0,
                                             4,    3,   2,   1,   8,    0,    0,    0,    0,   0,   0,    0,
                                             5,    0,   0,   0,   0,    0,    0,    0,    '{', '}', '\n', ' ',
                                             ' ',  ' ', ' ', ' ', 0,    0,    0,    0,    0,   0,   0xc0, 0xbf};
    assert_int_equal(bytes.length, 32 + 8 + 20 + 16);
    assert_memory_equal(bytes.data, expected, sizeof expected);
    buf_free(&bytes);
}

static void other_files_are_refused(void **state) {
    (void)state;
    buf bytes = make("{\"a\": 1}");
    refuses("", 0, FT_ERR_FORMAT, "is not a predictor file");
    refuses("hello, I am some text", 21, FT_ERR_FORMAT, "is not a predictor file");
    bytes.data[5] = '\r'; /* what a conversion of line ends does */
    refuses(bytes.data, bytes.length, FT_ERR_FORMAT, "is not a predictor file");
    bytes.data[5] = '\n';
    bytes.data[8] = 2;
    refuses(bytes.data, bytes.length, FT_ERR_UNSUPPORTED, "version 2; this foretell reads 1");
    bytes.data[8] = 0;
    refuses(bytes.data, bytes.length, FT_ERR_DAMAGED, "first 16 bytes");
    bytes.data[8] = 1;
    bytes.data[12] = 1;
    refuses(bytes.data, bytes.length, FT_ERR_DAMAGED, "first 16 bytes");
    buf_free(&bytes);
}

static void truncated_files_are_refused(void **state) {
    (void)state;
    buf bytes = make("{\"a\": 1}");
    for (size_t size = 1; size < bytes.length; size++) {
        uint8_t *cut = malloc(size); /* its own piece, so that sanitizers see a step too far */
        assert_non_null(cut);
        memcpy(cut, bytes.data, size);
        refuses(cut, size, FT_ERR_DAMAGED, "is truncated");
        free(cut);
    }
    buf_add(&bytes, "x", 1);
    refuses(bytes.data, bytes.length, FT_ERR_DAMAGED, "should end after");
    buf_free(&bytes);
}

static void every_flipped_bit_is_detected(void **state) {
    (void)state;
    buf bytes = make("{\"a\": 1}");
    predictor_file file = {0};
    for (size_t i = 0; i < bytes.length * 8; i++) {
        bytes.data[i / 8] = (char)(bytes.data[i / 8] ^ 1 << i % 8);
        assert_int_not_equal(predictor_file_decode(bytes.data, bytes.length, &file, NULL), FT_OK);
        bytes.data[i / 8] = (char)(bytes.data[i / 8] ^ 1 << i % 8);
    }
    assert_int_equal(predictor_file_decode(bytes.data, bytes.length, &file, NULL), FT_OK);
    predictor_file_free(&file);
    buf_free(&bytes);
}

static void malformed_headers_with_a_valid_hash_are_refused(void **state) {
    (void)state;
    buf bytes = make("{\"a\": 1}");
    bytes.data[32] = '[';
    refuses(bytes.data, bytes.length, FT_ERR_DAMAGED, "checksum");
    seal(&bytes);
    refuses(bytes.data, bytes.length, FT_ERR_DAMAGED, "header: line 2");
    buf_free(&bytes);
    bytes = make("[1]");
    refuses(bytes.data, bytes.length, FT_ERR_DAMAGED, "header: is a list, but an object");
    buf_free(&bytes);
    bytes = make("{}");
    memcpy(bytes.data + 40, "\x00\x00\x80\x7f", 4);
    seal(&bytes);
    refuses(bytes.data, bytes.length, FT_ERR_DAMAGED, "number 0 of the model is inf, but at most 1e+18");
    buf_free(&bytes);
    bytes = make("{}");
    memset(bytes.data + 24, 0xff, 8);
    refuses(bytes.data, bytes.length, FT_ERR_LIMIT, "at most");
    memset(bytes.data + 16, 0xff, 8);
    refuses(bytes.data, bytes.length, FT_ERR_LIMIT, "at most");
    buf_free(&bytes);
}

static void non_finite_floats_are_not_written(void **state) {
    (void)state;
    float bad[] = {1, NAN};
    buf bytes = {0};
    ft_error error;
    json_t *root = json_object();
    assert_int_equal(predictor_file_encode(root, bad, 2, &bytes, &error), FT_ERR_DAMAGED);
    assert_int_equal(bytes.length, 0);
    json_decref(root);
}

static void memory_runs_out(void **state) {
    (void)state;
    buf bytes = make("{\"a\": {\"b\": [1, \"c\"]}}");
    for (long n = 0;; n++) {
        predictor_file file = {0};
        buf again = {0};
        failing_start(n);
        ft_status status = predictor_file_decode(bytes.data, bytes.length, &file, NULL);
        if (status == FT_OK) status = predictor_file_encode(file.root, file.block, file.count, &again, NULL);
        bool has_failed = failing_stop();
        predictor_file_free(&file);
        buf_free(&again);
        if (!has_failed) break;
        assert_true(status == FT_ERR_NOMEM || status == FT_ERR_DAMAGED); /* jansson takes a failure for a wrong token */
    }
    buf_free(&bytes);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(decoding_restores_what_was_encoded),
        cmocka_unit_test(scores_are_only_in_the_text),
        cmocka_unit_test(layout),
        cmocka_unit_test(other_files_are_refused),
        cmocka_unit_test(truncated_files_are_refused),
        cmocka_unit_test(every_flipped_bit_is_detected),
        cmocka_unit_test(malformed_headers_with_a_valid_hash_are_refused),
        cmocka_unit_test(non_finite_floats_are_not_written),
        cmocka_unit_test(memory_runs_out),
    };
    return cmocka_run_group_tests_name("predictor/file", tests, NULL, NULL);
}
