/* command.c - commands as JSON: parses the options of a request or of a list of them, and writes the document that the
 * command prints for the same options. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "command/command_options.h"
#include "foretell/forecast_report.h"

struct ft_command {
    command_options *items;
    uint32_t count;
    bool is_list;
    bool has_files; /* devices may be files */
};

/* --- Parsing --------------------------------------------------------------------------------------------------- */

static ft_status find_kind(const char *name, command_kind *kind, ft_error *error) {
    static const struct {
        const char *name;
        command_kind kind;
    } commands[] = {{"predict", KIND_PREDICT},
                    {"fits", KIND_FITS},
                    {"max-batch", KIND_MAX_BATCH},
                    {"inspect", KIND_INSPECT},
                    {"observe", KIND_OBSERVE}};
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++)
        if (strcmp(commands[i].name, name) == 0) return *kind = commands[i].kind, FT_OK;
    return ft_fail(error, FT_ERR_USAGE, "%.60s: expected predict, fits, max-batch, inspect or observe", name);
}

/* A request of a list: its own keys over those that are common to all. */
static ft_status parse_item(ft_command *command, command_kind kind, const json_t *common, const json_t *item,
                            ft_error *error) {
    if (!json_is_object(item)) return ft_fail(error, FT_ERR_USAGE, "is %s, but an object is expected", json_kind(item));
    json_t *merged = json_clone_object(common);
    ft_status status = merged != NULL && json_merge(merged, item) ? FT_OK : FT_NOMEM(error);
    /* The item is counted before it is parsed: what a failure leaves is freed with the others. */
    if (status == FT_OK) status = command_options_parse(kind, merged, &command->items[command->count++], error);
    json_decref(merged);
    return status;
}

/* The keys beside "requests". NULL: out of memory. */
static json_t *common_keys(const json_t *root) {
    json_t *common = json_object(), *value;
    const char *key;
    bool is_whole = common != NULL;
    json_object_foreach((json_t *)root, key, value) {
        if (is_whole && strcmp(key, "requests") != 0) is_whole = json_put(common, key, json_incref(value));
    }
    if (is_whole) return common;
    json_decref(common);
    return NULL;
}

static ft_status parse_list(ft_command *command, command_kind kind, const json_t *root, const json_t *list,
                            ft_error *error) {
    size_t count = json_array_size(list);
    if (!json_is_array(list) || count == 0)
        return ft_fail(error, FT_ERR_USAGE, "requests: a list of at least one request is expected");
    if (count > FT_MAX_REQUESTS)
        return ft_fail(error, FT_ERR_USAGE, "requests: has %zu, but at most %d are allowed", count, FT_MAX_REQUESTS);
    command->is_list = true;
    command->items = calloc(count, sizeof *command->items);
    json_t *common = common_keys(root);
    if (command->items == NULL || common == NULL) {
        json_decref(common);
        return FT_NOMEM(error);
    }
    ft_status status = FT_OK;
    for (size_t i = 0; i < count && status == FT_OK; i++) {
        status = parse_item(command, kind, common, json_array_get(list, i), error);
        if (status != FT_OK) status = ft_fail_prefix(error, status, "requests[%zu]", i);
    }
    json_decref(common);
    return status;
}

static ft_status parse_root(ft_command *command, command_kind kind, const json_t *root, ft_error *error) {
    const json_t *list = json_object_get(root, "requests");
    if (list != NULL) return parse_list(command, kind, root, list, error);
    command->items = calloc(1, sizeof *command->items);
    if (command->items == NULL) return FT_NOMEM(error);
    command->count = 1;
    return command_options_parse(kind, root, &command->items[0], error);
}

ft_status ft_command_parse(const char *name, const void *json, size_t size, ft_command **command, ft_error *error) {
    FT_REQUIRE(error, name, json, command);
    command_kind kind = KIND_PREDICT;
    json_t *root = NULL;
    FT_TRY(find_kind(name, &kind, error));
    ft_status status = json_parse(json, size, &root, error);
    if (status != FT_OK)
        return ft_fail_prefix(error, status == FT_ERR_NOMEM ? status : FT_ERR_USAGE, "the request is not JSON");
    ft_command *c = calloc(1, sizeof *c);
    status = c != NULL ? parse_root(c, kind, root, error) : FT_NOMEM(error);
    json_decref(root);
    if (status == FT_OK)
        *command = c;
    else
        ft_command_free(c);
    return status;
}

void ft_command_free(ft_command *command) {
    if (command == NULL) return;
    for (uint32_t i = 0; i < command->count; i++) command_options_free(&command->items[i]);
    free(command->items);
    free(command);
}

