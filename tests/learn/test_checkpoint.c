/* Tests of checkpoints: a state is read back unchanged, and damaged or foreign files are rejected. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/input.h"
#include "base/outfile.h"
#include "learn/train/checkpoint.h"
#include "support/failing.h"
#include "support/folder.h"

static const hash128 run = {.low = 1, .high = 2};
static const char path[] = "checkpoint.bin";

static void expect_state(const char *text) {
    void *found;
    size_t size;
    ft_error error;
    assert_int_equal(checkpoint_read(path, run, &found, &size, &error), FT_OK);
    assert_non_null(found);
    assert_int_equal(size, strlen(text));
    assert_memory_equal(found, text, size);
    free(found);
}

static void test_round_trip(void **state) {
    (void)state;
    ft_error error;
    assert_int_equal(checkpoint_write(path, run, "first", 5, &error), FT_OK);
    expect_state("first");
    assert_int_equal(checkpoint_write(path, run, "the second", 10, &error), FT_OK);
    expect_state("the second");
    assert_int_equal(checkpoint_write(path, run, NULL, 0, &error), FT_OK);
    expect_state("");
}

static void test_none_is_no_failure(void **state) {
    (void)state;
    void *found = &found;
    size_t size;
    assert_int_equal(checkpoint_read("absent.bin", run, &found, &size, NULL), FT_OK);
    assert_null(found);
}

static void test_of_another_run(void **state) {
    (void)state;
    void *found;
    size_t size;
    ft_error error;
    assert_int_equal(checkpoint_write(path, (hash128){.low = 1, .high = 3}, "state", 5, &error), FT_OK);
    assert_int_equal(checkpoint_read(path, run, &found, &size, &error), FT_ERR_USAGE);
    assert_non_null(strstr(error.message, "another run"));
    assert_non_null(strstr(error.message, path));
    assert_null(found);
}

/* Any byte changed, any length cut. */
static void test_damage_is_found(void **state) {
    (void)state;
    ft_error error;
    input in;
    assert_int_equal(checkpoint_write(path, run, "some state", 10, &error), FT_OK);
    assert_int_equal(input_open(path, 1 << 20, &in, &error), FT_OK);
    uint8_t bytes[128];
    size_t size = in.size, found_size;
    const void *found;
    memcpy(bytes, in.bytes, size);
    input_close(&in);
    assert_int_equal(checkpoint_parse(bytes, size, run, &found, &found_size, &error), FT_OK);
    for (size_t i = 0; i < size; i++) {
        bytes[i] ^= 0x10;
        ft_status status = checkpoint_parse(bytes, size, run, &found, &found_size, &error);
        assert_int_equal(status, i < 8 ? FT_ERR_FORMAT : FT_ERR_DAMAGED);
        assert_non_null(strstr(error.message, "remove it to restart"));
        bytes[i] ^= 0x10;
    }
    for (size_t cut = 0; cut < size; cut++)
        assert_int_equal(checkpoint_parse(bytes, cut, run, &found, &found_size, &error), FT_ERR_DAMAGED);
}

static void test_full_disk_keeps_the_one_before(void **state) {
    (void)state;
    ft_error error;
    char large[65536] = {0};
    assert_int_equal(checkpoint_write(path, run, "kept", 4, &error), FT_OK);
    struct rlimit old, small = {.rlim_cur = 4096};
    getrlimit(RLIMIT_FSIZE, &old);
    small.rlim_max = old.rlim_max;
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &small);
    ft_status status = checkpoint_write(path, run, large, sizeof large, &error);
    setrlimit(RLIMIT_FSIZE, &old);
    signal(SIGXFSZ, SIG_DFL);
    assert_int_equal(status, FT_ERR_IO);
    expect_state("kept");
}

static void test_no_memory(void **state) {
    (void)state;
    ft_error error;
    assert_int_equal(checkpoint_write(path, run, "kept", 4, &error), FT_OK);
    for (long n = 0;; n++) {
        failing_start(n);
        ft_status status = checkpoint_write(path, run, "new", 3, &error);
        if (!failing_stop()) break;
        if (status == FT_OK) break; /* syncing may fail */
        assert_int_equal(status, FT_ERR_NOMEM);
        expect_state("kept");
    }
    for (long n = 0;; n++) {
        void *found;
        size_t size;
        failing_start(n);
        ft_status status = checkpoint_read(path, run, &found, &size, &error);
        if (!failing_stop()) {
            free(found);
            break;
        }
        assert_int_equal(status, FT_ERR_NOMEM);
        assert_null(found);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_round_trip, folder_enter, folder_leave),
        cmocka_unit_test_setup_teardown(test_none_is_no_failure, folder_enter, folder_leave),
        cmocka_unit_test_setup_teardown(test_of_another_run, folder_enter, folder_leave),
        cmocka_unit_test_setup_teardown(test_damage_is_found, folder_enter, folder_leave),
        cmocka_unit_test_setup_teardown(test_full_disk_keeps_the_one_before, folder_enter, folder_leave),
        cmocka_unit_test_setup_teardown(test_no_memory, folder_enter, folder_leave),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
