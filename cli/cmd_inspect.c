/* cmd_inspect.c - `foretell inspect`: the options, and one model after the other into one report.
 *
 * Models are read, reported and forgotten one by one, so thousands of files take the memory of one. A file that fails
 * does not stop the others. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

enum { SHAPES_MAX = 256, OPTION_BATCH = 256, OPTION_SHAPE, OPTION_DTYPE, OPTION_OPTIMIZER, OPTION_MIXED };
enum { OPTION_NO_INPLACE = OPTION_MIXED + 1, OPTION_WORKSPACE, OPTION_FULL };

typedef struct arguments {
    ft_inspect_options inspect;
    output_options output;
    ft_shape_binding shapes[SHAPES_MAX];
    const char *runtime;
    char **paths;
    size_t path_count;
    bool is_full;
    bool is_quiet;
} arguments;

/* --- Options ------------------------------------------------------------------------------------------------- */

static const struct argp_option option_list[] = {
    {NULL, 0, NULL, 0, "What to tell:", 1},
    {"nodes", 'n', NULL, 0, "list the operators", 0},
    {"kernels", 'k', "RUNTIME", 0,
     "list the kernels that RUNTIME fuses the operators into: a name that 'foretell runtimes' lists, or the path of a "
     "JSON file with rules",
     0},
    {"top", 't', "N", 0, "only the first N of each list", 0},
    {"sort", 's', "KEY", 0,
     "order of lists: graph, macs, flops, params, bytes or count (types by flops; operators and kernels as they run, "
     "or by flops with --top)",
     0},
    {"full", OPTION_FULL, NULL, 0, "the whole report of each model, also when there are several", 0},
    {NULL, 0, NULL, 0, "For which setting:", 10},
    {"batch", 'b', "N", 0, "batch size (as exported; 1 where the file leaves it open)", 0},
    {"shape", OPTION_SHAPE, "NAME=DIMS", 0,
     "shape of an input (image=1x3x224x224) or value of a symbol (sequence=128); may be repeated", 0},
    {"dtype", 'd', "TYPE", 0, "hold floating-point tensors in TYPE: float32, float16, bfloat16, ... (as in the file)",
     0},
    {"optimizer", OPTION_OPTIMIZER, "NAME", 0, "of training: sgd, momentum, adam or adamw (momentum)", 0},
    {"mixed", OPTION_MIXED, NULL, 0, "training with float32 master weights beside --dtype (float16)", 0},
    {"no-inplace", OPTION_NO_INPLACE, NULL, 0, "no operator writes over its input", 0},
    {"workspace", OPTION_WORKSPACE, "BYTES", 0, "the most scratch memory an operator may take, as 64M or 1G (none)", 0},
    {"quiet", 'q', NULL, 0, "no progress line and no notes; errors are still told", 60},
    {0},
};

static const char doc[] =
    "Tell what models are made of and what they cost: operators, parameters, MACs, FLOPs, activations, memory of "
    "inference and training.\v"
    "MODEL is a file in any format that 'foretell formats' lists, found by content; .gz is unpacked on the way. A "
    "folder is walked: files in it that are no models are counted and passed over. Several models give a line each; "
    "--full, --nodes or --kernels give all of it.\n"
    "\n"
    "Examples:\n"
    "  foretell inspect resnet50.onnx\n"
    "  foretell inspect resnet50.onnx --batch 32 --dtype float16\n"
    "  foretell inspect bert.onnx --shape sequence=128 --nodes --top 10\n"
    "  foretell inspect net.tflite --kernels tflite-cpu --sort flops\n"
    "  foretell inspect models/ --format csv --output models.csv\n"
    "\n"
    "Exit status: 0 all went well; 2 wrong arguments; 3 cannot open, read or write; 4 not a model in any known format; "
    "5 damaged or truncated; 6 valid, but not supported; 7 larger than a documented limit; 8 the graph is not valid; 9 "
    "a symbolic dimension has no value; 10 refused, the file asks to run code; 11 out of memory; 13 some of several "
    "models failed; 130 interrupted.";

/* "64M", "1G", "4096". */
static uint64_t parse_bytes(struct argp_state *state, const char *text) {
    static const char suffixes[] = "KMGT";
    char *end;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    const char *suffix = *end != '\0' ? strchr(suffixes, *end) : NULL;
    unsigned shift = suffix != NULL ? 10 * (unsigned)(suffix - suffixes + 1) : 0;
    if (errno != 0 || *text < '0' || *text > '9' || end[suffix != NULL ? 1 : 0] != '\0' || value > UINT64_MAX >> shift)
        argp_error(state, "--workspace %s: want bytes, as 4096, 64M or 1G", text);
    return (uint64_t)value << shift;
}

