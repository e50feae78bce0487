/* ablate.c - ablation: trains with all settings, and with one factor switched off at a time. */
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "learn/search/objective.h"
#include "learn/search/trials.h"
#include "learn/train/run_config.h"
#include "learn/train/train.h"
#include "predictor/core/settings.h"

enum { MAX_FACTORS = 256, MAX_SEEDS = 1000 };

ft_ablate_options ft_ablate_options_default(void) {
    return (ft_ablate_options){
        .trial = {.metric = "time_us", .split = "random", .objective = "mape"}, .seeds = 3, .part = FT_PART_VALID};
}

/* One configuration: with everything, or without a factor. */
typedef struct variant {
    char *name;
    json_t *config;
} variant;

typedef struct ablater {
    const ft_ablate_options *options;
    trials trials;
    variant *variants; /* the first has everything */
    uint32_t count;
    trial_job *jobs; /* by variant, then seed */
    ft_error *error;
} ablater;

/* --- Factors ------------------------------------------------------------------------------------------------- */

/* Takes over name and config. */
static ft_status add_variant(ablater *a, char *name, json_t *config) {
    if (name == NULL || config == NULL) {
        free(name);
        json_decref(config);
        return FT_NOMEM(a->error);
    }
    assert(a->count <= MAX_FACTORS);
    a->variants[a->count++] = (variant){.name = name, .config = config};
    return FT_OK;
}

/* `factor`, like "rounds=0", overrides the settings of all trials. */
static ft_status add_factor(ablater *a, const char *factor) {
    const ft_trial_options *o = &a->options->trial;
    const char **settings = calloc(o->setting_count + 1U, sizeof *settings);
    json_t *config = NULL;
    if (settings == NULL) return FT_NOMEM(a->error);
    for (uint32_t i = 0; i < o->setting_count; i++) settings[i] = o->settings[i];
    settings[o->setting_count] = factor;
    ft_status status = config_parse(o->config, settings, o->setting_count + 1, &config, a->error);
    free(settings);
    if (status == FT_OK) status = trials_check_config(&a->trials, config, a->error);
    if (status == FT_OK && json_equal(config, a->trials.base))
        status = ft_fail(a->error, FT_ERR_USAGE, "'%.80s' switches nothing off: all trials have this setting", factor);
    if (status == FT_OK) return add_variant(a, strdup(factor), config);
    json_decref(config);
    return status;
}

/* Whether a setting is switched off already. */
static ft_status find_off(const ablater *a, const ft_setting *s, bool *is_off) {
    const json_t *set = json_object_get(a->trials.base, s->name);
    json_t *off = NULL;
    FT_TRY(json_parse_plain(s->off, strlen(s->off), &off, a->error));
    json_t *by_default = settings_value(s, s->usual);
    const json_t *now = set != NULL ? set : by_default;
    *is_off = json_is_number(now) && json_is_number(off) ? json_number_value(now) == json_number_value(off)
                                                         : json_equal(now, off);
    ft_status status = by_default != NULL ? FT_OK : FT_NOMEM(a->error);
    json_decref(off);
    json_decref(by_default);
    return status;
}

static ft_status add_declared(ablater *a) {
    for (uint32_t i = 0; i < a->trials.setting_count; i++) {
        const ft_setting *s = &a->trials.settings[i];
        char factor[160];
        bool is_off = s->off == NULL;
        if (!is_off) FT_TRY(find_off(a, s, &is_off));
        if (is_off) continue;
        snprintf(factor, sizeof factor, "%s=%s", s->name, s->off);
        FT_TRY(add_factor(a, factor));
    }
    if (a->count > 1) return FT_OK;
    return ft_fail(a->error, FT_ERR_USAGE, "'%s' declares no factors: name them (--off KEY=VALUE)",
                   a->trials.family->name);
}

static ft_status make_variants(ablater *a) {
    const ft_ablate_options *o = a->options;
    a->variants = calloc(MAX_FACTORS + 1, sizeof *a->variants);
    if (a->variants == NULL) return FT_NOMEM(a->error);
    FT_TRY(add_variant(a, strdup("all"), json_incref(a->trials.base)));
    if (o->factor_count == 0) return add_declared(a);
    for (uint32_t i = 0; i < o->factor_count; i++) FT_TRY(add_factor(a, o->factors[i]));
    return FT_OK;
}

static ft_status prepare(ablater *a, const ft_dataset *data, const char *folder) {
    const ft_ablate_options *o = a->options;
    const ft_trial_options *of = &o->trial;
    const ft_train_options options = {.family = of->family, .metric = of->metric, .split = of->split, .seed = of->seed};
    if (o->seeds < 1 || o->seeds > MAX_SEEDS || o->factor_count > MAX_FACTORS)
        return ft_fail(a->error, FT_ERR_USAGE, "seeds must be from 1 to %d, and factors at most %d", MAX_SEEDS,
                       MAX_FACTORS);
    if (o->part != FT_PART_VALID && o->part != FT_PART_TEST)
        return ft_fail(a->error, FT_ERR_USAGE, "only the validation and the test part can be scored");
    FT_TRY(trials_prepare(&a->trials, data, folder, of, o->part, a->error));
    FT_TRY(make_variants(a));
    return train_check(data, &options, a->error);
}

/* --- Trainings ----------------------------------------------------------------------------------------------- */

static json_t *names_json(const ablater *a) {
    json_t *names = json_array();
    for (uint32_t i = 0; i < a->count; i++) names = json_list_with(names, json_string(a->variants[i].name));
    return names;
}

