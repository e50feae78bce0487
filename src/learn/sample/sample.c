/* sample.c - selects the models of a pool to measure next. */
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/rng.h"
#include "learn/sample/sample_pick.h"
#include "nn/math/kmeans.h"

enum { RANDOM_DRAWS = 5 };

typedef struct job {
    const ft_dataset *data;
    const ft_sample_options *options;
    const sample_method *method;
    arena *memory;
    sample_space space;
    sample_picks picks;
    ft_sample *out;
    ft_error *error;
} job;

/* Each model of the pool adds to the weight of the nearest pick; a task counts by its programs. */
static void compute_weights(const job *j, ft_sampled *items) {
    const sample_space *s = &j->space;
    double members = 0;
    for (uint32_t i = 0; i < s->count; i++) members += s->members[i];
    for (uint32_t i = 0; i < s->count; i++) {
        uint32_t best = 0;
        double nearest = INFINITY;
        for (uint32_t k = 0; k < j->picks.count; k++) {
            double distance = kmeans_distance(s->points + (size_t)i * s->width,
                                              s->points + (size_t)j->picks.items[k] * s->width, s->width);
            if (distance >= nearest) continue;
            nearest = distance;
            best = k;
        }
        items[best].weight += s->members[i] / members;
    }
}

/* method->reason is a constant format with at most one double. */
static void put_reason(const sample_method *method, double value, char *text, size_t size) {
    snprintf(text, size, method->reason, value);
}

static ft_status fill_sample(job *j) {
    ft_sampled *items = ARENA_ARRAY(j->memory, ft_sampled, j->picks.count);
    const ft_record *records = ft_dataset_records(j->data);
    if (items == NULL) return FT_NOMEM(j->error);
    for (uint32_t i = 0; i < j->picks.count; i++) {
        uint32_t record = j->space.records[j->picks.items[i]];
        items[i] = (ft_sampled){.name = records[record].name,
                                .family = records[record].family,
                                .graph = ft_dataset_graph_id(j->data, records[record].graph),
                                .record = record};
        put_reason(j->method, j->picks.values[i], items[i].reason, sizeof items[i].reason);
    }
    compute_weights(j, items);
    assert(j->picks.count == j->options->count);
    *j->out = (ft_sample){.method = j->method->name, .items = items, .count = j->picks.count};
    j->out->pool_count = j->space.count;
    return FT_OK;
}

/* Computes the discrepancy to the pool of the picks and, on average, of random ones. */
static ft_status compare(job *j) {
    const sample_space *s = &j->space;
    uint32_t *order = ARENA_ARRAY(j->memory, uint32_t, s->count);
    if (order == NULL) return FT_NOMEM(j->error);
    FT_TRY(sample_discrepancy(s, j->picks.items, j->picks.count, &j->out->discrepancy, j->error));
    for (uint32_t i = 0; i < RANDOM_DRAWS; i++) {
        double one;
        rng random;
        rng_init(&random, j->options->seed, i + 1);
        for (uint32_t k = 0; k < s->count; k++) order[k] = k;
        rng_shuffle(&random, order, s->count);
        FT_TRY(sample_discrepancy(s, order, j->picks.count, &one, j->error));
        j->out->random_discrepancy += one / RANDOM_DRAWS;
    }
    return FT_OK;
}

static ft_status run(job *j, const ft_predictor *predictor) {
    uint32_t count = j->options->count;
    if (count == 0) return ft_fail(j->error, FT_ERR_USAGE, "the number of models to choose is 0: set --count");
    FT_TRY(sample_method_find(j->options->method, &j->method, j->error));
    FT_TRY(sample_space_make(predictor, j->data, j->options, j->memory, &j->space, j->error));
    if (count > j->space.count)
        return ft_fail(j->error, FT_ERR_USAGE, "%u models are requested, but the pool has %u: lower --count", count,
                       j->space.count);
    j->picks.items = ARENA_ARRAY(j->memory, uint32_t, count);
    j->picks.values = ARENA_ARRAY(j->memory, double, count);
    if (j->picks.items == NULL || j->picks.values == NULL) return FT_NOMEM(j->error);
    FT_TRY(j->method->pick(&j->space, count, j->options->seed, &j->picks, j->error));
    FT_TRY(fill_sample(j));
    return compare(j);
}

ft_status ft_sample_make(const ft_predictor *predictor, const ft_dataset *pool, const ft_sample_options *options,
                         ft_sample *sample, ft_error *error) {
    FT_REQUIRE(error, predictor, pool, options, sample);
    arena *memory = malloc(sizeof *memory);
    ft_sample made = {0};
    *sample = made;
    if (memory == NULL) return FT_NOMEM(error);
    arena_init(memory, UINT64_MAX);
    job j = {.data = pool, .options = options, .memory = memory, .out = &made, .error = error};
    ft_status status = run(&j, predictor);
    made.owner = memory;
    if (status == FT_OK)
        *sample = made;
    else
        ft_sample_free(&made);
    return status;
}

void ft_sample_free(ft_sample *sample) {
    if (sample == NULL) return;
    if (sample->owner != NULL) arena_free(sample->owner);
    free(sample->owner);
    *sample = (ft_sample){0};
}

uint32_t ft_sample_method_count(void) {
    return sample_method_total;
}

const char *ft_sample_method_name(uint32_t index) {
    return index < sample_method_total ? sample_methods[index].name : NULL;
}

const char *ft_sample_method_text(uint32_t index) {
    return index < sample_method_total ? sample_methods[index].text : NULL;
}
