/* cmd_catalog.h - commands that only list what foretell knows: one course for all of them. */
#ifndef CLI_CMD_CATALOG_H
#define CLI_CMD_CATALOG_H

#include "cli.h"

typedef ft_status catalog_writer(FILE *stream, const output_options *options, ft_error *error);

/* Parses the arguments into `options`, opens the output, writes, and gives the exit code. */
int catalog_command(int argc, char **argv, const char *doc, output_options *options, catalog_writer *write);

#endif
