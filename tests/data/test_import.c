/* Tests of imports: CG tables, a user's table, PerfSeer pickles, and merging. */
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

#include "data/import.h"
#include "foretell/foretell.h"
#include "support/failing.h"
#include "support/folder.h"
#include "support/onnx_model.h"
#include "support/small_set.h"

static char root[PATH_MAX]; /* of the project */

typedef struct reports {
    int count;
    char all[8192];
    uint64_t stop_at; /* progress call that cancels the import; 0: none */
} reports;

static void on_skip(void *user, const char *where, const char *why) {
    reports *t = user;
    size_t used = strlen(t->all);
    snprintf(t->all + used, sizeof t->all - used, "%s: %s\n", where, why);
    t->count++;
}

static bool on_progress(void *user, uint64_t done, uint64_t total, const char *what) {
    reports *t = user;
    (void)what;
    (void)total;
    return t->stop_at == 0 || done < t->stop_at;
}

static ft_status import(const char *kind, const char *source, const char *folder, bool is_strict, reports *t,
                        ft_import_result *result, ft_error *error) {
    ft_import_options options = {.is_strict = is_strict, .skip = on_skip, .progress = on_progress, .user = t};
    *t = (reports){.stop_at = t->stop_at};
    return ft_import(kind, source, folder, &options, result, error);
}

static void expect_import(const char *kind, const char *source, const char *folder, reports *t,
                          ft_import_result *result) {
    ft_error error;
    if (import(kind, source, folder, false, t, result, &error) != FT_OK) fail_msg("%s", error.message);
}

static void expect_failure(const char *kind, const char *source, bool is_strict, ft_status status, const char *text) {
    reports t = {0};
    ft_error error = {0};
    assert_int_equal(import(kind, source, "failed", is_strict, &t, NULL, &error), status);
    if (strstr(error.message, text) == NULL) fail_msg("'%s' does not contain '%s'", error.message, text);
    assert_int_not_equal(access("failed", F_OK), 0);
    assert_int_equal(system("ls -A | grep -q '\\.tmp$'") == 0, 0); /* no temporary folder either */
}

static void test_kinds(void **state) {
    (void)state;
    assert_int_equal(ft_import_kind_count(), 9);
    assert_string_equal(ft_import_kind_name(0), "ansor");
    assert_non_null(ft_import_kind_text(2));
    assert_null(ft_import_kind_name(9));
    expect_failure("csv", "x", false, FT_ERR_USAGE,
                   "known: ansor, cg, kernels, mlp, npu, perfseer, table, timm, trace");
}

static void test_metrics(void **state) {
    (void)state;
    const metric_unit *unit;
    char name[64];
    double value;
    assert_true(metric_canonical_name("time_ms", name, sizeof name, &unit));
    assert_string_equal(name, "time_us");
    assert_true(metric_parse("148.164", 7, unit, &value) && value == 148164);
    assert_true(metric_parse("1.5e-3", 6, unit, &value) && value == 1.5);
    assert_false(metric_parse("-1", 2, unit, &value));
    assert_false(metric_parse("", 0, unit, &value));
    assert_false(metric_parse("nan", 3, unit, &value));
    assert_true(metric_canonical_name("peak_mib", name, sizeof name, &unit));
    assert_string_equal(name, "peak_bytes");
    assert_true(metric_parse("1.5", 3, unit, &value) && value == 1.5 * 1024 * 1024);
    assert_true(metric_canonical_name("util_percent", name, sizeof name, &unit));
    assert_true(metric_parse("97", 2, unit, &value) && value == 0.97);
    assert_true(metric_canonical_name("energy_mj", name, sizeof name, &unit)); /* other units stay */
    assert_string_equal(name, "energy_mj");
    assert_false(metric_canonical_name("notes", name, sizeof name, &unit));
    assert_false(metric_canonical_name("_us", name, sizeof name, &unit));
}

