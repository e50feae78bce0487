/* Tests of journals: entries are read back, also from a truncated file; a journal of another search is an error. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/input.h"
#include "base/outfile.h"
#include "learn/search/journal.h"
#include "support/failing.h"
#include "support/folder.h"

static json_t *header(const char *family) {
    return json_pack("{s:i, s:s, s:f}", "foretell_journal", JOURNAL_VERSION, "family", family, "hi", 0.1);
}

static ft_status reopen(journal *j, const char *family, bool is_resumed, ft_error *error) {
    json_t *about = header(family);
    ft_status status = journal_open(j, "rung", "journal.jsonl", about, is_resumed, error);
    json_decref(about);
    return status;
}

static void add(journal *j, uint32_t trial, uint32_t rung, double objective, const char *why) {
    ft_error error;
    json_t *config = json_pack("{s:i, s:f}", "depth", (int)trial, "rate", 0.1 + trial);
    const journal_entry entry = {
        .trial = trial, .round = rung, .config = config, .objective = objective, .error = why, .seconds = 1.5};
    assert_int_equal(journal_add(j, &entry, &error), FT_OK);
    json_decref(config);
}

static void write_three(void) {
    journal j;
    ft_error error;
    assert_int_equal(reopen(&j, "flops", false, &error), FT_OK);
    add(&j, 0, 0, 4.25, NULL);
    add(&j, 1, 0, NAN, "diverged: \"loss\"\n is \xff");
    add(&j, 2, 1, 0.1 + 0.2, NULL);
    assert_int_equal(j.count, 3);
    journal_close(&j);
}

static void comes_back(void **state) {
    (void)state;
    journal j;
    ft_error error;
    write_three();
    assert_int_equal(reopen(&j, "flops", true, &error), FT_OK);
    assert_int_equal(j.count, 3);
    const journal_entry *third = journal_find(&j, 2, 1), *second = journal_find(&j, 1, 0);
    assert_true(third->objective == 0.1 + 0.2 && third->error == NULL && third->seconds == 1.5);
    assert_true(json_number_value(json_object_get(third->config, "rate")) == 2.1);
    assert_true(isnan(second->objective) && second->error != NULL);
    assert_null(journal_find(&j, 2, 0));
    journal_close(&j);
}

static void others_are_refused(void **state) {
    (void)state;
    journal j;
    ft_error error;
    write_three();
    assert_int_equal(reopen(&j, "flops", false, &error), FT_ERR_USAGE);
    assert_non_null(strstr(error.message, "exists already"));
    assert_int_equal(reopen(&j, "roofline", true, &error), FT_ERR_USAGE);
    assert_string_equal(error.message, "journal.jsonl: belongs to another search: its family was \"flops\", now it is "
                                       "\"roofline\": use the same data and "
                                       "options, or another folder");
    assert_int_equal(reopen(&j, "flops", true, &error), FT_OK);
    journal second;
    assert_int_equal(reopen(&second, "flops", true, &error), FT_ERR_USAGE);
    assert_non_null(strstr(error.message, "another process"));
    journal_close(&j);
}

/* Cut at every byte: whole lines are there, half a line is gone, and it goes on. */
/* A file that cannot grow further, as on a full disk. */
static void full_disk_is_told_with_its_place(void **state) {
    (void)state;
    journal j;
    ft_error error;
    struct rlimit old, small;
    json_t *config = json_pack("{}");
    assert_int_equal(reopen(&j, "flops", false, &error), FT_OK);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    small = (struct rlimit){.rlim_cur = 1, .rlim_max = old.rlim_max};
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    ft_status status = journal_add(&j, &(journal_entry){.config = config}, &error);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
    assert_int_equal(status, FT_ERR_IO);
    assert_string_equal(error.message, "journal.jsonl: cannot write: File too large");
    journal_close(&j);
    json_decref(config);
}

