/* leaf_gbt.c - the family "leaf-gbt": boosted trees on the features of a tensor program, summed over its stores, and
 * the sizes of its workload. The peer that "leaf-sequence" has to beat. */
#include <math.h>
#include <string.h>

#include "predictor/gbt.h"
#include "predictor/program_look.h"
#include "predictor/program_shelf.h"
#include "predictor/programs.h"

enum { COLUMNS = FT_PROGRAM_FEATURES + 1 + PROGRAM_SIZES + PROGRAM_FLAGS };

static ft_status open(void **eyes, ft_error *error) {
    program_shelf *shelf;
    FT_TRY(program_shelf_new(&shelf, error));
    *eyes = shelf;
    return FT_OK;
}

static void close(void *eyes) {
    program_shelf_free(eyes);
}

static ft_status see(ft_program *program, const program_view *view, float *row, ft_error *error) {
    ft_program_features seen;
    FT_TRY(program_lower_record(program, &view->record, error));
    FT_TRY(ft_program_see(program, &seen, error));
    memset(row, 0, COLUMNS * sizeof *row);
    for (uint32_t i = 0; i < seen.leaf_count; i++)
        for (uint32_t k = 0; k < FT_PROGRAM_FEATURES; k++) row[k] += seen.leaves[(size_t)i * FT_PROGRAM_FEATURES + k];
    row[FT_PROGRAM_FEATURES] = (float)seen.leaf_count;
    program_sizes(&view->work, row + FT_PROGRAM_FEATURES + 1);
    program_flags(&view->work, row + FT_PROGRAM_FEATURES + 1 + PROGRAM_SIZES);
    return FT_OK;
}

static ft_status look(void *eyes, subject *s, arena *memory, float *row, double *coverage_ratio, ft_error *error) {
    program_view *view;
    ft_program *program;
    (void)coverage_ratio;
    FT_TRY(program_view_of(s, memory, &view, error));
    FT_TRY(program_shelf_take(eyes, &program, error));
    ft_status status = see(program, view, row, error);
    program_shelf_return(eyes, program);
    return status;
}

static const gbt_rows leaves = {.columns = COLUMNS, .open = open, .close = close, .look = look};

GBT_FAMILY(leaf_gbt, leaves, "leaf-gbt", "program-leaf-sums-1",
           "tensor programs: boosted trees on the features of a loop nest, summed over its stores");
