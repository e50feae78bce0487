/* Tests of importing timm's results: small tables beside graphs of one operator. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "foretell/foretell.h"
#include "support/failing.h"
#include "support/folder.h"
#include "support/onnx_model.h"
#include "support/small_set.h"

#define TIMES "graph,phase,device,precision,layout,torch,torch_compile,model,batch_size,samples_per_sec,step_time_ms\n"
#define PEAKS "model,batch_size,max_gpu_memory_mib,faketensor_final_mib,suspect_oom\n"

static char reported[8192];

static void on_skip(void *user, const char *where, const char *why) {
    (void)user;
    size_t used = strlen(reported);
    snprintf(reported + used, sizeof reported - used, "%s: %s\n", where, why);
}

static ft_status import(ft_import_result *result, ft_error *error) {
    ft_import_options options = {.skip = on_skip};
    reported[0] = '\0';
    return ft_import("timm", "in", "set", &options, result, error);
}

static ft_import_result expect_import(void) {
    ft_import_result result;
    ft_error error;
    if (import(&result, &error) != FT_OK) fail_msg("%s", error.message);
    return result;
}

static void refuses(ft_status status, const char *text) {
    ft_error error = {0};
    assert_int_equal(import(NULL, &error), status);
    if (strstr(error.message, text) == NULL) fail_msg("'%s' does not contain '%s'", error.message, text);
    assert_int_not_equal(access("set", F_OK), 0);
}

static void was_reported(const char *text) {
    if (strstr(reported, text) == NULL) fail_msg("'%s' was not reported: %s", text, reported);
}

/* Two matrix products, the first of the given width, so that each file is another graph; training keeps the tensor
 * between them. */
static void write_graph(const char *name, int width) {
    char path[300], shape[32];
    onnx_model *m = onnx_model_new();
    snprintf(shape, sizeof shape, "1,%d", width);
    onnx_input(m, m->graph, "x", ONNX_FLOAT, shape);
    snprintf(shape, sizeof shape, "%d,%d", width, width);
    onnx_initializer(m, m->graph, "w", ONNX_FLOAT, shape);
    snprintf(shape, sizeof shape, "%d,4", width);
    onnx_initializer(m, m->graph, "v", ONNX_FLOAT, shape);
    onnx_node(m, m->graph, "MatMul", "x w", "h");
    onnx_node(m, m->graph, "MatMul", "h v", "y");
    onnx_output(m, m->graph, "y", ONNX_FLOAT, NULL);
    onnx_model_pack(m);
    snprintf(path, sizeof path, "in/graphs/%s", name);
    FILE *stream = fopen(path, "wb");
    assert_non_null(stream);
    assert_int_equal(fwrite(m->bytes, 1, m->size, stream), m->size);
    fclose(stream);
    onnx_model_free(m);
}

static int enter(void **state) {
    int status = folder_enter(state);
    mkdir("in", 0777);
    mkdir("in/graphs", 0777);
    write_graph("resnet50@224.onnx", 8);
    write_graph("resnet50@288.onnx", 12);
    write_graph("resnet50@160_c12.onnx", 16);
    write_graph("resnet50@128_reparam.onnx", 20);
    return status;
}

static void times(void **state) {
    (void)state;
    write_text("in/benchmark.csv",
               TIMES "resnet50@288.onnx,infer,rtx3090,amp,nhwc,pt240,1,resnet50.a1_in1k,256,51200.04,5.0\n"
                     "resnet50@224.onnx,train,rtx3090,fp32,nchw,,0,resnet50,1,3.1,320.125\n");
    ft_import_result result = expect_import();
    assert_int_equal(result.models, 2);
    assert_int_equal(result.graphs, 2);
    assert_int_equal(result.records, 2);
    ft_dataset *data = open_set("set");
    const ft_record *r = ft_dataset_records(data);
    assert_string_equal(r[0].name, "resnet50.a1_in1k");
    assert_string_equal(r[0].family, "resnet");
    assert_string_equal(r[0].device, "rtx-3090");
    assert_string_equal(r[0].setting, "amp=yes;compile=yes;layout=nhwc;torch=2.4.0");
    assert_int_equal(r[0].batch, 256);
    assert_int_equal(r[0].dtype, FT_FLOAT16);
    assert_int_equal(r[0].mode, FT_INFER);
    assert_true(fabs(r[0].metrics[0] - 256e6 / 51200.04) < 1e-9); /* the rate has more digits */
    assert_true(isnan(r[0].metrics[1]));
    assert_string_equal(r[1].setting, "amp=no;compile=no;layout=nchw;torch=unknown");
    assert_int_equal(r[1].mode, FT_TRAIN);
    assert_true(fabs(r[1].metrics[0] - 320125) < 1e-9); /* the time has more digits */
    ft_dataset_free(data);
}

