/* cmd_trace.c - `foretell trace`: sums up and joins recorded traces of PyTorch's profiler. */
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "commands.h"

enum { DEFAULT_TOP = 15 };

typedef struct arguments {
    output_options output;
    const char *top;
    const char *action;
    const char **files;
    uint32_t file_count;
    uint32_t top_count;
    bool is_quiet;
} arguments;

/* --- Options ------------------------------------------------------------------------------------------------- */

static const option_row rows[] = {
    {"top", "N", "summary: only the N operators and kernels that take longest (table: 15; otherwise all); 0 is all", 10,
     TEXT(arguments, top)},
    QUIET_ROW(arguments, is_quiet, 60),
    {0},
};

static const char doc[] =
    "Sum up and join traces that PyTorch's profiler recorded.\v"
    "Actions:\n"
    "  summary FILE...         time by operator and by kernel, launch gaps, and the\n"
    "                          share of the time in which each device is busy\n"
    "  merge FILE... -o FILE   one timeline; ranks are aligned to the first\n"
    "\n"
    "'foretell import trace' makes a data set of the measured operators.\n"
    "\n"
    "Examples:\n"
    "  foretell trace summary worker0.pt.trace.json.gz\n"
    "  foretell trace summary rank*.json --format json --top 20\n"
    "  foretell trace merge rank0.json rank1.json -o all.json\n"
    "\n"
    "Exit status: 0 all went well; 2 wrong arguments; 3 cannot open, read or write; 4 not a trace; 5 damaged; 7 too "
    "large; 11 out of memory; 130 interrupted.";

static void parse_argument(void *input, char *text, struct argp_state *state) {
    arguments *args = input;
    if (state->arg_num == 0)
        args->action = text;
    else
        args->files[args->file_count++] = text;
}

static void check(void *input, struct argp_state *state) {
    arguments *args = input;
    if (args->action == NULL) argp_error(state, "no action: give summary or merge");
    if (args->action == NULL) return;
    bool is_merge = strcmp(args->action, "merge") == 0;
    if (!is_merge && strcmp(args->action, "summary") != 0)
        argp_error(state, "unknown action '%s': expected summary or merge", args->action);
    if (args->file_count == 0) argp_error(state, "no trace: give a file");
    if (is_merge && args->output.path == NULL) argp_error(state, "where to write the timeline? Give --output FILE");
    if (is_merge && args->top != NULL) argp_error(state, "--top applies to summary only");
    args->top_count = args->output.style.output == FT_TABLE ? DEFAULT_TOP : 0;
    if (args->top != NULL)
        args->top_count =
            strcmp(args->top, "0") == 0 ? 0 : (uint32_t)cli_parse_number(state, "top", args->top, 1, UINT32_MAX);
}

const option_set cmd_trace_options = {.rows = rows,
                                      .check = check,
                                      .parts = {{&output_set, offsetof(arguments, output)}},
                                      .doc = doc,
                                      .args_doc = "ACTION FILE...",
                                      .first_argument = "summary merge",
                                      .argument = parse_argument};

/* --- Running ------------------------------------------------------------------------------------------------- */

static ft_status open_all(const arguments *args, ft_trace **traces) {
    ft_error error;
    for (uint32_t i = 0; i < args->file_count; i++) {
        if (stop_requested()) return FT_ERR_CANCELLED;
        progress_show(i, 0, args->files[i]);
        ft_status status = ft_trace_open(args->files[i], &traces[i], &error);
        if (status != FT_OK) return cli_fail(status, "%s", error.message);
    }
    return FT_OK;
}

static ft_status write_all(arguments *args, ft_trace *const *traces) {
    const ft_trace *const *list = (const ft_trace *const *)traces;
    ft_trace_merge_result result = {0};
    ft_error error;
    output out;
    ft_status status = output_open(&args->output, &out);
    if (status != FT_OK) return status;
    bool is_merge = strcmp(args->action, "merge") == 0;
    if (is_merge) {
        status = ft_trace_merge(out.stream, list, args->file_count, &result, &error);
    } else {
        ft_trace_summary_options options = {.top = args->top_count};
        status = ft_report_trace_summary(out.stream, &args->output.style, list, args->file_count, &options, &error);
    }
    progress_hide();
    status = output_end(&out, status, &error);
    if (status == FT_OK && is_merge && !args->is_quiet)
        cli_note("%s: %llu events of %u traces, %u aligned to the first", args->output.path,
                 (unsigned long long)result.events, args->file_count, result.aligned);
    return status;
}

int cmd_trace(int argc, char **argv) {
    arguments args = {.output = output_options_default(), .files = calloc((size_t)argc + 1, sizeof *args.files)};
    ft_trace **traces = calloc((size_t)argc + 1, sizeof *traces);
    if (args.files == NULL || traces == NULL) {
        free(args.files);
        free(traces);
        return (int)cli_fail(FT_ERR_NOMEM, "out of memory");
    }
    options_parse(&cmd_trace_options, argc, argv, &args);
    stop_install();
    progress_begin(args.file_count, args.is_quiet);
    ft_status status = open_all(&args, traces);
    if (status == FT_OK) status = write_all(&args, traces);
    progress_hide();
    for (uint32_t i = 0; i < args.file_count; i++) ft_trace_free(traces[i]);
    free(traces);
    free(args.files);
    if (status == FT_ERR_CANCELLED) stop_finish();
    return (int)status;
}
