/* search.c - generations of trials, and their successive halving. */
#include "learn/search/search.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "learn/search/tpe.h"

/* --- Successive halving -------------------------------------------------------------------------------------- */

double halving_share(uint32_t rung, uint32_t rungs, uint32_t factor) {
    double share = 1;
    assert(rung < rungs && factor >= 1);
    for (uint32_t i = rung + 1; i < rungs; i++) share /= factor;
    return share;
}

/* The number of losses that are smaller, or equal and earlier. */
static uint32_t rank_of(const double *losses, uint32_t count, uint32_t index) {
    uint32_t better = 0;
    for (uint32_t i = 0; i < count; i++)
        better += losses[i] < losses[index] || (i < index && losses[i] == losses[index]);
    return better;
}

uint32_t halving_promote(const double *losses, uint32_t count, uint32_t factor, bool *is_promoted) {
    assert(factor >= 2);
    uint32_t places = count / factor > 0 ? count / factor : 1, promoted = 0;
    for (uint32_t i = 0; i < count; i++) {
        is_promoted[i] = !isnan(losses[i]) && rank_of(losses, count, i) < places;
        promoted += is_promoted[i];
    }
    return promoted;
}

/* --- Opening and freeing ------------------------------------------------------------------------------------- */

ft_status search_open(search *s, const space *space, const search_options *options, ft_error *error) {
    assert(options->rungs >= 1 && options->rungs <= HALVING_MAX_RUNGS);
    assert(options->generation >= 1 && options->generation <= SEARCH_MAX_GENERATION);
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
    return t->rungs_done > 0 ? t->losses[t->rungs_done - 1] : NAN;
}

/* --- Ranking trials ------------------------------------------------------------------------------------------ */

/* Trials on a higher rung are better; on the same rung, those with the smaller loss; of equals, the first. */
static bool is_better(const search_trial *a, const search_trial *b) {
    return a->rungs_done != b->rungs_done ? a->rungs_done > b->rungs_done : search_loss(a) < search_loss(b);
}

uint32_t search_best(const search *s) {
    uint32_t best = FT_NONE;
    for (uint32_t i = 0; i < s->count; i++) {
        if (isnan(search_loss(&s->trials[i]))) continue;
        if (best == FT_NONE || is_better(&s->trials[i], &s->trials[best])) best = i;
    }
    return best;
}

/* The mean decrease of the loss from each rung to the next, over the trials that were on both. */
static void mean_decreases(const search *s, double decreases[HALVING_MAX_RUNGS]) {
    for (uint32_t rung = 0; rung < HALVING_MAX_RUNGS; rung++) {
        double sum = 0;
        uint32_t count = 0;
        decreases[rung] = 0;
        for (uint32_t i = 0; i < s->count && rung + 1 < s->options.rungs; i++) {
            const search_trial *t = &s->trials[i];
            if (t->rungs_done < rung + 2 || isnan(t->losses[rung + 1])) continue;
            sum += t->losses[rung] - t->losses[rung + 1];
            count++;
        }
        if (count > 0) decreases[rung] = sum / count;
    }
}

/* The extrapolated loss of a trial on the last rung. Losses of different rungs cannot be compared directly, and ranking
 * by rung first would favor the defaults, which climb whatever their loss. */
static double final_loss(const search_trial *t, uint32_t rungs, const double *decreases) {
    double loss = search_loss(t);
    for (uint32_t rung = t->rungs_done > 0 ? t->rungs_done - 1 : 0; rung + 1 < rungs; rung++) loss -= decreases[rung];
    return loss;
}

/* Failed trials come last; of equals, the earlier one comes first. */
static int by_final_loss(const void *a, const void *b) {
    const search_rank *x = a, *y = b;
    if (isnan(x->final_loss) != isnan(y->final_loss)) return isnan(x->final_loss) ? 1 : -1;
    if (!isnan(x->final_loss) && x->final_loss != y->final_loss) return x->final_loss < y->final_loss ? -1 : 1;
    return (x->trial > y->trial) - (x->trial < y->trial);
}

