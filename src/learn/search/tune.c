/* tune.c - hyper-parameter search: space, trials, journal, results. */
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/json_writer.h"
#include "learn/search/objective.h"
#include "learn/search/search.h"
#include "learn/search/trials.h"
#include "learn/train/train.h"
#include "predictor/core/settings.h"

ft_tune_options ft_tune_options_default(void) {
    return (ft_tune_options){
        .trial = {.metric = "time_us", .split = "random", .objective = "mape"},
        .trials = 36,
        .generation = 9,
        .rungs = 3,
        .factor = 3,
    };
}

typedef struct tuner {
    const ft_tune_options *options;
    trials trials;
    space space;
    search search;
    const ft_setting *effort; /* the setting that rungs scale; NULL: there is one rung */
    uint32_t rungs;
    double defaults[SPACE_MAX_KEYS];
    double full_effort; /* of the defaults */
    ft_error *error;
} tuner;

/* --- Options ------------------------------------------------------------------------------------------------- */

static ft_status check_count(const char *what, uint64_t value, uint64_t min, uint64_t max, ft_error *error) {
    if (value >= min && value <= max) return FT_OK;
    return ft_fail(error, FT_ERR_USAGE, "%s: %llu, must be from %llu to %llu", what, (unsigned long long)value,
                   (unsigned long long)min, (unsigned long long)max);
}

static ft_status check_options(const ft_tune_options *o, ft_error *error) {
    FT_TRY(check_count("trials", o->trials, 1, SEARCH_MAX_TRIALS, error));
    FT_TRY(check_count("trials in a generation", o->generation, 1, SEARCH_MAX_GENERATION, error));
    FT_TRY(check_count("rungs", o->rungs, 1, HALVING_MAX_RUNGS, error));
    return check_count("the factor between rungs", o->factor, 2, SEARCH_MAX_FACTOR, error);
}

static json_t *number_json(const space_key *k, double value) {
    return k->kind == SPACE_INT ? json_integer((json_int_t)value) : json_real(value);
}

/* An unknown key, or a range beyond the bounds of its setting, would make every trial fail. */
static ft_status check_key(const tuner *t, const space_key *k) {
    const family *f = t->trials.family;
    const ft_setting *setting = trials_setting(&t->trials, k->name);
    if (t->trials.setting_count == 0) return FT_OK; /* it declares none */
    if (setting == NULL)
        return ft_fail(t->error, FT_ERR_USAGE, "the space: the family '%s' has no setting '%.60s'", f->name, k->name);
    for (uint32_t i = 0; i < (k->kind == SPACE_CHOICE ? k->choice_count : 2); i++) {
        double taken;
        json_t *value = k->kind == SPACE_CHOICE ? json_incref(k->choices[i]) : number_json(k, i == 0 ? k->lo : k->hi);
        json_t *config = json_pack("{s:o}", k->name, value);
        if (config == NULL) return FT_NOMEM(t->error);
        ft_status status = settings_parse(config, setting, 1, &taken, t->error);
        json_decref(config);
        if (status != FT_OK) return ft_fail_prefix(t->error, status, "the space");
    }
    return FT_OK;
}

static ft_status make_space(tuner *t) {
    const ft_tune_options *o = t->options;
    const family *f = t->trials.family;
    const char *name;
    const json_t *value;
    FT_TRY(space_open(&t->space, t->error));
    ft_status status = o->space != NULL
                           ? space_add_text(&t->space, o->space, strlen(o->space), t->error)
                           : space_add_settings(&t->space, t->trials.settings, t->trials.setting_count, t->error);
    /* Settings of all trials are not searched unless a range names them. */
    json_object_foreach(t->trials.base, name, value) {
        space_remove(&t->space, name);
    }
    for (uint32_t i = 0; i < o->range_count && status == FT_OK; i++)
        status = space_set(&t->space, o->ranges[i], t->error);
    if (status != FT_OK) return ft_fail_prefix(t->error, status, "the space");
    if (t->space.count == 0)
        return ft_fail(t->error, FT_ERR_USAGE,
                       "nothing to search: '%s' declares no searched settings, or all are fixed: name ranges "
                       "(--space KEY=RANGE)",
                       f->name);
    for (uint32_t i = 0; i < t->space.count; i++) FT_TRY(check_key(t, &t->space.keys[i]));
    space_defaults(&t->space, t->trials.settings, t->trials.setting_count, t->defaults);
    return FT_OK;
}

