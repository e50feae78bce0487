/* cmd_program.c - `foretell program`: the records of tuning logs, as loop nests and as times to come. */
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "cmd_program.h"

enum { OPTION_FEATURES = 256, OPTION_EMIT_C, OPTION_SMALL, OPTION_EVERY, OPTION_SEED, OPTION_STRICT, OPTION_RANK };

typedef enum what { SHOW_NEST, SHOW_FEATURES, SHOW_C } what;

typedef struct arguments {
    output_options output;
    const char *action, *log;
    char **logs; /* room for all arguments */
    program_predict_options predict;
    char *path;    /* of the log, without the line */
    uint64_t line; /* 0: all */
    uint64_t every, seed;
    what what;
    bool is_small, is_strict, is_quiet;
} arguments;

/* --- Options ------------------------------------------------------------------------------------------------- */

static const struct argp_option option_list[] = {
    {"features", OPTION_FEATURES, NULL, 0, "what a predictor sees: 195 numbers for each store, as CSV", 0},
    {"emit-c", OPTION_EMIT_C, NULL, 0, "C that runs the loop nests and the same work as plain loops, and compares", 0},
    {"small", OPTION_SMALL, NULL, 0, "the same schedules for problems so small that they can be run", 0},
    {"every", OPTION_EVERY, "N", 0, "of a log without a line: every N-th record (1)", 0},
    {"seed", OPTION_SEED, "N", 0, "of --small: which lengths stay (1)", 0},
    {"predictor", 'p', "FILE", 0, "of predict: a predictor of programs (the one that ships)", 20},
    {"device", 'D', "NAME", 0, "of predict: on which device (the only one that the predictor knows)", 20},
    {"rank", OPTION_RANK, NULL, 0, "of predict: by task, the fastest first", 20},
    {"top", 't', "N", 0, "of predict: only the N fastest of each task", 20},
    {"strict", OPTION_STRICT, NULL, 0, "stop at the first line that is no program", 0},
    {"quiet", 'q', NULL, 0, "no progress line and no notes; errors are still told", 60},
    {0},
};

static const char doc[] =
    "Show the loops that the records of a tuning log stand for, or tell how long they will take.\v"
    "Actions:\n"
    "  show LOG:LINE         the loop nest of one record\n"
    "  show LOG              those of all records\n"
    "  predict LOG...        what each program will take\n"
    "\n"
    "LOG has the records of TVM's auto-scheduler or of AutoTVM, one JSON text a line, plain or gzip; or programs that "
    "TVM printed, of which LINE is the first. Lines that are no "
    "program are "
    "named and counted, and the rest goes on.\n"
    "\n"
    "Examples:\n"
    "  foretell program show v100.jsonl.gz:17\n"
    "  foretell program show v100.jsonl.gz:17 --format json\n"
    "  foretell program show v100.jsonl.gz:17 --features\n"
    "  foretell program show lowered.tir --features\n"
    "  foretell program predict new.jsonl --device v100 --rank --top 10\n"
    "  foretell program predict new.jsonl --predictor run/predictor.ftm --device rtx-3090\n"
    "  foretell program show v100.jsonl.gz --every 1000 --small --emit-c -o nests.c && cc -O1 nests.c -lm && ./a.out\n"
    "\n"
    "Exit status: 0 all went well; 2 wrong arguments; 3 cannot open, read or write; 5 damaged; 6 valid, but not "
    "supported; 7 larger than a limit; 11 out of memory; 13 some lines were no programs; 130 interrupted.";

static bool is_predict(const arguments *args) {
    return args->action != NULL && strcmp(args->action, "predict") == 0;
}

static void check_arguments(arguments *args, struct argp_state *state) {
    if (args->action == NULL)
        argp_error(state, "what to do? Give show or predict");
    else if (strcmp(args->action, "show") != 0 && !is_predict(args))
        argp_error(state, "'%s' is no action: show and predict are", args->action);
    if (args->log == NULL) argp_error(state, "which log? Give LOG or LOG:LINE");
}