static void parse_shape(arguments *args, const char *text, struct argp_state *state) {
    ft_error error;
    ft_binding *binding = &args->inspect.binding;
    size_t size = strlen(text) + 1;
    char *name = malloc(size); /* lives as long as the process */
    if (binding->shape_count == SHAPES_MAX) argp_error(state, "--shape: at most %d of them", SHAPES_MAX);
    if (name == NULL ||
        ft_shape_binding_parse(text, name, size, &args->shapes[binding->shape_count], &error) != FT_OK) {
        free(name);
        argp_error(state, "--shape %s", name == NULL ? "is too long" : error.message);
    }
    binding->shape_count++;
}

static error_t parse_setting(int key, char *text, struct argp_state *state) {
    arguments *args = state->input;
    ft_cost_options *cost = &args->inspect.cost;
    switch (key) {
    case 'b':
        args->inspect.binding.batch = (int64_t)cli_parse_count(state, "batch", text, (uint64_t)FT_MAX_DIM);
        return 0;
    case OPTION_SHAPE:
        parse_shape(args, text, state);
        return 0;
    case 'd':
        if (!ft_dtype_parse(text, &cost->dtype) || !ft_dtype_is_float(cost->dtype))
            argp_error(state, "--dtype %s: want a floating-point type: float32, float16, bfloat16, float64, float8",
                       text);
        return 0;
    case OPTION_OPTIMIZER:
        if (!ft_optimizer_parse(text, &cost->optimizer))
            argp_error(state, "--optimizer %s: want sgd, momentum, adam or adamw", text);
        return 0;
    case OPTION_MIXED:
        cost->is_mixed = true;
        return 0;
    case OPTION_NO_INPLACE:
        cost->has_inplace = false;
        return 0;
    case OPTION_WORKSPACE:
        cost->workspace_bytes = parse_bytes(state, text);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static void check_arguments(arguments *args, struct argp_state *state) {
    if (args->path_count == 0) argp_error(state, "which model? Give a file or a folder");
    if (args->output.style.output == FT_CSV && args->inspect.has_nodes && args->runtime != NULL)
        argp_error(state, "a CSV holds one kind of row: ask for --nodes or for --kernels");
    if (args->inspect.cost.is_mixed && args->inspect.cost.dtype == FT_DTYPE_UNKNOWN)
        args->inspect.cost.dtype = FT_FLOAT16;
}

static error_t parse_option(int key, char *text, struct argp_state *state) {
    arguments *args = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &args->output;
        return 0;
    case 'n':
        args->inspect.has_nodes = true;
        return 0;
    case 'k':
        args->runtime = text;
        return 0;
    case 't':
        args->inspect.top = (uint32_t)cli_parse_count(state, "top", text, FT_MAX_OPS);
        return 0;
    case 's':
        if (!ft_sort_parse(text, &args->inspect.sort))
            argp_error(state, "--sort %s: want graph, macs, flops, params, bytes or count", text);
        return 0;
    case OPTION_FULL:
        args->is_full = true;
        return 0;
    case 'q':
        args->is_quiet = true;
        return 0;
    case ARGP_KEY_ARGS:
        args->paths = state->argv + state->next;
        args->path_count = (size_t)(state->argc - state->next);
        return 0;
    case ARGP_KEY_END:
        check_arguments(args, state);
        return 0;
    default:
        return parse_setting(key, text, state);
    }
}

/* --- Models -------------------------------------------------------------------------------------------------- */

/* One run over all arguments. */
typedef struct run {
    arguments *args;
    output out;
    ft_report *report;   /* begun when the first source is open: only then we know whether there are several models */
    uint64_t file_count; /* passed so far */
    bool has_several;
    ft_shape_binding shapes[SHAPES_MAX]; /* those that the model at hand has */
    bool is_shape_used[SHAPES_MAX];
    uint64_t model_count, failed_count, skipped_count;
    ft_status first_failure;
    ft_status fatal; /* the output cannot be written: no use in going on */
} run;

static bool is_over(const run *r) {
    return r->fatal != FT_OK || stop_requested();
}

/* Messages of the library begin with the path when they come from a reader, not when they come from a later step. */
static void count_failure(run *r, const char *path, const ft_error *error) {
    r->failed_count++;
    if (r->first_failure == FT_OK) r->first_failure = error->status;
    if (strncmp(error->message, path, strlen(path)) == 0)
        cli_fail(error->status, "%s", error->message);
    else
        cli_fail(error->status, "%s: %s", path, error->message);
}

static ft_status begin_report(run *r, bool has_several, ft_error *error) {
    if (r->report != NULL) return FT_OK;
    ft_inspect_options *options = &r->args->inspect;
    r->has_several = has_several;
    options->style = r->args->output.style;
    options->is_list = has_several && !r->args->is_full && !options->has_nodes && options->rules == NULL;
    return ft_report_begin(r->out.stream, options, &r->report, error);
}

static bool has_dim_named(const ft_graph *graph, const ft_tensor *tensor, const char *name) {
    for (int32_t d = 0; d < tensor->rank; d++) {
        const char *symbol = ft_dim_symbol(graph, tensor->dims[d]);
        if (symbol != NULL && strcmp(symbol, name) == 0) return true;
    }
    return false;
}

static bool has_input_or_symbol(const ft_graph *graph, const char *name) {
    const ft_tensor *tensors = ft_graph_tensors(graph);
    for (uint32_t i = 0; i < ft_graph_input_count(graph); i++)
        if (strcmp(tensors[ft_graph_inputs(graph)[i]].name, name) == 0) return true;
    for (uint32_t i = 0; i < ft_graph_tensor_count(graph); i++)
        if (has_dim_named(graph, &tensors[i], name)) return true;
    return false;
}

/* Among several models, a shape is for those that have an input or symbol of its name. */
static void choose_shapes(run *r, const ft_graph *graph) {
    const ft_binding *all = &r->args->inspect.binding;
    ft_binding chosen = {.batch = all->batch, .shapes = r->shapes};
    if (!r->has_several || all->shape_count == 0) return;
    for (uint32_t i = 0; i < all->shape_count; i++) {
        if (!has_input_or_symbol(graph, all->shapes[i].name)) continue;
        r->is_shape_used[i] = true;
        r->shapes[chosen.shape_count++] = all->shapes[i];
    }
    ft_report_bind(r->report, &chosen);
}

static void report_graph(run *r, const char *path, const ft_graph *graph) {
    ft_error error;
    progress_hide();
    choose_shapes(r, graph);
    ft_status status = ft_report_model(r->report, path, graph, &error);
    if (status == FT_OK) {
        r->model_count++;
        return;
    }
    if (status == FT_ERR_IO) r->fatal = status;
    count_failure(r, path, &error);
}

/* All graphs of a source, which is made of `file_count` files. */
static void report_source(run *r, const char *path, ft_source *source, uint64_t file_count) {
    uint64_t done = 0, count = ft_source_count(source);
    ft_error error;
    if (begin_report(r, count > 1, &error) != FT_OK) {
        r->fatal = error.status;
        cli_fail(error.status, "%s", error.message);
    }
    while (!is_over(r)) {
        ft_graph *graph = NULL;
        if (ft_source_next(source, &graph, &error) != FT_OK)
            count_failure(r, path, &error);
        else if (graph == NULL)
            break;
        else
            report_graph(r, path, graph);
        ft_graph_free(graph);
        done++;
        double part = count > 0 ? (double)done / (double)count : 0;
        progress_show(r->file_count, part * (double)file_count, path);
    }
    ft_source_close(source);
    r->file_count += file_count;
}

static void inspect_file(run *r, const char *path, bool is_explicit) {
    ft_source *source;
    ft_error error;
    ft_status status = ft_source_open(path, &source, &error);
    if (status == FT_OK) {
        report_source(r, path, source, 1);
        return;
    }
    if (status == FT_ERR_FORMAT && !is_explicit)
        r->skipped_count++;
    else
        count_failure(r, path, &error);
    r->file_count++;
}

static void inspect_path(run *r, const char *path, bool is_explicit, uint32_t depth);

/* A folder may be one data set; else it is walked. */
static void inspect_folder(run *r, const char *path, bool is_explicit, uint32_t depth) {
    ft_source *source;
    ft_error error;
    ft_status status = ft_source_open(path, &source, &error);
    if (status == FT_OK) {
        report_source(r, path, source, walk_count(path, is_explicit, 0));
        return;
    }
    if (status != FT_ERR_FORMAT && status != FT_ERR_IO) {
        count_failure(r, path, &error);
        return;
    }
    size_t count;
    char **entries = walk_folder(path, &count);
    if (entries == NULL) {
        r->failed_count++;
        if (r->first_failure == FT_OK) r->first_failure = FT_ERR_IO;
        return;
    }
    for (size_t i = 0; i < count && !is_over(r); i++) inspect_path(r, entries[i], false, depth + 1);
    walk_free(entries, count);
}

static void inspect_path(run *r, const char *path, bool is_explicit, uint32_t depth) {
    progress_show(r->file_count, 0, path);
    switch (walk_kind_of(path, is_explicit)) {
    case WALK_FOLDER:
        if (depth < FT_MAX_DEPTH) inspect_folder(r, path, is_explicit, depth);
        break;
    case WALK_FILE:
        inspect_file(r, path, is_explicit);
        break;
    case WALK_OTHER:
        if (is_explicit)
            inspect_file(r, path, true); /* its message says what is wrong */
        else
            r->skipped_count++;
        break;
    }
}

/* --- The whole ----------------------------------------------------------------------------------------------- */

static void inspect_all(run *r) {
    arguments *args = r->args;
    ft_error error;
    bool has_several = args->path_count > 1 || walk_kind_of(args->paths[0], true) == WALK_FOLDER;
    uint64_t total = 0;
    if (has_several) {
        for (size_t i = 0; i < args->path_count; i++) total += walk_count(args->paths[i], true, 0);
        r->fatal = begin_report(r, true, &error);
    }
    progress_begin(total > 0 ? total : 1, args->is_quiet);
    for (size_t i = 0; i < args->path_count && !is_over(r); i++) inspect_path(r, args->paths[i], true, 0);
    progress_hide();
    if (r->fatal == FT_OK) r->fatal = begin_report(r, has_several, &error);
    ft_status status = ft_report_end(r->report, &error);
    if (r->fatal != FT_OK || status == FT_OK) return;
    r->fatal = status;
    cli_fail(status, "%s", error.message);
}

static void say_what_was_left_out(const run *r) {
    if (r->args->is_quiet) return;
    unsigned long long skipped = r->skipped_count, failed = r->failed_count, models = r->model_count;
    if (skipped > 0) cli_note("%llu file%s passed over: not a model", skipped, skipped == 1 ? "" : "s");
    if (failed > 0 && failed + models > 1) cli_note("%llu of %llu models failed", failed, failed + models);
}

/* A name that nothing has is most likely misspelled. */
static void check_shapes_used(run *r) {
    const ft_binding *all = &r->args->inspect.binding;
    if (!r->has_several || r->model_count == 0) return;
    for (uint32_t i = 0; i < all->shape_count && r->fatal == FT_OK; i++)
        if (!r->is_shape_used[i])
            r->fatal = cli_fail(FT_ERR_USAGE, "--shape %s: none of the models has an input or symbol of that name",
                                all->shapes[i].name);
}

static ft_status result_of(const run *r) {
    if (r->fatal != FT_OK) return r->fatal;
    if (r->failed_count > 0) return r->failed_count + r->model_count > 1 ? FT_ERR_PARTIAL : r->first_failure;
    if (r->model_count == 0)
        return cli_fail(FT_ERR_FORMAT, "%s: no model in it; 'foretell formats' lists what can be read",
                        r->args->paths[0]);
    return FT_OK;
}

static ft_status run_inspect(arguments *args) {
    run r = {.args = args};
    ft_rules *rules = NULL;
    ft_error error;
    if (args->runtime != NULL && ft_rules_open(args->runtime, &rules, &error) != FT_OK)
        return cli_fail(error.status, "%s", error.message);
    args->inspect.rules = rules;
    ft_status status = output_open(&args->output, &r.out);
    if (status == FT_OK) {
        inspect_all(&r);
        if (!stop_requested()) {
            say_what_was_left_out(&r);
            check_shapes_used(&r);
            status = result_of(&r);
        }
        if (r.model_count > 0 && r.fatal == FT_OK && !stop_requested()) {
            ft_status written = output_commit(&r.out);
            if (written != FT_OK) status = written;
        }
        output_discard(&r.out);
    }
    ft_rules_free(rules);
    return status;
}

int cmd_inspect(int argc, char **argv) {
    static const struct argp_child children[] = {{&output_argp, 0, NULL, 0}, {0}};
    static const struct argp parser = {
        .options = option_list, .parser = parse_option, .args_doc = "MODEL...", .doc = doc, .children = children};
    arguments *args = calloc(1, sizeof *args);
    if (args == NULL) return (int)cli_fail(FT_ERR_NOMEM, "out of memory");
    args->inspect = ft_inspect_options_default();
    args->inspect.binding.shapes = args->shapes;
    args->output = output_options_default();
    argp_parse(&parser, argc, argv, 0, NULL, args);
    stop_install();
    ft_status status = run_inspect(args);
    for (uint32_t i = 0; i < args->inspect.binding.shape_count; i++) free((char *)args->shapes[i].name);
    free(args);
    stop_finish();
    return (int)status;
}
