/* Wrong arguments of graph.h, kernel.h, cost.h, language.h, inspect.h, status.h and outfile.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/arguments.h"
#include "support/folder.h"
#include "support/report_model.h"
#include "support/small_set.h"

static ft_graph *model, *bound;
static ft_rules *rules;
static ft_cost cost;
static ft_kernels kernels;
static ft_report *report;
static ft_inspection *inspection;
static FILE *sink;

/* --- status.h, foretell.h ------------------------------------------------------------------------------------ */

GET(ft_status_name, ft_status_name(ODD(ft_status, FT_OK, 99, -1)) != NULL)
GET(ft_status_text, ft_status_text(ODD(ft_status, FT_OK, 99, -1)) != NULL)
GET(ft_version_string, ft_version_string() != NULL)

/* --- graph.h ------------------------------------------------------------------------------------------------- */

GET(ft_dtype_name, strcmp(ft_dtype_name(REFUSED(ft_dtype, FT_INT8, 999, -1)), "unknown") == 0)
GET(ft_dtype_bits, ft_dtype_bits(REFUSED(ft_dtype, FT_INT8, 999, -1)) == 32)
GET(ft_dtype_is_float, !ft_dtype_is_float(REFUSED(ft_dtype, FT_FLOAT32, 999, -1)))
GET(ft_format_name, ft_format_name(ODD(ft_format, FT_FORMAT_ONNX, 999, -1)) != NULL)
GET(ft_format_text, ft_format_text(ODD(ft_format, FT_FORMAT_ONNX, 999, -1)) != NULL)
GET(ft_op_class_name, strcmp(ft_op_class_name(REFUSED(ft_op_class, FT_CLASS_CONV, 999, -1)), "unknown") == 0)
GET(ft_graph_name, ft_graph_name(REQUIRED(model)) == NULL)
GET(ft_graph_format, ft_graph_format(REQUIRED(model)) == FT_FORMAT_UNKNOWN)
GET(ft_graph_layout, ft_graph_layout(REQUIRED(model)) == FT_NCHW)
GET(ft_graph_op_count, ft_graph_op_count(REQUIRED(model)) == 0)
GET(ft_graph_ops, ft_graph_ops(REQUIRED(model)) == NULL)
GET(ft_graph_tensor_count, ft_graph_tensor_count(REQUIRED(model)) == 0)
GET(ft_graph_tensors, ft_graph_tensors(REQUIRED(model)) == NULL)
GET(ft_graph_input_count, ft_graph_input_count(REQUIRED(model)) == 0)
GET(ft_graph_inputs, ft_graph_inputs(REQUIRED(model)) == NULL)
GET(ft_graph_output_count, ft_graph_output_count(REQUIRED(model)) == 0)
GET(ft_graph_outputs, ft_graph_outputs(REQUIRED(model)) == NULL)
GET(ft_graph_meta_count, ft_graph_meta_count(REQUIRED(model)) == 0)
GET(ft_graph_meta, ft_graph_meta(REQUIRED(model), REQUIRED(argument_long_text())) == NULL)
GET(ft_graph_is_bound, !ft_graph_is_bound(REQUIRED(bound)))
GET(ft_graph_batch, ft_graph_batch(REQUIRED(bound)) == 0)
GET(ft_graph_exported_batch, ft_graph_exported_batch(REQUIRED(bound)) == 0)
GET(ft_graph_is_scaled, !ft_graph_is_scaled(REQUIRED(bound)))
GET(ft_dim_symbol, ft_dim_symbol(REQUIRED(model), ODD(int64_t, -1, INT64_MIN, INT64_MAX, -1000000)) == NULL)
GET(ft_op_attr, ft_op_attr(REQUIRED(ft_graph_ops(bound)), REQUIRED("kernel_shape")) == NULL)
GET(ft_opdef_count, ft_opdef_count() == 0)
GET(ft_opdef_at, ft_opdef_at(REFUSED(uint32_t, 0, UINT32_MAX)) == NULL)
GET(ft_opdef_unknown, ft_opdef_unknown() == NULL)
GET(ft_opdef_is_known, !ft_opdef_is_known(REQUIRED(ft_opdef_at(0))))
GET(ft_opdef_name, ft_opdef_name(REQUIRED(ft_opdef_at(0))) == NULL)
GET(ft_opdef_class, ft_opdef_class(REQUIRED(ft_opdef_at(0))) == FT_CLASS_UNKNOWN)
GET(ft_opdef_spellings,
    ft_opdef_spellings(REQUIRED(ft_opdef_at(0)), ODD(ft_format, FT_FORMAT_ONNX, 999, -1))[0] == '\0')

