/* Tests of the table of records: accepted content, and the errors for everything else. */
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

#include "data/records.h"
#include "support/failing.h"
#include "support/folder.h"
#include "support/small_set.h"

#define HEADER "graph,name,family,device,batch,dtype,mode,setting,part,source,time_us,peak_bytes\n"
#define ID     "0123456789abcdef0123456789abcdef"

typedef struct parsed {
    arena memory, scratch;
    map graphs;
    records table;
    ft_status status;
    ft_error error;
} parsed;

static void parse(const char *text, const char *folder, parsed *p) {
    arena_init(&p->memory, 1 << 24);
    arena_init(&p->scratch, 1 << 24);
    map_init(&p->graphs, &p->scratch);
    bool has_room = map_set(&p->graphs, ID, 0);
    records_source source = {
        .name = "t.csv", .text = text, .size = strlen(text), .graphs = &p->graphs, .folder = folder};
    p->status = has_room ? records_parse(&source, &p->memory, &p->table, &p->error) : FT_ERR_NOMEM;
}

static void drop(parsed *p) {
    arena_free(&p->memory);
    arena_free(&p->scratch);
}

static void expect_error(const char *text, const char *message) {
    parsed p = {0};
    parse(text, NULL, &p);
    assert_int_not_equal(p.status, FT_OK);
    if (strstr(p.error.message, message) == NULL) fail_msg("'%s' does not contain '%s'", p.error.message, message);
    drop(&p);
}

static void test_good_rows(void **state) {
    (void)state;
    parsed p = {0};
    parse(HEADER ID ",\"a, \"\"b\"\"\",fam,adreno640gpu_tflite21,8,fp16,train,x=1,test,synthetic,1.5,\n" ID
                    ",c,fam,cortex-a76,1,float32,infer,,,measured,,4096\n",
          NULL, &p);
    if (p.status != FT_OK) fail_msg("%s", p.error.message);
    assert_int_equal(p.table.count, 2);
    const ft_record *r = p.table.rows;
    assert_string_equal(r[0].name, "a, \"b\"");
    assert_string_equal(r[0].device, "adreno-640"); /* by its other name */
    assert_int_equal(r[0].batch, 8);
    assert_int_equal(r[0].dtype, FT_FLOAT16);
    assert_int_equal(r[0].mode, FT_TRAIN);
    assert_true(r[0].is_synthetic);
    assert_true(r[0].metrics[0] == 1.5 && isnan(r[0].metrics[1]));
    assert_true(isnan(r[1].metrics[0]) && r[1].metrics[1] == 4096);
    assert_ptr_equal(r[0].family, r[1].family); /* kept once */
    drop(&p);
}

/* Written tables read back equal. */
static void test_write_and_read(void **state) {
    (void)state;
    static const char *const metrics[] = {"time_us", "peak_bytes"};
    double values[] = {1.0 / 3, NAN};
    ft_record r = {.name = "a,\"b\"\nc",
                   .family = "",
                   .device = "myriad-vpu",
                   .setting = "threads=4",
                   .part = "train",
                   .batch = 32,
                   .dtype = FT_BFLOAT16,
                   .mode = FT_TRAIN,
                   .is_synthetic = true,
                   .metrics = values};
    buf text = {0}, again = {0};
    parsed p = {0};
    records_put_header(&text, metrics, 2);
    records_put_row(&text, &r, ID, 2);
    parse(text.data, NULL, &p);
    assert_int_equal(p.status, FT_OK);
    assert_string_equal(p.table.rows[0].name, r.name);
    assert_true(p.table.rows[0].metrics[0] == 1.0 / 3);
    records_put_header(&again, p.table.metrics, 2);
    records_put_row(&again, &p.table.rows[0], ID, 2);
    assert_string_equal(text.data, again.data);
    buf_free(&text);
    buf_free(&again);
    drop(&p);
}

static void test_bad_headers(void **state) {
    (void)state;
    expect_error("", "line 1: expected the columns graph,name");
    expect_error("graph,name\n", "line 1: expected the columns graph,name");
    expect_error("graph,name,family,device,batch,dtype,mode,setting,part,source,time\n", "ends in its unit");
    expect_error("graph,name,family,device,batch,dtype,mode,setting,part,source,Time_us\n", "ends in its unit");
    expect_error("graph,name,family,device,batch,dtype,mode,setting,part,source,time_us,time_us\n", "each metric once");
}

