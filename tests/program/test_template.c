/* Tests of AutoTVM's templates: the schedule of one, and records that cannot be lowered. test_show_c.sh checks that the
 * loops are correct. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "program/program.h"
#include "program/record.h"
#include "support/program_features.h"

static ansor_record record;
static autotvm_record tuned;

#define TUNED(template, arguments, knobs)                                                                              \
    "{\"input\": [\"cuda\", \"" template "\", [" arguments "], {}], \"config\": {\"index\": 1, \"entity\": [" knobs    \
                                         "]}, \"result\": [[0.002, 0.004], 0, 1.5, 1.5], \"version\": 0.2}"
#define TENSOR(shape)     "[\"TENSOR\", [" shape "], \"float32\"]"
#define KNOB(name, sizes) "[\"" name "\", \"sp\", [" sizes "]]"
#define IMAGE(pads)       TENSOR("1, 8, 14, 14") ", " TENSOR("16, 8, 3, 3") ", [1, 1], " pads ", [1, 1], \"float32\""
#define TILES                                                                                                          \
    KNOB("tile_f", "-1, 2, 4, 1")                                                                                      \
    ", " KNOB("tile_y", "-1, 1, 2, 1") ", " KNOB("tile_x", "1, 1, 7, 2") ", " KNOB("tile_rc", "-1, 4") ", " KNOB(      \
        "tile_ry", "-1, 3") ", " KNOB("tile_rx", "-1, 1")
#define UNROLL               ", [\"auto_unroll_max_step\", \"ot\", 512], [\"unroll_explicit\", \"ot\", 0]"
#define BATCHED(a, b, flags) TENSOR(a) ", " TENSOR(b) ", null, \"float32\", " flags
#define DENSE                TENSOR("8, 6") ", " TENSOR("16, 6") ", null, \"float32\""

static ft_status read_line(const char *line, ft_error *error) {
    bool is_record;
    return program_record_read(line, strlen(line), &record, &tuned, &is_record, error);
}

static void test_conv2d(void **state) {
    (void)state;
    ft_program *program = NULL;
    ft_program_features f;
    ft_error error = {0};
    double seconds;
    if (read_line(TUNED("conv2d_nchw.cuda", IMAGE("[1, 1, 1, 1]"), TILES UNROLL), &error) != FT_OK)
        fail_msg("%s", error.message);
    assert_string_equal(record.workload, "[\"conv2d_layer\",1,8,14,14,16,3,3,1,1]");
    assert_string_equal(record.target, "cuda");
    assert_int_equal(ansor_mean_seconds(&record, &seconds, &error), FT_OK);
    assert_true(seconds == 0.003);
    assert_int_equal(ft_program_new(&program, &error), FT_OK);
    if (program_lower_record(program, &record, &error) != FT_OK) fail_msg("%s", error.message);
    assert_int_equal(ft_program_extract_features(program, &f, &error), FT_OK);
    assert_int_equal(f.leaf_count, 5); /* the first sum, both copies, the sum, the result */
    expect_log(feature(&f, 4, "blockIdx.z_len"), 2);
    expect_log(feature(&f, 4, "blockIdx.y_len"), 7);
    expect_log(feature(&f, 4, "threadIdx.x_len"), 7);
    expect_log(feature(&f, 4, "threadIdx.z_len"), 4);
    expect_log(feature(&f, 4, "vthread_len"), 2);
    expect_log(feature(&f, 4, "outer_prod"), 16 * 14 * 14);
    expect_log(feature(&f, 3, "float_mul"), 16 * 14 * 14 * 8 * 9);
    expect_log(feature(&f, 3, "auto_unroll_max_step"), 512);
    ft_program_free(program);
}

/* Different paddings per side are kept; two numbers are those of the two directions. */
static void test_paddings(void **state) {
    (void)state;
    ft_error error = {0};
    read_line(TUNED("conv2d_nchw.cuda", IMAGE("[1, 1]"), TILES UNROLL), &error);
    assert_string_equal(record.workload, "[\"conv2d_layer\",1,8,14,14,16,3,3,1,1]");
    read_line(TUNED("conv2d_nchw.cuda", IMAGE("[2, 1, 0, 1]"), TILES UNROLL), &error);
    assert_string_equal(record.workload, "[\"conv2d_layer\",1,8,14,14,16,3,3,1,[2,1,0,1]]");
}

static void expect_error(const char *line, ft_status expected, const char *message) {
    ft_error error = {0};
    assert_int_equal(read_line(line, &error), expected);
    assert_string_equal(error.message, message);
}

#define SQUARE(flags)                                                                                                  \
    TUNED("batch_matmul.cuda", BATCHED("2, 8, 8", "2, 8, 8", flags),                                                   \
          KNOB("tile_y", "-1, 4, 2") ", " KNOB("tile_x", "-1, 2, 2") ", " KNOB("tile_k", "-1, 4") UNROLL)

static void expect_product(const char *line, const char *name, const char *product) {
    ft_program *program = NULL;
    ft_error error = {0};
    char *text = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&text, &size);
    assert_non_null(stream);
    if (read_line(line, &error) != FT_OK) fail_msg("%s", error.message);
    assert_int_equal(strncmp(record.workload + 2, name, strlen(name)), 0);
    assert_int_equal(ft_program_new(&program, &error), FT_OK);
    if (program_lower_record(program, &record, &error) != FT_OK) fail_msg("%s", error.message);
    assert_int_equal(ft_program_write(program, stream, &error), FT_OK);
    fclose(stream);
    if (strstr(text, product) == NULL) fail_msg("no '%s' in\n%s", product, text);
    ft_program_free(program);
    free(text);
}

