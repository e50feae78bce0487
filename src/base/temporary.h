/* temporary.h - temporary files and folders beside the one that they become: "PATH.HOST-PID-NUMBER.tmp".
 *
 * The process that writes one holds a lock on it (flock), which ends with the process, however it ends. So the next one
 * that writes to the same path recognises and removes what killed processes left. HOST is a hash of the host's name:
 * locks of other hosts are not always visible on network file systems. */
#ifndef BASE_TEMPORARY_H
#define BASE_TEMPORARY_H

#include <stdbool.h>

#include "foretell/status.h"

typedef struct temporary {
    char *path;
    int file; /* open for writing, or the folder; holds the lock */
} temporary;

/* Removes leftovers, and creates a new file or folder. */
ft_status temporary_new(const char *of, bool is_folder, temporary *made, ft_error *error);
/* Removes a file, or a folder with its contents. */
void temporary_remove(const char *path);

#endif
