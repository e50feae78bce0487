/* main.c - the command: finds the sub-command and hands over. */
#include <errno.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"

typedef struct command {
    const char *name;
    const char *text;
    int (*run)(int argc, char **argv);
} command;

static const command commands[] = {
    {"predict", "how long models take and how much memory they need, on which device", cmd_predict},
    {"fits", "whether a model fits into the memory of a device", cmd_fits},
    {"max-batch", "the largest batch that fits", cmd_max_batch},
    {"replay", "a step kernel by kernel on engines and workers, as a timeline", cmd_replay},
    {"inspect", "what models are made of and what they cost", cmd_inspect},
    {"import", "measured models become a data set", cmd_import},
    {"generate", "data in the layout of a published set, with computed labels", cmd_generate},
    {"data", "look into data sets, join and check them", cmd_data},
    {"train", "make a predictor from measured data", cmd_train},
    {"tune", "search for the settings with which a predictor does best", cmd_tune},
    {"ablate", "what each part of a predictor is good for", cmd_ablate},
    {"eval", "how good a predictor is on a data set", cmd_eval},
    {"adapt", "a predictor for a new device or family, from a few measurements", cmd_adapt},
    {"sample", "which models to measure next", cmd_sample},
    {"compare", "predictors, or runs, side by side", cmd_compare},
    {"bundle", "several predictors in one file", cmd_bundle},
    {"program", "tensor programs of tuning logs: their loops, and what they take", cmd_program},
    {"devices", "the devices, their data sheets, and who knows them", cmd_devices},
    {"predictors", "the predictors in the box, and how accurate they are", cmd_predictors},
    {"formats", "the formats of models that can be read", cmd_formats},
    {"ops", "the operators that are known", cmd_ops},
    {"runtimes", "the runtimes whose kernels can be told", cmd_runtimes},
    {"families", "the families of predictors that can be trained", cmd_families},
};

enum { COMMAND_COUNT = sizeof commands / sizeof commands[0] };

static void print_version(FILE *stream, struct argp_state *state) {
    (void)state;
    fprintf(stream, "foretell %s\n", ft_version_string());
}

static void print_help(FILE *stream) {
    fprintf(stream,
            "foretell %s - tells how long a deep-learning model takes, and what it costs,\nbefore anyone runs it\n\n"
            "Usage: foretell COMMAND [OPTION...] [MODEL...]\n\nCommands:\n",
            ft_version_string());
    for (size_t i = 0; i < COMMAND_COUNT; i++) fprintf(stream, "  %-10s %s\n", commands[i].name, commands[i].text);
    fputs("  help       this text; 'foretell help COMMAND' for the options of a command\n"
          "\n"
          "Examples:\n"
          "  foretell predict model.onnx                   time and memory on all devices\n"
          "  foretell predict model.onnx --device rtx-4090 --batch 1..256 --plot model.svg\n"
          "  foretell fits model.onnx --device rtx-3090 --mode train --batch 64\n"
          "  foretell inspect model.onnx                   summary, memory, operators\n"
          "  foretell inspect model.onnx --batch 32        the same for another batch size\n"
          "  foretell inspect model.onnx --nodes --top 10  the ten most expensive operators\n"
          "  foretell inspect model.tflite --kernels tflite-cpu\n"
          "  foretell inspect models/ --format json --output models.json\n"
          "  foretell train --data cg.data -o run          a predictor from measured data\n"
          "\n"
          "Exit status:\n",
          stream);
#define PRINT_STATUS(name, value, text)                                                                                \
    if ((name) != FT_ERR_CANCELLED) fprintf(stream, "  %3d  %s\n", value, text);
    FT_STATUS_LIST(PRINT_STATUS)
#undef PRINT_STATUS
    fputs("   20  fits: it does not\n   21  fits: it may or may not\n  130  interrupted (SIGINT)\n", stream);
}

static const command *find_command(const char *name) {
    for (size_t i = 0; i < COMMAND_COUNT; i++)
        if (strcmp(name, commands[i].name) == 0) return &commands[i];
    return NULL;
}

/* Messages and usage lines call a command by its whole name. */
static int run_command(const command *c, int argc, char **argv) {
    static char shown_name[32];
    snprintf(shown_name, sizeof shown_name, "foretell %s", c->name);
    argv[0] = shown_name;
    return c->run(argc, argv);
}

static int unknown_command(const char *name) {
    if (access(name, F_OK) == 0)
        cli_fail(FT_ERR_USAGE, "'%s' is not a command; did you mean 'foretell predict %s'?", name, name);
    else
        cli_fail(FT_ERR_USAGE, "'%s' is not a command; 'foretell --help' lists them", name);
    return FT_ERR_USAGE;
}

static int help(int argc, char **argv) {
    if (argc < 3) {
        print_help(stdout);
        return FT_OK;
    }
    if (strcmp(argv[2], "help") == 0 || strcmp(argv[2], "--help") == 0) return help(2, argv);
    const command *c = find_command(argv[2]);
    char option[] = "--help", *arguments[] = {argv[0], option, NULL};
    return c != NULL ? run_command(c, 2, arguments) : unknown_command(argv[2]);
}

static int dispatch(int argc, char **argv) {
    if (argc < 2) {
        print_help(stderr);
        return FT_ERR_USAGE;
    }
    const command *c = find_command(argv[1]);
    if (c != NULL) return run_command(c, argc - 1, argv + 1);
    if (strcmp(argv[1], "help") == 0) return help(argc, argv);
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) return help(1, argv);
    if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0) {
        print_version(stdout, NULL);
        return FT_OK;
    }
    return unknown_command(argv[1]);
}

/* --- Settings of the whole process, which the library leaves to its callers --------------------------------------- */

/* OpenBLAS would start a thread for each core that is never used; libgomp, which comes with libxgboost, lets waiting
 * threads spin, which costs many times the work on a machine that does something else as well. Both read the
 * environment when they are loaded. */
static void set_environment(void) {
    setenv("OPENBLAS_NUM_THREADS", "1", 0);
    setenv("OMP_WAIT_POLICY", "passive", 0);
}

/* A prediction allocates and frees a few hundred kilobytes. glibc returns blocks of that size to the system at once and
 * gets them back page by page, until a larger one has been freed. */
static void keep_freed_memory(void) {
    enum { BLOCK = 4 << 20 };
    void *volatile block = malloc(BLOCK);
    free(block);
}

int main(int argc, char **argv) {
    set_environment();
    keep_freed_memory();
    setlocale(LC_CTYPE, ""); /* for what a terminal can show; numbers stay those of the C locale */
    argp_program_version_hook = print_version;
    argp_err_exit_status = FT_ERR_USAGE;
    int status = dispatch(argc, argv);
    if (fflush(stdout) != 0 && status == FT_OK)
        status = (int)cli_fail(FT_ERR_IO, "standard output: cannot write: %s", strerror(errno));
    return status;
}
