/* Tests of importing measured kernels and operators: a table of a user's own, and the layouts of published sets. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "foretell/foretell.h"
#include "support/folder.h"

static char root[PATH_MAX]; /* of the project */
static char reported[16384];

static void on_skip(void *user, const char *where, const char *why) {
    (void)user;
    size_t used = strlen(reported);
    if (used + 400 < sizeof reported) snprintf(reported + used, sizeof reported - used, "%.200s: %.160s\n", where, why);
}

static ft_import_result import(const char *source) {
    ft_import_options options = {.skip = on_skip};
    ft_import_result result;
    ft_error error;
    reported[0] = '\0';
    if (ft_import("kernels", source, "set", &options, &result, &error) != FT_OK) fail_msg("%s", error.message);
    return result;
}

static void write_text(const char *path, const char *text) {
    FILE *stream = fopen(path, "w");
    assert_non_null(stream);
    assert_true(fputs(text, stream) >= 0 && fclose(stream) == 0);
}

static ft_dataset *open_set(void) {
    ft_dataset *data;
    ft_error error;
    if (ft_dataset_open("set", &data, &error) != FT_OK) fail_msg("%s", error.message);
    return data;
}

static void was_reported(const char *text) {
    if (strstr(reported, text) == NULL) fail_msg("'%s' was not reported: %s", text, reported);
}

static double metric(const ft_dataset *data, uint32_t record, const char *name) {
    return ft_dataset_records(data)[record].metrics[ft_dataset_metric(data, name)];
}

/* Multiply-accumulates of a record's graph at its batch. */
static uint64_t macs(const ft_dataset *data, uint32_t record) {
    ft_graph *graph, *bound;
    ft_cost cost = {0};
    ft_cost_options options = ft_cost_options_default();
    ft_error error;
    const ft_record *r = &ft_dataset_records(data)[record];
    assert_int_equal(ft_dataset_graph(data, r->graph, &graph, &error), FT_OK);
    assert_int_equal(ft_graph_bind(graph, &(ft_binding){.batch = r->batch}, &bound, &error), FT_OK);
    assert_false(ft_graph_is_scaled(bound));
    assert_int_equal(ft_cost_compute(bound, &options, &cost, &error), FT_OK);
    uint64_t count = cost.total.forward.macs;
    ft_cost_free(&cost);
    ft_graph_free(bound);
    ft_graph_free(graph);
    return count;
}

static void table_of_a_user(void **state) {
    (void)state;
    write_text("k.csv", "op,inputs,attributes,device,batch,dtype,name,setting,time_ms,power_w,occupancy_percent\n"
                        "Gemm,Nx64;32x64:weight,transB=1,rtx-3090,10,fp16,,host=a,0.5,200,40\n"
                        "Gemm,Nx64;32x64:weight,transB=1,rtx-3090,20,fp16,mine,host=a,0.75,,\n"
                        "Gemm,Nx64;32x65:weight,transB=1,rtx-3090,20,fp16,,,0.75,,\n");
    ft_import_result result = import("k.csv");
    assert_int_equal(result.records, 2);
    assert_int_equal(result.graphs, 1);
    was_reported("k.csv: line 4");
    was_reported("the operator cannot be used");
    ft_dataset *data = open_set();
    const ft_record *r = ft_dataset_records(data);
    assert_string_equal(r[0].name, "Gemm");
    assert_string_equal(r[1].name, "mine");
    assert_int_equal(r[0].dtype, FT_FLOAT16);
    assert_true(metric(data, 0, "time_us") == 500);
    assert_true(metric(data, 0, "power_w") == 200);
    assert_true(metric(data, 0, "occupancy_ratio") == 0.4);
    assert_int_equal(macs(data, 1), 20 * 64 * 32);
    ft_dataset_free(data);
}

/* A table may hold models and operators; the same path is used for both. */
static void example(void **state) {
    (void)state;
    char path[PATH_MAX + 64];
    snprintf(path, sizeof path, "%s/examples/measurements/kernels.csv", root);
    ft_import_result result = import(path);
    assert_int_equal(result.skipped, 0);
    assert_int_equal(result.records, 6);
    assert_int_equal(result.graphs, 5);
}

