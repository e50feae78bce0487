#include "cmd_catalog.h"

static error_t parse_argument(int key, char *text, struct argp_state *state) {
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = state->input;
        return 0;
    case ARGP_KEY_ARG:
        argp_error(state, "'%s': this command takes only options", text);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

int catalog_command(int argc, char **argv, const char *doc, output_options *options, catalog_writer *write) {
    const struct argp_child children[] = {{&output_argp, 0, NULL, 0}, {0}};
    const struct argp parser = {.parser = parse_argument, .doc = doc, .children = children};
    output out;
    ft_error error;
    argp_parse(&parser, argc, argv, 0, NULL, options);
    ft_status status = output_open(options, &out);
    if (status != FT_OK) return (int)status;
    status = write(out.stream, options, &error);
    if (status != FT_OK)
        cli_fail(status, "%s", error.message);
    else
        status = output_commit(&out);
    output_discard(&out);
    return (int)status;
}
