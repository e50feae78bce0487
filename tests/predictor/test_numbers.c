/* Numbers of predictor files of all families: what no training writes is refused when a file is opened, and what is
 * accepted predicts a number or fails with a message. */
#include <dirent.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/hash.h"
#include "base/input.h"
#include "predictor/core/file.h"
#include "predictor/core/predictor.h"
#include "support/npu_model.h"
#include "support/synth_data.h"

enum { GRAPHS = 2, POSITIONS = 24, HEAD = 32, HASH = 16 };

static const char folder[] = "fuzz/corpus/predictor";

static uint64_t number_at(const uint8_t *bytes) {
    uint64_t value = 0;
    for (size_t i = 8; i-- > 0;) value = value << 8 | bytes[i];
    return value;
}

static void seal(uint8_t *bytes, size_t size) {
    hash128 hash = hash_bytes(bytes, size - HASH);
    for (size_t i = 0; i < 8; i++) {
        bytes[size - HASH + i] = (uint8_t)(hash.low >> 8 * i);
        bytes[size - HASH / 2 + i] = (uint8_t)(hash.high >> 8 * i);
    }
}

static void predicts(const ft_predictor *predictor, const ft_graph *graph, const char *name) {
    for (uint32_t i = 0; i < ft_predictor_device_count(predictor) && i < 3; i++) {
        for (ft_mode mode = FT_INFER; mode <= FT_TRAIN; mode++) {
            ft_request request = {.device = ft_predictor_device(predictor, i), .mode = mode};
            ft_result result;
            ft_error error = {.message = ""};
            if (ft_predictor_predict(predictor, graph, &request, &result, &error) != FT_OK) {
                assert_string_not_equal(error.message, "");
                continue;
            }
            const ft_metric_result *m = &result.metrics[0];
            if (!(isfinite(m->value) && m->value > 0)) fail_msg("%s: predicts %g", name, m->value);
            ft_result_free(&result);
        }
    }
}

/* `is_possible`: a file may contain this number somewhere. */
static void check_number(uint8_t *bytes, size_t size, float number, bool is_possible, ft_graph *const *graphs,
                         const char *name) {
    uint64_t header = number_at(bytes + 16), count = number_at(bytes + 24);
    for (uint64_t step = 0; step < POSITIONS && step < count; step++) {
        uint8_t *at = bytes + HEAD + header + 4 * (count > POSITIONS ? step * count / POSITIONS : step), kept[4];
        ft_predictor *predictor = NULL;
        ft_error error = {.message = ""};
        memcpy(kept, at, sizeof kept);
        memcpy(at, &number, sizeof kept);
        seal(bytes, size);
        ft_status status = ft_predictor_open_memory(bytes, size, name, &predictor, &error);
        if (status == FT_OK && !is_possible) fail_msg("%s: opens with %g", name, (double)number);
        if (status == FT_OK)
            for (int i = 0; i < GRAPHS; i++) predicts(predictor, graphs[i], name);
        else
            assert_non_null(strstr(error.message, name));
        ft_predictor_free(predictor);
        memcpy(at, kept, sizeof kept);
    }
}

static bool check_file(const char *name, ft_graph *const *graphs) {
    static const float possible[] = {1e18F, -1e18F, 1e15F, 1e9F, -1e9F, 1e3F, 1e-30F};
    char path[512];
    input in;
    ft_error error;
    ft_predictor *predictor = NULL;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    assert_int_equal(input_open(path, 1 << 20, &in, &error), FT_OK);
    uint8_t *bytes = malloc(in.size);
    assert_non_null(bytes);
    memcpy(bytes, in.bytes, in.size);
    if (in.size > HEAD + HASH) seal(bytes, in.size); /* the fuzz target does so too */
    bool is_predictor = ft_predictor_open_memory(bytes, in.size, name, &predictor, &error) == FT_OK;
    bool is_bundle = is_predictor && HEAD + number_at(bytes + 16) + 4 * number_at(bytes + 24) + HASH != in.size;
    ft_predictor_free(predictor);
    if (is_predictor && !is_bundle && number_at(bytes + 24) > 0) {
        check_number(bytes, in.size, 1e30F, false, graphs, name);
        check_number(bytes, in.size, -3e38F, false, graphs, name);
        check_number(bytes, in.size, NAN, false, graphs, name);
        for (size_t i = 0; i < sizeof possible / sizeof possible[0]; i++)
            check_number(bytes, in.size, possible[i], true, graphs, name);
    }
    free(bytes);
    input_close(&in);
    return is_predictor && !is_bundle;
}

static void numbers_that_no_training_writes_are_refused(void **state) {
    (void)state;
    ft_graph *models[GRAPHS] = {synth_network(3), lite_read(&npu_mobilenet_head)}, *graphs[GRAPHS];
    for (int i = 0; i < GRAPHS; i++) assert_int_equal(ft_graph_bind(models[i], NULL, &graphs[i], NULL), FT_OK);
    DIR *files = opendir(folder);
    assert_non_null(files);
    uint32_t predictors = 0;
    for (const struct dirent *file; (file = readdir(files)) != NULL;)
        if (file->d_name[0] != '.') predictors += check_file(file->d_name, graphs);
    closedir(files);
    assert_true(predictors >= 12); /* most families */
    for (int i = 0; i < GRAPHS; i++) {
        ft_graph_free(graphs[i]);
        ft_graph_free(models[i]);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(numbers_that_no_training_writes_are_refused)};
    return cmocka_run_group_tests_name("predictor/numbers", tests, NULL, NULL);
}