/* --- CG ---------------------------------------------------------------------------------------------------------- */

static void test_cg_folder(void **state) {
    (void)state;
    reports t = {0};
    ft_import_result result;
    write_cg("nets", "nets", 3);
    expect_import("cg", "nets", "set", &t, &result);
    assert_int_equal(result.models, 3);
    assert_int_equal(result.graphs, 3);
    assert_int_equal(result.records, 6);
    assert_int_equal(result.skipped, 0);
    ft_dataset *data = open_set("set");
    const ft_record *r = ft_dataset_records(data);
    assert_string_equal(r[0].device, "cortex-a76");
    assert_true(r[0].metrics[0] == 10000 && r[0].metrics[1] == 500);
    assert_string_equal(r[3].device, "adreno-640");
    assert_string_equal(r[3].name, "nets_1");
    assert_string_equal(r[3].family, "nets");
    assert_string_equal(r[3].part, "test");
    assert_true(r[3].metrics[0] == 6000 && isnan(r[3].metrics[1]));
    ft_dataset_free(data);
}

/* Folders of families, a folder of samples of them, and an unrelated folder. */
static void test_cg_families(void **state) {
    (void)state;
    reports t = {0};
    ft_import_result result;
    mkdir("all", 0777);
    write_cg("all/znets", "znets", 3);
    write_cg("all/bnets", "bnets", 2); /* the same graphs under other names */
    write_cg("all/sample", "znets", 4);
    mkdir("all/other", 0777);
    write_text("all/other/notes.txt", "x");
    mkdir("all/half", 0777);
    write_text("all/half/models.csv", "x");
    expect_import("cg", "all", "set", &t, &result);
    assert_int_equal(result.models, 6); /* the fourth of the sample is in no family */
    assert_int_equal(result.graphs, 4);
    assert_int_equal(result.records, 12);
    assert_int_equal(result.skipped, 4);
    assert_non_null(strstr(t.all, "all/sample: model 'znets_0': duplicate model"));
    assert_non_null(strstr(t.all, "all/half: models.csv, nodes.csv or edges.csv is missing"));
    ft_dataset *data = open_set("set");
    assert_string_equal(ft_dataset_records(data)[0].family, "bnets");
    assert_string_equal(ft_dataset_records(data)[11].name, "znets_3");
    ft_dataset_free(data);
    expect_failure("cg", "all", true, FT_ERR_DAMAGED, "edges.csv is missing");
}

static void test_cg_same_bytes(void **state) {
    (void)state;
    reports t = {0};
    ft_import_result result;
    mkdir("all", 0777);
    for (int i = 0; i < 8; i++) {
        char folder[32], family[16];
        snprintf(family, sizeof family, "net%d", i);
        snprintf(folder, sizeof folder, "all/%s", family);
        write_cg(folder, family, 40);
    }
    expect_import("cg", "all", "one", &t, &result);
    expect_import("cg", "all/", "two", &t, &result);
    assert_int_equal(system("gzip all/net3/*.csv && cmp one/graphs.ftg two/graphs.ftg && "
                            "cmp one/records.csv two/records.csv && cmp one/dataset.json two/dataset.json"),
                     0);
    expect_import("cg", "all", "three", &t, &result);
    assert_int_equal(system("cmp one/dataset.json three/dataset.json"), 0);
}

