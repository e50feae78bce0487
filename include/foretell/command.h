/* command.h - commands as JSON: the options of predict, fits, max-batch and inspect, and the documents that they print.
 * For services and for bindings of other languages.
 *
 *     static const char text[] = "{\"device\": [\"rtx-4090\", \"a100\"], \"batch\": [1, 32], \"mode\": \"train\"}";
 *     ft_command *command;
 *     if (!ft_command_parse("predict", text, strlen(text), &command, &error) &&
 *         !ft_document_open(&document, &error) &&
 *         !ft_command_write(command, 0, set, model, "model.onnx", ft_document_stream(document), &error)) ...
 *
 * The keys are the long options of the command, with '_' for '-'. Values may be JSON values or the texts that the
 * command takes ("1..256", "9.5GiB"). Unknown keys are errors. */
#ifndef FORETELL_COMMAND_H
#define FORETELL_COMMAND_H

#include "foretell/inspect.h"
#include "foretell/target.h"

FT_C_BEGIN

typedef struct ft_command ft_command;

enum { FT_MAX_REQUESTS = 1000 };

/* `name`: "predict", "fits", "max-batch", "inspect" or "observe" (below). {"requests": [{...}, ...]} is a list of
 * requests, which have the keys beside "requests" where they have none of their own. Anything that is wrong is
 * FT_ERR_USAGE, and the message names the key. */
FT_API ft_status ft_command_parse(const char *name, const void *json, size_t size, ft_command **command,
                                  ft_error *error);
FT_API void ft_command_free(ft_command *command);
/* Devices may be paths of data sheets: for requests of the process's own user, not for those from a network. */
FT_API void ft_command_allow_files(ft_command *command);
FT_API uint32_t ft_command_count(const ft_command *command);
FT_API bool ft_command_is_list(const ft_command *command); /* given as {"requests": ...} */
/* The keys "model" and "name": the model, which the caller opens, and its name in the document. NULL when
 * absent. */
FT_API const char *ft_command_model(const ft_command *command, uint32_t index);
FT_API const char *ft_command_name(const ft_command *command, uint32_t index);
FT_API ft_output ft_command_output(const ft_command *command, uint32_t index); /* the key "format"; JSON when absent */

/* Writes the document of request `index` for a model, as read and not bound: what `foretell NAME FILE` prints.
 * Names of files are refused (devices and runtimes are bundled ones), except devices after ft_command_allow_files. */
FT_API ft_status ft_command_write(const ft_command *command, uint32_t index, const ft_predictor_set *set,
                                  const ft_graph *model, const char *file, FILE *stream, ft_error *error);

/* --- Observations ------------------------------------------------------------------------------------------------- */

/* The document of "observe" is one row of a CSV that ft_import reads as a "table": what a finished job took, beside
 * what is predicted for it. Its keys are those of "predict" with family, time_us (or time_ms, time_s), peak_bytes and
 * util_ratio. The headings of the row, with a newline: */
FT_API const char *ft_observation_columns(void);

typedef struct ft_observation {
    char device[64], model[256];                    /* cut to fit */
    double time_us, peak_bytes;                     /* measured; NaN: not given */
    double predicted_time_us, predicted_peak_bytes; /* NaN: not predicted */
} ft_observation;

/* Reads a row back. */
FT_API ft_status ft_observation_read(const char *row, size_t size, ft_observation *observation, ft_error *error);

/* --- Texts -------------------------------------------------------------------------------------------------------- */

/* Texts of sizes: "8", "1,8,32", or "1..256", which doubles; each once. */
FT_API ft_status ft_sizes_parse(const char *text, int64_t *sizes, uint32_t max_count, uint32_t *count, ft_error *error);
/* Texts of bytes: "4096", "64M" and "9.5GiB" (powers of 1024), "24GB" (powers of 1000). */
FT_API ft_status ft_bytes_parse(const char *text, double *bytes, ft_error *error);

FT_C_END

#endif
