/* leaf_gbt.c - the families "leaf-gbt": boosted trees on the features of a tensor program, summed over its stores, and
 * the sizes of its workload, a baseline for "leaf-sequence"; and "nest-gbt": the same without the workload, which TVM's
 * printed form lacks. */
#include <math.h>
#include <string.h>

#include "predictor/baseline/gbt.h"
#include "predictor/core/families.h"
#include "predictor/program/program_features.h"

enum { NEST_COLUMNS = FT_PROGRAM_FEATURES + 1, LEAF_COLUMNS = NEST_COLUMNS + PROGRAM_SIZES + PROGRAM_FLAGS };

static ft_status open(void **extractor, ft_error *error) {
    program_pool *pool;
    FT_TRY(program_pool_new(&pool, error));
    *extractor = pool;
    return FT_OK;
}

static void close(void *extractor) {
    program_pool_free(extractor);
}

/* Sums of the features over the stores. */
static ft_status sum_stores(ft_program *program, float *row, ft_error *error) {
    ft_program_features f;
    FT_TRY(ft_program_extract_features(program, &f, error));
    memset(row, 0, NEST_COLUMNS * sizeof *row);
    for (uint32_t i = 0; i < f.leaf_count; i++)
        for (uint32_t k = 0; k < FT_PROGRAM_FEATURES; k++) row[k] += f.leaves[(size_t)i * FT_PROGRAM_FEATURES + k];
    row[FT_PROGRAM_FEATURES] = (float)f.leaf_count;
    return FT_OK;
}

static ft_status extract_nest(void *extractor, model_view *s, arena *memory, float *row, double *coverage_ratio,
                              ft_error *error) {
    program_scratch *scratch;
    (void)memory;
    (void)coverage_ratio;
    FT_TRY(program_pool_take(extractor, &scratch, error));
    ft_status status = program_read_nest(s, &scratch->source, scratch->program, error);
    if (status == FT_OK) status = sum_stores(scratch->program, row, error);
    program_pool_return(extractor, scratch);
    return status;
}

static ft_status extract_record(program_scratch *scratch, const model_view *s, float *row, ft_error *error) {
    const program_source *source = &scratch->source;
    FT_TRY(program_source_read(s, &scratch->source, error));
    FT_TRY(program_lower_record(scratch->program, &source->record, error));
    FT_TRY(sum_stores(scratch->program, row, error));
    program_sizes(&source->work, row + NEST_COLUMNS);
    program_flags(&source->work, row + NEST_COLUMNS + PROGRAM_SIZES);
    return FT_OK;
}

static ft_status extract(void *extractor, model_view *s, arena *memory, float *row, double *coverage_ratio,
                         ft_error *error) {
    program_scratch *scratch;
    (void)memory;
    (void)coverage_ratio;
    FT_TRY(program_pool_take(extractor, &scratch, error));
    ft_status status = extract_record(scratch, s, row, error);
    program_pool_return(extractor, scratch);
    return status;
}

static const gbt_rows nests = {.columns = NEST_COLUMNS, .open = open, .close = close, .extract = extract_nest};
static const gbt_rows leaves = {.columns = LEAF_COLUMNS, .open = open, .close = close, .extract = extract};

GBT_FAMILY(leaf_gbt, leaves, "leaf-gbt", "program-leaf-sums-1",
           "tensor programs: boosted trees on the features of a loop nest, summed over its stores");
GBT_FAMILY(nest_gbt, nests, "nest-gbt", "program-nest-sums-1",
           "tensor programs: leaf-gbt without the workload, also for programs in TVM's printed form");
