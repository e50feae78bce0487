/* program_walk.h - one way through tuning logs for the actions of `foretell program`: which records are meant, and what
 * happens to lines that are none. */
#ifndef CLI_PROGRAM_WALK_H
#define CLI_PROGRAM_WALK_H

#include "cli.h"

typedef ft_status program_visit(void *user, const char *path, const ft_program_log *log,
                                const ft_program_record *record, ft_error *error);

typedef struct program_walk {
    program_visit *visit;
    void *user;
    const output *out; /* where visitors write */
    uint64_t every;    /* of a log without a line: every N-th record */
    bool is_strict;    /* the first line that is no program ends it */
    bool is_quiet;
    uint64_t seen, bad; /* lines so far */
} program_walk;

/* Visits "log:17", line 17 of a log, or "log", all of it; the text is left as the path alone, which visitors may keep.
 * Tells people itself what goes wrong. */
ft_status program_walk_log(program_walk *w, char *text);
/* What all logs came to: FT_ERR_PARTIAL when some lines were no programs. */
ft_status program_walk_end(const program_walk *w);

#endif