void ft_command_allow_files(ft_command *command) {
    if (command != NULL) command->has_files = true;
}

uint32_t ft_command_count(const ft_command *command) {
    return command != NULL ? command->count : 0;
}

bool ft_command_is_list(const ft_command *command) {
    return command != NULL && command->is_list;
}

const char *ft_command_model(const ft_command *command, uint32_t index) {
    return index < ft_command_count(command) ? command->items[index].model : NULL;
}

const char *ft_command_name(const ft_command *command, uint32_t index) {
    return index < ft_command_count(command) ? command->items[index].name : NULL;
}

ft_output ft_command_output(const ft_command *command, uint32_t index) {
    return index < ft_command_count(command) ? command->items[index].output : FT_JSON;
}

/* --- Answering ------------------------------------------------------------------------------------------------- */

/* What all answers need. */
typedef struct answer {
    const command_options *q;
    const ft_predictor_set *set;
    const ft_graph *model;
    const char *file;
    bool has_files;
    FILE *stream;
    ft_style style;
    ft_binding shapes;
    ft_targets *targets;
} answer;

/* Language models are trained with AdamW, unless the request says otherwise. */
static ft_optimizer optimizer_for(const command_options *q, const ft_graph *model) {
    bool is_language = ft_graph_meta(model, "model_type") != NULL;
    return is_language && q->mode == FT_TRAIN && !q->has_optimizer ? FT_ADAMW : q->optimizer;
}

static ft_request make_request(const answer *a, uint32_t device, int64_t batch) {
    ft_request request = ft_targets_request(a->targets, device);
    request.batch = batch;
    request.mode = a->q->mode;
    request.dtype = a->q->dtype;
    request.optimizer = optimizer_for(a->q, a->model);
    request.parallel = a->q->parallel;
    request.training = a->q->training;
    request.serving = a->q->serving;
    return request;
}

/* All requests, device by device. */
static ft_status predict(const answer *a, ft_results *results, ft_error *error) {
    uint32_t devices = ft_targets_count(a->targets), batches = a->q->batch_count > 0 ? a->q->batch_count : 1, count = 0;
    ft_request *requests = calloc((size_t)devices * batches, sizeof *requests);
    if (requests == NULL) return FT_NOMEM(error);
    for (uint32_t d = 0; d < devices; d++)
        for (uint32_t b = 0; b < batches; b++)
            requests[count++] = make_request(a, d, a->q->batch_count > 0 ? a->q->batches[b] : 0);
    ft_status status = ft_predict(a->set, a->model, &a->shapes, requests, count, results, error);
    free(requests);
    return status;
}

static ft_status answer_predict(const answer *a, ft_error *error) {
    ft_results results = {0};
    ft_result_report *report = NULL;
    ft_result_style style = {
        .style = a->style, .has_layers = a->q->has_layers, .top = a->q->top, .samples = a->q->samples};
    style.has_cost = ft_targets_have_price(a->targets);
    FT_TRY(predict(a, &results, error));
    const ft_model_results entry = {a->file, a->model, &a->shapes, &results};
    if (a->q->has_goal) {
        ft_status chosen = ft_report_choice(a->stream, &a->style, &entry, a->q->goal, a->q->samples, NULL, error);
        ft_results_free(&results);
        return chosen;
    }
    ft_status status = ft_result_report_begin(a->stream, &style, &report, error);
    if (status == FT_OK) status = ft_result_report_add(report, &entry, error);
    ft_status ended = ft_result_report_end(report, status == FT_OK ? error : NULL);
    ft_results_free(&results);
    return status != FT_OK ? status : ended;
}

static ft_status answer_fits(const answer *a, ft_error *error) {
    double free_bytes[FT_MAX_TARGETS];
    ft_results results = {0};
    bool is_whole = isnan(a->q->free_bytes);
    for (uint32_t i = 0; i < ft_targets_count(a->targets); i++)
        free_bytes[i] = is_whole ? ft_targets_memory(a->targets, i) : a->q->free_bytes;
    FT_TRY(predict(a, &results, error));
    const ft_model_results entry = {a->file, a->model, &a->shapes, &results};
    ft_status status = ft_report_fit(a->stream, &a->style, &entry, free_bytes, is_whole, error);
    ft_results_free(&results);
    return status;
}