/* Invalid labels are skipped, one by one. */
static void test_cg_bad_labels(void **state) {
    (void)state;
    reports t = {0};
    ft_import_result result;
    write_cg("nets", "nets", 5);
    write_text("nets/models.csv", "family,index,name,num_nodes,num_edges,cortexA76cpu_tflite21_ms,toaster_ms\n"
                                  "nets,0,a,3,2,-1,3\n"
                                  "nets,1,b,3,2,nan,3\n"
                                  "nets,2,c,3,2,0,\n"
                                  "nets,3,d,3,2,,\n"
                                  "nets,4,e,3,2,2.5,3\n");
    expect_import("cg", "nets", "set", &t, &result);
    assert_int_equal(result.records, 1);
    assert_int_equal(result.models, 1);
    assert_non_null(strstr(t.all, "model 'a': cortexA76cpu_tflite21_ms = '-1': not a number above zero"));
    assert_non_null(strstr(t.all, "model 'b': cortexA76cpu_tflite21_ms = 'nan': not a number above zero"));
    assert_non_null(strstr(t.all, "nets: column toaster_ms: unknown device"));
    assert_non_null(strstr(t.all, "model 'd': it has no label for any device"));
    assert_int_equal(result.skipped, t.count);
    expect_failure("cg", "nets", true, FT_ERR_DAMAGED, "model 'a'");
    write_text("nets/models.csv", "family,index,name,num_nodes,num_edges,x_ms\nnets,0,a,3,2,1\n");
    write_cg("empty", "empty", 0);
    expect_failure("cg", "empty", false, FT_ERR_FORMAT, "contains no measurement");
}

static void test_cg_damaged_model(void **state) {
    (void)state;
    reports t = {0};
    ft_import_result result;
    write_cg("nets", "nets", 2);
    char *nodes = read_text("nets/nodes.csv"), *relu = strstr(nodes, "Relu,1,8,8,4");
    relu[5] = 'x';
    write_text("nets/nodes.csv", nodes);
    free(nodes);
    expect_import("cg", "nets", "set", &t, &result);
    assert_int_equal(result.models, 1);
    assert_non_null(strstr(t.all, "model 'nets_0'"));
    assert_non_null(strstr(t.all, "the model is unreadable"));
}

static void test_cg_without_tables(void **state) {
    (void)state;
    mkdir("empty", 0777);
    expect_failure("cg", "empty", false, FT_ERR_FORMAT, "neither the folder nor its sub-folders have models.csv");
    expect_failure("cg", "absent", false, FT_ERR_IO, "absent");
}

/* A cancelled import leaves nothing, with and without threads. */
static void test_stopped(void **state) {
    (void)state;
    reports t = {.stop_at = 1};
    ft_error error;
    mkdir("all", 0777);
    write_cg("all/a", "a", 40);
    write_cg("all/b", "b", 40);
    assert_int_equal(import("cg", "all", "set", false, &t, NULL, &error), FT_ERR_CANCELLED);
    assert_int_equal(import("cg", "all/a", "set", false, &t, NULL, &error), FT_ERR_CANCELLED);
    assert_int_equal(system("[ \"$(ls -A)\" = all ]"), 0);
}

static void test_existing_folder_is_an_error(void **state) {
    (void)state;
    write_cg("nets", "nets", 1);
    reports t = {0};
    ft_error error;
    assert_int_equal(import("cg", "nets", "nets", false, &t, NULL, &error), FT_ERR_IO);
    assert_non_null(strstr(error.message, "exists already"));
}

static void test_cg_out_of_memory(void **state) {
    (void)state;
    write_cg("nets", "nets", 1);
    for (long n = 0;; n++) {
        ft_error error;
        failing_start(n);
        ft_status status = ft_import("cg", "nets", "set", NULL, NULL, &error);
        bool has_failed = failing_stop();
        if (status == FT_OK) assert_int_equal(system("rm -r set"), 0);
        if (!has_failed) break;
        if (status != FT_OK) assert_int_equal(status, FT_ERR_NOMEM);
    }
    assert_int_equal(system("[ \"$(ls -A)\" = nets ]"), 0);
}

/* --- A table of the user's own ----------------------------------------------------------------------------------- */

