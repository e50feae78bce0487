/* schedule.c - learning rates by step, checks of options, early stopping. */
#include "nn/schedule.h"

#include <math.h>
#include <string.h>

#include "base/error.h"

static const double PI = 3.14159265358979323846;

static const char *const names[] = {
    [SCHEDULE_CONSTANT] = "constant", [SCHEDULE_STEP] = "step",           [SCHEDULE_PLATEAU] = "plateau",
    [SCHEDULE_COSINE] = "cosine",     [SCHEDULE_ONE_CYCLE] = "one-cycle", [SCHEDULE_CYCLIC] = "cyclic"};

schedule_options schedule_options_default(schedule_kind kind) {
    return (schedule_options){.kind = kind,
                              .rate = 1e-3,
                              .total_steps = 1000,
                              .every = 100,
                              .factor = kind == SCHEDULE_CYCLIC ? 1 : 0.1,
                              .patience = 10,
                              .min_delta = 1e-4,
                              .up_ratio = 0.3,
                              .start_divisor = 25,
                              .end_divisor = 1e4,
                              .low_rate = 1e-4,
                              .up_steps = 100,
                              .down_steps = 100};
}

bool schedule_find(const char *name, schedule_kind *kind) {
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strcmp(name, names[i]) != 0) continue;
        *kind = (schedule_kind)i;
        return true;
    }
    return false;
}

/* --- Checks -------------------------------------------------------------------------------------------------- */

static bool is_positive(double x) {
    return x > 0 && isfinite(x);
}

static bool is_within(double x, double limit) {
    return x >= 0 && x <= limit;
}

static const char *find_wrong_option(const schedule_options *o) {
    switch (o->kind) {
    case SCHEDULE_CONSTANT:
        return NULL;
    case SCHEDULE_STEP:
        return o->every == 0                              ? "every: at least 1"
               : !is_positive(o->factor) || o->factor > 1 ? "factor: above 0, at most 1"
                                                          : NULL;
    case SCHEDULE_PLATEAU:
        return !is_positive(o->factor) || o->factor >= 1 ? "factor: above 0, below 1"
               : !is_within(o->min_rate, o->rate)        ? "min_rate: 0 to the rate"
               : !is_within(o->min_delta, 1)             ? "min_delta: 0 to 1"
                                                         : NULL;
    case SCHEDULE_COSINE:
        return o->total_steps <= o->warmup_steps   ? "total_steps: more than those of the warm-up"
               : !is_within(o->last_rate, o->rate) ? "last_rate: 0 to the rate"
                                                   : NULL;
    case SCHEDULE_ONE_CYCLE:
        return o->total_steps == 0              ? "total_steps: at least 1"
               : !is_within(o->up_ratio, 1)     ? "up_ratio: 0 to 1"
               : !is_positive(o->start_divisor) ? "start_divisor: above 0"
               : !is_positive(o->end_divisor)   ? "end_divisor: above 0"
                                                : NULL;
    case SCHEDULE_CYCLIC:
        return !is_within(o->low_rate, o->rate)           ? "low_rate: 0 to the rate"
               : o->up_steps == 0 || o->down_steps == 0   ? "up_steps and down_steps: at least 1"
               : !is_positive(o->factor) || o->factor > 1 ? "factor: above 0, at most 1"
                                                          : NULL;
    }
    return "kind: unknown";
}

static bool has_own_rise(schedule_kind kind) {
    return kind == SCHEDULE_ONE_CYCLE || kind == SCHEDULE_CYCLIC;
}

ft_status schedule_check(const schedule_options *o, ft_error *error) {
    const char *wrong = find_wrong_option(o);
    if (wrong == NULL && !is_positive(o->rate)) wrong = "rate: above 0";
    if (wrong == NULL && !is_within(o->warmup_ratio, 1)) wrong = "warmup_ratio: 0 to 1";
    if (wrong == NULL && o->warmup_steps > 0 && has_own_rise(o->kind))
        wrong = "warmup_steps: must be 0, this schedule has a rising phase of its own";
    if (wrong == NULL) return FT_OK;
    return ft_fail(error, FT_ERR_USAGE, "schedule%s%s: %s", (size_t)o->kind < sizeof names / sizeof names[0] ? " " : "",
                   (size_t)o->kind < sizeof names / sizeof names[0] ? names[o->kind] : "", wrong);
}

