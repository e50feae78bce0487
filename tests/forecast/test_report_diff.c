/* test_report_diff.c - two models compared: kernels that correspond, came and went, and JSON that matches its schema.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "foretell/foretell.h"
#include "support/flops_file.h"
#include "support/folder.h"
#include "support/report_model.h"
#include "support/schema.h"

static ft_predictor_set *set;

static int set_up(void **state) {
    const char *files[] = {"memory.ftm"};
    if (folder_enter(state) != 0) return 1;
    flops_file_write("memory.ftm", "peak_bytes", 10, 0.5F);
    return ft_predictor_set_open(files, 1, &set, NULL) != FT_OK;
}

static int tear_down(void **state) {
    ft_predictor_set_free(set);
    return folder_leave(state);
}

/* The comparison of two bundled models on a GPU, whose times are those of the data sheet; the caller frees it. */
static char *compare(const char *before, const char *after, ft_output output, uint32_t top) {
    const char *names[] = {before, after};
    ft_graph *models[2] = {NULL, NULL};
    ft_results results[2] = {{0}, {0}};
    ft_error error;
    char *text = NULL;
    size_t size;
    ft_style style = ft_style_default();
    style.output = output;
    style.width = 100;
    const ft_request request = {.device = "rtx-3090", .batch = 2, .optimizer = FT_MOMENTUM};
    for (int i = 0; i < 2; i++) {
        if (ft_model_read(names[i], &models[i], &error) != FT_OK) fail_msg("%s", error.message);
        if (ft_predict(set, models[i], NULL, &request, 1, &results[i], &error) != FT_OK) fail_msg("%s", error.message);
    }
    const ft_model_results x = {before, models[0], NULL, &results[0]}, y = {after, models[1], NULL, &results[1]};
    FILE *stream = open_memstream(&text, &size);
    if (ft_report_diff(stream, &style, &x, &y, top, &error) != FT_OK) fail_msg("%s", error.message);
    fclose(stream);
    for (int i = 0; i < 2; i++) {
        ft_results_free(&results[i]);
        ft_graph_free(models[i]);
    }
    return text;
}

static json_t *compare_json(const char *before, const char *after) {
    char *text = compare(before, after, FT_JSON, 0);
    json_t *root = json_loads(text, 0, NULL), *schema = schema_load("docs/schema/diff.schema.json");
    assert_true(schema_fits(root, schema, "diff"));
    json_decref(schema);
    free(text);
    return root;
}

static size_t count_changes(json_t *root, const char *change) {
    json_t *layers = json_object_get(json_array_get(root, 0), "layers"), *layer;
    size_t i, count = 0;
    json_array_foreach(layers, i, layer) {
        count += strcmp(json_string_value(json_object_get(layer, "change")), change) == 0;
    }
    return count;
}

static void equal_models_have_no_changes(void **state) {
    (void)state;
    json_t *root = compare_json("vgg16", "vgg16");
    assert_int_equal(json_array_size(json_object_get(json_array_get(root, 0), "layers")), 0);
    assert_float_equal(json_number_value(json_object_get(json_array_get(root, 0), "time_change_ratio")), 0, 0);
    json_decref(root);
}

/* VGG-19 is VGG-16 with three more convolutions, each with its activation. */
static void added_layers_are_found(void **state) {
    (void)state;
    json_t *root = compare_json("vgg16", "vgg19");
    assert_true(count_changes(root, "added") >= 3);
    assert_int_equal(count_changes(root, "removed"), 0);
    assert_int_equal(count_changes(root, "slower"), 0);
    json_decref(root);
    root = compare_json("vgg19", "vgg16");
    assert_true(count_changes(root, "removed") >= 3);
    assert_int_equal(count_changes(root, "added"), 0);
    json_decref(root);
}

/* The same graph with other sizes: nothing comes or goes. */
static void resized_layers_correspond(void **state) {
    (void)state;
    json_t *root = compare_json("convnext-small", "convnext-base");
    assert_int_equal(count_changes(root, "added") + count_changes(root, "removed"), 0);
    assert_true(count_changes(root, "slower") > 10);
    json_decref(root);
}

static void changes_add_up(void **state) {
    (void)state;
    json_t *root = compare_json("resnet34", "resnet50"), *whole = json_array_get(root, 0), *layer;
    double sum = 0, change = json_number_value(json_object_get(whole, "new_time_us")) -
                             json_number_value(json_object_get(whole, "old_time_us"));
    size_t i;
    json_array_foreach(json_object_get(whole, "layers"), i, layer) {
        sum += json_number_value(json_object_get(layer, "time_change_us"));
    }
    assert_float_equal(sum, change, 1e-6 * (1 + (change > 0 ? change : -change)));
    json_decref(root);
}

static void tables_and_csv_list_the_top(void **state) {
    (void)state;
    char *text = compare("vgg16", "vgg19", FT_TABLE, 2);
    assert_non_null(strstr(text, "vgg16 to vgg19 on rtx-3090, batch 2, inference"));
    assert_non_null(strstr(text, "more; --top 0 lists all"));
    free(text);
    text = compare("vgg16", "vgg19", FT_CSV, 2);
    size_t lines = 0;
    for (const char *at = text; *at != '\0'; at++) lines += *at == '\n';
    assert_int_equal(lines, 3);
    free(text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_models_have_no_changes), cmocka_unit_test(added_layers_are_found),
        cmocka_unit_test(resized_layers_correspond),    cmocka_unit_test(changes_add_up),
        cmocka_unit_test(tables_and_csv_list_the_top),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
