/* Tests of importing Vela's table: units, keys that variants share, and skipped rows. */
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

#include "foretell/foretell.h"
#include "support/failing.h"
#include "support/folder.h"
#include "support/tflite_model.h"

#define HEADER                                                                                                         \
    "file,model,source,config,n_ops,inference_time,sram_memory_used,dram_memory_used,on_chip_flash_memory_used,"       \
    "off_chip_flash_memory_used,total_npu_encoded_weights,nn_macs,cycles_npu,cycles_total\n"
#define ROW(file, config, ops, time, macs)                                                                             \
    file ",m,lab+zoo," config "," ops "," time ",1.5,0.0,0.0,2,300," macs ",40.0,50.5\n"

enum { T_INT8 = 9, ADD = 0 };

static void write_bytes(const char *path, const void *bytes, size_t size) {
    FILE *stream = fopen(path, "wb");
    assert_non_null(stream);
    assert_true(fwrite(bytes, 1, size, stream) == size && fclose(stream) == 0);
}

/* x + x, for a square x. */
static void write_network(const char *path, int32_t side) {
    const lite_model model = {
        .version = 3,
        LITE_CODES({.builtin = ADD}),
        LITE_BUFFERS({NULL, 0, false, 0}),
        LITE_SUBGRAPHS({LITE_TENSORS({.name = "x", .type = T_INT8, .rank = 4, .dims = {1, side, side, 8}},
                                     {.name = "y", .type = T_INT8, .rank = 4, .dims = {1, side, side, 8}}),
                        LITE_IN(0), LITE_OUT(1), LITE_OPS({.code = 0, LITE_IN(0, 0), LITE_OUT(1)})}),
    };
    flatbuild bytes = lite_bytes(&model);
    write_bytes(path, bytes.bytes, bytes.size);
    free(bytes.bytes);
}

static void write_source(const char *rows) {
    mkdir("source", 0777);
    mkdir("source/tflite", 0777);
    write_network("source/tflite/aa.tflite", 4);
    write_network("source/tflite/bb.tflite", 4);
    write_network("source/tflite/cc.tflite", 8);
    write_bytes("source/tflite/bad.tflite", "none", 4);
    write_bytes("source/summary.csv", rows, strlen(rows));
}

static ft_status import(bool is_strict, ft_import_result *result, ft_error *error) {
    return ft_import("npu", "source", "set", &(ft_import_options){.is_strict = is_strict}, result, error);
}

static void rows_become_records(void **state) {
    (void)state;
    ft_error error;
    ft_import_result result;
    ft_dataset *data;
    write_source(HEADER ROW("aa.tflite", "ethos-u55-128", "1", "0.000002", "0") /**/
                 ROW("bb.tflite", "ethos-u55-128", "12", "0.000003", "0")       /**/
                 ROW("cc.tflite", "ethos-u55-128", "12", "0.000003", "0")       /**/
                 ROW("aa.tflite", "ethos-u65-512", "1", "0.000001", "7"));
    if (import(true, &result, &error) != FT_OK) fail_msg("%s", error.message);
    assert_int_equal(result.models, 3);
    assert_int_equal(result.graphs, 2);
    assert_int_equal(result.records, 4);
    assert_int_equal(ft_dataset_open("set", &data, &error), FT_OK);
    const ft_record *r = ft_dataset_records(data);
    const double *m = r[0].metrics;
    assert_string_equal(r[0].device, "ethos-u55-128");
    assert_int_equal(r[0].dtype, FT_INT8);
    assert_true(r[0].is_synthetic);
    assert_true(fabs(m[ft_dataset_metric(data, "time_us")] - 2) < 1e-9);
    assert_true(m[ft_dataset_metric(data, "total_cycles")] == 50.5);
    assert_true(m[ft_dataset_metric(data, "sram_bytes")] == 1536);
    assert_true(isnan(m[ft_dataset_metric(data, "dram_bytes")])); /* none is used */
    assert_true(m[ft_dataset_metric(data, "flash_bytes")] == 2048);
    assert_true(m[ft_dataset_metric(data, "weight_bytes")] == 300);
    assert_string_equal(r[0].family, "operator");
    assert_string_equal(r[1].family, "zoo");
    /* variants share the part before the dot; another input changes it, a second row does not */
    assert_memory_equal(r[0].name, r[1].name, 17);
    assert_string_equal(r[0].name + 16, ".aa");
    assert_string_equal(r[1].name + 16, ".bb");
    assert_memory_not_equal(r[0].name, r[2].name, 16);
    assert_string_equal(r[3].name, r[0].name);
    ft_dataset_free(data);
}

