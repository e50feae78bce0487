/* outfile.h - a file, or a folder of files, that appears whole or not at all.
 *
 * Everything is written beside its place under a temporary name, flushed to the disk, and renamed. Every write is
 * checked, so a full disk is an error and what was there before still is. */
#ifndef BASE_OUTFILE_H
#define BASE_OUTFILE_H

#include <stdbool.h>
#include <stdio.h>

#include "foretell/status.h"

typedef struct outfile {
    FILE *stream;
    char *path, *temporary;
} outfile;

ft_status outfile_open(const char *path, outfile *out, ft_error *error);
ft_status outfile_commit(outfile *out, ft_error *error); /* also after it: outfile_discard does nothing */
void outfile_discard(outfile *out);
/* All at once. */
ft_status outfile_write(const char *path, const void *bytes, size_t size, ft_error *error);

/* A new folder: fill out->temporary, then commit. A folder that is there already is an error. */
typedef struct outfolder {
    char *path, *temporary;
} outfolder;

ft_status outfolder_open(const char *path, outfolder *out, ft_error *error);
ft_status outfolder_commit(outfolder *out, ft_error *error);
void outfolder_discard(outfolder *out); /* removes what is in it */

#endif