static ft_status run(ablater *a) {
    uint32_t seeds = a->options->seeds, count = a->count * seeds;
    json_t *what = json_pack("{s:s, s:o}", "what", "ablate", "factors", names_json(a));
    FT_TRY(trials_open(&a->trials, "seed", what, a->error));
    a->jobs = calloc(count, sizeof *a->jobs);
    if (a->jobs == NULL) return FT_NOMEM(a->error);
    for (uint32_t i = 0; i < count; i++) {
        /* Seed by seed, so that differences are available early. */
        uint32_t number = i % a->count, seed = i / a->count;
        a->jobs[i] = (trial_job){.trial = number,
                                 .round = seed,
                                 .config = a->variants[number].config,
                                 .seed = a->options->trial.seed + seed,
                                 .cost = 1};
    }
    a->trials.total_cost = count;
    snprintf(a->trials.what, sizeof a->trials.what, "%u configurations, %u seeds", a->count, seeds);
    return trials_run(&a->trials, a->jobs, count, a->error);
}

/* --- Results ------------------------------------------------------------------------------------------------- */

/* NaN for too few values. */
static void mean_and_deviation(const double *values, uint32_t count, double *mean, double *deviation) {
    double sum = 0, squares = 0;
    uint32_t n = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (isnan(values[i])) continue;
        sum += values[i];
        n++;
    }
    *mean = n > 0 ? sum / n : NAN;
    for (uint32_t i = 0; i < count; i++)
        if (!isnan(values[i])) squares += (values[i] - *mean) * (values[i] - *mean);
    *deviation = n > 1 ? sqrt(squares / (n - 1)) : NAN;
}

static ft_status make_factor(const ablater *a, arena *memory, uint32_t number, const double *first, ft_factor *out) {
    uint32_t seeds = a->options->seeds;
    double *values = ARENA_ARRAY(memory, double, seeds), *differences = ARENA_ARRAY(memory, double, seeds);
    *out = (ft_factor){.name = arena_string(memory, a->variants[number].name, strlen(a->variants[number].name)),
                       .values = values};
    if (values == NULL || differences == NULL || out->name == NULL) return FT_NOMEM(a->error);
    for (uint32_t s = 0; s < seeds; s++) {
        const journal_entry *entry = journal_find(&a->trials.journal, number, s);
        values[s] = entry != NULL ? entry->objective : NAN;
        differences[s] = first != NULL ? values[s] - first[s] : NAN;
        assert(entry == NULL || (entry->error != NULL) == isnan(entry->objective));
        out->n += !isnan(values[s]);
        if (entry != NULL && entry->error != NULL && out->error == NULL)
            out->error = arena_string(memory, entry->error, strlen(entry->error));
    }
    mean_and_deviation(values, seeds, &out->value, &out->value_deviation);
    mean_and_deviation(differences, seeds, &out->difference, &out->difference_deviation);
    return FT_OK;
}

static ft_status make_ablation(const ablater *a, arena *memory, ft_ablation *out) {
    const ft_trial_options *o = &a->options->trial;
    const char *metric = o->metric != NULL ? o->metric : "time_us", *split = o->split != NULL ? o->split : "random";
    *out = (ft_ablation){.family = a->trials.family->name,
                         .metric = arena_string(memory, metric, strlen(metric)),
                         .split = arena_string(memory, split, strlen(split)),
                         .objective = a->trials.objective->key,
                         .seed = o->seed,
                         .seeds = a->options->seeds,
                         .part = a->options->part,
                         .is_higher_better = a->trials.objective->aim == AIM_HIGH,
                         .count = a->count,
                         .is_complete = !a->trials.is_out_of_time};
    ft_factor *factors = ARENA_ARRAY(memory, ft_factor, a->count);
    if (factors == NULL || out->metric == NULL || out->split == NULL) return FT_NOMEM(a->error);
    for (uint32_t i = 0; i < a->count; i++)
        FT_TRY(make_factor(a, memory, i, i > 0 ? factors[0].values : NULL, &factors[i]));
    out->factors = factors;
    return FT_OK;
}

static ft_status finish(const ablater *a, ft_ablation *ablation) {
    arena *memory = malloc(sizeof *memory);
    buf table = {0};
    if (memory == NULL) return FT_NOMEM(a->error);
    arena_init(memory, UINT64_MAX);
    ft_status status = make_ablation(a, memory, ablation);
    ablation->owner = memory;
    if (status == FT_OK) {
        ablation_csv(ablation, &table);
        status = trials_write(&a->trials, "ablation.csv", &table, a->error);
        buf_free(&table);
    }
    if (status != FT_OK) ft_ablation_free(ablation);
    return status;
}

void ft_ablation_free(ft_ablation *ablation) {
    if (ablation == NULL || ablation->owner == NULL) return;
    arena_free(ablation->owner);
    free(ablation->owner);
    *ablation = (ft_ablation){0};
}

ft_status ft_ablate(const ft_dataset *data, const char *folder, const ft_ablate_options *options, ft_ablation *ablation,
                    ft_error *error) {
    FT_REQUIRE(error, data, folder, options, ablation);
    ablater a = {.options = options, .error = error, .trials = {.lock = PTHREAD_MUTEX_INITIALIZER}};
    *ablation = (ft_ablation){0};
    ft_status status = prepare(&a, data, folder);
    if (status == FT_OK) status = run(&a);
    if (status == FT_OK) status = finish(&a, ablation);
    for (uint32_t i = 0; i < a.count; i++) {
        free(a.variants[i].name);
        json_decref(a.variants[i].config);
    }
    free(a.variants);
    free(a.jobs);
    trials_close(&a.trials);
    return status;
}