static void test_bad_cells(void **state) {
    (void)state;
    expect_error(HEADER "xyz,n,f,cortex-a76,1,float32,infer,,,measured,1,\n", "t.csv: line 2: graph is 'xyz'");
    expect_error(HEADER "1123456789abcdef0123456789abcdef,n,f,cortex-a76,1,float32,infer,,,measured,1,\n",
                 "which has no graph with this id");
    expect_error(HEADER ID ",n,f,toaster,1,float32,infer,,,measured,1,\n", "line 2: device: unknown device 'toaster'");
    expect_error(HEADER ID ",n,f,cortex-a76,0,float32,infer,,,measured,1,\n", "batch is '0'");
    expect_error(HEADER ID ",n,f,cortex-a76,x,float32,infer,,,measured,1,\n", "batch is 'x'");
    expect_error(HEADER ID ",n,f,cortex-a76,1,float33,infer,,,measured,1,\n", "dtype is 'float33'");
    expect_error(HEADER ID ",n,f,cortex-a76,1,unknown,infer,,,measured,1,\n", "dtype is 'unknown'");
    expect_error(HEADER ID ",n,f,cortex-a76,1,float32,run,,,measured,1,\n", "mode is 'run'");
    expect_error(HEADER ID ",n,f,cortex-a76,1,float32,infer,,,guessed,1,\n", "source is 'guessed'");
    expect_error(HEADER ID ",n,f,cortex-a76,1,float32,infer,,,measured,-1,\n", "line 2: time_us is '-1'");
    expect_error(HEADER ID ",n,f,cortex-a76,1,float32,infer,,,measured,0,\n", "time_us is '0'");
    expect_error(HEADER ID ",n,f,cortex-a76,1,float32,infer,,,measured,nan,\n", "time_us is 'nan'");
    expect_error(HEADER ID ",n,f,cortex-a76,1,float32,infer,,,measured,inf,\n", "time_us is 'inf'");
    expect_error(HEADER ID ",n,f,cortex-a76,1,float32,infer,,,measured,1,x\n", "peak_bytes is 'x'");
    expect_error(HEADER ID ",n,f,cortex-a76,1,float32,infer,,,measured,1e303,\n",
                 "t.csv: line 2: time_us is '1e303'; expected from 0.001 to 1e12 us");
    expect_error(HEADER ID ",n,f,cortex-a76,1,float32,infer,,,measured,1e-317,\n", "time_us is '1e-317'");
    expect_error(HEADER ID ",n,f,cortex-a76,1,float32,infer,,,measured,1,0.5\n", "expected from 1 to 2^60 bytes");
    expect_error(HEADER ID ",n,f,,1,float32,infer,,,measured,1,\n", "line 2: device is ''; expected the name");
    expect_error(HEADER ID ",n,f,cortex-a76,1,float32,infer,,,measured,1\n", "line 2: has 11 fields");
    expect_error(HEADER ID ",\"n,f\n", "unclosed quote");
}

static void test_duplicate_rows(void **state) {
    (void)state;
    const char *row = ID ",n,f,cortex-a76,1,float32,infer,,,measured,1,\n";
    char text[1024];
    snprintf(text, sizeof text, "%s%s%s", HEADER, row, ID ",n,f,cortexA76cpu,1,fp32,infer,,test,measured,2,\n");
    expect_error(text, "line 3: same graph, name, family, device, batch, dtype, mode and setting as line 2");
    snprintf(text, sizeof text, "%s%s%s", HEADER, row, ID ",n,f,cortex-a76,1,float32,infer,t=2,,measured,2,\n");
    parsed p = {0};
    parse(text, NULL, &p); /* another setting is another measurement */
    assert_int_equal(p.status, FT_OK);
    drop(&p);
}

/* A device that the data set describes itself. */
static void test_own_device(void **state) {
    (void)state;
    const char *text = HEADER ID ",n,f,toaster,1,float32,infer,,,measured,1,\n";
    parsed p = {0};
    mkdir("devices", 0777);
    write_text("devices/toaster.json", "{\"foretell_device\": 1, \"name\": \"toaster\", \"text\": \"A toaster\", "
                                       "\"kind\": \"cpu\", \"runtime\": \"tflite-cpu\"}");
    parse(text, ".", &p);
    if (p.status != FT_OK) fail_msg("%s", p.error.message);
    assert_string_equal(p.table.rows[0].device, "toaster");
    drop(&p);
    write_text("devices/toaster.json", "{\"foretell_device\": 1, \"name\": \"kettle\", \"text\": \"A kettle\", "
                                       "\"kind\": \"cpu\", \"runtime\": \"tflite-cpu\"}");
    parse(text, ".", &p);
    assert_int_equal(p.status, FT_ERR_DAMAGED);
    assert_non_null(strstr(p.error.message, "describes 'kettle'"));
    drop(&p);
    parse(HEADER ID ",n,f,../devices/toaster,1,float32,infer,,,measured,1,\n", ".", &p);
    assert_int_equal(p.status, FT_ERR_DAMAGED);
    assert_non_null(strstr(p.error.message, "unknown device"));
    drop(&p);
}

static void test_out_of_memory(void **state) {
    (void)state;
    for (long n = 0;; n++) {
        parsed p = {0};
        failing_start(n);
        parse(HEADER ID ",n,f,cortex-a76,1,float32,infer,,,measured,1,\n", NULL, &p);
        bool has_failed = failing_stop();
        assert_int_equal(p.status, has_failed ? FT_ERR_NOMEM : FT_OK);
        drop(&p);
        if (!has_failed) break;
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_good_rows),
        cmocka_unit_test(test_write_and_read),
        cmocka_unit_test(test_bad_headers),
        cmocka_unit_test(test_bad_cells),
        cmocka_unit_test(test_duplicate_rows),
        cmocka_unit_test_setup_teardown(test_own_device, folder_enter, folder_leave),
        cmocka_unit_test(test_out_of_memory),
    };
    return cmocka_run_group_tests_name("data/records", tests, NULL, NULL);
}