static ft_dtype dtype_out;
GET(ft_dtype_parse, !ft_dtype_parse(REQUIRED("fp16"), REQUIRED(&dtype_out)))

CALL(ft_graph_meta_at) {
    const char *key = "", *value = "";
    ft_graph_meta_at(REQUIRED(model), ODD(uint32_t, 0, UINT32_MAX), OPTIONAL(&key), OPTIONAL(&value));
    return arguments_neutral(key == NULL && value == NULL, argument_error_);
}

/* Tensors that a caller could make: nothing in them is trusted but pointers. */
CALL(ft_tensor_elems) {
    static const ft_tensor wild[] = {{.rank = 100}, {.rank = -5}, {.rank = 1, .dims = {-7}, .is_batched = true}};
    uint64_t elems = ft_tensor_elems(REQUIRED(bound), REFUSED_OF(ft_graph_tensors(bound), wild, COUNT_OF(wild)));
    return arguments_neutral(elems == 0, argument_error_);
}

CALL(ft_tensor_bytes) {
    static const ft_tensor wild[] = {{.rank = 100}, {.dtype = 999, .rank = -5}};
    uint64_t bytes = ft_tensor_bytes(REQUIRED(bound), REFUSED_OF(ft_graph_tensors(bound), wild, COUNT_OF(wild)));
    return arguments_neutral(bytes == 0, argument_error_);
}

CALL(ft_graph_free) {
    (void)argument_error_;
    ft_graph_free(NULL);
    return FT_OK;
}

/* --- Reading ------------------------------------------------------------------------------------------------- */

CALL(ft_source_open) {
    ft_source *source = NULL;
    const char *const wild[] = {"", "no such file", ".", "/", argument_long_text()};
    const char *const good = "cg";
    const char *const *path = arguments_value(&good, wild, sizeof *wild, COUNT_OF(wild), false);
    ft_status status = ft_source_open(REQUIRED(*path), REQUIRED(&source), ERROR);
    ft_source_close(source);
    return status;
}

CALL(ft_graph_read) {
    ft_graph *graph = NULL;
    const char *const wild[] = {"", "no such file", ".", "/", argument_long_text()};
    const char *const good = "cg";
    const char *const *path = arguments_value(&good, wild, sizeof *wild, COUNT_OF(wild), false);
    ft_status status = ft_graph_read(REQUIRED(*path), REQUIRED(&graph), ERROR);
    ft_graph_free(graph);
    return status;
}

CALL(ft_graph_read_memory) {
    static const char text[] = "7767517\n2 2\nInput a 0 1 x 0=4\nReLU b 1 1 x y\n";
    ft_graph *graph = NULL;
    ft_status status = ft_graph_read_memory(REQUIRED(text), ODD(size_t, sizeof text - 1, 0, 1, 9), REQUIRED("x.param"),
                                            REQUIRED(&graph), ERROR);
    ft_graph_free(graph);
    return status;
}

CALL(ft_source_next) {
    ft_source *source = NULL;
    ft_graph *graph = NULL;
    ft_error ignored;
    assert_int_equal(ft_source_open("cg", &source, &ignored), FT_OK);
    ft_status status = ft_source_next(REQUIRED(source), REQUIRED(&graph), ERROR);
    ft_graph_free(graph);
    ft_source_close(source);
    return status;
}

CALL(ft_source_count) {
    return arguments_neutral(ft_source_count(REQUIRED((ft_source *)NULL)) == 0, argument_error_);
}

