/* adapt_rows.h - selects the records that a predictor is adapted to, and those held out to measure the improvement.
 *
 * Sampling units (models, or tasks of tensor programs) are selected whole: a graph that is learned from on one device
 * is held out on none. */
#ifndef LEARN_ADAPT_ROWS_H
#define LEARN_ADAPT_ROWS_H

#include "base/arena.h"
#include "foretell/adapt.h"
#include "learn/adapt/sampling_units.h"
#include "predictor/core/predictor.h"

enum { ADAPT_MAX_NOTES = 16, ADAPT_MAX_DEVICES = 256 };

/* Remarks for the user, one line each. */
typedef struct adapt_notes {
    arena *memory;
    const char *items[ADAPT_MAX_NOTES];
    uint32_t count;
} adapt_notes;

/* Adds a note; drops it when there are ADAPT_MAX_NOTES already, or no memory. */
void adapt_note(adapt_notes *notes, const char *format, ...) __attribute__((format(printf, 2, 3)));

typedef struct adapt_rows {
    const ft_dataset *data;
    uint32_t column;      /* of the metric */
    const char **devices; /* to adapt to, sorted; names of the data set */
    uint32_t device_count;
    fit_row *learned; /* by record; device: an index of `devices` */
    uint32_t learned_count;
    sampling_units units;
    uint32_t model_count; /* units that are learned from */
    uint32_t *models;     /* these units, in the order of selection */
    double *weights;      /* per unit: the share of the pool that it represents; 1 without a list */
    ft_split held;        /* its test part is held out; parts from the arena */
    uint32_t held_count;
} adapt_rows;

/* The weight of the unit that a graph belongs to. */
static inline double adapt_weight(const adapt_rows *rows, uint32_t graph) {
    return rows->weights[rows->units.of_graph[graph]];
}

ft_status adapt_rows_make(const ft_predictor *from, const ft_dataset *data, const ft_adapt_options *options,
                          arena *memory, adapt_notes *notes, adapt_rows *rows, ft_error *error);

/* The records available for selection: those that nothing was trained on. The split is the one that is named, or else
 * the one that the predictor was trained with on this very data set. Memory is from the arena. */
typedef struct available_records {
    const uint8_t *parts; /* per record an ft_split_part; NULL: there is no split, all are available */
    char spec[256];
} available_records;

ft_status available_records_find(const ft_predictor *from, const ft_dataset *data, const char *split, uint64_t seed,
                                 arena *memory, available_records *available, ft_error *error);

/* Whether a name is in a list; an empty list contains every name. */
bool name_is_listed(const char *const *names, uint32_t count, const char *name);

#endif
