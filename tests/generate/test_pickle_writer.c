/* Tests of the pickle writer: our own decoder, which is tested on real pickles, finds what was written. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "generate/pickle_writer.h"
#include "read/pickle/pickle.h"

static void test_values(void **state) {
    (void)state;
    static const int64_t ints[] = {0, 255, 256, 65535, 65536, INT32_MAX, INT64_C(1) << 31, -1, INT64_MIN, INT64_MAX};
    enum { COUNT = sizeof ints / sizeof ints[0] };
    pickle_writer w;
    buf out = {0};
    pickle p;
    ft_error error;
    pickle_writer_begin(&w, &out);
    pickle_put_dict(&w);
    pickle_put_items_begin(&w);
    for (size_t i = 0; i < COUNT; i++) {
        pickle_put_int(&w, (int64_t)i);
        pickle_put_int(&w, ints[i]);
    }
    pickle_put_string(&w, "float");
    pickle_put_float(&w, -1.25e-300);
    pickle_put_items_end(&w);
    pickle_writer_end(&w);
    assert_int_equal(pickle_decode((const uint8_t *)out.data, out.length, &p, &error), FT_OK);
    assert_int_equal(p.root->count, COUNT + 1);
    for (size_t i = 0; i < COUNT; i++) {
        assert_int_equal(p.root->items[2 * i + 1]->kind, PICKLE_INT);
        assert_true(p.root->items[2 * i + 1]->i == ints[i]);
    }
    assert_true(pickle_get(p.root, "float")->f == -1.25e-300);
    pickle_free(&p);
    buf_free(&out);
}

/* Python writes the shortest form: one byte, two, four with a sign, or eight. */
static void whole_numbers_have_the_shortest_form(void **state) {
    (void)state;
    static const struct {
        int64_t value;
        const char *bytes;
        size_t size;
    } all[] = {{0, "K\0", 2},
               {255, "K\xff", 2},
               {256, "M\0\1", 3},
               {65535, "M\xff\xff", 3},
               {65536, "J\0\0\1\0", 5},
               {INT32_MAX, "J\xff\xff\xff\x7f", 5},
               {-1, "J\xff\xff\xff\xff", 5},
               {INT32_MIN, "J\0\0\0\x80", 5},
               {INT64_C(1) << 31, "\x8a\x08\0\0\0\x80\0\0\0\0", 10},
               {INT64_C(-2147483649), "\x8a\x08\xff\xff\xff\x7f\xff\xff\xff\xff", 10}};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        pickle_writer w;
        buf out = {0};
        pickle_writer_begin(&w, &out);
        size_t before = out.length;
        pickle_put_int(&w, all[i].value);
        assert_int_equal(out.length - before, all[i].size);
        assert_memory_equal(out.data + before, all[i].bytes, all[i].size);
        buf_free(&out);
    }
}

/* A repeated string is a memo reference; a repeated dict is the same object; also beyond memo 256. */
static void test_memory(void **state) {
    (void)state;
    static const char word[] = "a word", other[] = "another";
    pickle_writer w;
    buf out = {0};
    pickle p;
    ft_error error;
    uint32_t last = 0;
    pickle_writer_begin(&w, &out);
    pickle_put_dict(&w);
    pickle_put_items_begin(&w);
    for (int64_t i = 0; i < 300; i++) {
        pickle_put_int(&w, i);
        last = pickle_put_dict(&w);
    }
    pickle_put_interned(&w, other);
    pickle_put_memo(&w, last);
    pickle_put_interned(&w, word);
    pickle_put_interned(&w, word);
    pickle_put_int(&w, 500);
    pickle_put_interned(&w, other);
    pickle_put_items_end(&w);
    pickle_writer_end(&w);
    assert_int_equal(pickle_decode((const uint8_t *)out.data, out.length, &p, &error), FT_OK);
    assert_ptr_equal(pickle_get(p.root, other), p.root->items[2 * 299 + 1]);
    assert_string_equal(pickle_get(p.root, word)->s, word);
    assert_string_equal(p.root->items[2 * 302 + 1]->s, other);
    const char *first = memmem(out.data, out.length, word, strlen(word));
    assert_non_null(first);
    assert_null(memmem(first + 1, out.length - (size_t)(first + 1 - out.data), word, strlen(word)));
    pickle_free(&p);
    buf_free(&out);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values),
        cmocka_unit_test(whole_numbers_have_the_shortest_form),
        cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests_name("generate/pickle_writer", tests, NULL, NULL);
}
