/* folder.c - makes and removes the folder of a test. */
#include "support/folder.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/outfile.h"

int folder_enter(void **state) {
    char *folder = strdup("/tmp/foretell-test-XXXXXX");
    if (folder == NULL || mkdtemp(folder) == NULL || chdir(folder) != 0) return -1;
    *state = folder;
    return 0;
}

int folder_leave(void **state) {
    outfolder rest = {.temporary = *state};
    outfolder_discard(&rest); /* frees the name as well */
    return chdir("/");
}
