/* Tests of atomic output of files and folders. */
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
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/outfile.h"
#include "support/failing.h"
#include "support/folder.h"

static void test_file_appears_at_commit(void **state) {
    (void)state;
    outfile out;
    ft_error error;
    assert_int_equal(outfile_open("a.txt", &out, &error), FT_OK);
    fputs("hello", out.stream);
    assert_int_not_equal(access("a.txt", F_OK), 0);
    assert_int_equal(outfile_commit(&out, &error), FT_OK);
    outfile_discard(&out);
    folder_expect("a.txt", "hello");
    assert_int_equal(folder_count("."), 1);
}

static void test_discard_keeps_the_old_file(void **state) {
    (void)state;
    outfile out;
    ft_error error;
    assert_int_equal(outfile_write("a.txt", "old", 3, &error), FT_OK);
    assert_int_equal(outfile_open("a.txt", &out, &error), FT_OK);
    fputs("new", out.stream);
    outfile_discard(&out);
    outfile_discard(&out);
    folder_expect("a.txt", "old");
    assert_int_equal(outfile_write("a.txt", "new", 3, &error), FT_OK);
    folder_expect("a.txt", "new");
    assert_int_equal(folder_count("."), 1);
}

static void test_mode_and_link_stay(void **state) {
    (void)state;
    ft_error error;
    struct stat info;
    assert_int_equal(outfile_write("a.txt", "old", 3, &error), FT_OK);
    assert_int_equal(chmod("a.txt", 0640), 0);
    assert_int_equal(symlink("a.txt", "link"), 0);
    assert_int_equal(outfile_write("link", "new", 3, &error), FT_OK);
    folder_expect("a.txt", "new");
    assert_int_equal(lstat("link", &info), 0);
    assert_true(S_ISLNK(info.st_mode));
    assert_int_equal(stat("a.txt", &info), 0);
    assert_int_equal(info.st_mode & 0777, 0640);
}

static void test_paths_that_cannot_be_written(void **state) {
    (void)state;
    ft_error error;
    assert_int_equal(outfile_write("no/such/folder/a.txt", "x", 1, &error), FT_ERR_IO);
    assert_non_null(strstr(error.message, "no/such/folder/a.txt"));
    assert_int_equal(outfile_write(".", "x", 1, &error), FT_ERR_IO);
    assert_non_null(strstr(error.message, "is a folder"));
    if (geteuid() == 0) return; /* root may write anywhere */
    assert_int_equal(outfile_write("a.txt", "x", 1, &error), FT_OK);
    assert_int_equal(chmod("a.txt", 0444), 0);
    assert_int_equal(outfile_write("a.txt", "y", 1, &error), FT_ERR_IO);
    folder_expect("a.txt", "x");
}

/* A device is written to as it is, and its errors are reported. */
static void test_full_device(void **state) {
    (void)state;
    ft_error error;
    struct stat info;
    assert_int_equal(outfile_write("/dev/full", "x", 1, &error), FT_ERR_IO);
    assert_non_null(strstr(error.message, "/dev/full"));
    assert_non_null(strstr(error.message, "No space left"));
    assert_int_equal(outfile_write("/dev/null", "x", 1, &error), FT_OK);
    assert_int_equal(stat("/dev/null", &info), 0);
    assert_true(S_ISCHR(info.st_mode));
}

/* A file that cannot grow further, as on a full disk: the old one stays, and nothing else. */
static void test_disk_full(void **state) {
    (void)state;
    ft_error error;
    struct rlimit old, small;
    char *large = calloc(1, 1 << 20);
    assert_non_null(large);
    assert_int_equal(outfile_write("a.txt", "old", 3, &error), FT_OK);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    small = (struct rlimit){.rlim_cur = 100000, .rlim_max = old.rlim_max};
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    ft_status status = outfile_write("a.txt", large, 1 << 20, &error);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
    assert_int_equal(status, FT_ERR_IO);
    assert_non_null(strstr(error.message, "a.txt: cannot write: File too large"));
    folder_expect("a.txt", "old");
    assert_int_equal(folder_count("."), 1);
    free(large);
}

