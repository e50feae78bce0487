/* cmd_program.c - `foretell program`: the records of tuning logs, as loop nests and as times to come. */
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "cmd_program.h"
#include "program_walk.h"

enum { OPTION_FEATURES = 256, OPTION_EMIT_C, OPTION_SMALL, OPTION_EVERY, OPTION_SEED, OPTION_STRICT, OPTION_RANK };

typedef enum what { SHOW_NEST, SHOW_FEATURES, SHOW_C } what;

typedef struct arguments {
    output_options output;
    const char *action;
    char *log;
    char **logs; /* room for all arguments */
    program_predict_options predict;
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

/* --- Records ------------------------------------------------------------------------------------------------- */

typedef struct showing {
    const arguments *args;
    FILE *stream;
    ft_program *program;
    ft_program_proof *proof;
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

static ft_status show_record(void *user, const char *path, const ft_program_log *log, const ft_program_record *record,
                             ft_error *error) {
    (void)path;
    showing *s = user;
    ft_status status = s->args->is_small ? ft_program_lower_small(s->program, log, s->args->seed + record->line, error)
                                         : ft_program_lower(s->program, log, error);
    return status == FT_OK ? write_program(s, record, error) : status;
}

static ft_status show(const arguments *args, FILE *stream) {
    showing s = {.args = args, .stream = stream};
    program_walk w = {.visit = show_record,
                      .user = &s,
                      .every = args->every,
                      .is_strict = args->is_strict,
                      .is_quiet = args->is_quiet};
    ft_error error;
    ft_status status = ft_program_new(&s.program, &error);
    if (status == FT_OK && args->what == SHOW_C) status = ft_program_proof_begin(stream, &s.proof, &error);
    if (status != FT_OK)
        cli_fail(status, "%s", error.message);
    else
        status = program_walk_log(&w, args->log);
    ft_status end = ft_program_proof_end(s.proof, &error);
    if (status == FT_OK && end != FT_OK) status = cli_fail(end, "%s", error.message);
    ft_program_free(s.program);
    return status == FT_OK ? program_walk_end(&w) : status;
}

static ft_status predict(arguments *args, FILE *stream) {
    args->predict.logs = args->logs;
    args->predict.every = args->every;
    args->predict.is_strict = args->is_strict;
    args->predict.is_quiet = args->is_quiet;
    args->predict.style = &args->output.style;
    return program_predict(&args->predict, stream);
}

int cmd_program(int argc, char **argv) {
    const struct argp_child children[] = {{&output_argp, 0, NULL, 0}, {0}};
    const struct argp parser = {.options = option_list,
                                .parser = parse_option,
                                .args_doc = "show LOG[:LINE]\npredict LOG[:LINE]...",
                                .doc = doc,
                                .children = children};
    arguments args = {.output = output_options_default(), .every = 1, .seed = 1};
    args.logs = calloc((size_t)argc + 1, sizeof *args.logs);
    if (args.logs == NULL) return (int)cli_fail(FT_ERR_NOMEM, "out of memory");
    output out;
    argp_parse(&parser, argc, argv, 0, NULL, &args);
    ft_status status = output_open(&args.output, &out);
    if (status == FT_OK) {
        status = is_predict(&args) ? predict(&args, out.stream) : show(&args, out.stream);
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
