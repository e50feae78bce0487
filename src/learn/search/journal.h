/* journal.h - the journal of a search: one JSON object a line per finished training, from which a search is resumed.
 *
 *     {"foretell_journal": 1, "what": "tune", ...}                      header: identifies the search
 *     {"trial": 3, "rung": 0, "config": {...}, "objective": 4.31, "seconds": 2.5}
 *     {"trial": 4, "rung": 0, "config": {...}, "error": "..."}          a failed training
 *
 * Lines are added as trainings end, so their order depends on timing; their content does not. A truncated journal is
 * read up to its last whole line. */
#ifndef LEARN_JOURNAL_H
#define LEARN_JOURNAL_H

#include <stdio.h>

#include "base/json.h"

enum { JOURNAL_VERSION = 1, JOURNAL_MAX_BYTES = 1 << 30 };

/* The outcome of one training. Everything is borrowed from the journal. */
typedef struct journal_entry {
    uint32_t trial, round; /* round: the rung of a search, the seed of an ablation */
    const json_t *config;
    double objective;  /* NaN: failed */
    const char *error; /* the reason of a failure; NULL: none */
    double seconds;
} journal_entry;

typedef struct journal {
    const char *round_name; /* key of the round: "rung" or "seed" */
    json_t *header;         /* NULL in a journal that has no whole line */
    json_t *lines;          /* a list */
    journal_entry *entries;
    uint32_t count, capacity;
    FILE *file;
    char *path; /* of the file, for messages */
} journal;

/* Reads a journal from memory; *whole is the offset at which its last whole line ends. The journal has to be closed
 * even after a failure. */
ft_status journal_read(journal *j, const char *round_name, const char *text, size_t size, size_t *whole,
                       ft_error *error);

/* Opens the journal at `path` for appending. A new file begins with `header`; an existing one (an error unless
 * `is_resumed`) must have an equal header. One process at a time. */
ft_status journal_open(journal *j, const char *round_name, const char *path, const json_t *header, bool is_resumed,
                       ft_error *error);
void journal_close(journal *j);

/* Appends a copy of an entry and syncs the file. */
ft_status journal_add(journal *j, const journal_entry *entry, ft_error *error);
/* NULL when there is none. */
const journal_entry *journal_find(const journal *j, uint32_t trial, uint32_t round);

#endif
