/* leaf_gbt.c - the families "leaf-gbt": boosted trees on the features of a tensor program, summed over its stores, and
 * the sizes of its workload, the peer that "leaf-sequence" has to beat; and "nest-gbt": the same without the workload,
 * which a program that TVM printed does not tell. */
#include <math.h>
#include <string.h>

#include "predictor/baseline/gbt.h"
#include "predictor/families.h"
#include "predictor/program/program_features.h"
#include "predictor/program/program_pool.h"

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

/* What the stores are together. */
static ft_status see(ft_program *program, float *row, ft_error *error) {
    ft_program_features seen;
    FT_TRY(ft_program_extract_features(program, &seen, error));
    memset(row, 0, NEST_COLUMNS * sizeof *row);
    for (uint32_t i = 0; i < seen.leaf_count; i++)
        for (uint32_t k = 0; k < FT_PROGRAM_FEATURES; k++) row[k] += seen.leaves[(size_t)i * FT_PROGRAM_FEATURES + k];
    row[FT_PROGRAM_FEATURES] = (float)seen.leaf_count;
    return FT_OK;
}

static ft_status look_at_nest(void *extractor, model_view *s, arena *memory, float *row, double *coverage_ratio,
                              ft_error *error) {
    program_scratch *scratch;
    (void)memory;
    (void)coverage_ratio;
    FT_TRY(program_pool_take(extractor, &scratch, error));
    ft_status status = program_read_nest(s, &scratch->view, scratch->program, error);
    if (status == FT_OK) status = see(scratch->program, row, error);
    program_pool_return(extractor, scratch);
    return status;
}

static ft_status see_record(program_scratch *scratch, const model_view *s, float *row, ft_error *error) {
    const program_source *view = &scratch->view;
    FT_TRY(program_source_read(s, &scratch->view, error));
    FT_TRY(program_lower_record(scratch->program, &view->record, error));
    FT_TRY(see(scratch->program, row, error));
    program_sizes(&view->work, row + NEST_COLUMNS);
    program_flags(&view->work, row + NEST_COLUMNS + PROGRAM_SIZES);
    return FT_OK;
}

static ft_status look(void *extractor, model_view *s, arena *memory, float *row, double *coverage_ratio,
                      ft_error *error) {
    program_scratch *scratch;
    (void)memory;
    (void)coverage_ratio;
    FT_TRY(program_pool_take(extractor, &scratch, error));
    ft_status status = see_record(scratch, s, row, error);
    program_pool_return(extractor, scratch);
    return status;
}

static const gbt_rows nests = {.columns = NEST_COLUMNS, .open = open, .close = close, .look = look_at_nest};
static const gbt_rows leaves = {.columns = LEAF_COLUMNS, .open = open, .close = close, .look = look};

GBT_FAMILY(leaf_gbt, leaves, "leaf-gbt", "program-leaf-sums-1",
           "tensor programs: boosted trees on the features of a loop nest, summed over its stores");
GBT_FAMILY(nest_gbt, nests, "nest-gbt", "program-nest-sums-1",
           "tensor programs: the same without the workload, also for programs that TVM printed");