/* The smallest graph with timm's own head that was not re-parameterised. */
static void peaks(void **state) {
    (void)state;
    write_graph("vit@64_c5.onnx", 24);
    write_text("in/train_memory_a100.csv", PEAKS "resnet50,8,1500,1,0\n"
                                                 "resnet50,16,40000,1,1\n"
                                                 "vit,8,900,1,0\n"
                                                 "resnet,8,900,1,0\n"
                                                 "resnet50,32,0,1,0\n");
    ft_import_result result = expect_import();
    assert_int_equal(result.records, 2);
    assert_int_equal(result.skipped, 3);
    was_reported("line 3: resnet50: its memory is unreliable");
    was_reported("line 5: resnet: it has no graph");
    was_reported("line 6: resnet50: its memory is not a number above zero");
    ft_dataset *data = open_set("set");
    const ft_record *r = ft_dataset_records(data);
    assert_string_equal(r[0].device, "a100-40gb");
    assert_int_equal(r[0].mode, FT_TRAIN);
    assert_int_equal(r[0].dtype, FT_FLOAT32);
    assert_true(r[0].metrics[1] == 1500.0 * 1024 * 1024 && isnan(r[0].metrics[0]));
    ft_graph *graph;
    ft_error error;
    assert_int_equal(ft_dataset_graph(data, r[0].graph, &graph, &error), FT_OK);
    assert_int_equal(ft_graph_tensors(graph)[ft_graph_inputs(graph)[0]].dims[1], 8);
    ft_graph_free(graph);
    ft_dataset_free(data);
}

/* The bytes that PyTorch keeps per image imply the size: 12 floats here, not 8. */
static void the_image_size_is_inferred_from_memory(void **state) {
    (void)state;
    write_text("in/train_memory_a100.csv",
               "model,batch_size,max_gpu_memory_mib,faketensor_after_forward_mib,suspect_oom\n"
               "resnet50,8,1500,100.0003662109375,0\n"
               "resnet50,16,1600,100.000732421875,0\n");
    ft_import_result result = expect_import();
    assert_int_equal(result.records, 2);
    assert_int_equal(result.graphs, 1);
    ft_dataset *data = open_set("set");
    ft_graph *graph;
    ft_error error;
    assert_int_equal(ft_dataset_graph(data, 0, &graph, &error), FT_OK);
    assert_int_equal(ft_graph_tensors(graph)[ft_graph_inputs(graph)[0]].dims[1], 12);
    ft_graph_free(graph);
    ft_dataset_free(data);
}

/* A peak below the size of its tensors is not from training; neither is the same peak at another batch. */
static void impossible_peaks_are_skipped(void **state) {
    (void)state;
    write_text("in/train_memory_a100.csv",
               "model,batch_size,max_gpu_memory_mib,faketensor_after_forward_mib,suspect_oom\n"
               "resnet50,8,900,1000.000244140625,0\n"
               "resnet50,16,900,899.00048828125,0\n"
               "resnet50,32,4000,1000.0009765625,0\n"
               "resnet50,64,,1000.001953125,0\n"
               "resnet50,128,x,x,0\n"
               "resnet50,256,901,890,0\n"); /* close to an impossible peak, but not equal */
    ft_import_result result = expect_import();
    assert_int_equal(result.records, 2);
    was_reported("line 2: resnet50: its memory is less than the size of its tensors");
    was_reported("line 3: resnet50: its memory is less than the size of its tensors");
    was_reported("line 5: resnet50: its memory is not a number above zero");
}

/* PyTorch keeps 20 floats per image: neither file has that size, so none is used. */
static void a_missing_image_size_is_not_replaced(void **state) {
    (void)state;
    write_graph("vit@224.onnx", 24);
    write_text("in/train_memory_a100.csv",
               "model,batch_size,max_gpu_memory_mib,faketensor_after_forward_mib,suspect_oom\n"
               "resnet50,8,1500,100.0006103515625,0\n"
               "resnet50,16,1600,100.001220703125,0\n"
               "vit,8,900,1,0\n");
    assert_int_equal(expect_import().records, 1);
    was_reported("line 2: resnet50: its graph exists only at other image sizes");
}

