/* cmd_ops.c - `foretell ops`: the operators that have a shape and a cost rule. */
#include "cli.h"
#include "cmd_catalog.h"

static ft_status write_ops(FILE *stream, const output_options *options, ft_error *error) {
    return ft_report_ops(stream, &options->style, *options->model_format, error);
}

int cmd_ops(int argc, char **argv) {
    ft_format model_format = FT_FORMAT_UNKNOWN;
    output_options options = output_options_default();
    options.model_format = &model_format;
    return catalog_command(argc, argv,
                           "List the operators that foretell knows, with their class and their names in each format.\v"
                           "--format takes two kinds of names and may be given twice: that of a model format (onnx, "
                           "tflite, cg, nnmeter, perfseer) leaves only the operators it has; table, json or csv says "
                           "how to write them.\n\n"
                           "An operator that is not in the list is no obstacle: inspect names it, takes its cost from "
                           "its bytes, and says what share of the work is covered.",
                           &options, write_ops);
}