CALL(ft_source_format) {
    return arguments_neutral(ft_source_format(REQUIRED((ft_source *)NULL)) == FT_FORMAT_UNKNOWN, argument_error_);
}

CALL(ft_source_close) {
    (void)argument_error_;
    ft_source_close(NULL);
    return FT_OK;
}

/* --- Binding ------------------------------------------------------------------------------------------------- */

static const ft_shape_binding no_name = {.rank = 1, .dims = {4}}, high_rank = {.name = "x", .rank = 9},
                              low_rank = {.name = "x", .rank = -3}, low_dim = {.name = "x", .rank = 1, .dims = {-2}},
                              high_dim = {.name = "x", .rank = 1, .dims = {INT64_MAX}};
static const ft_binding usual_binding = {.batch = 2};
static const ft_binding wild_bindings[] = {{.batch = -1},
                                           {.batch = INT64_MIN},
                                           {.batch = INT64_MAX},
                                           {.shape_count = 1},
                                           {.shapes = &no_name, .shape_count = 1},
                                           {.shapes = &high_rank, .shape_count = 1},
                                           {.shapes = &low_rank, .shape_count = 1},
                                           {.shapes = &low_dim, .shape_count = 1},
                                           {.shapes = &high_dim, .shape_count = 1},
                                           {.open_size = INT64_MAX}};

/* A graph as read; one that is bound is wrong. */
#define UNBOUND REQUIRED(*(ft_graph *const *)arguments_value(&model, &bound, sizeof model, 1, true))
/* A binding that may be NULL. */
#define BINDING                                                                                                        \
    OPTIONAL(arguments_value(&usual_binding, wild_bindings, sizeof *wild_bindings, COUNT_OF(wild_bindings), true))

CALL(ft_graph_bind) {
    ft_graph *made = NULL;
    ft_status status = ft_graph_bind(UNBOUND, BINDING, REQUIRED(&made), ERROR);
    ft_graph_free(made);
    return status;
}

CALL(ft_graph_open_dims) {
    ft_open_dim dims[4];
    uint32_t count = 0;
    return ft_graph_open_dims(REQUIRED(model), BINDING, REQUIRED(dims), ODD(uint32_t, 4, 1), REQUIRED(&count), ERROR);
}

CALL(ft_shape_binding_parse) {
    char name[16];
    ft_shape_binding shape;
    const char *const wild[] = {
        "", "=", "x=", "x=-1", "x=99999999999999999999", "x=1x1x1x1x1x1x1x1x1", argument_long_text()};
    const char *const good = "x=1x3";
    const char *const *text = REFUSED_OF(&good, wild, COUNT_OF(wild));
    return ft_shape_binding_parse(text != NULL ? *text : NULL, REQUIRED(name), REFUSED(size_t, sizeof name, 0, 1),
                                  REQUIRED(&shape), ERROR);
}

/* --- kernel.h, cost.h ---------------------------------------------------------------------------------------- */

static const ft_cost_options usual_cost = {.optimizer = FT_MOMENTUM};
static const ft_cost_options wild_costs[] = {
    {.mode = 99}, {.mode = -1}, {.optimizer = 99}, {.dtype = 999}, {.dtype = -1}};
#define COST_OPTIONS REFUSED_OF(&usual_cost, wild_costs, COUNT_OF(wild_costs))
/* A bound graph; one that is not is wrong. */
#define BOUND REQUIRED(*(ft_graph *const *)arguments_value(&bound, &model, sizeof model, 1, true))

CALL(ft_rules_open) {
    ft_rules *made = NULL;
    const char *const wild[] = {"", ".", "/", "./no-such-file.json", argument_long_text()};
    const char *const good = "torch-eager";
    const char *const *name = arguments_value(&good, wild, sizeof *wild, COUNT_OF(wild), false);
    ft_status status = ft_rules_open(REQUIRED(*name), REQUIRED(&made), ERROR);
    ft_rules_free(made);
    return status;
}