static ft_status find_effort(tuner *t) {
    const char *name = t->options->effort;
    t->rungs = t->options->rungs;
    for (uint32_t i = 0; i < t->trials.setting_count && name == NULL; i++)
        if (t->trials.settings[i].is_effort) name = t->trials.settings[i].name;
    t->effort = name != NULL ? trials_setting(&t->trials, name) : NULL;
    bool is_unusable = t->effort == NULL || t->effort->kind == FT_SETTING_WORD;
    if (is_unusable && t->options->effort != NULL)
        return ft_fail(t->error, FT_ERR_USAGE, "'%s' is not a numeric setting of '%s'", name, t->trials.family->name);
    if (is_unusable) t->rungs = 1;
    if (is_unusable) return FT_OK;
    const json_t *set = json_object_get(t->trials.base, name);
    t->full_effort = json_is_number(set) ? json_number_value(set) : t->effort->usual;
    return FT_OK;
}

static ft_status prepare(tuner *t, const ft_dataset *data, const char *folder) {
    const ft_trial_options *o = &t->options->trial;
    const ft_train_options options = {.family = o->family, .metric = o->metric, .split = o->split, .seed = o->seed};
    FT_TRY(check_options(t->options, t->error));
    FT_TRY(trials_prepare(&t->trials, data, folder, o, FT_PART_VALID, t->error));
    FT_TRY(make_space(t));
    FT_TRY(find_effort(t));
    return train_check(data, &options, t->error);
}

/* --- Trials -------------------------------------------------------------------------------------------------- */

static double effort_of(const tuner *t, const json_t *config) {
    const json_t *set = t->effort != NULL ? json_object_get(config, t->effort->name) : NULL;
    return json_is_number(set) ? json_number_value(set) : t->full_effort;
}

/* The settings of a trial with the effort of a rung. */
static json_t *config_of(const tuner *t, uint32_t trial, uint32_t rung) {
    json_t *config = trial == 0 ? json_clone_object(t->trials.base)
                                : space_config(&t->space, t->search.trials[trial].values, t->trials.base);
    if (config == NULL || rung + 1 == t->rungs) return config;
    double share = halving_share(rung, t->rungs, t->options->factor), effort = effort_of(t, config) * share;
    assert(t->effort != NULL); /* otherwise there is one rung */
    bool is_whole = t->effort->kind == FT_SETTING_INT;
    effort = fmax(is_whole ? round(effort) : effort, t->effort->lo);
    json_t *value = is_whole ? json_integer((json_int_t)effort) : json_real(effort);
    return json_with(config, t->effort->name, value);
}

/* The cost of all trainings, if all trials cost as much as the defaults. */
static double whole_cost(const tuner *t) {
    double cost = 0;
    for (uint32_t from = 0; from < t->options->trials; from += t->options->generation) {
        uint32_t left = t->options->trials - from, count = left;
        if (count > t->options->generation) count = t->options->generation;
        for (uint32_t rung = 0; rung < t->rungs; rung++) {
            cost += count * halving_share(rung, t->rungs, t->options->factor);
            count = count / t->options->factor > 0 ? count / t->options->factor : 1;
        }
    }
    return cost;
}

/* Runs the trainings of a rung. `jobs` has room for a generation. */
static ft_status run_rung(tuner *t, const search_job *asked, uint32_t count, trial_job *jobs) {
    ft_status status = FT_OK;
    for (uint32_t i = 0; i < count; i++) {
        jobs[i] = (trial_job){.trial = asked[i].trial, .round = asked[i].rung, .seed = t->options->trial.seed};
        jobs[i].config = config_of(t, asked[i].trial, asked[i].rung);
        jobs[i].cost = halving_share(asked[i].rung, t->rungs, t->options->factor);
        if (jobs[i].config == NULL) status = FT_NOMEM(t->error);
    }
    snprintf(t->trials.what, sizeof t->trials.what, "trials %u to %u of %u, rung %u of %u", t->search.first + 1,
             t->search.count, t->options->trials, asked[0].rung + 1, t->rungs);
    if (status == FT_OK) status = trials_run(&t->trials, jobs, count, t->error);
    for (uint32_t i = 0; i < count; i++) {
        if (status == FT_OK && jobs[i].is_done)
            search_report(&t->search, asked[i], objective_loss(t->trials.objective, jobs[i].objective));
        json_decref(jobs[i].config);
    }
    return status;
}

