/* outfile.h - output files that appear when they are complete.
 *
 *     ft_outfile out;
 *     if (ft_outfile_open("times.csv", &out, &error) != FT_OK) ...
 *     fprintf(out.stream, ...);
 *     if (ft_outfile_commit(&out, &error) != FT_OK) ...   // or ft_outfile_discard(&out)
 *
 * The bytes go to a temporary file beside the target, which is flushed to disk and renamed. Every write is checked, so
 * a full disk is an error and leaves the old contents in place. A process that is killed leaves its temporary file; the
 * next one that writes to the same path removes it. Links are followed, also those to a file that does not exist yet;
 * pipes and devices are written to directly. */
#ifndef FORETELL_OUTFILE_H
#define FORETELL_OUTFILE_H

#include <stdio.h>

#include "foretell/status.h"

FT_C_BEGIN

typedef struct ft_outfile {
    FILE *stream;
    char *path;      /* of the file that appears */
    char *temporary; /* NULL for pipes and devices */
} ft_outfile;

FT_API ft_status ft_outfile_open(const char *path, ft_outfile *out, ft_error *error);
/* Both close it; ft_outfile_discard does nothing after ft_outfile_commit. */
FT_API ft_status ft_outfile_commit(ft_outfile *out, ft_error *error);
FT_API void ft_outfile_discard(ft_outfile *out);

FT_C_END

#endif