static void unusable_rows_are_skipped(void **state) {
    (void)state;
    ft_error error;
    ft_import_result result;
    write_source(HEADER ROW("aa.tflite", "ethos-u99", "1", "0.1", "0") /**/
                 ROW("bad.tflite", "ethos-u55-128", "1", "0.1", "0")   /**/
                 ROW("bad.tflite", "ethos-u55-256", "1", "0.1", "0")   /**/
                 ROW("aa.tflite", "ethos-u55-128", "1", "0.0", "0")    /**/
                 ROW("aa.tflite", "ethos-u55-128", "1", "0.1", "0")    /**/
                 ROW("aa.tflite", "ethos-u55-128", "1", "0.1", "0"));
    assert_int_equal(import(true, &result, &error), FT_ERR_DAMAGED);
    assert_non_null(strstr(error.message, "line 2: unknown accelerator"));
    assert_int_equal(import(false, &result, &error), FT_OK);
    assert_int_equal(result.records, 1);
    assert_int_equal(result.skipped, 5);
}

/* An invalid cell or row is reported with its line; the others are imported. */
static void wrong_rows_are_skipped(void **state) {
    (void)state;
    static const char *const tables[][2] = {
        {HEADER "aa.tflite,m\n", "line 2: has 2 fields, but the header has 14: the row is incomplete"},
        {HEADER ROW("aa.tflite", "ethos-u55-128", "1", "soon", "0"), "inference_time is 'soon': not a number"},
        {HEADER ROW("aa.tflite", "ethos-u55-128", "1", "nan", "0"), "inference_time is 'nan': not a number"},
        {HEADER ROW("aa.tflite", "ethos-u55-128", "1", "-1", "0"),
         "inference_time is '-1': not a number of at least zero"},
        {HEADER ROW("../aa.tflite", "ethos-u55-128", "1", "1", "0"), "not a file in the folder tflite"},
    };
    ft_error error;
    ft_import_result result;
    for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++) {
        char table[2048];
        snprintf(table, sizeof table, "%s%s", tables[i][0], ROW("bb.tflite", "ethos-u55-256", "1", "1", "0"));
        write_source(table);
        assert_int_equal(import(true, NULL, &error), FT_ERR_DAMAGED);
        if (strstr(error.message, tables[i][1]) == NULL) fail_msg("'%s' and '%s'", error.message, tables[i][1]);
        if (import(false, &result, &error) != FT_OK) fail_msg("%s", error.message);
        assert_true(result.records == 1 && result.skipped == 1);
        assert_int_equal(system("rm -r set"), 0);
    }
}

static void fails(const char *table, ft_status status, const char *text) {
    ft_error error;
    write_source(table);
    assert_int_equal(import(false, NULL, &error), status);
    if (strstr(error.message, text) == NULL) fail_msg("'%s' does not contain '%s'", error.message, text);
}

static void bad_tables_are_refused(void **state) {
    (void)state;
    ft_error error;
    assert_int_equal(ft_import("npu", "absent", "set", NULL, NULL, &error), FT_ERR_IO);
    fails("file,source\n", FT_ERR_DAMAGED, "column 'config' is missing");
    fails(HEADER, FT_ERR_FORMAT, "no measurement");
    fails(HEADER "\"aa.tflite,m\n", FT_ERR_DAMAGED, "line 2: unclosed quote");
}

static void memory_may_run_out(void **state) {
    (void)state;
    ft_error error;
    write_source(HEADER ROW("aa.tflite", "ethos-u55-128", "1", "0.1", "0")
                     ROW("cc.tflite", "ethos-u55-128", "2", "1", "0"));
    for (long n = 0;; n++) {
        failing_start(n);
        ft_status status = import(false, NULL, &error);
        if (!failing_stop()) {
            assert_int_equal(status, FT_OK);
            break;
        }
        if (status != FT_ERR_NOMEM) fail_msg("allocation %ld: %d", n, status);
    }
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, folder_enter, folder_leave)

int main(void) {
    const struct CMUnitTest tests[] = {
        IN_FOLDER(rows_become_records),    IN_FOLDER(unusable_rows_are_skipped), IN_FOLDER(wrong_rows_are_skipped),
        IN_FOLDER(bad_tables_are_refused), IN_FOLDER(memory_may_run_out),
    };
    return cmocka_run_group_tests_name("data/import_npu", tests, NULL, NULL);
}
