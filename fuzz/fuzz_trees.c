/* fuzz_trees.c - any floats as a forest; one that loads predicts, and is unchanged when saved and loaded. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "nn/tree/trees.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void use(const forest *f, const float *block, size_t used) {
    enum { ROWS = 3 };
    size_t features = forest_features(f);
    float *rows = malloc(ROWS * features * sizeof *rows), out[ROWS];
    if (rows == NULL) abort();
    for (size_t i = 0; i < features; i++) {
        rows[i] = 0;
        rows[features + i] = i % 2 == 0 ? NAN : -INFINITY;
        rows[2 * features + i] = (float)i;
    }
    forest_predict(f, rows, features, ROWS, out);
    for (size_t i = 0; i < ROWS; i++) {
        float alone = forest_predict_row(f, rows + i * features);
        /* Overflowing sums are infinities of both signs, whose sum is NaN. */
        if (alone != out[i] && !(isnan(alone) && isnan(out[i]))) abort();
    }
    free(rows);
    if (forest_save_count(f) != used) abort();
    float *again = malloc(used * sizeof *again);
    if (again == NULL) abort();
    forest_save(f, again);
    if (block[0] == FOREST_VERSION && memcmp(again, block, used * sizeof *again) != 0) abort();
    forest *back = NULL;
    size_t back_used = 0;
    if (forest_load(again, used, &back, &back_used, NULL) != FT_OK || back_used != used) abort();
    forest_free(back);
    free(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    size_t count = size / sizeof(float), used = 0;
    float *block = malloc(count * sizeof *block + 1);
    if (block == NULL) abort();
    memcpy(block, data, count * sizeof *block);
    forest *f = NULL;
    ft_error error;
    if (forest_load(block, count, &f, &used, &error) == FT_OK) use(f, block, used);
    forest_free(f);
    f = NULL;
    if (forest_map(block, count, &f, &used, &error) == FT_OK) use(f, block, used);
    forest_free(f);
    free(block);
    return 0;
}