GET(ft_rules_name, ft_rules_name(REQUIRED(rules)) == NULL)
GET(ft_rules_count, ft_rules_count() == 0)
GET(ft_rules_name_at, ft_rules_name_at(REFUSED(uint32_t, 0, UINT32_MAX)) == NULL)
GET(ft_rules_text_at, ft_rules_text_at(REFUSED(uint32_t, 0, UINT32_MAX)) == NULL)

CALL(ft_rules_free) {
    (void)argument_error_;
    ft_rules_free(NULL);
    return FT_OK;
}

CALL(ft_graph_fuse) {
    ft_kernels made = {0};
    ft_status status = ft_graph_fuse(BOUND, REQUIRED(rules), REQUIRED(&made), ERROR);
    ft_kernels_free(&made);
    return status;
}

CALL(ft_kernels_free) {
    ft_kernels none = {0};
    (void)argument_error_;
    ft_kernels_free(NULL);
    ft_kernels_free(&none);
    return FT_OK;
}

GET(ft_optimizer_name, strcmp(ft_optimizer_name(REFUSED(ft_optimizer, FT_ADAM, 99, -1)), "unknown") == 0)
static ft_optimizer optimizer_out;
GET(ft_optimizer_parse, !ft_optimizer_parse(REQUIRED("adam"), REQUIRED(&optimizer_out)))
GET(ft_sharding_name, strcmp(ft_sharding_name(REFUSED(ft_sharding, FT_SHARD_WEIGHTS, 99, -1)), "unknown") == 0)
static ft_sharding sharding_out;
GET(ft_sharding_parse, !ft_sharding_parse(REQUIRED("fsdp"), REQUIRED(&sharding_out)))
GET(ft_recompute_name, strcmp(ft_recompute_name(REFUSED(ft_recompute, FT_RECOMPUTE_FULL, 99, -1)), "unknown") == 0)
static ft_recompute recompute_out;
GET(ft_recompute_parse, !ft_recompute_parse(REQUIRED("full"), REQUIRED(&recompute_out)))
GET(ft_precision_name, strcmp(ft_precision_name(REFUSED(ft_precision, FT_PRECISION_MIXED, 99, -1)), "unknown") == 0)
static ft_precision precision_out;
GET(ft_precision_parse, !ft_precision_parse(REQUIRED("mixed"), REQUIRED(&precision_out)))
GET(ft_cost_options_default, ft_cost_options_default().mode != FT_INFER)

CALL(ft_cost_compute) {
    ft_cost made = {0};
    ft_status status = ft_cost_compute(BOUND, COST_OPTIONS, REQUIRED(&made), ERROR);
    ft_cost_free(&made);
    return status;
}

CALL(ft_cost_free) {
    ft_cost none = {0};
    (void)argument_error_;
    ft_cost_free(NULL);
    ft_cost_free(&none);
    return FT_OK;
}

CALL(ft_cost_kernel) {
    static const ft_cost no_cost;
    static const ft_kernels no_kernels;
    ft_op_cost made = ft_cost_kernel(BOUND, REFUSED_OF(&cost, &no_cost, 1), REFUSED_OF(&kernels, &no_kernels, 1),
                                     REFUSED(uint32_t, 0, kernels.count, UINT32_MAX));
    return arguments_neutral(made.forward.flops == 0 && made.forward.read_bytes == 0, argument_error_);
}

GET(ft_work_intensity, ft_work_intensity(REQUIRED(&cost.total.forward)) == 0)

CALL(ft_memory_plan) {
    ft_memory memory;
    return ft_memory_plan(BOUND, COST_OPTIONS, REQUIRED(&memory), NULL, NULL, ERROR);
}

GET(ft_language_run_name, ft_language_run_name(ODD(ft_language_run, FT_RUN_DECODE, 99, -1)) != NULL)

CALL(ft_language_of) {
    ft_language made;
    return ft_language_of(UNBOUND, OPTIONAL(&usual_binding), REQUIRED(&made), ERROR);
}

/* --- inspect.h ----------------------------------------------------------------------------------------------- */

