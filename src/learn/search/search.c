/* search.c - generations of trials. */
#include "learn/search/search.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "learn/search/tpe.h"

ft_status search_open(search *s, const space *space, const search_options *options, ft_error *error) {
    *s = (search){.options = *options, .space = space};
    s->trials = calloc(options->trials + 1, sizeof *s->trials);
    s->ranked = calloc(options->trials + 1, sizeof *s->ranked);
    s->points = calloc(options->trials + 1, sizeof *s->points);
    if (s->trials != NULL && s->ranked != NULL && s->points != NULL) return FT_OK;
    search_free(s);
    return FT_NOMEM(error);
}

void search_free(search *s) {
    free(s->trials);
    free(s->ranked);
    free(s->points);
    *s = (search){0};
}

double search_loss(const search_trial *t) {
    return t->done > 0 ? t->losses[t->done - 1] : NAN;
}

/* --- The order of trials ------------------------------------------------------------------------------------- */

/* Those that climbed higher are better; on the same rung, those with the smaller loss; of equal ones, the first. */
static bool is_better(const search_trial *a, const search_trial *b) {
    return a->done != b->done ? a->done > b->done : search_loss(a) < search_loss(b);
}

uint32_t search_best(const search *s) {
    uint32_t best = FT_NONE;
    for (uint32_t i = 0; i < s->count; i++) {
        if (isnan(search_loss(&s->trials[i]))) continue;
        if (best == FT_NONE || is_better(&s->trials[i], &s->trials[best])) best = i;
    }
    return best;
}

/* By how much losses fall from a rung to the next, on average over the trials that were on both. */
static void find_falls(const search *s, double falls[HALVING_MAX_RUNGS]) {
    for (uint32_t rung = 0; rung < HALVING_MAX_RUNGS; rung++) {
        double sum = 0;
        uint32_t count = 0;
        falls[rung] = 0;
        for (uint32_t i = 0; i < s->count && rung + 1 < s->options.rungs; i++) {
            const search_trial *t = &s->trials[i];
            if (t->done < rung + 2 || isnan(t->losses[rung + 1])) continue;
            sum += t->losses[rung] - t->losses[rung + 1];
            count++;
        }
        if (count > 0) falls[rung] = sum / count;
    }
}

/* What a trial would have on the last rung. Losses of different rungs cannot be compared as they are, and to put those
 * that climbed higher first would make too much of the defaults, which climb whatever they are worth. */
static double outlook(const search_trial *t, uint32_t rungs, const double *falls) {
    double loss = search_loss(t);
    for (uint32_t rung = t->done > 0 ? t->done - 1 : 0; rung + 1 < rungs; rung++) loss -= falls[rung];
    return loss;
}

/* What failed comes last; of equal ones, the first is first. */
static int by_outlook(const void *a, const void *b) {
    const search_rank *x = a, *y = b;
    if (isnan(x->outlook) != isnan(y->outlook)) return isnan(x->outlook) ? 1 : -1;
    if (!isnan(x->outlook) && x->outlook != y->outlook) return x->outlook < y->outlook ? -1 : 1;
    return (x->trial > y->trial) - (x->trial < y->trial);
}

/* --- Choosing ------------------------------------------------------------------------------------------------ */

enum { BLIND = 4 }; /* one trial of so many is drawn evenly, so that no place is forgotten */

/* Points of the trials so far, from the best to the worst. */
static void rank_points(search *s) {
    double falls[HALVING_MAX_RUNGS];
    find_falls(s, falls);
    for (uint32_t i = 0; i < s->count; i++)
        s->ranked[i] = (search_rank){.trial = i, .outlook = outlook(&s->trials[i], s->options.rungs, falls)};
    if (s->count > 1) qsort(s->ranked, s->count, sizeof *s->ranked, by_outlook);
    for (uint32_t i = 0; i < s->count; i++) s->points[i] = s->trials[s->ranked[i].trial].values;
}

static void choose(search *s, uint32_t seen, uint32_t waiting, search_trial *t) {
    rng random;
    rng_init(&random, s->options.seed, s->count);
    for (uint32_t k = 0; k < SPACE_MAX_KEYS; k++) t->values[k] = NAN;
    if (s->count == 0 && s->options.usual != NULL)
        memcpy(t->values, s->options.usual, s->space->count * sizeof *t->values);
    else if (s->count > 0 && s->count % BLIND == 0)
        space_draw(s->space, &random, t->values);
    else if (s->count > 0)
        tpe_suggest(s->space, s->points, seen, waiting, &random, t->values);
}

/* All at once, by what is known of the generations before. */
static void choose_generation(search *s) {
    uint32_t left = s->options.trials - s->count, size = s->options.generation < left ? s->options.generation : left;
    uint32_t seen = s->count;
    rank_points(s);
    s->first = s->count;
    s->rung = 0;
    for (uint32_t i = 0; i < size; i++) {
        search_trial *t = &s->trials[s->count];
        choose(s, seen, i, t);
        t->asked = 1;
        s->points[s->count++] = t->values;
    }
}

/* --- Climbing ------------------------------------------------------------------------------------------------ */

static bool is_at(const search *s, uint32_t trial) {
    return s->trials[trial].asked == s->rung + 1;
}

/* Sends the better ones of the rung to the next. */
static void climb(search *s) {
    double losses[SEARCH_MAX_GENERATION] = {0};
    uint32_t members[SEARCH_MAX_GENERATION], count = 0;
    bool goes_on[SEARCH_MAX_GENERATION];
    for (uint32_t i = s->first; i < s->count; i++) {
        if (!is_at(s, i)) continue;
        losses[count] = search_loss(&s->trials[i]);
        members[count++] = i;
    }
    halving_promote(losses, count, s->options.factor, goes_on);
    for (uint32_t i = 0; i < count; i++) {
        bool is_default = members[i] == 0 && !isnan(losses[i]);
        if (goes_on[i] || is_default) s->trials[members[i]].asked++;
    }
    s->rung++;
}

uint32_t search_next(search *s, search_job *jobs) {
    for (;;) {
        uint32_t count = 0;
        for (uint32_t i = s->first; i < s->count; i++)
            if (is_at(s, i) && s->trials[i].done <= s->rung) jobs[count++] = (search_job){.trial = i, .rung = s->rung};
        if (count > 0) return count;
        if (s->count > 0 && s->rung + 1 < s->options.rungs) {
            climb(s);
        } else if (s->count < s->options.trials) {
            choose_generation(s);
        } else {
            return 0;
        }
    }
}

void search_tell(search *s, search_job job, double loss) {
    search_trial *t = &s->trials[job.trial];
    t->losses[job.rung] = loss;
    t->done = job.rung + 1;
}
