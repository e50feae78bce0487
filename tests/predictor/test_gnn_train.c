/* The common offset of the labels of a group is learned and subtracted. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "predictor/gnn/gnn_train.h"

enum { GRAPHS = 4, COLUMNS = 2, GROUPS = 2 };

/* Three graphs of one group and one of another; the second column has two labels. */
static uint32_t group_of[GRAPHS] = {0, 0, 0, 1};
static double labels[GRAPHS * COLUMNS] = {1, NAN, 1, 1, 1, NAN, 1, 1};
static const uint32_t graphs[GRAPHS] = {0, 1, 2, 3};
static const float mask[GRAPHS * COLUMNS] = {1, 0, 1, 1, 1, 0, 1, 1};

typedef struct scene {
    params values;
    gnn_data data;
    gnn_offsets offsets;
    uint32_t counts[GROUPS * COLUMNS];
    tape *t;
} scene;

static void scene_open(scene *s, double share) {
    *s = (scene){.data = {.column_count = COLUMNS, .group_of = group_of, .group_count = GROUPS, .labels = labels}};
    params_init(&s->values);
    params_add(&s->values, 1, 1, PARAM_ZEROS, "weight");
    s->offsets = (gnn_offsets){.share = share,
                               .values = params_add_state(&s->values, GROUPS, COLUMNS, PARAM_ZEROS, "levels"),
                               .counts = s->counts};
    assert_int_equal(params_finish(&s->values, 1, NULL), FT_OK);
    assert_int_equal(tape_new(&s->values, 1 << 20, &s->t, NULL), FT_OK);
}

static void scene_close(scene *s) {
    tape_free(s->t);
    params_free(&s->values);
}

/* A training step. */
static void step(scene *s, const float *predicted, float *targets) {
    float *offsets = params_values(&s->values, s->offsets.values);
    tape_begin(s->t, TAPE_TRAIN, 0, 0);
    gnn_offsets_count(&s->offsets, &s->data, graphs, GRAPHS);
    gnn_subtract_group_offset(&s->offsets, s->t, &s->data, &(gnn_targets){graphs, GRAPHS, mask, targets},
                              tape_input(s->t, GRAPHS, COLUMNS, predicted));
    const float *change = tape_gradient(s->t) + s->values.items[s->offsets.values].offset;
    for (int i = 0; i < GROUPS * COLUMNS; i++) offsets[i] += change[i];
}

static void labels_are_counted(void **state) {
    (void)state;
    scene s;
    scene_open(&s, 0.5);
    gnn_offsets_count(&s.offsets, &s.data, graphs, GRAPHS);
    const uint32_t expected[] = {3, 1, 1, 1};
    for (int i = 0; i < GROUPS * COLUMNS; i++) assert_int_equal(s.counts[i], expected[i]);
    scene_close(&s);
}

/* The network predicts 0; labels of the first group are 0.1, that of the second 0. The offset of the first group
 * converges to a share of its error, that of the second stays 0. */
static void a_share_of_the_offset_is_subtracted(void **state) {
    (void)state;
    const float predicted[GRAPHS * COLUMNS] = {0};
    for (double share = 0.5; share < 1; share += 0.25) {
        scene s;
        scene_open(&s, share);
        float targets[GRAPHS * COLUMNS];
        for (int n = 0; n < 400; n++) {
            for (int i = 0; i < GRAPHS * COLUMNS; i++) targets[i] = mask[i] > 0 && i < 3 * COLUMNS ? 0.1F : 0;
            float first = targets[0] - params_values(&s.values, s.offsets.values)[0];
            step(&s, predicted, targets);
            assert_true(fabsf(targets[0] - first) < 1e-6F); /* an update takes effect in the next step */
        }
        const float *offsets = params_values(&s.values, s.offsets.values);
        assert_true(fabs(offsets[0] - 0.1 * share) < 1e-4 && fabs(offsets[1] - 0.1 * share) < 1e-4);
        assert_true(offsets[2] == 0 && offsets[3] == 0);
        assert_true(fabs(targets[0] - 0.1 * (1 - share)) < 1e-4 && targets[1] == 0 && targets[6] == 0);
        scene_close(&s);
    }
}

/* A very large error changes an offset no more than a large one. */
static void large_errors_are_clamped(void **state) {
    (void)state;
    const float predicted[GRAPHS * COLUMNS] = {0};
    float moved[2];
    for (int i = 0; i < 2; i++) {
        scene s;
        scene_open(&s, 0.5);
        float targets[GRAPHS * COLUMNS] = {i == 0 ? 1 : 1000};
        step(&s, predicted, targets);
        moved[i] = params_values(&s.values, s.offsets.values)[0];
        scene_close(&s);
    }
    assert_true(moved[0] > 0 && moved[0] == moved[1]);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(labels_are_counted),
                                       cmocka_unit_test(a_share_of_the_offset_is_subtracted),
                                       cmocka_unit_test(large_errors_are_clamped)};
    return cmocka_run_group_tests_name("predictor/gnn_train", tests, NULL, NULL);
}
