/* cmd_data.c - `foretell data`: prints, joins, exports and checks data sets. */
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "commands.h"

enum { DEFAULT_LIMIT = 20 };

typedef struct arguments {
    output_options output;
    ft_record_filter filter;
    const char *limit;
    const char *action;
    const char **folders;
    uint32_t folder_count;
    bool is_quiet, is_verbose;
} arguments;

typedef struct action {
    const char *name;
    int (*run)(arguments *args);
    bool takes_many; /* folders */
} action;

/* --- Options ------------------------------------------------------------------------------------------------- */

/* A data set may have devices of its own. */
static void parse_device(void *field, const char *text, const option_row *row, struct argp_state *state) {
    const char *canonical = ft_device_canonical(text);
    option_text(field, canonical != NULL ? canonical : text, row, state);
}

static const option_row rows[] = {
    {.help = "Records (show, export):", .group = 1},
    {"device", "NAME", "only records of this device, by any of its names", 0,
     PARSED_BY(parse_device, arguments, filter.device), .choices = "@devices"},
    {"family", "NAME", "only records of this family", 0, TEXT(arguments, filter.family)},
    {"graph", "ID", "only records of the graph whose id begins with ID; show then lists its operators", 0,
     TEXT(arguments, filter.graph)},
    {"limit", "N", "only the first N (show as a table: 20; otherwise all); 0 is all", 0, TEXT(arguments, limit)},
    {"verbose", NULL, "merge: name every skipped record, not only counts and reasons", 60, FLAG(arguments, is_verbose)},
    QUIET_ROW(arguments, is_quiet, 60),
    {0},
};

static const char doc[] =
    "Print, join, export and check data sets.\v"
    "Actions:\n"
    "  info DIR              counts by device, family and metric\n"
    "  show DIR              list records; with --graph, operators of a graph\n"
    "  export DIR            records with the costs of their graphs, CSV or JSON\n"
    "  merge DIR... -o DIR   join data sets into a new one\n"
    "  check DIR             verify every file by its hash\n"
    "  rehash DIR            accept an intended change: store new hashes\n"
    "\n"
    "Examples:\n"
    "  foretell data info cg\n"
    "  foretell data show cg --device adreno-640 --family resnets --limit 5\n"
    "  foretell data show cg --graph e1889015\n"
    "  foretell data export cg --family vggs --output vggs.csv\n"
    "  foretell data merge cg mine -o all\n"
    "\n"
    "Exit status: 0 all went well; 2 wrong arguments; 3 cannot open, read or write; 4 not a data set; 5 damaged, or "
    "changed since it was made; 11 out of memory; 130 interrupted.";

static uint32_t parse_limit(struct argp_state *state, const char *text) {
    return strcmp(text, "0") == 0 ? 0 : (uint32_t)cli_parse_number(state, "limit", text, 1, UINT32_MAX);
}

static const action *find_action(const char *name);

static void parse_argument(void *input, char *text, struct argp_state *state) {
    arguments *args = input;
    if (state->arg_num == 0)
        args->action = text;
    else
        args->folders[args->folder_count++] = text;
}

static void check(void *input, struct argp_state *state) {
    arguments *args = input;
    const action *a = args->action != NULL ? find_action(args->action) : NULL;
    if (args->action == NULL) argp_error(state, "no action: give info, show, export, merge, check or rehash");
    if (a == NULL) {
        argp_error(state, "unknown action '%s': expected info, show, export, merge, check or rehash", args->action);
        return;
    }
    if (args->folder_count == 0) argp_error(state, "no data set: give its folder");
    if (!a->takes_many && args->folder_count > 1) argp_error(state, "'%s': one data set at a time", args->folders[1]);
    if (args->limit != NULL) args->filter.limit = parse_limit(state, args->limit);
}

const option_set cmd_data_options = {.rows = rows,
                                     .check = check,
                                     .parts = {{&output_set, offsetof(arguments, output)}},
                                     .doc = doc,
                                     .args_doc = "ACTION DIR...",
                                     .first_argument = "info show export merge check rehash",
                                     .argument = parse_argument};

/* --- Documents ----------------------------------------------------------------------------------------------- */

typedef ft_status document_writer(FILE *stream, arguments *args, const ft_dataset *data, ft_error *error);

static int write_document(arguments *args, document_writer *write) {
    ft_dataset *data;
    ft_error error;
    output out;
    ft_status status = ft_dataset_open(args->folders[0], &data, &error);
    if (status != FT_OK) return (int)cli_fail(status, "%s", error.message);
    status = output_open(&args->output, &out);
    if (status == FT_OK) {
        status = write(out.stream, args, data, &error);
        progress_hide();
        if (status == FT_OK)
            status = output_commit(&out);
        else if (status != FT_ERR_CANCELLED)
            output_fail(&out, status, NULL, &error);
        output_discard(&out);
    }
    ft_dataset_free(data);
    if (status == FT_ERR_CANCELLED) stop_finish();
    return (int)status;
}

