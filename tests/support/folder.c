/* folder.c - makes and removes the folder of a test. */
#include "support/folder.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/input.h"
#include "base/outfile.h"

/* In memory where possible: flushing files to a busy disk is slow. */
static const char *template_path(void) {
    return access("/dev/shm", W_OK | X_OK) == 0 ? "/dev/shm/foretell-test-XXXXXX" : "/tmp/foretell-test-XXXXXX";
}

/* The working folder before; tests of the same program may read files from there. */
static char *before;

int folder_enter(void **state) {
    char *folder = strdup(template_path());
    before = getcwd(NULL, 0);
    if (before == NULL || folder == NULL || mkdtemp(folder) == NULL || chdir(folder) != 0) return -1;
    *state = folder;
    return 0;
}

int folder_leave(void **state) {
    outfolder rest = {.temporary = *state};
    outfolder_discard(&rest); /* frees the name as well */
    int status = chdir(before);
    free(before);
    before = NULL;
    return status;
}

int folder_count(const char *folder) {
    DIR *entries = opendir(folder);
    if (entries == NULL) return -1;
    int count = 0;
    for (struct dirent *entry = readdir(entries); entry != NULL; entry = readdir(entries))
        count += entry->d_name[0] != '.';
    closedir(entries);
    return count;
}

void folder_expect(const char *path, const char *text) {
    input in;
    ft_error error;
    assert_int_equal(input_open(path, 1 << 20, &in, &error), FT_OK);
    assert_int_equal(in.size, strlen(text));
    assert_memory_equal(in.bytes, text, in.size);
    input_close(&in);
}