static void test_folder(void **state) {
    (void)state;
    outfolder out;
    ft_error error;
    assert_int_equal(outfolder_open("set/", &out, &error), FT_OK);
    buf path = {0};
    buf_format(&path, "%s/a.txt", out.temporary);
    assert_int_equal(outfile_write(path.data, "x", 1, &error), FT_OK);
    assert_int_not_equal(access("set", F_OK), 0);
    assert_int_equal(outfolder_commit(&out, &error), FT_OK);
    outfolder_discard(&out);
    folder_expect("set/a.txt", "x");
    assert_int_equal(folder_count("."), 1);
    assert_int_equal(outfolder_open("set", &out, &error), FT_ERR_IO);
    assert_non_null(strstr(error.message, "exists already"));
    buf_free(&path);
}

static void test_folder_discarded(void **state) {
    (void)state;
    outfolder out;
    ft_error error;
    assert_int_equal(outfolder_open("set", &out, &error), FT_OK);
    buf path = {0};
    buf_format(&path, "%s/inner", out.temporary);
    assert_int_equal(mkdir(path.data, 0777), 0);
    buf_text(&path, "/a.txt");
    assert_int_equal(outfile_write(path.data, "x", 1, &error), FT_OK);
    outfolder_discard(&out);
    assert_int_equal(folder_count("."), 0);
    buf_free(&path);
}

/* Another process makes the folder meanwhile: it stays. */
static void test_folder_created_meanwhile(void **state) {
    (void)state;
    outfolder out;
    ft_error error;
    assert_int_equal(outfolder_open("set", &out, &error), FT_OK);
    assert_int_equal(mkdir("set", 0777), 0);
    assert_int_equal(outfolder_commit(&out, &error), FT_ERR_IO);
    assert_non_null(strstr(error.message, "exists already"));
    assert_int_equal(folder_count("."), 1);
}

static void test_folder_in_a_missing_folder(void **state) {
    (void)state;
    outfolder out;
    ft_error error;
    assert_int_equal(outfolder_open("no/such/set", &out, &error), FT_ERR_IO);
    assert_non_null(strstr(error.message, "no/such/set"));
}

static void test_dangling_links_are_followed(void **state) {
    (void)state;
    ft_error error;
    struct stat info;
    assert_int_equal(mkdir("sub", 0777), 0);
    assert_int_equal(symlink("sub/target", "link"), 0);
    assert_int_equal(symlink("../link", "sub/second"), 0); /* a link to a link, from another folder */
    assert_int_equal(outfile_write("sub/second", "new", 3, &error), FT_OK);
    folder_expect("sub/target", "new");
    assert_int_equal(lstat("link", &info), 0);
    assert_true(S_ISLNK(info.st_mode));
    assert_int_equal(symlink("no/such/place", "lost"), 0);
    assert_int_equal(outfile_write("lost", "x", 1, &error), FT_ERR_IO);
    assert_int_equal(symlink("circle", "circle"), 0);
    assert_int_equal(outfile_write("circle", "x", 1, &error), FT_ERR_IO);
    assert_non_null(strstr(error.message, "circle: cannot write"));
}