/* The one graph whose id begins with the text; the filter gets the whole id. */
static ft_status find_graph(arguments *args, const ft_dataset *data, uint32_t *index, ft_error *error) {
    const char *text = args->filter.graph;
    uint32_t count = 0;
    for (uint32_t i = 0; i < ft_dataset_graph_count(data); i++) {
        if (strncmp(ft_dataset_graph_id(data, i), text, strlen(text)) != 0) continue;
        *index = i;
        count++;
    }
    if (count == 1) {
        args->filter.graph = ft_dataset_graph_id(data, *index);
        return FT_OK;
    }
    snprintf(error->message, sizeof error->message,
             count == 0 ? "%s: no graph has an id that begins with '%.40s'"
                        : "%s: several graphs have ids that begin with '%.40s': give more of it",
             args->folders[0], text);
    return FT_ERR_USAGE;
}

static ft_status write_graph(FILE *stream, arguments *args, const ft_dataset *data, uint32_t index, ft_error *error) {
    ft_inspect_options options = ft_inspect_options_default();
    ft_report *report = NULL;
    ft_graph *graph = NULL;
    options.style = args->output.style;
    options.has_nodes = true;
    options.top = args->filter.limit;
    ft_status status = ft_dataset_graph(data, index, &graph, error);
    if (status == FT_OK) status = ft_report_begin(stream, &options, &report, error);
    if (status == FT_OK) status = ft_report_model(report, ft_dataset_graph_id(data, index), graph, error);
    ft_status end = report != NULL ? ft_report_end(report, status == FT_OK ? error : NULL) : FT_OK;
    ft_graph_free(graph);
    return status != FT_OK ? status : end;
}

static ft_status write_info(FILE *stream, arguments *args, const ft_dataset *data, ft_error *error) {
    return ft_report_dataset(stream, &args->output.style, args->folders[0], data, error);
}

static ft_status write_records(FILE *stream, arguments *args, const ft_dataset *data, ft_error *error) {
    uint32_t graph;
    if (args->filter.graph != NULL) {
        ft_status status = find_graph(args, data, &graph, error);
        return status == FT_OK ? write_graph(stream, args, data, graph, error) : status;
    }
    if (args->limit == NULL && args->output.style.output == FT_TABLE) args->filter.limit = DEFAULT_LIMIT;
    return ft_report_records(stream, &args->output.style, data, &args->filter, error);
}

static ft_status write_costs(FILE *stream, arguments *args, const ft_dataset *data, ft_error *error) {
    uint32_t graph;
    if (args->filter.graph != NULL) {
        ft_status status = find_graph(args, data, &graph, error);
        if (status != FT_OK) return status;
    }
    if (args->output.style.output == FT_TABLE) args->output.style.output = FT_CSV;
    progress_begin(0, args->is_quiet);
    return ft_report_record_costs(stream, &args->output.style, data, &args->filter, progress_step, NULL, error);
}

static int run_info(arguments *args) {
    return write_document(args, write_info);
}

static int run_show(arguments *args) {
    return write_document(args, write_records);
}

static int run_export(arguments *args) {
    return write_document(args, write_costs);
}

/* --- Making and checking ------------------------------------------------------------------------------------- */

static int finish(arguments *args, ft_status status, const ft_error *error, const char *text) {
    progress_hide();
    if (status == FT_ERR_CANCELLED) stop_finish();
    if (status != FT_OK) return (int)cli_fail(status, "%s", error->message);
    if (!args->is_quiet) cli_note("%s: %s", args->folders[0], text);
    return FT_OK;
}

static int run_check(arguments *args) {
    ft_error error;
    progress_begin(0, args->is_quiet);
    return finish(args, ft_dataset_check(args->folders[0], progress_step, NULL, &error), &error, "all hashes match");
}

static int run_rehash(arguments *args) {
    ft_error error;
    return finish(args, ft_dataset_rehash(args->folders[0], &error), &error, "stored new hashes of its files");
}

static int run_merge(arguments *args) {
    ft_import_result result;
    ft_error error;
    if (args->output.path == NULL) return (int)cli_fail(FT_ERR_USAGE, "where to write the data set? Give --output DIR");
    skip_list skips = {.is_verbose = args->is_verbose};
    ft_import_options options = {.progress = progress_step, .skip = skip_note, .user = &skips};
    progress_begin(0, args->is_quiet);
    ft_status status =
        ft_dataset_merge(args->folders, args->folder_count, args->output.path, &options, &result, &error);
    progress_hide();
    if (status == FT_ERR_CANCELLED) stop_finish();
    if (status != FT_OK) return (int)cli_fail(status, "%s", error.message);
    if (args->is_quiet) return FT_OK;
    cli_note("%s: %llu distinct graphs, %llu records", args->output.path, (unsigned long long)result.graphs,
             (unsigned long long)result.records);
    skip_summary(&skips, args->output.path);
    return FT_OK;
}

static const action actions[] = {
    {"info", run_info, false},  {"show", run_show, false},   {"export", run_export, false},
    {"merge", run_merge, true}, {"check", run_check, false}, {"rehash", run_rehash, false},
};

static const action *find_action(const char *name) {
    for (size_t i = 0; i < sizeof actions / sizeof actions[0]; i++)
        if (strcmp(actions[i].name, name) == 0) return &actions[i];
    return NULL;
}

int cmd_data(int argc, char **argv) {
    arguments args = {.output = output_options_default(), .folders = calloc((size_t)argc + 1, sizeof *args.folders)};
    if (args.folders == NULL) return (int)cli_fail(FT_ERR_NOMEM, "out of memory");
    options_parse(&cmd_data_options, argc, argv, &args);
    stop_install();
    int status = find_action(args.action)->run(&args);
    free(args.folders);
    return status;
}
