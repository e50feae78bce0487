/* fuzz_metrics.c - any bytes as the metrics.json of two runs, which are compared in every format.
 *
 * A zero byte separates the two; without one, a run is compared with itself. */
#include <stdlib.h>
#include <string.h>

#include "learn/evaluate/comparison.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void compare(json_t *const results[2], bool has_families) {
    static const char *const names[2] = {"one", "two"};
    static const ft_output outputs[] = {FT_TABLE, FT_JSON, FT_CSV};
    char *text = NULL;
    size_t length;
    ft_error error;
    FILE *stream = open_memstream(&text, &length);
    if (stream == NULL) return;
    for (size_t i = 0; i < sizeof outputs / sizeof outputs[0]; i++) {
        ft_style style = ft_style_default();
        style.output = outputs[i];
        run_results_compare(names, results, 2, has_families, &style, stream, &error);
    }
    fclose(stream);
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const uint8_t *zero = size > 0 ? memchr(data, 0, size) : NULL;
    size_t first = zero != NULL ? (size_t)(zero - data) : size, second = zero != NULL ? first + 1 : 0;
    json_t *results[2] = {NULL, NULL};
    ft_error error;
    if (run_results_parse("one", data, first, &results[0], &error) == FT_OK &&
        run_results_parse("two", data + second, size - second, &results[1], &error) == FT_OK) {
        compare(results, false);
        compare(results, true);
    }
    json_decref(results[0]);
    json_decref(results[1]);
    return 0;
}
