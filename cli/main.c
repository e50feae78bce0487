/* main.c - the process: finds the sub-command, prints the overview of commands. */
#include <errno.h>
#include <locale.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"
#include "commands.h"

/* --- Help ---------------------------------------------------------------------------------------------------- */

static void print_version(FILE *stream, struct argp_state *state) {
    (void)state;
    fprintf(stream, "foretell %s\n", ft_version_string());
}

static void print_group(FILE *stream, command_group group) {
    bool has_title = false;
    for (const command *c = commands; c->name != NULL; c++) {
        if (c->group != group) continue;
        if (!has_title) fprintf(stream, "\n%s\n", command_group_title(group));
        has_title = true;
        fprintf(stream, "  %s%-*s %s\n", group == GROUP_LIST ? "list " : "", group == GROUP_LIST ? 11 : 16, c->name,
                c->summary);
    }
}

static void print_statuses(FILE *stream) {
    fputs("\nExit status:\n", stream);
#define PRINT_STATUS(name, value, text)                                                                                \
    if ((name) != FT_ERR_CANCELLED) fprintf(stream, "  %3d  %s\n", value, text);
    FT_STATUS_LIST(PRINT_STATUS)
#undef PRINT_STATUS
    fputs("   20  fits: it does not fit\n   21  fits: uncertain\n  130  interrupted (SIGINT)\n", stream);
}

static void print_help(FILE *stream) {
    fprintf(stream,
            "foretell %s - predict time and memory of deep-learning models before they run\n\n"
            "Usage: foretell COMMAND [OPTION...] [ARGUMENT...]\n",
            ft_version_string());
#define PRINT_GROUP(id, title) print_group(stream, id);
    COMMAND_GROUP_LIST(PRINT_GROUP)
#undef PRINT_GROUP
    fputs("\n'foretell COMMAND --help' prints the options of a command,\n"
          "'foretell --completion SHELL' a completion script for bash, zsh or fish.\n"
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
          "  foretell train --data cg.data -o run          a predictor from measured data\n",
          stream);
    print_statuses(stream);
}

static void print_list_help(FILE *stream) {
    fputs("Usage: foretell list WHAT [OPTION...]\n", stream);
    print_group(stream, GROUP_LIST);
    fputs("\n'foretell list WHAT --help' prints the options.\n", stream);
}

/* --- Dispatch ------------------------------------------------------------------------------------------------ */

static bool is_help(const char *text) {
    return strcmp(text, "--help") == 0 || strcmp(text, "-h") == 0 || strcmp(text, "-?") == 0;
}

/* Messages and usage lines call a command by its whole name. */
static int run_command(const command *c, int argc, char **argv) {
    static char shown_name[48];
    snprintf(shown_name, sizeof shown_name, "foretell %s%s", c->group == GROUP_LIST ? "list " : "", c->name);
    argv[0] = shown_name;
    return c->run(argc, argv);
}

static int unknown_command(const char *name) {
    if (command_find(name, true) != NULL)
        return (int)cli_fail(FT_ERR_USAGE, "'%s' is not a command: use 'foretell list %s'", name, name);
    if (access(name, F_OK) == 0)
        return (int)cli_fail(FT_ERR_USAGE, "'%s' is not a command; did you mean 'foretell predict %s'?", name, name);
    if (command_similar(name, false) != NULL)
        return (int)cli_fail(FT_ERR_USAGE, "'%s' is not a command; did you mean '%s'?", name,
                             command_similar(name, false));
    return (int)cli_fail(FT_ERR_USAGE, "'%s' is not a command; 'foretell --help' lists them", name);
}

/* `foretell list WHAT ...`; argv[0] is "list". */
static int run_list(int argc, char **argv) {
    if (argc < 2) {
        print_list_help(stderr);
        return FT_ERR_USAGE;
    }
    if (is_help(argv[1])) {
        print_list_help(stdout);
        return FT_OK;
    }
    const command *c = command_find(argv[1], true);
    if (c == NULL && command_similar(argv[1], true) != NULL)
        return (int)cli_fail(FT_ERR_USAGE, "'%s' cannot be listed; did you mean '%s'?", argv[1],
                             command_similar(argv[1], true));
    if (c == NULL)
        return (int)cli_fail(FT_ERR_USAGE, "'%s' cannot be listed; 'foretell list --help' prints the names", argv[1]);
    return run_command(c, argc - 1, argv + 1);
}

/* `foretell --completion SHELL`. */
static int print_completion(const char *shell) {
    if (shell != NULL && completion_write(shell, stdout)) return FT_OK;
    return (int)cli_fail(FT_ERR_USAGE, "--completion %s: expected bash, zsh or fish", shell != NULL ? shell : "");
}

static int dispatch(int argc, char **argv);

/* `foretell help [COMMAND]` is `foretell COMMAND --help`. */
static int help(int argc, char **argv) {
    char option[] = "--help", *arguments[] = {argv[0], NULL, NULL, NULL, NULL};
    int count = 1;
    for (int i = 2; i < argc && count < 3; i++) arguments[count++] = argv[i];
    if (count > 1 && strcmp(arguments[1], "help") == 0) count = 1;
    if (count == 3 && strcmp(arguments[1], "list") != 0) count = 2;
    arguments[count++] = option;
    arguments[count] = NULL;
    return dispatch(count, arguments);
}

static int dispatch(int argc, char **argv) {
    if (argc < 2) {
        print_help(stderr);
        return FT_ERR_USAGE;
    }
    const command *c = command_find(argv[1], false);
    if (c != NULL) return run_command(c, argc - 1, argv + 1);
    if (strcmp(argv[1], "list") == 0) return run_list(argc - 1, argv + 1);
    if (strcmp(argv[1], "help") == 0) return help(argc, argv);
    if (strcmp(argv[1], "--completion") == 0) return print_completion(argv[2]);
    if (is_help(argv[1])) {
        print_help(stdout);
        return FT_OK;
    }
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

/* Each model allocates and frees some megabytes. glibc returns blocks of that size to the system at once and gets them
 * back page by page, which takes most of the time of a folder and is done by one thread at a time. */
static void keep_freed_memory(void) {
    enum { MIB = 1 << 20 };
    mallopt(M_MMAP_THRESHOLD, 32 * MIB);
    mallopt(M_TRIM_THRESHOLD, 128 * MIB);
}

int main(int argc, char **argv) {
    set_environment();
    keep_freed_memory();
    setlocale(LC_CTYPE, ""); /* which characters a terminal shows; numbers stay those of the C locale */
    argp_program_version_hook = print_version;
    argp_err_exit_status = FT_ERR_USAGE;
    int status = dispatch(argc, argv);
    if (fflush(stdout) != 0 && status == FT_OK)
        status = (int)cli_fail(FT_ERR_IO, "standard output: cannot write: %s", strerror(errno));
    return status;
}
