/* adapt_rows.h - which records a predictor is adapted to, and which are held out to see what that is worth.
 *
 * Models are chosen whole: a graph that is learned from on one device is held out on none. Of tensor programs, whole
 * tasks are chosen (units.h). */
#ifndef LEARN_ADAPT_ROWS_H
#define LEARN_ADAPT_ROWS_H

#include "base/arena.h"
#include "foretell/adapt.h"
#include "learn/adapt/units.h"
#include "predictor/core/predictor.h"

enum { ADAPT_MOST_NOTES = 16, ADAPT_MOST_DEVICES = 256 };

typedef struct adapt_notes {
    arena *memory;
    const char *items[ADAPT_MOST_NOTES];
    uint32_t count;
} adapt_notes;

/* Past the most there may be, and without memory, nothing is noted. */
void adapt_note(adapt_notes *notes, const char *format, ...) __attribute__((format(printf, 2, 3)));

typedef struct adapt_rows {
    const ft_dataset *data;
    uint32_t column;      /* of the metric */
    const char **devices; /* to adapt to, sorted; names of the data set */
    uint32_t device_count;
    fit_row *learned; /* by record; device: of `devices` */
    uint32_t learned_count;
    units units;
    uint32_t model_count; /* units that are learned from */
    uint32_t *models;     /* the units, in the order in which they were chosen */
    double *weights;      /* per unit: how much it stands for; 1 where no list tells */
    ft_split held;        /* its test part is held out; parts from the arena */
    uint32_t held_count;
} adapt_rows;

/* How much what is measured of a graph stands for. */
static inline double adapt_weight(const adapt_rows *rows, uint32_t graph) {
    return rows->weights[rows->units.of[graph]];
}

ft_status adapt_rows_make(const ft_predictor *from, const ft_dataset *data, const ft_adapt_options *options,
                          arena *memory, adapt_notes *notes, adapt_rows *rows, ft_error *error);

/* Which records a split leaves to choose from: those that nothing was trained on. NULL: all. From the arena. The split
 * is the one that is named, or else the one that the predictor was trained with on this very data set. */
typedef struct open_records {
    const uint8_t *parts; /* per record an ft_split_part; NULL: there is no split */
    char spec[256];
} open_records;

ft_status open_records_find(const ft_predictor *from, const ft_dataset *data, const char *split, uint64_t seed,
                            arena *memory, open_records *open, ft_error *error);

/* Whether a name is in a list; an empty list has all. */
bool is_listed(const char *const *names, uint32_t count, const char *name);

#endif