/* Opens a file and a folder, and is killed. */
static void leave_temporaries(void) {
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        outfile out;
        outfolder folder;
        if (outfile_open("a.txt", &out, NULL) != FT_OK || outfolder_open("made", &folder, NULL) != FT_OK) _exit(1);
        fputs("half", out.stream);
        fflush(out.stream);
        if (chdir(folder.temporary) != 0 || mkdir("inner", 0777) != 0) _exit(1);
        raise(SIGKILL);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

/* What killed processes left is removed by the next one that writes there, and nothing else. */
static void test_leftovers_are_removed(void **state) {
    (void)state;
    outfile live, out;
    outfolder folder;
    ft_error error;
    leave_temporaries();
    assert_int_equal(folder_count("."), 2);
    leave_temporaries(); /* removes those of the first */
    assert_int_equal(folder_count("."), 2);
    assert_int_equal(outfile_open("a.txt", &live, &error), FT_OK);
    assert_int_equal(folder_count("."), 2);
    assert_int_equal(outfolder_open("made", &folder, &error), FT_OK);
    assert_int_equal(folder_count("."), 2);
    /* Others that write, names of other hosts and other files stay. */
    const char *const kept[] = {"a.txt.00000000-1-0.tmp", "a.txt.1-0.tmp", "a.txt.tmp", "b.txt.12345678-1-0.tmp"};
    for (size_t i = 0; i < sizeof kept / sizeof kept[0]; i++) fclose(fopen(kept[i], "w"));
    assert_int_equal(outfile_open("a.txt", &out, &error), FT_OK);
    assert_int_equal(folder_count("."), 7);
    fputs("later", out.stream);
    fputs("first", live.stream);
    assert_int_equal(outfile_commit(&out, &error), FT_OK);
    folder_expect("a.txt", "later");
    assert_int_equal(outfile_commit(&live, &error), FT_OK);
    folder_expect("a.txt", "first");
    assert_int_equal(outfolder_commit(&folder, &error), FT_OK);
    assert_int_equal(folder_count("."), 6);
}

/* Many processes write the same file at once, and some are killed: it is always one of theirs, whole. */
static void test_many_writers(void **state) {
    (void)state;
    enum { WRITERS = 8, TURNS = 40 };
    pid_t children[WRITERS];
    for (int i = 0; i < WRITERS; i++) {
        children[i] = fork();
        if (children[i] > 0) continue;
        for (int turn = 0; turn < TURNS; turn++) {
            if (outfile_write("a.txt", "whole", 5, NULL) != FT_OK) _exit(1);
            outfile out;
            if (i == 0 && turn == TURNS / 2 && outfile_open("a.txt", &out, NULL) == FT_OK) raise(SIGKILL);
        }
        _exit(0);
    }
    for (int i = 0; i < WRITERS; i++) {
        int status;
        assert_int_equal(waitpid(children[i], &status, 0), children[i]);
        assert_true(i == 0 ? WIFSIGNALED(status) : WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    assert_int_equal(outfile_write("a.txt", "whole", 5, NULL), FT_OK);
    folder_expect("a.txt", "whole");
    assert_int_equal(folder_count("."), 1);
}

static void test_out_of_memory(void **state) {
    (void)state;
    for (long n = 0;; n++) {
        ft_error error;
        failing_start(n);
        ft_status status = outfile_write("a.txt", "x", 1, &error);
        if (!failing_stop()) break;
        if (status != FT_OK) assert_int_equal(status, FT_ERR_NOMEM);
    }
    assert_int_equal(folder_count("."), 1);
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, folder_enter, folder_leave)

int main(void) {
    const struct CMUnitTest tests[] = {
        IN_FOLDER(test_file_appears_at_commit),
        IN_FOLDER(test_discard_keeps_the_old_file),
        IN_FOLDER(test_mode_and_link_stay),
        IN_FOLDER(test_paths_that_cannot_be_written),
        IN_FOLDER(test_full_device),
        IN_FOLDER(test_disk_full),
        IN_FOLDER(test_folder),
        IN_FOLDER(test_folder_discarded),
        IN_FOLDER(test_folder_created_meanwhile),
        IN_FOLDER(test_folder_in_a_missing_folder),
        IN_FOLDER(test_dangling_links_are_followed),
        IN_FOLDER(test_leftovers_are_removed),
        IN_FOLDER(test_many_writers),
        IN_FOLDER(test_out_of_memory),
    };
    return cmocka_run_group_tests_name("base/outfile", tests, NULL, NULL);
}
