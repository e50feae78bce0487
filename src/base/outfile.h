/* outfile.h - atomic output: a file (foretell/outfile.h), or a folder of files, appears complete or not at all. */
#ifndef BASE_OUTFILE_H
#define BASE_OUTFILE_H

#include <stdbool.h>
#include <stdio.h>

#include "foretell/outfile.h"

typedef ft_outfile outfile;

ft_status outfile_open(const char *path, outfile *out, ft_error *error);
ft_status outfile_commit(outfile *out, ft_error *error); /* outfile_discard is a no-op after it */
void outfile_discard(outfile *out);
/* Writes a whole file. */
ft_status outfile_write(const char *path, const void *bytes, size_t size, ft_error *error);

/* A new folder: write into out->temporary, then commit. An existing folder is an error. */
typedef struct outfolder {
    char *path, *temporary;
    int lock; /* held while the folder is temporary */
} outfolder;

ft_status outfolder_open(const char *path, outfolder *out, ft_error *error);
ft_status outfolder_commit(outfolder *out, ft_error *error);
void outfolder_discard(outfolder *out); /* removes its contents */

#endif
