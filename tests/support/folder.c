/* folder.c - makes and removes the folder of a test. */
#include "support/folder.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/outfile.h"

/* In memory where there is such a place: files are flushed to the disk, which takes long when others use it. */
static const char *where(void) {
    return access("/dev/shm", W_OK | X_OK) == 0 ? "/dev/shm/foretell-test-XXXXXX" : "/tmp/foretell-test-XXXXXX";
}

int folder_enter(void **state) {
    char *folder = strdup(where());
    if (folder == NULL || mkdtemp(folder) == NULL || chdir(folder) != 0) return -1;
    *state = folder;
    return 0;
}

int folder_leave(void **state) {
    outfolder rest = {.temporary = *state};
    outfolder_discard(&rest); /* frees the name as well */
    return chdir("/");
}
