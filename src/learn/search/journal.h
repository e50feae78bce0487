/* journal.h - what a search has found out so far, a JSON object a line, so that it can go on after anything.
 *
 *     {"foretell_journal": 1, "what": "tune", ...}                      what is searched: one journal, one search
 *     {"trial": 3, "rung": 0, "config": {...}, "objective": 4.31, "seconds": 2.5}
 *     {"trial": 4, "rung": 0, "config": {...}, "error": "..."}          a training that failed
 *
 * Lines are added as trainings end, so their order depends on timing; what they say does not. A journal that was cut
 * off anywhere is read up to its last whole line. */
#ifndef LEARN_JOURNAL_H
#define LEARN_JOURNAL_H

#include <stdio.h>

#include "base/json.h"

enum { JOURNAL_VERSION = 1, JOURNAL_MAX_BYTES = 1 << 30 };

/* What one training came to. Everything is borrowed from the journal. */
typedef struct journal_entry {
    uint32_t trial, turn;
    const json_t *config;
    double objective;  /* NaN: it failed, */
    const char *error; /* and why; else NULL */
    double seconds;
} journal_entry;

typedef struct journal {
    const char *turn_name; /* what the second number is: "rung", "seed" */
    json_t *header;        /* NULL in a journal that has no whole line */
    json_t *lines;         /* a list */
    journal_entry *entries;
    uint32_t count, capacity;
    FILE *file;
    char *path; /* of the file, for messages */
} journal;

/* Reads a journal from memory; *whole is where its last whole line ends. It has to be closed whatever comes back. */
ft_status journal_read(journal *j, const char *turn_name, const char *text, size_t size, size_t *whole,
                       ft_error *error);

/* Opens the journal at `path` to add to it. `header` is what is searched: a new file begins with it, and one that is
 * there (which is an error unless `is_resumed`) has to begin with the same. Only one process at a time. */
ft_status journal_open(journal *j, const char *turn_name, const char *path, const json_t *header, bool is_resumed,
                       ft_error *error);
void journal_close(journal *j);

/* Adds an entry, which is copied, and brings it to the disk. */
ft_status journal_add(journal *j, const journal_entry *entry, ft_error *error);
/* NULL when there is none. */
const journal_entry *journal_find(const journal *j, uint32_t trial, uint32_t turn);

#endif
