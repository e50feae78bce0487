/* cmd_program.c - `foretell program`: prints the loop nests of tuning logs and predicts their times. */
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "cmd_program.h"
#include "commands.h"
#include "program_walk.h"

typedef enum show_mode { SHOW_NEST, SHOW_FEATURES, SHOW_C } show_mode;

typedef struct arguments {
    output_options output;
    const char *action;
    char *log;
    char **logs; /* room for all arguments */
    program_predict_options predict;
    uint64_t every, seed;
    show_mode mode;
    bool is_small, is_strict, is_quiet;
} arguments;

/* --- Options ------------------------------------------------------------------------------------------------- */

static void parse_features(void *field, const char *text, const option_row *row, struct argp_state *state) {
    (void)text, (void)row, (void)state;
    *(show_mode *)field = SHOW_FEATURES;
}

static void parse_c(void *field, const char *text, const option_row *row, struct argp_state *state) {
    (void)text, (void)row, (void)state;
    *(show_mode *)field = SHOW_C;
}

static const option_row rows[] = {
    {"features", NULL, "the features of predictors: 229 numbers for each store, as CSV", 0,
     PARSED_BY(parse_features, arguments, mode)},
    {"emit-c", NULL, "C code that runs the loop nests and plain loops of the same work, and compares the results", 0,
     PARSED_BY(parse_c, arguments, mode)},
    {"small", NULL, "the same schedules for problems small enough to run", 0, FLAG(arguments, is_small)},
    {"every", "N", "of a log without a line: every N-th record (1)", 0, COUNT(arguments, every, UINT32_MAX)},
    SEED_ROW(arguments, seed, "of --small: choice of the lengths that stay (1)", 0),
    {"predictor", "FILE", "of predict: a predictor of programs (the bundled one)", 20,
     TEXT(arguments, predict.predictor)},
    {"device", "NAME",
     "of predict: the device, or its JSON file (the only one of the predictor, or the one that the log is named after)",
     20, TEXT(arguments, predict.device), .choices = "@devices"},
    {"rank", NULL, "of predict: sort by task, the fastest first", 20, FLAG(arguments, predict.is_ranked)},
    {"top", "N", "of predict: only the N fastest of each task", 20, COUNT(arguments, predict.top, UINT32_MAX)},
    {"pick", "N", "of predict: at most N of each task to run next: the fastest, none predicted within 2 % of another",
     20, COUNT(arguments, predict.pick, UINT32_MAX)},
    {"strict", NULL, "stop at the first line that is not a program", 0, FLAG(arguments, is_strict)},
    QUIET_ROW(arguments, is_quiet, 60),
    {0},
};

static const char doc[] =
    "Print the loop nests of the records of a tuning log, or predict their times.\v"
    "Actions:\n"
    "  show LOG:LINE         the loop nest of one record\n"
    "  show LOG              those of all records\n"
    "  predict LOG...        predicted time of each program\n"
    "\n"
    "LOG has the records of TVM's auto-scheduler or of AutoTVM, one JSON text a line, plain or gzip; or programs that "
    "TVM printed, of which LINE is the first. Lines that are "
    "not programs are named, counted and skipped.\n"
    "\n"
    "Examples:\n"
    "  foretell program show v100.jsonl.gz:17\n"
    "  foretell program show v100.jsonl.gz:17 --format json\n"
    "  foretell program show v100.jsonl.gz:17 --features\n"
    "  foretell program show lowered.tir --features\n"
    "  foretell program predict new.jsonl --device v100 --rank --top 10\n"
    "  foretell program predict new.jsonl --device v100 --pick 5\n"
    "  foretell program predict new.jsonl --predictor run/predictor.ftm \\\n"
    "      --device rtx-3090\n"
    "  foretell program show v100.jsonl.gz --every 1000 --small --emit-c \\\n"
    "      -o nests.c && cc -O1 nests.c -lm && ./a.out\n"
    "\n"
    "Exit status: 0 all went well; 2 wrong arguments; 3 cannot open, read or write; 4 no program in the log, or not a "
    "predictor; 5 damaged; 6 valid, but not "
    "supported; 7 larger than a limit; 11 out of memory; 13 some lines were no programs; 130 interrupted.";

static bool is_predict(const arguments *args) {
    return args->action != NULL && strcmp(args->action, "predict") == 0;
}

static void parse_argument(void *input, char *text, struct argp_state *state) {
    arguments *args = input;
    if (state->arg_num == 0)
        args->action = text;
    else if (state->arg_num > 1 && !is_predict(args))
        argp_error(state, "'%s': one log at a time", text);
    else
        args->logs[args->predict.log_count++] = text;
    args->log = args->logs[0];
}

