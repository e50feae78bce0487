#include "cmd_catalog.h"

int catalog_command(int argc, char **argv, const char *doc, output_options *options, catalog_writer *write) {
    const option_set set = {.parts = {{&output_set, 0}}, .doc = doc};
    output out;
    ft_error error;
    options_parse(&set, argc, argv, options);
    ft_status status = output_open(options, &out);
    if (status != FT_OK) return (int)status;
    status = write(out.stream, options, &error);
    return (int)output_end(&out, status, &error);
}
