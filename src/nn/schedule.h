/* schedule.h - learning-rate schedules and early stopping.
 *
 * A rate is a function of the step and, for plateau, of the losses reported so far. State is plain data without
 * pointers or padding: it can be saved as bytes. Definitions are those of PyTorch's schedulers. */
#ifndef NN_SCHEDULE_H
#define NN_SCHEDULE_H

#include <stdbool.h>
#include <stdint.h>

#include "foretell/status.h"

typedef enum schedule_kind {
    SCHEDULE_CONSTANT,
    SCHEDULE_STEP,      /* times `factor` every `every` steps */
    SCHEDULE_PLATEAU,   /* times `factor` when losses stop falling */
    SCHEDULE_COSINE,    /* falls from `rate` to `last_rate` along half a cosine */
    SCHEDULE_ONE_CYCLE, /* rises from rate / start_divisor to `rate`, falls to that / end_divisor, along cosines */
    SCHEDULE_CYCLIC,    /* between `low_rate` and `rate`, along straight lines */
} schedule_kind;

typedef struct schedule_options {
    schedule_kind kind;
    double rate; /* highest */
    /* Linear from warmup_ratio * rate to rate; not with one-cycle and cyclic. */
    uint64_t warmup_steps;
    double warmup_ratio;
    uint64_t total_steps; /* cosine, one-cycle: including warm-up; the rate is constant afterwards */
    double last_rate;     /* cosine */
    uint64_t every;       /* step */
    double factor;        /* step, plateau; cyclic: the height of each cycle is this times that of the one before */
    uint32_t patience;    /* plateau: reports without improvement before a reduction */
    uint32_t cooldown;    /* plateau: reports ignored after a reduction */
    double min_delta;     /* plateau: a loss is better when it is below (1 - min_delta) * best */
    double min_rate;      /* plateau */
    double up_ratio;      /* one-cycle: share of the steps with rising rate */
    double start_divisor, end_divisor; /* one-cycle */
    double low_rate;                   /* cyclic */
    uint64_t up_steps, down_steps;     /* cyclic */
} schedule_options;

/* The defaults of PyTorch, with a rate of 0.001 and 1000 steps. */
schedule_options schedule_options_default(schedule_kind kind);
/* "constant", "step", "plateau", "cosine", "one-cycle", "cyclic"; false for any other name. */
bool schedule_find(const char *name, schedule_kind *kind);
ft_status schedule_check(const schedule_options *options, ft_error *error);

typedef struct schedule_state {
    double factor; /* product of the reductions so far */
    double best;
    uint64_t bad;     /* reports since the best */
    uint64_t cooling; /* reports still to ignore */
} schedule_state;

schedule_state schedule_begin(void);
/* Learning rate of a step, counted from 0. */
double schedule_rate(const schedule_options *options, const schedule_state *state, uint64_t step);
/* Reports a loss, usually on validation rows after each epoch; only plateau uses it. */
void schedule_report(const schedule_options *options, schedule_state *state, double loss);

/* --- Early stopping ------------------------------------------------------------------------------------------ */

typedef struct early_stop {
    double best;
    uint64_t best_round; /* from 0 */
    uint64_t rounds;     /* reported so far */
} early_stop;

early_stop early_stop_begin(void);
/* True when this loss is better than all before by more than `min_delta`: the parameters should be kept. */
bool early_stop_report(early_stop *state, double loss, double min_delta);
/* Whether `patience` rounds have passed without improvement; patience 0 never stops. */
bool early_stop_is_done(const early_stop *state, uint64_t patience);

#endif