/* When the defaults cannot be trained, the other trials will most likely fail too. */
static ft_status check_defaults(const tuner *t) {
    const journal_entry *first = journal_find(&t->trials.journal, 0, 0);
    if (first == NULL || first->error == NULL) return FT_OK;
    return ft_fail(t->error, FT_ERR_USAGE, "the first trial, with the default settings, failed: %s", first->error);
}

static ft_status run_search(tuner *t) {
    search_job *asked = calloc(t->options->generation, sizeof *asked);
    trial_job *jobs = calloc(t->options->generation, sizeof *jobs);
    ft_status status = asked != NULL && jobs != NULL ? FT_OK : FT_NOMEM(t->error);
    t->trials.total_cost = whole_cost(t);
    while (status == FT_OK && !t->trials.is_out_of_time) {
        uint32_t count = search_next(&t->search, asked);
        if (count == 0) break;
        status = run_rung(t, asked, count, jobs);
        if (status == FT_OK) status = check_defaults(t);
    }
    free(asked);
    free(jobs);
    return status;
}

/* --- Results ------------------------------------------------------------------------------------------------- */

enum { PRINTED_DIGITS = 15 }; /* 0.99 is printed as 0.99 */

static const char *keep_text(arena *memory, char *text) {
    const char *kept = text != NULL ? arena_string(memory, text, strlen(text)) : NULL;
    free(text);
    return kept;
}

static ft_status make_keys(const tuner *t, arena *memory, ft_tuning *out) {
    ft_tune_key *keys = ARENA_ARRAY(memory, ft_tune_key, t->space.count + 1);
    if (keys == NULL) return FT_NOMEM(t->error);
    for (uint32_t i = 0; i < t->space.count; i++) {
        const space_key *k = &t->space.keys[i];
        const char **choices = ARENA_ARRAY(memory, const char *, k->choice_count + 1);
        keys[i] = (ft_tune_key){.name = arena_string(memory, k->name, strlen(k->name)),
                                .is_log = k->is_log,
                                .lo = k->lo,
                                .hi = k->hi,
                                .choices = k->kind == SPACE_CHOICE ? choices : NULL,
                                .choice_count = k->choice_count};
        if (keys[i].name == NULL || choices == NULL) return FT_NOMEM(t->error);
        for (uint32_t c = 0; c < k->choice_count; c++) {
            choices[c] =
                keep_text(memory, json_dumps(k->choices[c], JSON_ENCODE_ANY | JSON_REAL_PRECISION(PRINTED_DIGITS)));
            if (choices[c] == NULL) return FT_NOMEM(t->error);
        }
    }
    out->keys = keys;
    out->key_count = t->space.count;
    return FT_OK;
}

static ft_status make_trial(const tuner *t, arena *memory, uint32_t index, ft_trial *out) {
    const search_trial *trial = &t->search.trials[index];
    double *scores = ARENA_ARRAY(memory, double, HALVING_MAX_RUNGS);
    json_t *config = config_of(t, index, t->rungs - 1);
    *out = (ft_trial){.index = index, .rungs = trial->rungs_done, .scores = scores, .objective = NAN};
    out->values = arena_copy(memory, trial->values, (t->space.count + 1) * sizeof(double));
    if (config != NULL)
        out->config = keep_text(memory, json_dumps(config, JSON_COMPACT | JSON_REAL_PRECISION(PRINTED_DIGITS)));
    json_decref(config);
    if (scores == NULL || out->values == NULL || out->config == NULL) return FT_NOMEM(t->error);
    for (uint32_t rung = 0; rung < trial->rungs_done; rung++) {
        const journal_entry *entry = journal_find(&t->trials.journal, index, rung);
        scores[rung] = entry != NULL ? entry->objective : NAN;
        out->objective = scores[rung];
        if (entry != NULL && entry->error != NULL)
            out->error = arena_string(memory, entry->error, strlen(entry->error));
    }
    return FT_OK;
}