static error_t parse_option(int key, char *text, struct argp_state *state) {
    arguments *args = state->input;
    switch (key) {
    case OPTION_FEATURES:
        args->what = SHOW_FEATURES;
        return 0;
    case OPTION_EMIT_C:
        args->what = SHOW_C;
        return 0;
    case OPTION_SMALL:
        args->is_small = true;
        return 0;
    case OPTION_EVERY:
        args->every = cli_parse_count(state, "every", text, UINT32_MAX);
        return 0;
    case OPTION_SEED:
        args->seed = cli_parse_number(state, "seed", text, 0, UINT32_MAX);
        return 0;
    case OPTION_STRICT:
        args->is_strict = true;
        return 0;
    case OPTION_RANK:
        args->predict.is_ranked = true;
        return 0;
    case 'p':
        args->predict.predictor = text;
        return 0;
    case 'D':
        args->predict.device = text;
        return 0;
    case 't':
        args->predict.top = (uint32_t)cli_parse_count(state, "top", text, UINT32_MAX);
        return 0;
    case 'q':
        args->is_quiet = true;
        return 0;
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &args->output;
        return 0;
    case ARGP_KEY_ARG:
        if (state->arg_num == 0)
            args->action = text;
        else if (state->arg_num > 1 && !is_predict(args))
            argp_error(state, "'%s': one log at a time", text);
        else
            args->logs[args->predict.log_count++] = text;
        args->log = args->logs[0];
        return 0;
    case ARGP_KEY_END:
        check_arguments(args, state);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* "log:17" is line 17 of log; what has no number behind its last colon is all of a log. */
static ft_status find_line(arguments *args) {
    args->path = strdup(args->log);
    if (args->path == NULL) return cli_fail(FT_ERR_NOMEM, "out of memory");
    char *colon = strrchr(args->path, ':');
    if (colon == NULL || colon[1] == '\0' || strspn(colon + 1, "0123456789") != strlen(colon + 1)) return FT_OK;
    args->line = strtoull(colon + 1, NULL, 10);
    *colon = '\0';
    return args->line > 0 ? FT_OK : cli_fail(FT_ERR_USAGE, "'%s': lines count from 1", args->log);
}

/* --- Records ------------------------------------------------------------------------------------------------- */

typedef struct showing {
    const arguments *args;
    FILE *stream;
    ft_program_log *log;
    ft_program *program;
    ft_program_proof *proof;
    uint64_t shown, bad, seen;
} showing;

static ft_status write_program(showing *s, const ft_program_record *record, ft_error *error) {
    const arguments *args = s->args;
    char label[64];
    switch (args->what) {
    case SHOW_FEATURES:
        return ft_program_write_features(s->program, s->stream, error);
    case SHOW_C:
        snprintf(label, sizeof label, "line %llu", (unsigned long long)record->line);
        return ft_program_proof_add(s->proof, s->program, label, error);
    default:
        if (args->output.style.output == FT_JSON) return ft_program_write_json(s->program, s->stream, error);
        fprintf(s->stream, "// line %llu: %s%s, ", (unsigned long long)record->line, record->workload, record->fused);
        if (record->why != NULL)
            fprintf(s->stream, "%s\n", record->why);
        else
            fprintf(s->stream, "%.6g us, %.6g GFLOP/s\n", record->seconds * 1e6,
                    ft_program_flops(s->program) / record->seconds * 1e-9);
        return ft_program_write(s->program, s->stream, error);
    }
}

static ft_status show_record(showing *s, const ft_program_record *record, ft_error *error) {
    ft_status status = s->args->is_small
                           ? ft_program_lower_small(s->program, s->log, s->args->seed + record->line, error)
                           : ft_program_lower(s->program, s->log, error);
    if (status == FT_OK) status = write_program(s, record, error);
    if (status == FT_OK) s->shown++;
    return status;
}

/* Errors of a line are told and counted; those of the file or of memory end it. */
static bool ends_it(const showing *s, ft_status status) {
    return status == FT_ERR_IO || status == FT_ERR_NOMEM || s->args->is_strict || s->args->line > 0;
}

static ft_status show_records(showing *s) {
    ft_program_record record = {0};
    ft_error error;
    for (;;) {
        if (stop_requested()) return FT_ERR_CANCELLED;
        ft_status status = ft_program_log_next(s->log, &record, &error);
        if (status == FT_OK && record.line == 0) return FT_OK;
        s->seen++;
        bool is_mine = s->args->line > 0 ? record.line == s->args->line : (s->seen - 1) % s->args->every == 0;
        /* A damaged line before the one that is asked for is no business of ours. */
        if (status != FT_OK && s->args->line > 0 && record.line == 0 && !ends_it(s, status)) continue;
        if (status == FT_OK && is_mine) status = show_record(s, &record, &error);
        if (status != FT_OK) {
            s->bad++;
            cli_fail(status, "%s", error.message);
            if (ends_it(s, status)) return status;
        }
        if (s->args->line > 0 && record.line >= s->args->line) return FT_OK;
        progress_show(s->seen, 0, s->args->path);
    }
}

static ft_status show(const arguments *args, FILE *stream) {
    showing s = {.args = args, .stream = stream};
    ft_error error;
    ft_status status = ft_program_log_open(args->path, &s.log, &error);
    if (status == FT_OK) status = ft_program_new(&s.program, &error);
    if (status == FT_OK && args->what == SHOW_C) status = ft_program_proof_begin(stream, &s.proof, &error);
    if (status != FT_OK) {
        cli_fail(status, "%s", error.message);
    } else {
        progress_begin(0, args->is_quiet);
        status = show_records(&s);
        progress_hide();
    }
    ft_status end = ft_program_proof_end(s.proof, &error);
    if (status == FT_OK && end != FT_OK) status = cli_fail(end, "%s", error.message);
    if (status == FT_OK && args->line > 0 && s.shown == 0)
        status = cli_fail(FT_ERR_USAGE, "%s has no record on line %llu", args->path, (unsigned long long)args->line);
    if (status == FT_OK && s.bad > 0) {
        if (!args->is_quiet)
            cli_note("%llu of %llu lines are no programs", (unsigned long long)s.bad, (unsigned long long)s.seen);
        status = FT_ERR_PARTIAL;
    }
    ft_program_free(s.program);
    ft_program_log_close(s.log);
    return status;
}

static ft_status predict(arguments *args, FILE *stream) {
    args->predict.logs = args->logs;
    args->predict.is_strict = args->is_strict;
    args->predict.is_quiet = args->is_quiet;
    args->predict.style = &args->output.style;
    return program_predict(&args->predict, stream);
}

int cmd_program(int argc, char **argv) {
    const struct argp_child children[] = {{&output_argp, 0, NULL, 0}, {0}};
    const struct argp parser = {.options = option_list,
                                .parser = parse_option,
                                .args_doc = "show LOG[:LINE]\npredict LOG...",
                                .doc = doc,
                                .children = children};
    arguments args = {.output = output_options_default(), .every = 1, .seed = 1};
    args.logs = calloc((size_t)argc + 1, sizeof *args.logs);
    if (args.logs == NULL) return (int)cli_fail(FT_ERR_NOMEM, "out of memory");
    output out;
    argp_parse(&parser, argc, argv, 0, NULL, &args);
    ft_status status = is_predict(&args) ? FT_OK : find_line(&args);
    if (status == FT_OK) status = output_open(&args.output, &out);
    if (status == FT_OK) {
        status = is_predict(&args) ? predict(&args, out.stream) : show(&args, out.stream);
        if (status == FT_OK || status == FT_ERR_PARTIAL) {
            ft_status written = output_commit(&out);
            if (written != FT_OK) status = written;
        }
        output_discard(&out);
    }
    free(args.path);
    free(args.logs);
    if (status == FT_ERR_CANCELLED) stop_finish();
    return (int)status;
}
