/* commands.h - the table of commands. A command is one row of COMMAND_LIST: `foretell --help`, dispatch, completion and
 * the tests of options all read it. Its function is cmd_ID and its options are cmd_ID_options, in cmd_*.c. */
#ifndef CLI_COMMANDS_H
#define CLI_COMMANDS_H

#include <stdio.h>

#include "options.h"

/* Groups, in the order of --help: id, title. A group without a command is not printed. */
#define COMMAND_GROUP_LIST(X)                                                                                          \
    X(GROUP_PREDICT, "Predict and inspect models:")                                                                    \
    X(GROUP_TRAIN, "Train predictors:")                                                                                \
    X(GROUP_LIST, "List what foretell supports:")

typedef enum command_group {
#define COMMAND_GROUP_ENUM(id, title) id,
    COMMAND_GROUP_LIST(COMMAND_GROUP_ENUM)
#undef COMMAND_GROUP_ENUM
} command_group;

/* id, group, name, summary. Commands of GROUP_LIST are sub-commands: `foretell list NAME`. */
#define COMMAND_LIST(X)                                                                                                \
    X(predict, GROUP_PREDICT, "predict", "predict time and memory of models on devices")                               \
    X(fits, GROUP_PREDICT, "fits", "check whether a model fits into the memory of devices")                            \
    X(max_batch, GROUP_PREDICT, "max-batch", "find the largest batch that fits")                                       \
    X(diff, GROUP_PREDICT, "diff", "compare two models: what became slower or larger, by kernel")                      \
    X(inspect, GROUP_PREDICT, "inspect", "print operators, parameters, FLOPs and memory of models")                    \
    X(replay, GROUP_PREDICT, "replay", "simulate a step kernel by kernel on engines and workers")                      \
    X(serve, GROUP_PREDICT, "serve", "serve predictions over HTTP")                                                    \
    X(import, GROUP_TRAIN, "import", "convert measurements to a data set")                                             \
    X(data, GROUP_TRAIN, "data", "print, join, export and check data sets")                                            \
    X(train, GROUP_TRAIN, "train", "train a predictor on a data set")                                                  \
    X(eval, GROUP_TRAIN, "eval", "evaluate a predictor on a data set")                                                 \
    X(compare, GROUP_TRAIN, "compare", "compare predictors or training runs")                                          \
    X(adapt, GROUP_TRAIN, "adapt", "adapt a predictor to a new device with a few measurements")                        \
    X(sample, GROUP_TRAIN, "sample", "choose the models to measure next")                                              \
    X(tune, GROUP_TRAIN, "tune", "search for the best settings of a predictor family")                                 \
    X(ablate, GROUP_TRAIN, "ablate", "measure what each part of a predictor contributes")                              \
    X(bundle, GROUP_TRAIN, "bundle", "join predictors of different metrics in one file")                               \
    X(measure, GROUP_TRAIN, "measure", "measure models on this machine")                                               \
    X(monitor, GROUP_TRAIN, "monitor", "record how busy processor and GPUs are while a command runs")                  \
    X(trace, GROUP_TRAIN, "trace", "sum up and join recorded traces of PyTorch's profiler")                            \
    X(generate, GROUP_TRAIN, "generate", "generate a synthetic data set in a published layout")                        \
    X(program, GROUP_TRAIN, "program", "print and predict the tensor programs of tuning logs")                         \
    X(devices, GROUP_LIST, "devices", "devices, their data sheets and their predictors")                               \
    X(predictors, GROUP_LIST, "predictors", "predictors and their accuracy on held-out data")                          \
    X(models, GROUP_LIST, "models", "bundled models, which have names instead of files")                               \
    X(formats, GROUP_LIST, "formats", "file formats of models")                                                        \
    X(ops, GROUP_LIST, "ops", "operators with a shape rule and a cost rule")                                           \
    X(runtimes, GROUP_LIST, "runtimes", "runtimes with fusion rules")                                                  \
    X(families, GROUP_LIST, "families", "families of predictors that can be trained")

#define COMMAND_DECLARE(id, group, name, summary)                                                                      \
    int cmd_##id(int argc, char **argv); /* returns the exit status of the process */                                  \
    extern const option_set cmd_##id##_options;
COMMAND_LIST(COMMAND_DECLARE)
#undef COMMAND_DECLARE

typedef struct command {
    const char *name;
    command_group group;
    const char *summary;
    int (*run)(int argc, char **argv);
    const option_set *options;
} command;

/* The rows of COMMAND_LIST; ends with {0}. */
extern const command commands[];

const char *command_group_title(command_group group);
/* NULL: no command of that name, with or without `list` in front. */
const command *command_find(const char *name, bool is_listed);
/* The name of a command that a misspelled one may mean; NULL: none is similar. */
const char *command_similar(const char *name, bool is_listed);

/* Writes the completion script for a shell (completion.c): bash, zsh or fish. False: no such shell. */
bool completion_write(const char *shell, FILE *stream);

#endif