#define LAUNCH "Latency,Device,Torch Version,CUDNN Version,Kernel Name,Kernels,"
static const char launch[] = "NVIDIA A10,p2.1.0,8902,\"void f<4, 2>(int)\",,";

static void neusight(void **state) {
    (void)state;
    char text[4096];
    mkdir("in", 0777);
    mkdir("in/deep", 0777);
    snprintf(text, sizeof text,
             "OPName," LAUNCH "B,M,N,K\nbmm,0.5,%s6,27,21,390\nlinear,0.25,%s1,58,13,141\nlinear,0.25,%s1,58,13,0\n"
             "conv1,0.25,%s1,58,13,1\nlinear,0.25,Tesla P4,p2.1.0,8902,k,,1,58,13,141\nlinear,,%s1,9,13,141\n"
             "linear,1,Wheel,p2.1.0,8902,k,,1,58,13,141\n",
             launch, launch, launch, launch, launch);
    write_text("in/train_linear.csv", text);
    snprintf(text, sizeof text,
             "OPName," LAUNCH "B,Input_Channel,Output_Channel,Kernel_Szie,Input_Size,Stride,Padding\n"
             "conv,1.5,%s3,8,4,3,10,2,1\nconv,1.5,%s3,8,4,3,10,1,0\n",
             launch, launch);
    write_text("in/deep/test_conv.csv", text);
    snprintf(text, sizeof text,
             "OPName," LAUNCH "B,H\nadd,1,%s7,9\naddu,2,%s7,9\nln,3,%s7,9\nsoftmax,4,%s7,9\nsort,1,%s7,9\n", launch,
             launch, launch, launch, launch);
    write_text("in/train_vec.csv", text);
    write_text("in/other.csv", "a,b\n1,2\n");
    ft_import_result result = import("in");
    assert_int_equal(result.records, 8);
    was_reported("B, M, N or K is not a size");
    was_reported("neither bmm nor linear");
    was_reported("the linear layers of P4's training file are throttled");
    was_reported("it has no time");
    was_reported("unknown device 'Wheel'");
    was_reported("an unknown vector operator");
    was_reported("other.csv: no layout of kernels has these columns");
    ft_dataset *data = open_set();
    const ft_record *r = ft_dataset_records(data);
    assert_string_equal(r[0].part, "test"); /* convolutions: the folder comes first */
    assert_int_equal(macs(data, 0), 3 * 5 * 5 * 4 * 8 * 9);
    assert_int_equal(macs(data, 1), 3 * 8 * 8 * 4 * 8 * 9);
    assert_string_equal(r[2].name, "bmm");
    assert_int_equal(r[2].batch, 6);
    assert_true(metric(data, 2, "time_us") == 500);
    assert_string_equal(r[2].device, "a10");
    assert_string_equal(r[2].setting, "amp=no;compile=no;layout=nchw;torch=2.1.0");
    assert_int_equal(macs(data, 2), 6 * 27 * 21 * 390);
    assert_int_equal(r[3].batch, 58);
    assert_int_equal(macs(data, 3), 58 * 13 * 141);
    assert_string_equal(r[5].name, "addu");
    ft_dataset_free(data);
}

/* The published files, where they are. */
static void shared_neusight(void **state) {
    (void)state;
    char path[PATH_MAX + 64];
    snprintf(path, sizeof path, "%s/../shared/data/gpu-ops/neusight", root);
    if (access(path, R_OK) != 0) skip();
    ft_import_result result = import(path);
    assert_int_equal(result.records + result.skipped, 167229); /* rows of all seven files */
    assert_true(result.records > 65000);
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, folder_enter, folder_leave)

int main(void) {
    const struct CMUnitTest tests[] = {
        IN_FOLDER(table_of_a_user),
        IN_FOLDER(example),
        IN_FOLDER(neusight),
        IN_FOLDER(shared_neusight),
    };
    if (getcwd(root, sizeof root) == NULL) return 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