/* --- Choosing points------------------------------------------------------------------------------------------ */

enum { UNIFORM_EVERY = 4 }; /* every fourth trial is drawn uniformly, so that no region is left out */

/* Sorts the points of the trials so far from the best to the worst. */
static void rank_points(search *s) {
    double decreases[HALVING_MAX_RUNGS];
    mean_decreases(s, decreases);
    for (uint32_t i = 0; i < s->count; i++)
        s->ranked[i] = (search_rank){.trial = i, .final_loss = final_loss(&s->trials[i], s->options.rungs, decreases)};
    if (s->count > 1) qsort(s->ranked, s->count, sizeof *s->ranked, by_final_loss);
    for (uint32_t i = 0; i < s->count; i++) s->points[i] = s->trials[s->ranked[i].trial].values;
}

static void choose(search *s, uint32_t seen, uint32_t waiting, search_trial *t) {
    rng random;
    rng_init(&random, s->options.seed, s->count);
    for (uint32_t k = 0; k < SPACE_MAX_KEYS; k++) t->values[k] = NAN;
    if (s->count == 0 && s->options.defaults != NULL)
        memcpy(t->values, s->options.defaults, s->space->count * sizeof *t->values);
    else if (s->count > 0 && s->count % UNIFORM_EVERY == 0)
        space_draw(s->space, &random, t->values);
    else if (s->count > 0)
        tpe_suggest(s->space, s->points, seen, waiting, &random, t->values);
}

/* Chooses all points of a generation at once, from the losses of earlier generations. */
static void choose_generation(search *s) {
    uint32_t left = s->options.trials - s->count, size = s->options.generation < left ? s->options.generation : left;
    uint32_t seen = s->count;
    rank_points(s);
    s->first = s->count;
    s->rung = 0;
    for (uint32_t i = 0; i < size; i++) {
        search_trial *t = &s->trials[s->count];
        choose(s, seen, i, t);
        t->rungs_started = 1;
        s->points[s->count++] = t->values;
    }
}

/* --- Climbing rungs------------------------------------------------------------------------------------------- */

static bool is_at(const search *s, uint32_t trial) {
    return s->trials[trial].rungs_started == s->rung + 1;
}

/* Promotes the best trials of the rung to the next one. */
static void promote(search *s) {
    double losses[SEARCH_MAX_GENERATION] = {0};
    uint32_t members[SEARCH_MAX_GENERATION], count = 0;
    bool is_promoted[SEARCH_MAX_GENERATION];
    for (uint32_t i = s->first; i < s->count; i++) {
        if (!is_at(s, i)) continue;
        losses[count] = search_loss(&s->trials[i]);
        members[count++] = i;
    }
    halving_promote(losses, count, s->options.factor, is_promoted);
    for (uint32_t i = 0; i < count; i++) {
        bool is_default = members[i] == 0 && !isnan(losses[i]);
        if (is_promoted[i] || is_default) s->trials[members[i]].rungs_started++;
    }
    s->rung++;
}

uint32_t search_next(search *s, search_job *jobs) {
    for (;;) {
        uint32_t count = 0;
        for (uint32_t i = s->first; i < s->count; i++)
            if (is_at(s, i) && s->trials[i].rungs_done <= s->rung)
                jobs[count++] = (search_job){.trial = i, .rung = s->rung};
        if (count > 0) return count;
        if (s->count > 0 && s->rung + 1 < s->options.rungs) {
            promote(s);
        } else if (s->count < s->options.trials) {
            choose_generation(s);
        } else {
            return 0;
        }
    }
}

void search_report(search *s, search_job job, double loss) {
    assert(job.trial < s->count && job.rung < s->options.rungs);
    search_trial *t = &s->trials[job.trial];
    assert(t->rungs_done == job.rung && t->rungs_started > job.rung);
    t->losses[job.rung] = loss;
    t->rungs_done = job.rung + 1;
}