static const ft_style usual_style = {.output = FT_TABLE, .width = 80};
static const ft_style wild_styles[] = {{.output = 99}, {.output = -1}};
#define STYLE REFUSED_OF(&usual_style, wild_styles, COUNT_OF(wild_styles))
static const ft_inspect_options wild_inspections[] = {{.style = {.output = 99}},  {.sort = 99},
                                                      {.cost = {.mode = 99}},     {.cost = {.dtype = 999}},
                                                      {.binding = {.batch = -1}}, {.binding = {.shape_count = 3}}};
static ft_inspect_options usual_inspection;
#define INSPECTION REFUSED_OF(&usual_inspection, wild_inspections, COUNT_OF(wild_inspections))

GET(ft_sort_name, strcmp(ft_sort_name(REFUSED(ft_sort, FT_SORT_MACS, 99, -1)), "unknown") == 0)
GET(ft_output_name, strcmp(ft_output_name(REFUSED(ft_output, FT_JSON, 99, -1)), "unknown") == 0)
static ft_sort sort_out;
GET(ft_sort_parse, !ft_sort_parse(REQUIRED("macs"), REQUIRED(&sort_out)))
static ft_output output_out;
GET(ft_output_parse, !ft_output_parse(REQUIRED("json"), REQUIRED(&output_out)))
GET(ft_style_default, ft_style_default().output != FT_TABLE)
GET(ft_inspect_options_default, ft_inspect_options_default().top != 0)

CALL(ft_report_begin) {
    ft_report *made = NULL;
    ft_status status = ft_report_begin(REQUIRED(sink), INSPECTION, REQUIRED(&made), ERROR);
    ft_report_end(made, NULL);
    return status;
}

CALL(ft_report_bind) {
    static const ft_binding as_exported;
    (void)argument_error_;
    ft_report_bind(OPTIONAL(report), OPTIONAL(&as_exported));
    return FT_OK;
}

CALL(ft_report_model) {
    return ft_report_model(REQUIRED(report), REQUIRED("a model"), REQUIRED(model), ERROR);
}

CALL(ft_inspect) {
    ft_inspection *made = NULL;
    ft_status status = ft_inspect(INSPECTION, REQUIRED("a model"), REQUIRED(model), REQUIRED(&made), ERROR);
    ft_inspection_free(made);
    return status;
}

CALL(ft_inspection_free) {
    (void)argument_error_;
    ft_inspection_free(NULL);
    return FT_OK;
}

CALL(ft_report_add) {
    return ft_report_add(REQUIRED(report), REQUIRED(inspection), ERROR);
}

CALL(ft_report_end) {
    ft_report *made = NULL;
    ft_error ignored;
    assert_int_equal(ft_report_begin(sink, &usual_inspection, &made, &ignored), FT_OK);
    assert_int_equal(ft_report_end(NULL, NULL), FT_OK);
    return ft_report_end(made, ERROR);
}

CALL(ft_report_formats) {
    return ft_report_formats(REQUIRED(sink), STYLE, ERROR);
}

CALL(ft_report_models) {
    return ft_report_models(REQUIRED(sink), STYLE, ERROR);
}

CALL(ft_model_read) {
    ft_graph *made = NULL;
    ft_status status = ft_model_read(REQUIRED("alexnet"), REQUIRED(&made), ERROR);
    ft_graph_free(made);
    return status;
}
GET(ft_model_name, ft_model_name(REFUSED(uint32_t, 0, 1000, UINT32_MAX)) == NULL)
GET(ft_model_text, ft_model_text(REFUSED(uint32_t, 0, 1000, UINT32_MAX)) == NULL)
GET(ft_model_family, ft_model_family(REFUSED(uint32_t, 0, 1000, UINT32_MAX)) == NULL)
GET(ft_model_other_names, ft_model_other_names(REFUSED(uint32_t, 0, 1000, UINT32_MAX)) == NULL)
GET(ft_model_symbols, ft_model_symbols(REFUSED(uint32_t, 0, 1000, UINT32_MAX)) == NULL)
GET(ft_model_find, ft_model_find(REQUIRED("alexnet")) == FT_NONE)
GET(ft_model_params, ft_model_params(REFUSED(uint32_t, 0, 1000, UINT32_MAX)) == 0)

