/* program_walk.h - visits the records of tuning logs, for the actions of `foretell program`; counts lines that are not
 * programs. */
#ifndef CLI_PROGRAM_WALK_H
#define CLI_PROGRAM_WALK_H

#include "cli.h"

typedef ft_status program_visit(void *user, const char *path, const ft_program_log *log,
                                const ft_program_record *record, ft_error *error);

enum { PROGRAM_WALK_ASIDE = 64 };

typedef struct program_walk program_walk;

struct program_walk {
    program_visit *visit;
    /* For visitors that collect records: handles those collected so far, and reports lines by program_walk_fail. Called
     * for every PROGRAM_WALK_ASIDE records, before a message about a later line, and at the end of a log. May be NULL.
     */
    ft_status (*flush)(void *user, program_walk *w);
    void *user;
    const output *out; /* where visitors write */
    uint64_t every;    /* of a log without a line: every N-th record */
    bool is_strict;    /* the first line that is no program ends it */
    bool is_quiet;
    uint64_t seen, bad; /* lines so far */
    uint64_t line;      /* the only one to visit; 0: all */
    uint32_t aside;     /* visited since the last flush */
};

/* Visits "log:17", line 17 of a log, or "log", all of it; the text is left as the path alone, which visitors may keep.
 * Prints messages itself. */
ft_status program_walk_log(program_walk *w, char *path);
/* Reports a line that is not a program; FT_OK: the walk continues. */
ft_status program_walk_fail(program_walk *w, ft_status status, const ft_error *error);
/* The status of all logs: FT_ERR_PARTIAL when some lines were not programs. */
ft_status program_walk_end(const program_walk *w);

#endif
