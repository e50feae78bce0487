/* cmd_serve.c - `foretell serve`: the options of the HTTP service. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../serve/serve.h"
#include "cli.h"
#include "commands.h"

enum { DEFAULT_TIMEOUT_S = 30, MAX_WORKERS = 256, MAX_TIMEOUT_S = 86400 };

typedef struct arguments {
    const char *listen, *socket, *tls_cert, *tls_key, *token_file, *models;
    name_list folders, predictors;
    uint32_t workers, timeout_s;
    uint64_t max_body, models_size, worker_memory;
    serve_log log;
} arguments;

static void parse_log(void *field, const char *text, const option_row *row, struct argp_state *state) {
    static const char *const names[] = {
        [SERVE_LOG_NONE] = "none", [SERVE_LOG_TEXT] = "text", [SERVE_LOG_JSON] = "json"};
    serve_log *log = field;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strcmp(text, names[i]) != 0) continue;
        *log = (serve_log)i;
        return;
    }
    argp_error(state, "--%s %s: expected none, text or json", row->name, text);
}

static const option_row rows[] = {
    {.help = "Addresses and access:", .group = 1},
    {"listen", "ADDR:PORT", "TCP address (127.0.0.1:8765 unless --socket is given); port 0: any that is free", 0,
     TEXT(arguments, listen)},
    {"socket", "PATH", "Unix socket, for the owner and the group", 0, TEXT(arguments, socket)},
    {"tls-cert", "FILE", "certificate chain (PEM) of the TCP address", 0, TEXT(arguments, tls_cert)},
    {"tls-key", "FILE", "its private key (PEM)", 0, TEXT(arguments, tls_key)},
    {"token-file", "FILE", "tokens, one a line: clients send one as 'Authorization: Bearer TOKEN'", 0,
     TEXT(arguments, token_file)},
    {.help = "Models:", .group = 2},
    {"models", "DIR", "keep uploads and observations in DIR", 0, TEXT(arguments, models)},
    {"models-size", "BYTES", "limit of all uploads: the least recently used are removed (10GiB)", 0,
     BYTES(arguments, models_size)},
    {"allow", "DIR", "requests may name models in DIR by path; may be repeated", 0, NAMES(arguments, folders)},
    {"predictor", "FILE", "a predictor of your own instead of the bundled ones; may be repeated", 0,
     NAMES(arguments, predictors)},
    {.help = "Limits:", .group = 3},
    {"workers", "N", "processes that predict (one per core)", 0, COUNT(arguments, workers, MAX_WORKERS)},
    {"worker-memory", "BYTES", "memory of each (4GiB); 0: no limit", 0, BYTES(arguments, worker_memory)},
    {"timeout", "SECONDS", "of a prediction, and of a client that does not go on (30)", 0,
     COUNT(arguments, timeout_s, MAX_TIMEOUT_S)},
    {"max-body", "BYTES", "largest body of a request (1GiB)", 0, BYTES(arguments, max_body)},
    {"log", "FORMAT", "a line for each request on standard error: text, json or none (text)", 0,
     PARSED_BY(parse_log, arguments, log), .choices = "text json none"},
    {0},
};

static const char doc[] =
    "Serve predictions over HTTP: the documents of predict, fits, max-batch and inspect, byte for byte.\v"
    "Models are sent with the request, uploaded once, or named by path in folders that --allow opens. Predictions run "
    "in "
    "processes of their own, with limits of time and memory. SIGTERM and SIGINT finish the requests under way; SIGHUP "
    "and POST /v1/predictors:reload open the predictors anew. docs/serve.md has the interface, GET /openapi.json its "
    "description.\n"
    "\n"
    "Examples:\n"
    "  foretell serve --models /var/lib/foretell\n"
    "  foretell serve --socket /run/foretell/socket --allow /srv/models\n"
    "  curl --data-binary @resnet50.onnx \\\n"
    "      'http://127.0.0.1:8765/v1/predict?device=rtx-4090&batch=1..64'\n"
    "\n"
    "Exit status: 0 stopped by a signal; 2 wrong arguments; 3 cannot listen, read or write; 6 libmicrohttpd is not "
    "installed; 11 out of memory.";

static void check(void *input, struct argp_state *state) {
    const arguments *args = input;
    if ((args->tls_cert == NULL) != (args->tls_key == NULL))
        argp_error(state, "--tls-cert and --tls-key belong together");
    if (args->tls_cert != NULL && args->listen == NULL && args->socket != NULL)
        argp_error(state, "--tls-cert is for --listen: a Unix socket has no TLS");
    if (args->max_body == 0) argp_error(state, "--max-body 0: expected at least 1");
}

const option_set cmd_serve_options = {
    .rows = rows, .check = check, .doc = doc, .refusal = "serve takes no argument beside its options"};

static serve_options options_of(const arguments *args) {
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    return (serve_options){
        .listen = args->listen != NULL || args->socket != NULL ? args->listen : "127.0.0.1:8765",
        .socket = args->socket,
        .tls_cert = args->tls_cert,
        .tls_key = args->tls_key,
        .token_file = args->token_file,
        .models = args->models,
        .folders = args->folders.items,
        .folder_count = args->folders.count,
        .predictors = args->predictors.items,
        .predictor_count = args->predictors.count,
        .workers = args->workers > 0 ? args->workers
                   : processors > 0  ? (uint32_t)processors
                                     : 1,
        .timeout_s = args->timeout_s,
        .max_body = args->max_body,
        .max_models = args->models_size,
        .worker_memory = args->worker_memory,
        .log = args->log,
    };
}

/* `foretell serve --worker ...` is how the server starts its workers; it is not for people. */
int cmd_serve(int argc, char **argv) {
    ft_error error = {0};
    arguments args = {.timeout_s = DEFAULT_TIMEOUT_S,
                      .max_body = UINT64_C(1) << 30,
                      .models_size = UINT64_C(10) << 30,
                      .worker_memory = UINT64_C(4) << 30,
                      .log = SERVE_LOG_TEXT};
    if (argc > 2 && strcmp(argv[1], "--worker") == 0) return serve_worker(argc - 2, argv + 2);
    options_parse(&cmd_serve_options, argc, argv, &args);
    const serve_options options = options_of(&args);
    ft_status status = serve_run(&options, &error);
    return status == FT_OK ? FT_OK : (int)cli_fail(status, "%s", error.message);
}