static ft_status answer_max_batch(const answer *a, ft_error *error) {
    bool is_whole = isnan(a->q->free_bytes);
    const ft_batch_search search = {.free_bytes = is_whole ? ft_targets_memory(a->targets, 0) : a->q->free_bytes,
                                    .max_batch = a->q->max_batch};
    ft_request request = make_request(a, 0, 1);
    ft_max_batch_result largest;
    ft_results results = {0};
    if (ft_targets_count(a->targets) > 1)
        return ft_fail(error, FT_ERR_USAGE, "device: max-batch takes one device at a time");
    if (isnan(search.free_bytes))
        return ft_fail(error, FT_ERR_USAGE, "free: the data sheet of %s has no memory size: give it in bytes",
                       ft_targets_name(a->targets, 0));
    FT_TRY(ft_max_batch(a->set, a->model, &a->shapes, &request, &search, &largest, error));
    request.batch = largest.certain > 0 ? largest.certain : 1;
    FT_TRY(ft_predict(a->set, a->model, &a->shapes, &request, 1, &results, error));
    const ft_model_results entry = {a->file, a->model, &a->shapes, &results};
    ft_status status = ft_report_max_batch(a->stream, &a->style, &entry, &largest, is_whole, error);
    ft_results_free(&results);
    return status;
}

static ft_status write_inspection(const answer *a, const ft_inspect_options *options, ft_error *error) {
    ft_report *report = NULL;
    FT_TRY(ft_report_begin(a->stream, options, &report, error));
    ft_status status = ft_report_model(report, a->file, a->model, error);
    ft_status ended = ft_report_end(report, status == FT_OK ? error : NULL);
    return status != FT_OK ? status : ended;
}

static ft_status answer_inspect(const answer *a, ft_error *error) {
    const command_options *q = a->q;
    ft_rules *rules = NULL;
    ft_inspect_options options = ft_inspect_options_default();
    options.style = a->style;
    options.binding = a->shapes;
    options.binding.batch = q->batch_count > 0 ? q->batches[0] : 0;
    options.cost.dtype = q->is_mixed && q->dtype == FT_DTYPE_UNKNOWN ? FT_FLOAT16 : q->dtype;
    options.cost.optimizer = q->optimizer;
    options.cost.is_mixed = q->is_mixed;
    options.cost.has_inplace = !q->has_no_inplace;
    options.cost.workspace_bytes = (uint64_t)q->workspace_bytes;
    options.has_nodes = q->has_nodes;
    options.top = q->top;
    options.sort = q->sort;
    if (q->kernels != NULL) FT_TRY(ft_rules_open(q->kernels, &rules, error));
    options.rules = rules;
    ft_status status = write_inspection(a, &options, error);
    ft_rules_free(rules);
    return status;
}

/* --- Observations ------------------------------------------------------------------------------------------------ */

static ft_status answer_observe(const answer *a, ft_error *error) {
    ft_results results = {0};
    buf line = {0};
    if (ft_targets_count(a->targets) > 1) return ft_fail(error, FT_ERR_USAGE, "device: an observation has one device");
    FT_TRY(predict(a, &results, error));
    observation_put(a->q, a->file, &results.items[0], &line);
    ft_status status = line.failed ? FT_NOMEM(error) : FT_OK;
    if (status == FT_OK && fwrite(line.data, 1, line.length, a->stream) != line.length)
        status = ft_fail_file(error, NULL, "cannot write the observation", errno);
    buf_free(&line);
    ft_results_free(&results);
    return status;
}

static ft_status answer_on_devices(answer *a, ft_error *error) {
    const command_options *q = a->q;
    const ft_target_options options = {.devices = q->devices,
                                       .settings = (const char *const *)q->settings,
                                       .setting_count = q->setting_count,
                                       .prices = q->prices,
                                       .runtime = q->runtime,
                                       .has_no_files = !a->has_files};
    FT_TRY(ft_targets_open(a->set, &options, &a->targets, error));
    ft_status status = q->kind == KIND_PREDICT   ? answer_predict(a, error)
                       : q->kind == KIND_FITS    ? answer_fits(a, error)
                       : q->kind == KIND_OBSERVE ? answer_observe(a, error)
                                                 : answer_max_batch(a, error);
    ft_targets_free(a->targets);
    return status;
}

ft_status ft_command_write(const ft_command *command, uint32_t index, const ft_predictor_set *set,
                           const ft_graph *model, const char *file, FILE *stream, ft_error *error) {
    FT_REQUIRE(error, command, set, model, file, stream);
    if (index >= command->count) return ft_fail(error, FT_ERR_USAGE, "ft_command_write: there is no request %u", index);
    const command_options *q = &command->items[index];
    answer a = {.q = q,
                .set = set,
                .model = model,
                .file = file,
                .has_files = command->has_files,
                .stream = stream,
                .style = ft_style_default(),
                .shapes = {.shapes = q->shapes, .shape_count = q->shape_count}};
    a.style.output = q->output;
    return q->kind == KIND_INSPECT ? answer_inspect(&a, error) : answer_on_devices(&a, error);
}