CALL(ft_report_ops) {
    return ft_report_ops(REQUIRED(sink), STYLE, REFUSED(ft_format, FT_FORMAT_TFLITE, 999, -1), ERROR);
}

CALL(ft_report_runtimes) {
    return ft_report_runtimes(REQUIRED(sink), STYLE, ERROR);
}

CALL(ft_report_families) {
    return ft_report_families(REQUIRED(sink), STYLE, ERROR);
}

/* --- outfile.h ----------------------------------------------------------------------------------------------- */

CALL(ft_outfile_open) {
    ft_outfile out = {0};
    const char *const wild[] = {"", ".", "/", "no/such/folder", argument_long_text()};
    const char *const good = "made";
    const char *const *path = arguments_value(&good, wild, sizeof *wild, COUNT_OF(wild), false);
    ft_status status = ft_outfile_open(REQUIRED(*path), REQUIRED(&out), ERROR);
    if (status == FT_OK) ft_outfile_discard(&out);
    return status;
}

CALL(ft_outfile_commit) {
    static ft_outfile none;
    ft_outfile out = {0};
    ft_error ignored;
    assert_int_equal(ft_outfile_open("made", &out, &ignored), FT_OK);
    bool is_none = arguments_is_wrong(true);
    ft_status status = ft_outfile_commit(REQUIRED(is_none ? &none : &out), ERROR);
    ft_outfile_discard(&out);
    return status;
}

CALL(ft_outfile_discard) {
    ft_outfile none = {0};
    (void)argument_error_;
    ft_outfile_discard(NULL);
    ft_outfile_discard(&none);
    return FT_OK;
}

/* --- All ----------------------------------------------------------------------------------------------------- */

static const argument_row rows[] = {
    ROW(ft_status_name),
    ROW(ft_status_text),
    ROW(ft_version_string),
    ROW(ft_dtype_name),
    ROW(ft_dtype_bits),
    ROW(ft_dtype_is_float),
    ROW(ft_dtype_parse),
    ROW(ft_format_name),
    ROW(ft_format_text),
    ROW(ft_op_class_name),
    ROW(ft_graph_name),
    ROW(ft_graph_format),
    ROW(ft_graph_layout),
    ROW(ft_graph_op_count),
    ROW(ft_graph_ops),
    ROW(ft_graph_tensor_count),
    ROW(ft_graph_tensors),
    ROW(ft_graph_input_count),
    ROW(ft_graph_inputs),
    ROW(ft_graph_output_count),
    ROW(ft_graph_outputs),
    ROW(ft_graph_meta_count),
    ROW(ft_graph_meta),
    ROW(ft_graph_meta_at),
    ROW(ft_graph_is_bound),
    ROW(ft_graph_batch),
    ROW(ft_graph_exported_batch),
    ROW(ft_graph_is_scaled),
    ROW(ft_dim_symbol),
    ROW(ft_op_attr),
    ROW(ft_opdef_count),
    ROW(ft_opdef_at),
    ROW(ft_opdef_unknown),
    ROW(ft_opdef_is_known),
    ROW(ft_opdef_name),
    ROW(ft_opdef_class),
    ROW(ft_opdef_spellings),
    ROW(ft_tensor_elems),
    ROW(ft_tensor_bytes),
    ROW(ft_graph_free),
    ROW(ft_source_open),
    ROW(ft_graph_read),
    ROW(ft_graph_read_memory),
    ROW(ft_source_next),
    ROW(ft_source_count),
    ROW(ft_source_format),
    ROW(ft_source_close),
    ROW(ft_graph_bind),
    ROW(ft_graph_open_dims),
    ROW(ft_shape_binding_parse),
    ROW(ft_rules_open),
    ROW(ft_rules_name),
    ROW(ft_rules_count),
    ROW(ft_rules_name_at),
    ROW(ft_rules_text_at),
    ROW(ft_rules_free),
    ROW(ft_graph_fuse),
    ROW(ft_kernels_free),
    ROW(ft_optimizer_name),
    ROW(ft_optimizer_parse),
    ROW(ft_sharding_name),
    ROW(ft_sharding_parse),
    ROW(ft_recompute_name),
    ROW(ft_recompute_parse),
    ROW(ft_precision_name),
    ROW(ft_precision_parse),
    ROW(ft_cost_options_default),
    ROW(ft_cost_compute),
    ROW(ft_cost_free),
    ROW(ft_cost_kernel),
    ROW(ft_work_intensity),
    ROW(ft_memory_plan),
    ROW(ft_language_run_name),
    ROW(ft_language_of),
    ROW(ft_sort_name),
    ROW(ft_output_name),
    ROW(ft_sort_parse),
    ROW(ft_output_parse),
    ROW(ft_style_default),
    ROW(ft_inspect_options_default),
    ROW(ft_report_begin),
    ROW(ft_report_bind),
    ROW(ft_report_model),
    ROW(ft_inspect),
    ROW(ft_inspection_free),
    ROW(ft_report_add),
    ROW(ft_report_end),
    ROW(ft_report_formats),
    ROW(ft_report_models),
    ROW(ft_model_read),
    ROW(ft_model_name),
    ROW(ft_model_text),
    ROW(ft_model_family),
    ROW(ft_model_other_names),
    ROW(ft_model_symbols),
    ROW(ft_model_params),
    ROW(ft_model_find),
    ROW(ft_report_ops),
    ROW(ft_report_runtimes),
    ROW(ft_report_families),
    ROW(ft_outfile_open),
    ROW(ft_outfile_commit),
    ROW(ft_outfile_discard),
};