static void write_onnx(const char *path, const char *shape) {
    onnx_model *m = onnx_model_new();
    onnx_input(m, m->graph, "x", ONNX_FLOAT, shape);
    onnx_initializer(m, m->graph, "w", ONNX_FLOAT, "8,4");
    onnx_node(m, m->graph, "MatMul", "x w", "y");
    onnx_output(m, m->graph, "y", ONNX_FLOAT, NULL);
    onnx_model_pack(m);
    FILE *stream = fopen(path, "wb");
    assert_non_null(stream);
    assert_int_equal(fwrite(m->bytes, 1, m->size, stream), m->size);
    fclose(stream);
    onnx_model_free(m);
}

static void test_table(void **state) {
    (void)state;
    reports t = {0};
    ft_import_result result;
    mkdir("in", 0777);
    write_onnx("in/open.onnx", "N,8");
    write_text("in/t.csv", "device,model,batch,dtype,mode,name,family,setting,time_ms,peak_mib,util_ratio\n"
                           "cortex-a76,open.onnx,1,float32,infer,,fam,threads=1,1.5,2,\n"
                           "cortex-a76,open.onnx,4,float32,infer,,fam,threads=1,4.5,,0.5\n"
                           "cortexA76cpu,open.onnx,4,fp16,train,mine,fam,,,3,\n");
    expect_import("table", "in/t.csv", "set", &t, &result);
    assert_int_equal(result.models, 1);
    assert_int_equal(result.records, 3);
    ft_dataset *data = open_set("set");
    const ft_record *r = ft_dataset_records(data);
    assert_string_equal(r[0].name, "open.onnx");
    assert_string_equal(r[0].setting, "threads=1");
    assert_true(r[0].metrics[ft_dataset_metric(data, "time_us")] == 1500);
    assert_true(r[0].metrics[ft_dataset_metric(data, "peak_bytes")] == 2 * 1024 * 1024);
    assert_true(isnan(r[0].metrics[ft_dataset_metric(data, "util_ratio")]));
    assert_int_equal(r[1].batch, 4);
    assert_string_equal(r[2].name, "mine");
    assert_string_equal(r[2].device, "cortex-a76");
    assert_int_equal(r[2].mode, FT_TRAIN);
    /* The batch is still symbolic. */
    ft_graph *graph, *bound;
    ft_error error;
    assert_int_equal(ft_dataset_graph(data, r[1].graph, &graph, &error), FT_OK);
    assert_int_equal(ft_graph_bind(graph, &(ft_binding){.batch = r[1].batch}, &bound, &error), FT_OK);
    assert_int_equal(ft_graph_batch(bound), 4);
    assert_false(ft_graph_is_scaled(bound));
    ft_graph_free(bound);
    ft_graph_free(graph);
    ft_dataset_free(data);
}

/* Open dimensions other than the batch get their values from the table. */
static void test_table_shapes(void **state) {
    (void)state;
    reports t = {0};
    ft_import_result result;
    write_onnx("seq.onnx", "batch,sequence,8");
    write_text("t.csv", "model,device,shape,time_us\n"
                        "seq.onnx,cortex-a76,sequence=16,1\n"
                        "seq.onnx,cortex-a76,sequence=32,2\n"
                        "seq.onnx,cortex-a76,,3\n"
                        "seq.onnx,cortex-a76,length=3,3\n");
    expect_import("table", "t.csv", "set", &t, &result);
    assert_int_equal(result.graphs, 2);
    assert_int_equal(result.records, 2);
    assert_non_null(strstr(t.all, "line 4: input 'x' (1xsequencex8) has open dimensions"));
    assert_non_null(strstr(t.all, "no open dimension of that name"));
    ft_dataset *data = open_set("set");
    ft_graph *graph, *bound;
    ft_error error;
    assert_int_equal(ft_dataset_graph(data, 1, &graph, &error), FT_OK);
    assert_int_equal(ft_graph_bind(graph, &(ft_binding){.batch = 2}, &bound, &error), FT_OK);
    assert_int_equal(ft_tensor_elems(bound, &ft_graph_tensors(bound)[ft_graph_inputs(bound)[0]]), 2 * 32 * 8);
    ft_graph_free(bound);
    ft_graph_free(graph);
    ft_dataset_free(data);
}