static void check(void *input, struct argp_state *state) {
    const arguments *args = input;
    if (args->action == NULL)
        argp_error(state, "no action: give show or predict");
    else if (strcmp(args->action, "show") != 0 && !is_predict(args))
        argp_error(state, "unknown action '%s': expected show or predict", args->action);
    if (args->log == NULL) argp_error(state, "no log: give LOG or LOG:LINE");
    if (args->predict.top > 0 && args->predict.pick > 0) argp_error(state, "--top and --pick: use one of them");
}

const option_set cmd_program_options = {.rows = rows,
                                        .check = check,
                                        .parts = {{&output_set, offsetof(arguments, output)}},
                                        .doc = doc,
                                        .args_doc = "show LOG[:LINE]\npredict LOG[:LINE]...",
                                        .first_argument = "show predict",
                                        .argument = parse_argument};

/* --- Records ------------------------------------------------------------------------------------------------- */

typedef struct showing {
    const arguments *args;
    FILE *stream;
    ft_program *program;
    ft_program_c_file *c_file;
    bool is_named; /* columns of features are */
} showing;

/* The names of the columns stand once, and only where there is a program. */
static ft_status write_features(showing *s, const ft_program_record *record, ft_error *error) {
    ft_status status = s->is_named ? FT_OK : ft_program_write_feature_names(s->stream, error);
    s->is_named = true;
    return status == FT_OK ? ft_program_write_features(s->program, record->line, s->stream, error) : status;
}

static ft_status write_program(showing *s, const ft_program_record *record, ft_error *error) {
    const arguments *args = s->args;
    char label[64];
    switch (args->mode) {
    case SHOW_FEATURES:
        return write_features(s, record, error);
    case SHOW_C:
        snprintf(label, sizeof label, "line %llu", (unsigned long long)record->line);
        return ft_program_c_file_add(s->c_file, s->program, label, error);
    default:
        if (args->output.style.output == FT_JSON) return ft_program_write_json(s->program, s->stream, error);
        fprintf(s->stream, "// line %llu: %s%s, ", (unsigned long long)record->line, record->workload, record->fused);
        if (record->time_missing_reason != NULL)
            fprintf(s->stream, "%s\n", record->time_missing_reason);
        else
            fprintf(s->stream, "%.6g us, %.6g GFLOP/s\n", record->seconds * 1e6,
                    ft_program_flops(s->program) / record->seconds * 1e-9);
        return ft_program_write(s->program, s->stream, error);
    }
}

static ft_status show_record(void *user, const char *path, const ft_program_log *log, const ft_program_record *record,
                             ft_error *error) {
    (void)path;
    showing *s = user;
    ft_status status = s->args->is_small ? ft_program_lower_small(s->program, log, s->args->seed + record->line, error)
                                         : ft_program_lower(s->program, log, error);
    return status == FT_OK ? write_program(s, record, error) : status;
}

static ft_status show(const arguments *args, const output *out) {
    showing s = {.args = args, .stream = out->stream};
    program_walk w = {.visit = show_record,
                      .user = &s,
                      .out = out,
                      .every = args->every,
                      .is_strict = args->is_strict,
                      .is_quiet = args->is_quiet};
    ft_error error;
    ft_status status = ft_program_new(&s.program, &error);
    if (status == FT_OK && args->mode == SHOW_C) status = ft_program_c_file_begin(s.stream, &s.c_file, &error);
    if (status != FT_OK)
        cli_fail(status, "%s", error.message);
    else
        status = program_walk_log(&w, args->log);
    ft_status end = ft_program_c_file_end(s.c_file, &error);
    if (status == FT_OK && end != FT_OK) status = output_fail(out, end, NULL, &error);
    ft_program_free(s.program);
    if (status == FT_OK && w.seen == w.bad) status = cli_fail(FT_ERR_FORMAT, "%s: no program in the log", args->log);
    return status == FT_OK ? program_walk_end(&w) : status;
}

static ft_status predict(arguments *args, const output *out) {
    args->predict.logs = args->logs;
    args->predict.every = args->every;
    args->predict.is_strict = args->is_strict;
    args->predict.is_quiet = args->is_quiet;
    args->predict.style = &args->output.style;
    return program_predict(&args->predict, out);
}

int cmd_program(int argc, char **argv) {
    arguments args = {.output = output_options_default(), .every = 1, .seed = 1};
    args.logs = calloc((size_t)argc + 1, sizeof *args.logs);
    if (args.logs == NULL) return (int)cli_fail(FT_ERR_NOMEM, "out of memory");
    output out;
    options_parse(&cmd_program_options, argc, argv, &args);
    ft_status status = output_open(&args.output, &out);
    if (status == FT_OK) {
        status = is_predict(&args) ? predict(&args, &out) : show(&args, &out);
        if (status == FT_OK || status == FT_ERR_PARTIAL) {
            ft_status written = output_commit(&out);
            if (written != FT_OK) status = written;
        }
        output_discard(&out);
    }
    free(args.logs);
    if (status == FT_ERR_CANCELLED) stop_finish();
    return (int)status;
}