/* --- Rates --------------------------------------------------------------------------------------------------- */

schedule_state schedule_begin(void) {
    return (schedule_state){.factor = 1, .best = INFINITY};
}

/* From `from` to `to` along half a cosine. */
static double along_cosine(double from, double to, double ratio) {
    return to + (from - to) * (1 + cos(PI * ratio)) / 2;
}

static double cosine(const schedule_options *o, uint64_t step) {
    double done = (double)(step - o->warmup_steps) / (double)(o->total_steps - o->warmup_steps);
    return along_cosine(o->rate, o->last_rate, fmin(done, 1));
}

static double one_cycle(const schedule_options *o, uint64_t step) {
    double start = o->rate / o->start_divisor, end = start / o->end_divisor;
    double top = o->up_ratio * (double)o->total_steps - 1, last = (double)o->total_steps - 1;
    double at = fmin((double)step, last);
    if (at <= top) return top > 0 ? along_cosine(start, o->rate, at / top) : o->rate;
    top = fmax(top, 0);
    return last > top ? along_cosine(o->rate, end, (at - top) / (last - top)) : end;
}

static double cyclic(const schedule_options *o, uint64_t step) {
    uint64_t length = o->up_steps + o->down_steps, cycle = step / length, at = step % length;
    double height =
        at <= o->up_steps ? (double)at / (double)o->up_steps : (double)(length - at) / (double)o->down_steps;
    return o->low_rate + (o->rate - o->low_rate) * height * pow(o->factor, (double)cycle);
}

static double after_warmup(const schedule_options *o, const schedule_state *state, uint64_t step) {
    switch (o->kind) {
    case SCHEDULE_STEP:
        return o->rate * pow(o->factor, floor((double)(step - o->warmup_steps) / (double)o->every));
    case SCHEDULE_PLATEAU:
        return fmax(o->rate * state->factor, o->min_rate);
    case SCHEDULE_COSINE:
        return cosine(o, step);
    case SCHEDULE_ONE_CYCLE:
        return one_cycle(o, step);
    case SCHEDULE_CYCLIC:
        return cyclic(o, step);
    default:
        return o->rate;
    }
}

double schedule_rate(const schedule_options *o, const schedule_state *state, uint64_t step) {
    if (step >= o->warmup_steps) return after_warmup(o, state, step);
    return o->rate * (o->warmup_ratio + (1 - o->warmup_ratio) * (double)step / (double)o->warmup_steps);
}

void schedule_report(const schedule_options *o, schedule_state *state, double loss) {
    if (o->kind != SCHEDULE_PLATEAU) return;
    if (loss < state->best * (1 - o->min_delta) || (isinf(state->best) && !isnan(loss))) {
        state->best = loss;
        state->bad = 0;
    } else {
        state->bad++;
    }
    if (state->cooling > 0) {
        state->cooling--;
        state->bad = 0;
    }
    if (state->bad <= o->patience) return;
    state->factor *= o->factor;
    state->cooling = o->cooldown;
    state->bad = 0;
}

/* --- Early stopping ------------------------------------------------------------------------------------------ */

early_stop early_stop_begin(void) {
    return (early_stop){.best = INFINITY};
}

bool early_stop_report(early_stop *state, double loss, double min_delta) {
    bool is_better = loss < state->best - min_delta;
    if (is_better) {
        state->best = loss;
        state->best_round = state->rounds;
    }
    state->rounds++;
    return is_better;
}

bool early_stop_is_done(const early_stop *state, uint64_t patience) {
    return patience > 0 && state->rounds > state->best_round && state->rounds - state->best_round - 1 >= patience;
}
