/* cmd_formats.c - `foretell formats`, `foretell runtimes` and `foretell families`: what can be read, whose kernels can
 * be told, and which predictors can be trained. */
#include "cli.h"
#include "cmd_catalog.h"

static ft_status write_formats(FILE *stream, const output_options *options, ft_error *error) {
    return ft_report_formats(stream, &options->style, error);
}

int cmd_formats(int argc, char **argv) {
    output_options options = output_options_default();
    return catalog_command(argc, argv,
                           "List the formats of models that foretell reads.\v"
                           "A format is found by content, never by name. Any file may be packed with gzip.",
                           &options, write_formats);
}

static ft_status write_runtimes(FILE *stream, const output_options *options, ft_error *error) {
    return ft_report_runtimes(stream, &options->style, error);
}

int cmd_runtimes(int argc, char **argv) {
    output_options options = output_options_default();
    return catalog_command(argc, argv,
                           "List the runtimes whose kernels foretell can tell (inspect --kernels RUNTIME).\v"
                           "A runtime is a set of fusion rules. The path of a JSON file with rules of your own does as "
                           "well as a name.",
                           &options, write_runtimes);
}

static ft_status write_families(FILE *stream, const output_options *options, ft_error *error) {
    return ft_report_families(stream, &options->style, error);
}

int cmd_families(int argc, char **argv) {
    output_options options = output_options_default();
    return catalog_command(argc, argv,
                           "List the families of predictors that can be trained (train --family NAME).\v"
                           "The first one is the default.",
                           &options, write_families);
}