static void skips(void **state) {
    (void)state;
    write_text("in/graphs/bad@1.onnx", "no model");
    write_text("in/benchmark.csv", TIMES ",infer,rtx3090,amp,nchw,pt240,0,none,1,1,1\n"
                                         "absent@1.onnx,infer,rtx3090,amp,nchw,pt240,0,m,1,1,1\n"
                                         "../graphs/bad@1.onnx,infer,rtx3090,amp,nchw,pt240,0,m,1,1,1\n"
                                         "bad@1.onnx,infer,rtx3090,amp,nchw,pt240,0,bad,1,1,1\n"
                                         "resnet50@224.onnx,infer,toaster,amp,nchw,pt240,0,m,1,1,1\n"
                                         "resnet50@224.onnx,infer,rtx3090,fp4,nchw,pt240,0,m,1,1,1\n"
                                         "resnet50@224.onnx,dream,rtx3090,amp,nchw,pt240,0,m,1,1,1\n"
                                         "resnet50@224.onnx,infer,rtx3090,amp,nwch,pt240,0,m,1,1,1\n"
                                         "resnet50@224.onnx,infer,rtx3090,amp,nchw,240,0,m,1,1,1\n"
                                         "resnet50@224.onnx,infer,rtx3090,amp,nchw,pt240,0,m,0.5,1,1\n"
                                         "resnet50@224.onnx,infer,rtx3090,amp,nchw,pt240,0,m,1,-1,nan\n"
                                         "resnet50@224.onnx,infer,rtx3090,amp,nchw,pt240,0,,1,1,1\n"
                                         "resnet50@224.onnx,infer,rtx3090,amp,nchw,pt240,0,m,64.0,1,64000\n"
                                         "resnet50@224.onnx,infer,rtx3090,amp,nchw,pt240,0,m,64,1,64000\n"
                                         "resnet50@224.onnx,infer,rtx3090,amp,nchw,pt240,0,m,64,1,65000\n"
                                         "short,row\n");
    ft_import_result result = expect_import();
    assert_int_equal(result.records, 1);
    assert_int_equal(result.skipped, 16); /* the damaged graph is reported for itself and for its row */
    static const char *const reasons[] = {"line 2: none: it has no graph",
                                          "line 3: m: its graph is not in",
                                          "line 4: m: its graph is not in",
                                          "line 5: its graph is unreadable",
                                          "line 6: m: its device is unknown",
                                          "line 7: m: its precision",
                                          "line 8: m: its phase",
                                          "line 9: m: its layout",
                                          "line 10: m: its PyTorch version",
                                          "line 11: m: its batch",
                                          "line 12: m: its time",
                                          "line 13: : it has no model name",
                                          "line 15: duplicate measurement\n",
                                          "line 16: duplicate measurement, with other values",
                                          "line 17: has 2 fields, but the header has 11: the row is incomplete"};
    for (size_t i = 0; i < sizeof reasons / sizeof reasons[0]; i++) was_reported(reasons[i]);
}

static void errors(void **state) {
    (void)state;
    refuses(FT_ERR_FORMAT, "contains neither benchmark.csv nor train_memory_a100.csv");
    write_text("in/benchmark.csv", "\n");
    refuses(FT_ERR_DAMAGED, "line 1: column 'model' is missing");
    write_text("in/benchmark.csv", "model,batch_size,graph,phase,device,precision\n");
    refuses(FT_ERR_DAMAGED, "line 1: column 'layout' is missing");
    write_text("in/benchmark.csv", TIMES "\"long row\n");
    refuses(FT_ERR_DAMAGED, "line 2: unclosed quote");
    write_text("in/benchmark.csv", TIMES);
    refuses(FT_ERR_FORMAT, "contains no measurement");
    assert_int_equal(system("rm -r in/graphs"), 0);
    refuses(FT_ERR_IO, "in/graphs");
}

static void out_of_memory(void **state) {
    (void)state;
    write_text("in/benchmark.csv", TIMES "resnet50@224.onnx,infer,rtx3090,amp,nchw,pt240,0,m,64,1,64000\n");
    write_text("in/train_memory_a100.csv", PEAKS "resnet50,8,1500,1,0\n");
    for (long n = 0;; n++) {
        ft_error error;
        failing_start(n);
        ft_status status = ft_import("timm", "in", "set", NULL, NULL, &error);
        bool has_failed = failing_stop();
        if (status == FT_OK) assert_int_equal(system("rm -r set"), 0);
        if (!has_failed) break;
        if (status != FT_OK && status != FT_ERR_NOMEM) fail_msg("%ld: %s", n, error.message);
    }
    assert_int_equal(system("[ \"$(ls -A)\" = in ]"), 0);
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, enter, folder_leave)

int main(void) {
    const struct CMUnitTest tests[] = {
        IN_FOLDER(times),
        IN_FOLDER(peaks),
        IN_FOLDER(the_image_size_is_inferred_from_memory),
        IN_FOLDER(impossible_peaks_are_skipped),
        IN_FOLDER(a_missing_image_size_is_not_replaced),
        IN_FOLDER(skips),
        IN_FOLDER(errors),
        IN_FOLDER(out_of_memory),
    };
    return cmocka_run_group_tests_name("data/import_timm", tests, NULL, NULL);
}