/* A pool of unmeasured models. */
static void test_table_pool(void **state) {
    (void)state;
    reports t = {0};
    ft_import_result result;
    write_onnx("a.onnx", "N,8");
    write_onnx("b.onnx", "N,2,8");
    write_text("t.csv", "model,device,batch\na.onnx,cortex-a76,1\nb.onnx,cortex-a76,1\n");
    expect_import("table", "t.csv", "set", &t, &result);
    assert_true(result.is_pool);
    assert_int_equal(result.graphs, 2);
    assert_int_equal(result.records, 2);
    assert_int_equal(result.skipped, 0);
    ft_dataset *data = open_set("set");
    assert_int_equal(ft_dataset_metric_count(data), 1);
    assert_true(isnan(ft_dataset_records(data)[1].metrics[0]));
    ft_dataset_free(data);
}

/* Nothing is measured, so no device is needed. */
static void test_pool_without_devices(void **state) {
    (void)state;
    reports t = {0};
    ft_import_result result;
    write_onnx("a.onnx", "N,8");
    write_onnx("b.onnx", "N,2,8");
    write_text("t.csv", "model\na.onnx\nb.onnx\n");
    expect_import("table", "t.csv", "set", &t, &result);
    assert_true(result.is_pool);
    assert_int_equal(result.records, 2);
    ft_dataset *data = open_set("set");
    assert_string_equal(ft_dataset_records(data)[0].device, "");
    ft_dataset_free(data);
}

/* A value that no device can have is an error which names the line; a filter leaves it out instead. */
static void test_impossible_values(void **state) {
    (void)state;
    static const char *const values[] = {"1e303", "1e-317", "1e13", "0.0009"};
    static const ft_time_filter filters[] = {
        {.max_time_us = 1e6}, {.min_time_us = 1}, {.max_time_us = 1e6}, {.min_time_us = 1}};
    write_onnx("a.onnx", "N,8");
    for (uint32_t i = 0; i < 4; i++) {
        char text[256];
        snprintf(text, sizeof text, "model,device,time_us\na.onnx,cortex-a76,5\na.onnx,adreno-640,%s\n", values[i]);
        write_text("t.csv", text);
        expect_failure("table", "t.csv", false, FT_ERR_DAMAGED, "t.csv: line 3: time_us is ");
        ft_import_result result;
        ft_error error;
        char folder[16];
        snprintf(folder, sizeof folder, "set%u", i);
        if (ft_import("table", "t.csv", folder, &(ft_import_options){.filter = filters[i]}, &result, &error) != FT_OK)
            fail_msg("%s", error.message);
        assert_int_equal(result.records, 1);
        assert_int_equal(result.filtered, 1);
    }
    write_text("t.csv", "model,device,time_us,peak_bytes\na.onnx,cortex-a76,5,1e30\n");
    expect_failure("table", "t.csv", false, FT_ERR_DAMAGED,
                   "t.csv: line 2: peak_bytes is 1e+30; expected from 1 to 2^60");
    write_cg("nets", "nets", 1);
    write_text("nets/models.csv",
               "family,index,name,num_nodes,num_edges,cortexA76cpu_tflite21_ms\nnets,0,a,3,2,1e300\n");
    expect_failure("cg", "nets", false, FT_ERR_DAMAGED, "model 'a'");
}