static int set_up(void **state) {
    ft_error error;
    const ft_cost_options options = ft_cost_options_default();
    if (folder_enter(state) != 0) return -1;
    write_cg("cg", "one", 3);
    usual_inspection = ft_inspect_options_default();
    model = model_new();
    sink = fopen("/dev/null", "w");
    if (model == NULL || sink == NULL) return -1;
    bool is_ok = ft_graph_bind(model, &(ft_binding){.batch = 2}, &bound, &error) == FT_OK &&
                 ft_rules_open("torch-eager", &rules, &error) == FT_OK &&
                 ft_cost_compute(bound, &options, &cost, &error) == FT_OK &&
                 ft_graph_fuse(bound, rules, &kernels, &error) == FT_OK &&
                 ft_report_begin(sink, &usual_inspection, &report, &error) == FT_OK &&
                 ft_inspect(&usual_inspection, "a model", model, &inspection, &error) == FT_OK;
    return is_ok ? 0 : -1;
}

static int tear_down(void **state) {
    ft_inspection_free(inspection);
    ft_report_end(report, NULL);
    ft_kernels_free(&kernels);
    ft_cost_free(&cost);
    ft_rules_free(rules);
    ft_graph_free(bound);
    ft_graph_free(model);
    fclose(sink);
    return folder_leave(state);
}

static void test_arguments(void **state) {
    (void)state;
    arguments_try(rows, COUNT_OF(rows));
}

/* The value that is wrong is named. */
static void test_messages(void **state) {
    (void)state;
    ft_cost made;
    ft_error error;
    ft_cost_options options = {.mode = 99};
    assert_int_equal(ft_cost_compute(bound, &options, &made, &error), FT_ERR_USAGE);
    assert_string_equal(error.message, "cost options: mode 99 is not one of ft_mode");
    options = (ft_cost_options){.dtype = 999};
    assert_int_equal(ft_memory_plan(bound, &options, &(ft_memory){0}, NULL, NULL, &error), FT_ERR_USAGE);
    assert_string_equal(error.message, "cost options: dtype 999 is not one of ft_dtype");
    assert_int_equal(ft_cost_compute(bound, NULL, &made, &error), FT_ERR_USAGE);
    assert_string_equal(error.message, "ft_cost_compute: 'options' is NULL");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_arguments, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_messages, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
