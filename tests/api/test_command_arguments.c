/* Wrong arguments of command.h, document.h, struct.h and target.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "support/arguments.h"
#include "support/flops_file.h"
#include "support/folder.h"
#include "support/report_model.h"

static ft_predictor_set *set;
static ft_graph *model;
static ft_document *document;
static ft_command *command;
static ft_targets *targets;
static FILE *sink;
static const char json[] = "{\"model\": \"m\", \"name\": \"n\", \"device\": \"adreno-640\"}";
static const char *const pairs[] = {"a=b"};
static const ft_target_options options = {.devices = "adreno-640", .settings = pairs, .setting_count = 1};

CALL(ft_document_open) {
    ft_document *made = NULL;
    ft_status status = ft_document_open(REQUIRED(&made), ERROR);
    ft_document_free(made);
    return status;
}
CALL(ft_document_text) {
    const char *text;
    size_t size;
    return ft_document_text(REQUIRED(document), REQUIRED(&text), REQUIRED(&size), ERROR);
}
GET(ft_document_stream, ft_document_stream(REQUIRED(document)) == NULL)

CALL(ft_targets_open) {
    static const ft_target_options others[] = {{.devices = ""}, {.devices = ","}, {.setting_count = 1}};
    ft_targets *made = NULL;
    ft_status status =
        ft_targets_open(REQUIRED(set), REFUSED_OF(&options, others, COUNT_OF(others)), REQUIRED(&made), ERROR);
    ft_targets_free(made);
    return status;
}
GET(ft_targets_count, ft_targets_count(REQUIRED(targets)) == 0)
GET(ft_targets_name, ft_targets_name(REQUIRED(targets), REFUSED(uint32_t, 0, 1, UINT32_MAX)) == NULL)
GET(ft_targets_request, ft_targets_request(REQUIRED(targets), REFUSED(uint32_t, 0, 1, UINT32_MAX)).device == NULL)
GET(ft_targets_have_price, !ft_targets_have_price(REQUIRED(targets)))
GET(ft_goal_name, ft_goal_name(ODD(ft_goal, FT_GOAL_TIME, 3, -1)) != NULL)
GET(ft_goal_parse, !ft_goal_parse(REQUIRED("cost"), NULL))
GET(ft_targets_memory, isnan(ft_targets_memory(REQUIRED(targets), REFUSED(uint32_t, 0, 1, UINT32_MAX))))
GET(ft_device_is_file, !ft_device_is_file(REQUIRED("a.json")))

CALL(ft_command_parse) {
    ft_command *made = NULL;
    ft_status status = ft_command_parse(REQUIRED("predict"), REQUIRED(json), strlen(json), REQUIRED(&made), ERROR);
    ft_command_free(made);
    return status;
}
CALL(ft_command_write) {
    return ft_command_write(REQUIRED(command), REFUSED(uint32_t, 0, 1, UINT32_MAX), REQUIRED(set), REQUIRED(model),
                            REQUIRED("m"), REQUIRED(sink), ERROR);
}
GET(ft_struct_at, ft_struct_at(REFUSED(uint32_t, 0, 1000, UINT32_MAX)) == NULL)
GET(ft_command_count, ft_command_count(REQUIRED(command)) == 0)
GET(ft_command_is_list, !ft_command_is_list(OPTIONAL(command)))
GET(ft_command_model, ft_command_model(REQUIRED(command), REFUSED(uint32_t, 0, 1, UINT32_MAX)) == NULL)
GET(ft_command_name, ft_command_name(REQUIRED(command), REFUSED(uint32_t, 0, 1, UINT32_MAX)) == NULL)
GET(ft_command_output, ft_command_output(OPTIONAL(command), ODD(uint32_t, 0, 1, UINT32_MAX)) == FT_JSON)
CALL(ft_sizes_parse) {
    int64_t sizes[1];
    uint32_t count;
    return ft_sizes_parse(REQUIRED("8"), REQUIRED(sizes), REFUSED(uint32_t, 1, 0), REQUIRED(&count), ERROR);
}
CALL(ft_bytes_parse) {
    double bytes;
    return ft_bytes_parse(REQUIRED("8M"), REQUIRED(&bytes), ERROR);
}

static const argument_row rows[] = {
    ROW(ft_document_open),   ROW(ft_document_text),      ROW(ft_document_stream), ROW(ft_targets_open),
    ROW(ft_targets_count),   ROW(ft_targets_name),       ROW(ft_targets_request), ROW(ft_targets_memory),
    ROW(ft_device_is_file),  ROW(ft_command_parse),      ROW(ft_command_write),   ROW(ft_command_count),
    ROW(ft_command_is_list), ROW(ft_command_model),      ROW(ft_command_name),    ROW(ft_command_output),
    ROW(ft_struct_at),       ROW(ft_targets_have_price), ROW(ft_goal_name),       ROW(ft_goal_parse),
    ROW(ft_sizes_parse),     ROW(ft_bytes_parse),
};

static int set_up(void **state) {
    const char *files[] = {"times.ftm"};
    if (folder_enter(state) != 0) return -1;
    flops_file_write("times.ftm", "time_us", 10, 0.5F);
    model = model_new();
    sink = fopen("/dev/null", "w");
    bool is_ok = sink != NULL && ft_predictor_set_open(files, 1, &set, NULL) == FT_OK &&
                 ft_document_open(&document, NULL) == FT_OK &&
                 ft_targets_open(set, &options, &targets, NULL) == FT_OK &&
                 ft_command_parse("predict", json, strlen(json), &command, NULL) == FT_OK;
    return is_ok ? 0 : -1;
}

static int tear_down(void **state) {
    ft_command_free(command);
    ft_targets_free(targets);
    ft_document_free(document);
    ft_predictor_set_free(set);
    ft_graph_free(model);
    fclose(sink);
    ft_command_free(NULL);
    ft_command_allow_files(NULL);
    ft_targets_free(NULL);
    return folder_leave(state);
}

static void test_arguments(void **state) {
    (void)state;
    arguments_try(rows, COUNT_OF(rows));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test_setup_teardown(test_arguments, set_up, tear_down)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