static void cut_anywhere_it_goes_on(void **state) {
    (void)state;
    input in;
    ft_error error;
    write_three();
    assert_int_equal(input_open("journal.jsonl", 1 << 20, &in, &error), FT_OK);
    for (size_t size = 0; size <= in.size; size++) {
        journal j;
        uint32_t lines = 0;
        for (size_t i = 0; i < size; i++) lines += in.bytes[i] == '\n';
        unlink("cut.jsonl");
        assert_int_equal(outfile_write("cut.jsonl", in.bytes, size, &error), FT_OK);
        json_t *about = header("flops");
        ft_status status = journal_open(&j, "rung", "cut.jsonl", about, true, &error);
        json_decref(about);
        if (status != FT_OK) print_message("%zu: %s\n", size, error.message);
        assert_int_equal(status, FT_OK);
        assert_int_equal(j.count, lines > 0 ? lines - 1 : 0);
        add(&j, 9, 0, 1, NULL);
        journal_close(&j);
        size_t whole;
        input again;
        assert_int_equal(input_open("cut.jsonl", 1 << 20, &again, &error), FT_OK);
        assert_int_equal(journal_read(&j, "rung", (const char *)again.bytes, again.size, &whole, &error), FT_OK);
        assert_int_equal(whole, again.size);
        assert_int_equal(j.count, lines > 0 ? lines : 1);
        journal_close(&j);
        input_close(&again);
    }
    input_close(&in);
}

static void damage_is_reported_by_line(void **state) {
    (void)state;
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"{}\n", "line 1: not the header of a journal"},
        {"[]\n", "line 1: is a list, but an object is expected"},
        {"{\"foretell_journal\": 2}\n", "line 1: a journal of version 2; this foretell reads version 1"},
        {"{\"foretell_journal\": 1}\n{\"trial\": -1}\n", "line 2: 'trial': is -1, but must be from 0 to 4294967295"},
        {"{\"foretell_journal\": 1}\n{\"trial\": 1, \"rung\": 0}\n",
         "line 2: 'config' is absent, but an object is expected"},
        {"{\"foretell_journal\": 1}\n{\"trial\": 1, \"rung\": 0, \"config\": {}}\n",
         "line 2: must have either an 'objective' or an 'error'"},
        {"{\"foretell_journal\": 1}\n{\"trial\": 1, \"rung\": 0, \"config\": {}, \"objective\": 1, \"error\": \"x\"}\n",
         "line 2: must have either an 'objective' or an 'error'"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        journal j;
        ft_error error;
        size_t whole;
        assert_int_not_equal(journal_read(&j, "rung", cases[i].text, strlen(cases[i].text), &whole, &error), FT_OK);
        assert_string_equal(error.message, cases[i].message);
        journal_close(&j);
    }
}

static void memory_may_run_out(void **state) {
    (void)state;
    input in;
    ft_error error;
    write_three();
    assert_int_equal(input_open("journal.jsonl", 1 << 20, &in, &error), FT_OK);
    for (long n = 0;; n++) {
        journal j;
        size_t whole;
        failing_start(n);
        ft_status status = journal_read(&j, "rung", (const char *)in.bytes, in.size, &whole, &error);
        bool has_failed = failing_stop();
        journal_close(&j);
        assert_true(status == FT_OK || has_failed);
        if (!has_failed) break;
    }
    input_close(&in);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(comes_back, folder_enter, folder_leave),
        cmocka_unit_test_setup_teardown(others_are_refused, folder_enter, folder_leave),
        cmocka_unit_test_setup_teardown(full_disk_is_told_with_its_place, folder_enter, folder_leave),
        cmocka_unit_test_setup_teardown(cut_anywhere_it_goes_on, folder_enter, folder_leave),
        cmocka_unit_test(damage_is_reported_by_line),
        cmocka_unit_test_setup_teardown(memory_may_run_out, folder_enter, folder_leave)};
    return cmocka_run_group_tests_name("learn/journal", tests, NULL, NULL);
}