static ft_status make_tuning(const tuner *t, arena *memory, ft_tuning *out) {
    const ft_trial_options *o = &t->options->trial;
    *out = (ft_tuning){.family = t->trials.family->name,
                       .metric = o->metric != NULL ? o->metric : "time_us",
                       .split = o->split != NULL ? o->split : "random",
                       .objective = t->trials.objective->key,
                       .seed = o->seed,
                       .is_higher_better = t->trials.objective->aim == AIM_HIGH,
                       .rungs = t->rungs,
                       .factor = t->options->factor,
                       .best = search_best(&t->search),
                       .is_complete = !t->trials.is_out_of_time};
    out->metric = arena_string(memory, out->metric, strlen(out->metric));
    out->split = arena_string(memory, out->split, strlen(out->split));
    ft_trial *trials = ARENA_ARRAY(memory, ft_trial, t->search.count + 1);
    if (trials == NULL || out->metric == NULL || out->split == NULL) return FT_NOMEM(t->error);
    FT_TRY(make_keys(t, memory, out));
    for (uint32_t i = 0; i < t->search.count; i++) {
        if (t->search.trials[i].rungs_done == 0) continue; /* time was up before it began */
        FT_TRY(make_trial(t, memory, i, &trials[out->count]));
        if (i == out->best) out->best = out->count;
        out->failed += trials[out->count++].error != NULL;
    }
    out->trials = trials;
    return FT_OK;
}

static ft_status write_best(const tuner *t, const ft_tuning *tuning) {
    buf text = {0};
    json_writer w;
    json_t *config = NULL;
    if (tuning->best == FT_NONE) return FT_OK;
    const char *best = tuning->trials[tuning->best].config;
    FT_TRY(json_parse(best, strlen(best), &config, t->error));
    jsonw_init(&w, &text);
    jsonw_json(&w, config);
    buf_char(&text, '\n');
    json_decref(config);
    ft_status status = trials_write(&t->trials, "best.json", &text, t->error);
    buf_free(&text);
    return status;
}

static ft_status write_files(const tuner *t, const ft_tuning *tuning) {
    buf table = {0};
    char *path;
    if (tuning->count == 0) return FT_OK;
    tuning_csv(tuning, &table);
    ft_status status = trials_write(&t->trials, "trials.csv", &table, t->error);
    buf_free(&table);
    FT_TRY(status);
    FT_TRY(write_best(t, tuning));
    if (tuning->best == FT_NONE) return FT_OK;
    if (asprintf(&path, "%s/trials.svg", t->trials.folder) < 0) return FT_NOMEM(t->error);
    status = ft_tuning_plot(tuning, path, t->error);
    free(path);
    return status;
}

static ft_status finish(const tuner *t, ft_tuning *tuning) {
    arena *memory = malloc(sizeof *memory);
    if (memory == NULL) return FT_NOMEM(t->error);
    arena_init(memory, UINT64_MAX);
    ft_status status = make_tuning(t, memory, tuning);
    tuning->owner = memory;
    if (status == FT_OK) status = write_files(t, tuning);
    if (status != FT_OK) ft_tuning_free(tuning);
    return status;
}

void ft_tuning_free(ft_tuning *tuning) {
    if (tuning == NULL || tuning->owner == NULL) return;
    arena_free(tuning->owner);
    free(tuning->owner);
    *tuning = (ft_tuning){0};
}

/* --- Entry point --------------------------------------------------------------------------------------------- */

static ft_status open_search(tuner *t) {
    const ft_tune_options *o = t->options;
    const search_options options = {.seed = o->trial.seed,
                                    .trials = o->trials,
                                    .generation = o->generation,
                                    .rungs = t->rungs,
                                    .factor = o->factor,
                                    .defaults = t->defaults};
    FT_TRY(search_open(&t->search, &t->space, &options, t->error));
    json_t *what = json_pack("{s:s, s:o, s:I, s:I, s:I, s:s}", "what", "tune", "space", space_json(&t->space),
                             "generation", (json_int_t)o->generation, "rungs", (json_int_t)t->rungs, "factor",
                             (json_int_t)o->factor, "effort", t->effort != NULL ? t->effort->name : "");
    return trials_open(&t->trials, "rung", what, t->error);
}

ft_status ft_tune(const ft_dataset *data, const char *folder, const ft_tune_options *options, ft_tuning *tuning,
                  ft_error *error) {
    FT_REQUIRE(error, data, folder, options, tuning);
    tuner t = {.options = options, .error = error, .trials = {.lock = PTHREAD_MUTEX_INITIALIZER}};
    *tuning = (ft_tuning){0};
    ft_status status = prepare(&t, data, folder);
    if (status == FT_OK) status = open_search(&t);
    if (status == FT_OK) status = run_search(&t);
    if (status == FT_OK) status = finish(&t, tuning);
    search_free(&t.search);
    space_free(&t.space);
    trials_close(&t.trials);
    return status;
}