static void test_table_skips(void **state) {
    (void)state;
    reports t = {0};
    ft_import_result result;
    write_onnx("a.onnx", "N,8");
    write_text("bad.onnx", "no model");
    write_text("t.csv", "model,device,time_us\n"
                        "a.onnx,cortex-a76,1\n"
                        "a.onnx,cortex-a76,1\n"
                        "a.onnx,cortex-a76,2\n"
                        "a.onnx,adreno-640,\n"
                        "a.onnx,adreno-630,-4\n"
                        "bad.onnx,cortex-a76,1\n"
                        "bad.onnx,adreno-640,1\n"
                        "absent.onnx,cortex-a76,1\n");
    expect_import("table", "t.csv", "set", &t, &result);
    assert_int_equal(result.records, 1);
    assert_non_null(strstr(t.all, "t.csv: line 3: duplicate measurement\n"));
    assert_non_null(strstr(t.all, "t.csv: line 4: duplicate measurement, with other values"));
    assert_non_null(strstr(t.all, "t.csv: line 5: it has no metric"));
    assert_non_null(strstr(t.all, "t.csv: line 6: time_us = '-4': not a number above zero"));
    assert_non_null(strstr(t.all, "t.csv: line 7"));
    assert_non_null(strstr(t.all, "t.csv: line 8: the model is unreadable"));
    assert_non_null(strstr(t.all, "absent.onnx"));
    expect_failure("table", "t.csv", true, FT_ERR_DAMAGED, "t.csv: line 3: duplicate measurement");
}

static void test_table_errors(void **state) {
    (void)state;
    write_onnx("a.onnx", "N,8");
    expect_failure("table", "absent.csv", false, FT_ERR_IO, "absent.csv");
    write_text("t.csv", "model,time_us\na.onnx,1\n");
    expect_failure("table", "t.csv", false, FT_ERR_DAMAGED, "expected the columns model and device");
    write_text("t.csv", "model,device,notes\na.onnx,cortex-a76,1\n");
    expect_failure("table", "t.csv", false, FT_ERR_DAMAGED, "column 'notes' is neither");
    write_text("t.csv", "model,device,time_us,time_ms\na.onnx,cortex-a76,1,1\n");
    expect_failure("table", "t.csv", false, FT_ERR_DAMAGED, "two columns contain time_us");
    write_text("t.csv", "model,device,device,time_us\na.onnx,cortex-a76,x,1\n");
    expect_failure("table", "t.csv", false, FT_ERR_DAMAGED, "column 'device' occurs twice");
    write_text("t.csv", "model,device,time_us\na.onnx,toaster,1\n");
    expect_failure("table", "t.csv", false, FT_ERR_DAMAGED, "t.csv: line 2: device: unknown device 'toaster'");
    write_text("t.csv", "model,device,mode,time_us\na.onnx,cortex-a76,walk,1\n");
    expect_failure("table", "t.csv", false, FT_ERR_DAMAGED, "line 2: mode is 'walk'");
    write_text("t.csv", "model,device,batch,time_us\na.onnx,cortex-a76,none,1\n");
    expect_failure("table", "t.csv", false, FT_ERR_DAMAGED, "line 2: batch is 'none'");
    write_text("t.csv", "model,device,time_us\na.onnx,cortex-a76\n");
    expect_failure("table", "t.csv", false, FT_ERR_DAMAGED, "line 2: has 2 fields");
}

/* A user's data sheet is copied into the data set. */
static void test_table_device(void **state) {
    (void)state;
    reports t = {0};
    ft_import_result result;
    mkdir("in", 0777);
    mkdir("in/devices", 0777);
    write_onnx("in/a.onnx", "N,8");
    write_text("in/devices/toaster.json", "{\"foretell_device\": 1, \"name\": \"toaster\", \"text\": \"A toaster\", "
                                          "\"kind\": \"cpu\", \"runtime\": \"tflite-cpu\"}");
    write_text("in/t.csv", "model,device,time_us\na.onnx,toaster,1\n");
    expect_import("table", "in/t.csv", "set", &t, &result);
    const char *sets[] = {"set"};
    ft_error error;
    if (ft_dataset_merge(sets, 1, "copy", NULL, NULL, &error) != FT_OK) fail_msg("%s", error.message);
    assert_int_equal(system("rm -r in"), 0);
    ft_dataset *data = open_set("copy");
    assert_string_equal(ft_dataset_records(data)[0].device, "toaster");
    ft_dataset_free(data);
}

