/* program_walk.h - one way through tuning logs for the actions of `foretell program`: which records are meant, and what
 * happens to lines that are none. */
#ifndef CLI_PROGRAM_WALK_H
#define CLI_PROGRAM_WALK_H

#include "cli.h"

typedef ft_status program_visit(void *user, const char *path, const ft_program_log *log,
                                const ft_program_record *record, ft_error *error);

enum { PROGRAM_WALK_ASIDE = 64 };

typedef struct program_walk program_walk;

struct program_walk {
    program_visit *visit;
    /* For visitors that put records aside: deals with them, and tells of lines by program_walk_fail. Called when there
     * are PROGRAM_WALK_ASIDE, before anything is told of a later line, and at the end of a log. May be NULL. */
    ft_status (*flush)(void *user, program_walk *w);
    void *user;
    const output *out; /* where visitors write */
    uint64_t every;    /* of a log without a line: every N-th record */
    bool is_strict;    /* the first line that is no program ends it */
    bool is_quiet;
    uint64_t seen, bad; /* lines so far */
    uint64_t line;      /* the one that is asked for; 0: all */
    uint32_t aside;     /* visited since the last flush */
};

/* Visits "log:17", line 17 of a log, or "log", all of it; the text is left as the path alone, which visitors may keep.
 * Tells people itself what goes wrong. */
ft_status program_walk_log(program_walk *w, char *text);
/* Tells people of a line that is no program; FT_OK when the walk goes on. */
ft_status program_walk_fail(program_walk *w, ft_status status, const ft_error *error);
/* What all logs came to: FT_ERR_PARTIAL when some lines were no programs. */
ft_status program_walk_end(const program_walk *w);

#endif