/* Of square matrices only the flags say how they are stored. By hand: batch blockIdx.z, row i of the two of a thread,
 * column j of its two in the block of four, and k.1 of a step of four. */
static void test_flags_of_batch_matmul(void **state) {
    (void)state;
#define ROW           "((threadIdx.y*2) + i)"
#define COLUMN        "((blockIdx.x*4) + (threadIdx.x*2) + j)"
#define SUMMED        "((k.0*4) + k.1)"
#define PRODUCT(a, b) "(A.shared.local[blockIdx.z, " a "] * B.shared.local[blockIdx.z, " b "])"
    expect_product(SQUARE("0, 1"), "batch_matmul_nt_layer", PRODUCT(ROW ", " SUMMED, COLUMN ", " SUMMED));
    expect_product(SQUARE("0, 0"), "batch_matmul_layer", PRODUCT(ROW ", " SUMMED, SUMMED ", " COLUMN));
    expect_product(SQUARE("false, false"), "batch_matmul_layer", PRODUCT(ROW ", " SUMMED, SUMMED ", " COLUMN));
    expect_product(SQUARE("1, 0"), "batch_matmul_tn_layer", PRODUCT(SUMMED ", " ROW, SUMMED ", " COLUMN));
    expect_product(SQUARE("true, true"), "batch_matmul_tt_layer", PRODUCT(SUMMED ", " ROW, COLUMN ", " SUMMED));
    expect_product(SQUARE("0"), "batch_matmul_nt_layer", PRODUCT(ROW ", " SUMMED, COLUMN ", " SUMMED));
}

static void test_errors(void **state) {
    (void)state;
    expect_error(TUNED("conv2d_NCHWc.x86", IMAGE("[1, 1]"), TILES), FT_ERR_UNSUPPORTED,
                 "unknown template \"conv2d_NCHWc.x86\"; supported are conv2d_nchw.cuda, depthwise_conv2d_nchw.cuda, "
                 "dense_large_batch.gpu, dense_small_batch.gpu, batch_matmul.cuda");
    expect_error(TUNED("conv2d_nchw.cuda", IMAGE("[1, 1]"), TILES), FT_ERR_DAMAGED,
                 "template conv2d_nchw.cuda: knob auto_unroll_max_step is missing");
    expect_error(TUNED("conv2d_nchw.cuda", IMAGE("[0, 0]"), TILES UNROLL), FT_ERR_DAMAGED,
                 "template conv2d_nchw.cuda: the product of the sizes of knob tile_x is not the extent 12 of its axis");
    expect_error(TUNED("conv2d_nchw.cuda", IMAGE("[1, 1]"), KNOB("tile_f", "-1, 2, 4")), FT_ERR_DAMAGED,
                 "template conv2d_nchw.cuda: knob tile_f does not have 4 numbers");
    expect_error(TUNED("conv2d_nchw.cuda", IMAGE("[1, 1]"), KNOB("tile_f", "-1, 0, 4, 1")), FT_ERR_DAMAGED,
                 "template conv2d_nchw.cuda: knob tile_f has a size that is not from 1 to 16");
    expect_error(TUNED("conv2d_nchw.cuda", IMAGE("[1, 1, 1]"), TILES), FT_ERR_DAMAGED,
                 "template conv2d_nchw.cuda: argument 4 is not a padding");
    expect_error(TUNED("conv2d_nchw.cuda", "[\"TENSOR\", [1, 2, 3, 4], \"float16\"]", ""), FT_ERR_UNSUPPORTED,
                 "template conv2d_nchw.cuda: argument 1 is of type float16; only float32 is supported");
    expect_error(TUNED("conv2d_nchw.cuda", DENSE, ""), FT_ERR_DAMAGED,
                 "template conv2d_nchw.cuda: argument 1 is not a tensor of 4 dimensions");
    expect_error(TUNED("dense_large_batch.gpu", DENSE, KNOB("tile_x", "1, 1, 4, 2") ", " KNOB("tile_y", "1, 1, 8, 2")),
                 FT_ERR_UNSUPPORTED,
                 "template dense_large_batch.gpu: knobs tile_x and tile_y set 4 and 8 threads, which must be equal");
    expect_error(TUNED("dense_small_batch.gpu", TENSOR("8, 6") ", " TENSOR("16, 6") ", " TENSOR("16"), ""),
                 FT_ERR_UNSUPPORTED, "template dense_small_batch.gpu: a bias is not supported");
    expect_error(TUNED("batch_matmul.cuda", BATCHED("2, 8, 6", "2, 16, 6", "false, false"), ""), FT_ERR_UNSUPPORTED,
                 "template batch_matmul.cuda: the shapes of its tensors do not match");
    expect_error(TUNED("batch_matmul.cuda", BATCHED("2, 8, 6", "2, 16, 6", "0, 2"), ""), FT_ERR_DAMAGED,
                 "template batch_matmul.cuda: argument 6 is not true or false");
    expect_error(TUNED("batch_matmul.cuda", TENSOR("2, 8, 6") ", " TENSOR("2, 16, 6") ", null, \"float16\"", ""),
                 FT_ERR_UNSUPPORTED, "template batch_matmul.cuda: its result is not of type float32");
    expect_error(TUNED("conv2d_nchw_winograd.cuda", IMAGE("[1, 1]"), ""), FT_ERR_UNSUPPORTED,
                 "template conv2d_nchw_winograd.cuda: Winograd's algorithm is not supported");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_conv2d),
        cmocka_unit_test(test_paddings),
        cmocka_unit_test(test_flags_of_batch_matmul),
        cmocka_unit_test(test_errors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