static void test_example_table(void **state) {
    (void)state;
    char path[PATH_MAX + 64];
    reports t = {0};
    ft_import_result result;
    snprintf(path, sizeof path, "%s/examples/measurements/measurements.csv", root);
    expect_import("table", path, "set", &t, &result);
    assert_int_equal(result.skipped, 0);
    assert_true(result.records >= 4);
}

/* --- PerfSeer ---------------------------------------------------------------------------------------------------- */

static const double MIB = 1024 * 1024;

static void test_perfseer(void **state) {
    (void)state;
    char command[2 * PATH_MAX + 512];
    reports t = {0};
    ft_import_result result;
    snprintf(command, sizeof command,
             "mkdir -p in/cg/cg in/label/label && cp %s/tests/data/perfseer/plain_p4.pkl "
             "\"in/cg/cg/bs8_x_s['resnext', 'resnext', 'resnext', 'resnext']_bnum1.pkl\" && "
             "cp %s/tests/data/perfseer/plain_p4.pkl in/cg/cg/none.pkl",
             root, root);
    assert_int_equal(system(command), 0);
    write_text("in/label/label/bs8_x_s['resnext', 'resnext', 'resnext', 'resnext']_bnum1.txt",
               "{'train': '2.5|50|1|2|3|4|1000', 'infer': '0.5|0|1|2|3|4|500'}");
    expect_import("perfseer", "in", "set", &t, &result);
    assert_int_equal(result.models, 1);
    assert_int_equal(result.records, 2);
    assert_int_equal(t.count, 2);
    assert_non_null(strstr(t.all, "none.pkl: it has no label"));
    assert_non_null(strstr(t.all, "infer_sm_util_average_percent: not a number above zero"));
    ft_dataset *data = open_set("set");
    const ft_record *r = ft_dataset_records(data);
    assert_int_equal(r[0].mode, FT_INFER);
    assert_string_equal(r[0].device, "rtx-3090");
    assert_string_equal(r[0].family, "resnext");
    assert_string_equal(r[0].name, "x_s['resnext', 'resnext', 'resnext', 'resnext']_bnum1");
    assert_false(r[0].is_synthetic);
    assert_int_equal(r[0].batch, 8);
    assert_true(r[0].metrics[0] == 0.5 * 8 * 1000);
    assert_true(r[0].metrics[1] == 500.0 * 1024 * 1024);
    assert_true(isnan(r[0].metrics[2]));
    assert_int_equal(r[1].mode, FT_TRAIN);
    assert_true(r[1].metrics[0] == 2.5 * 8 * 1000);
    /* All seven numbers of a label, in both modes. */
    static const char *const names[] = {"time_us",         "peak_bytes",        "util_ratio",
                                        "peak_util_ratio", "memory_util_ratio", "peak_memory_util_ratio",
                                        "average_bytes"};
    const double infer[] = {4e3, 500.0 * MIB, NAN, 0.03, 0.01, 0.04, 2.0 * MIB},
                 train[] = {20e3, 1000.0 * MIB, 0.5, 0.03, 0.01, 0.04, 2.0 * MIB};
    assert_int_equal(ft_dataset_metric_count(data), 7);
    for (uint32_t i = 0; i < 7; i++) {
        assert_string_equal(ft_dataset_metric_name(data, i), names[i]);
        double x = r[0].metrics[i], y = r[1].metrics[i];
        if (!(fabs(x - infer[i]) <= 1e-12 * x || (isnan(x) && isnan(infer[i]))) || fabs(y - train[i]) > 1e-12 * y)
            fail_msg("%s: %g and %g", names[i], x, y);
    }
    ft_dataset_free(data);
    mkdir("empty", 0777);
    expect_failure("perfseer", "empty", false, FT_ERR_FORMAT, "have pickled graphs");
}

/* --- Merging ----------------------------------------------------------------------------------------------------- */

