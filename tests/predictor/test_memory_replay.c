/* GPU memory: context and correction are recovered, and results without measurements are marked. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "cost/allocator.h"
#include "predictor/core/scan.h"
#include "support/fitted.h"
#include "support/folder.h"

#define MIB    (1024.0 * 1024)
#define CONFIG "{\"rounds\": 20, \"depth\": 3, \"eta\": 0.3, \"min_child_weight\": 1}"

/* A context of 500 or 800 MiB, and a tenth more for models with many channels. */
static double rule(const ft_graph *bound, const char *device) {
    ft_cost_options options = ft_cost_options_default();
    allocator_replay r;
    ft_error error;
    options.mode = FT_INFER;
    options.dtype = FT_FLOAT32;
    options.optimizer = FT_SGD;
    assert_int_equal(allocator_replay_steps(bound, NULL, &options, UINT64_MAX, &r, &error), FT_OK);
    double base = (strcmp(device, "adreno-640") == 0 ? 500 : 800) * MIB + (double)r.reserved_bytes;
    return base * (ft_graph_op_count(bound) > 6 ? 1.1 : 1);
}

static void contexts_and_corrections_are_recovered(void **state) {
    (void)state;
    fitted f = fit_synth("memory-replay", rule, CONFIG);
    fitted_check(&f, 0.12); /* records are of inference, where the trees are not used */
    fitted_check_refusals(&f);
    fitted_refuses(&f, NULL, 1, "after its last tree");
    fitted_refuses(&f, NULL, -1, "");
    fitted_refuses(&f, "{\"a\": 1}", 0, "");
    fitted_free(&f);
}

static model_output ask(const fitted *f, const ft_request *request, const target_device *where, ft_status expected,
                        arena *memory) {
    scan_graph graph;
    ft_error error;
    model_view s;
    model_output p = {0};
    assert_int_equal(scan_graph_open(f->data, &ft_dataset_records(f->data)[0], &graph, &error), FT_OK);
    model_view_init(&s, graph.bound, request);
    assert_int_equal(f->family->predict(f->model, &(predict_input){&s, where, memory, true}, &p, &error), expected);
    if (expected != FT_OK) assert_non_null(strstr(error.message, "GPUs under PyTorch"));
    model_view_free(&s);
    scan_graph_free(&graph);
    return p;
}

static double part_of(const model_output *p, const char *type) {
    for (uint32_t i = 0; i < p->part_count; i++)
        if (strcmp(p->parts[i].type, type) == 0) return p->parts[i].value;
    return 0;
}

static void unmeasured_modes_and_devices_have_wider_intervals(void **state) {
    (void)state;
    fitted f = fit_synth("memory-replay", rule, CONFIG);
    arena memory;
    arena_init(&memory, 1 << 24);
    ft_error error;
    ft_device *gpu, *phone;
    assert_int_equal(ft_device_open("rtx-3090", &gpu, &error), FT_OK);
    assert_int_equal(ft_device_open("cortex-a76", &phone, &error), FT_OK);
    ft_request train = {.mode = FT_TRAIN, .dtype = FT_FLOAT32}, infer = {.mode = FT_INFER, .dtype = FT_FLOAT32};
    ft_request half = {.mode = FT_TRAIN, .dtype = FT_FLOAT16};
    ft_request compiled = {.mode = FT_TRAIN, .dtype = FT_FLOAT32, .setting = "amp=no;compile=yes"};
    target_device known = {.index = 0}, other = {.index = FT_NONE, .sheet = gpu},
                  none = {.index = FT_NONE, .sheet = phone};
    model_output measured = ask(&f, &train, &known, FT_OK, &memory),
                 elsewhere = ask(&f, &train, &other, FT_OK, &memory);
    assert_int_equal(measured.provenance, FT_LEARNED);
    assert_int_equal(elsewhere.provenance, FT_EXTRAPOLATED);
    assert_true(elsewhere.spread > measured.spread);
    const ft_request *queries[] = {&infer, &half, &compiled};
    for (int i = 0; i < 3; i++) {
        model_output p = ask(&f, queries[i], &known, FT_OK, &memory);
        assert_int_equal(p.provenance, FT_EXTRAPOLATED);
        assert_true(p.spread > measured.spread);
    }
    ask(&f, &train, &none, FT_ERR_UNSUPPORTED, &memory);
    /* The context of a device that was not measured lies between those of the others. */
    double context = part_of(&elsewhere, "context");
    assert_true(context > part_of(&measured, "context") && context < 900 * MIB);
    ft_device_free(gpu);
    ft_device_free(phone);
    arena_free(&memory);
    fitted_free(&f);
}

/* The setting of a record says which optimiser it was, whatever the request says. */
static void the_optimizer_counts(void **state) {
    (void)state;
    fitted f = fit_synth("memory-replay", rule, CONFIG);
    arena memory;
    arena_init(&memory, 1 << 24);
    target_device known = {.index = 0};
    ft_request sgd = {.mode = FT_TRAIN, .dtype = FT_FLOAT32, .optimizer = FT_SGD}, adam = sgd, said = sgd,
               unknown = sgd;
    adam.optimizer = FT_ADAM;
    said.setting = "amp=no;optimizer=adam;compile=no";
    unknown.setting = "optimizer=averyveryverylongname;optimizer";
    model_output without = ask(&f, &sgd, &known, FT_OK, &memory), with = ask(&f, &adam, &known, FT_OK, &memory);
    model_output also = ask(&f, &said, &known, FT_OK, &memory), same = ask(&f, &unknown, &known, FT_OK, &memory);
    assert_true(part_of(&without, "optimizer") == 0 && part_of(&with, "optimizer") > 0);
    assert_true(part_of(&also, "optimizer") == part_of(&with, "optimizer"));
    assert_true(same.value == without.value);
    assert_true(part_of(&with, "weights") > 0 && part_of(&with, "activations") > 0);
    arena_free(&memory);
    fitted_free(&f);
}

/* Without allocator and trees. */
static void memory_plan_needs_no_trees(void **state) {
    (void)state;
    fitted f = fit_synth("memory-plan", rule, NULL);
    fitted_check(&f, 0.15);
    fitted_check_refusals(&f);
    arena memory;
    arena_init(&memory, 1 << 24);
    ft_request train = {.mode = FT_TRAIN, .dtype = FT_FLOAT32};
    target_device known = {.index = 1};
    model_output p = ask(&f, &train, &known, FT_OK, &memory);
    assert_int_equal(p.provenance, FT_EXTRAPOLATED);
    assert_true(part_of(&p, "allocator") == 0 && part_of(&p, "context") > 0);
    arena_free(&memory);
    fitted_free(&f);
}

static void threads_do_not_matter(void **state) {
    (void)state;
    fitted f = fit_synth("memory-replay", rule, CONFIG);
    fitted_check_threads(&f, CONFIG);
    fitted_free(&f);
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, folder_enter, folder_leave)

int main(void) {
    const struct CMUnitTest tests[] = {
        IN_FOLDER(contexts_and_corrections_are_recovered),
        IN_FOLDER(unmeasured_modes_and_devices_have_wider_intervals),
        IN_FOLDER(the_optimizer_counts),
        IN_FOLDER(memory_plan_needs_no_trees),
        IN_FOLDER(threads_do_not_matter),
    };
    return cmocka_run_group_tests_name("predictor/memory_replay", tests, NULL, NULL);
}