static void test_merge(void **state) {
    (void)state;
    reports t = {0};
    ft_import_result result;
    ft_import_options options = {.skip = on_skip, .user = &t};
    ft_error error;
    write_cg("a", "nets", 2);
    write_cg("b", "nets", 3);
    char *models = read_text("b/models.csv"), *label = strstr(models, ",11,6,0.5");
    memcpy(label, ",12,6,0.5", 9); /* the second model of b contradicts that of a on one device */
    write_text("b/models.csv", models);
    free(models);
    expect_import("cg", "a", "set_a", &t, &result);
    expect_import("cg", "b", "set_b", &t, &result);
    make_small_set("set_c");
    const char *sets[] = {"set_a", "set_b", "set_c"};
    if (ft_dataset_merge(sets, 3, "all", &options, &result, &error) != FT_OK) fail_msg("%s", error.message);
    assert_int_equal(result.graphs, 6);
    assert_int_equal(result.records, 4 + 2 + 6);
    assert_int_equal(result.skipped, 4);
    assert_non_null(strstr(t.all, "set_b: record 3 ('nets_1' on cortex-a76): duplicate measurement, "
                                  "with other values"));
    ft_dataset *data = open_set("all");
    assert_int_equal(ft_dataset_metric_count(data), 3);
    assert_true(ft_dataset_records(data)[2].metrics[0] == 11000);
    assert_true(ft_dataset_records(data)[11].metrics[0] == 100.5 * 3 + 1);
    ft_dataset_free(data);
    assert_int_equal(ft_dataset_check("all", NULL, NULL, &error), FT_OK);
    assert_int_equal(ft_dataset_merge(sets, 3, "all", &options, &result, &error), FT_ERR_IO);
    assert_int_equal(ft_dataset_merge(sets, 0, "none", &options, &result, &error), FT_ERR_USAGE);
    sets[1] = "absent";
    assert_int_equal(ft_dataset_merge(sets, 2, "none", &options, &result, &error), FT_ERR_IO);
    assert_int_not_equal(access("none", F_OK), 0);
}

/* One set merged with nothing is the same set. */
static void test_merge_one(void **state) {
    (void)state;
    ft_error error;
    const char *sets[] = {"set"};
    make_small_set("set");
    assert_int_equal(ft_dataset_merge(sets, 1, "copy", NULL, NULL, &error), FT_OK);
    assert_int_equal(system("cmp set/graphs.ftg copy/graphs.ftg && cmp set/records.csv copy/records.csv && "
                            "cmp set/dataset.json copy/dataset.json"),
                     0);
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, folder_enter, folder_leave)

int main(void) {
    const struct CMUnitTest tests[] = {
        IN_FOLDER(test_kinds),
        IN_FOLDER(test_metrics),
        IN_FOLDER(test_cg_folder),
        IN_FOLDER(test_cg_families),
        IN_FOLDER(test_cg_same_bytes),
        IN_FOLDER(test_cg_bad_labels),
        IN_FOLDER(test_cg_damaged_model),
        IN_FOLDER(test_cg_without_tables),
        IN_FOLDER(test_stopped),
        IN_FOLDER(test_existing_folder_is_an_error),
        IN_FOLDER(test_cg_out_of_memory),
        IN_FOLDER(test_table),
        IN_FOLDER(test_table_shapes),
        IN_FOLDER(test_table_pool),
        IN_FOLDER(test_pool_without_devices),
        IN_FOLDER(test_impossible_values),
        IN_FOLDER(test_table_skips),
        IN_FOLDER(test_table_errors),
        IN_FOLDER(test_table_device),
        IN_FOLDER(test_example_table),
        IN_FOLDER(test_perfseer),
        IN_FOLDER(test_merge),
        IN_FOLDER(test_merge_one),
    };
    if (getcwd(root, sizeof root) == NULL) return 1;
    return cmocka_run_group_tests_name("data/import", tests, NULL, NULL);
}
