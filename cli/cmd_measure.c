/* cmd_measure.c - `foretell measure`: measures models on this machine. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli.h"
#include "commands.h"
#include "model_walk.h"

enum { MAX_BATCHES = 64, MAX_ROUNDS = 100, EXIT_NO_RUNTIME = 22, SHAPE_TEXT = 512, MAX_NAME = 60 };

static const char name_characters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.";

static const char default_runtime[] = "onnxruntime-cpu";

typedef struct arguments {
    const char *runtime, *library, *device, *batch, *table_path, *sheet_path;
    int64_t batches[MAX_BATCHES];
    uint32_t batch_count, rounds;
    double seconds;
    ft_style style;
    ft_measure_options measure;
    shape_list shapes;
    argument_list paths;
    bool is_stream, is_quiet;
} arguments;

/* --- Options ------------------------------------------------------------------------------------------------- */

static const option_row rows[] = {
    {.help = "Measuring:", .group = 10},
    {"runtime", "NAME", "runtime to measure with: onnxruntime-cpu, the only one so far", 0, TEXT(arguments, runtime),
     .choices = "onnxruntime-cpu"},
    {"library", "PATH",
     "ONNX Runtime's library, or a folder in which npm installed it (FORETELL_ORT, build/node_modules, node_modules, "
     "the system)",
     0, TEXT(arguments, library)},
    {"threads", "N", "threads that the runtime computes with; not more than cores are free (1)", 0,
     COUNT(arguments, measure.threads, 1024)},
    {"batch", "N", "batch sizes: 8, 1,8 or 1..64, which doubles (that of the file, or 1)", 0, TEXT(arguments, batch)},
    SHAPE_ROW(arguments, shapes),
    {"seconds", "S",
     "time for a model at a batch, without loading and warm-up, or for --stream; it ends earlier when times are steady "
     "(1)",
     0, POSITIVE(arguments, seconds)},
    {"repeat", "N", "rounds over all models; how far they agree is printed (1)", 0,
     COUNT(arguments, rounds, MAX_ROUNDS)},
    {"by-layer", NULL, "measure the nodes that the runtime makes of the model, too", 0,
     FLAG(arguments, measure.has_layers)},
    {"device", "NAME", "name of this machine in the table (here)", 0, TEXT(arguments, device)},
    {"seed", "N", "of the random inputs (0)", 0, NUMBER(arguments, measure.seed, 0, UINT64_MAX)},
    {.help = "The machine itself, without a model:", .group = 30},
    {"stream", NULL, "measure bandwidth by size of the data, and peak rates", 0, FLAG(arguments, is_stream)},
    {"data-sheet", "FILE", "write what --stream measures as the data sheet of this machine", 0,
     TEXT(arguments, sheet_path)},
    {.help = "Output:", .group = 50},
    {"format", "FORMAT", "of the standard output: table, json or csv (table)", 0,
     PARSED_BY(option_format, arguments, style.output), .choices = "table json csv"},
    {"output", "FILE",
     "write measurements to FILE as CSV, line after line, for 'foretell import table'; lines are added to an existing "
     "table",
     0, TEXT(arguments, table_path)},
    QUIET_ROW(arguments, is_quiet, 0),
    {0},
};

static const char doc[] =
    "Measure models on this machine: ONNX Runtime runs them with random inputs until the shortest time is steady.\v"
    "Each measurement has a column 'noisy'; 'foretell import table' leaves noisy ones out.\n"
    "\n"
    "Examples:\n"
    "  foretell measure resnet50.onnx --by-layer\n"
    "  foretell measure models/ --batch 1,8 -o measurements.csv\n"
    "  foretell import table measurements.csv -o here.data\n"
    "  foretell measure --stream --data-sheet devices/here.json\n"
    "\n"
    "Exit status: 0 all went well; 2 wrong arguments; 3 cannot open, read or write; 6 the runtime refuses the model; 9 "
    "open dimensions; 11 out of memory; 13 some models failed; 22 there is no runtime; 130 interrupted.";

static void check(void *input, struct argp_state *state) {
    arguments *args = input;
    if (strcmp(args->runtime, default_runtime) != 0)
        argp_error(state, "--runtime %s: the only one that measures is %s", args->runtime, default_runtime);
    if (args->sheet_path != NULL) args->is_stream = true;
    if (args->is_stream && (args->paths.count > 0 || args->table_path != NULL))
        argp_error(state, "--stream measures the machine: without models and --output");
    if (args->paths.count == 0 && !args->is_stream) argp_error(state, "no model: give a file or a folder");
    args->batch_count = 1; /* 0: that of the file */
    if (args->batch != NULL)
        args->batch_count = cli_parse_sizes(state, "batch", args->batch, args->batches, MAX_BATCHES);
    args->measure.seconds = args->seconds;
    if (args->device[0] == '\0' || strlen(args->device) > MAX_NAME ||
        strspn(args->device, name_characters) != strlen(args->device) || args->device[0] == '.')
        argp_error(state, "--device '%s': expected letters, digits, '-', '_' and '.'", args->device);
}

const option_set cmd_measure_options = {.rows = rows,
                                        .check = check,
                                        .doc = doc,
                                        .args_doc = "MODEL...\n--stream",
                                        .arguments = offsetof(arguments, paths)};

/* --- Running ------------------------------------------------------------------------------------------------- */

typedef struct run {
    arguments *args;
    ft_machine machine;
    FILE *table;        /* of --output; NULL: none */
    char *table_folder; /* with a slash at its end */
    ft_measured_row *rows;
    uint32_t count, capacity, round_begin; /* rows of earlier rounds are before it */
    uint32_t noisy;
    bool is_fatal; /* the table cannot be written, or memory is exhausted */
    ft_shape_binding chosen[SHAPES_MAX];
} run;

/* Paths in the table are relative to its folder where the model is below it, else absolute. */
static char *path_in_table(const run *r, const char *path) {
    if (r->table == NULL) return strdup(path);
    char *whole = realpath(path, NULL);
    size_t length = strlen(r->table_folder);
    if (whole != NULL && strncmp(whole, r->table_folder, length) == 0)
        memmove(whole, whole + length, strlen(whole + length) + 1);
    return whole;
}

/* Values of named dimensions other than the batch, as the table has them: "sequence=128;height=32". */
static char *shape_text(const ft_graph *graph, const ft_graph *bound) {
    char text[SHAPE_TEXT] = "", item[SHAPE_TEXT];
    for (uint32_t i = 0; i < ft_graph_input_count(graph); i++) {
        uint32_t input = ft_graph_inputs(graph)[i];
        const ft_tensor *open = &ft_graph_tensors(graph)[input], *fixed = &ft_graph_tensors(bound)[input];
        for (int32_t d = 1; d < open->rank && fixed->rank == open->rank; d++) {
            const char *symbol = open->dims[d] < 0 ? ft_dim_symbol(graph, open->dims[d]) : NULL;
            if (symbol == NULL) continue;
            snprintf(item, sizeof item, "%s=%lld", symbol, (long long)fixed->dims[d]);
            size_t length = strlen(text);
            if (strstr(text, item) != NULL || length + strlen(item) + 2 > sizeof text) continue;
            if (length > 0) text[length++] = ';';
            memcpy(text + length, item, strlen(item) + 1);
        }
    }
    return strdup(text);
}

static ft_status keep_row(run *r, ft_measured_row *row, ft_error *error) {
    if (r->count == r->capacity) {
        uint32_t larger = r->capacity == 0 ? 64 : r->capacity * 2;
        ft_measured_row *grown = realloc(r->rows, larger * sizeof *grown);
        if (grown == NULL) return *error = (ft_error){FT_ERR_NOMEM, "out of memory"}, FT_ERR_NOMEM;
        r->rows = grown;
        r->capacity = larger;
    }
    r->rows[r->count++] = *row;
    *row = (ft_measured_row){0};
    return FT_OK;
}

static void free_row(ft_measured_row *row) {
    free((char *)row->model);
    free((char *)row->shape);
    ft_measurement_free(&row->measurement);
}

/* A line that cannot be written ends the command: FT_ERR_IO. */
static ft_status add_row(run *r, const char *path, ft_measured_row *row, ft_error *error) {
    row->model = path_in_table(r, path);
    row->device = r->args->device;
    row->runtime = r->args->runtime;
    ft_status status = FT_OK;
    if (row->model == NULL || row->shape == NULL)
        status = (*error = (ft_error){FT_ERR_NOMEM, "out of memory"}, FT_ERR_NOMEM);
    if (status == FT_OK && r->table != NULL) status = ft_measurements_csv_row(r->table, row, error);
    if (status == FT_OK && row->measurement.noise != FT_NOISE_NONE) {
        r->noisy++;
        if (!r->args->is_quiet) cli_note("%s: noisy: %s", path, ft_noise_text(row->measurement.noise));
    }
    return status == FT_OK ? keep_row(r, row, error) : status;
}

static ft_status measure_bound(run *r, const char *path, const ft_graph *graph, const ft_graph *bound,
                               ft_error *error) {
    ft_measured_row row = {0};
    ft_status status = ft_measure_model(path, bound, &r->args->measure, &row.measurement, error);
    if (status == FT_OK) {
        row.shape = shape_text(graph, bound);
        status = add_row(r, path, &row, error);
    }
    free_row(&row);
    return status;
}

/* All batches; the first failure is reported, larger batches are not tried after it. */
static ft_status measure_graph(model_walk *m, const char *path, const ft_graph *graph, void *work, ft_error *error) {
    run *r = m->user;
    (void)work;
    ft_status status = FT_OK;
    for (uint32_t i = 0; i < r->args->batch_count && status == FT_OK && !stop_requested(); i++) {
        ft_binding binding = shapes_for(&r->args->shapes, r->chosen, graph, m->has_several, r->args->batches[i]);
        ft_graph *bound = NULL;
        status = ft_graph_bind(graph, &binding, &bound, error);
        if (status == FT_OK) status = measure_bound(r, path, graph, bound, error);
        ft_graph_free(bound);
    }
    return status;
}

/* --- The table ------------------------------------------------------------------------------------------------ */

/* An existing table is continued when it has the same columns and ends with a whole line. */
static ft_status check_existing(const char *path, FILE *table) {
    const char *head = ft_measurements_csv_head();
    char line[512];
    if (fseek(table, 0, SEEK_END) != 0 || ftell(table) == 0) return FT_OK;
    rewind(table);
    if (fgets(line, sizeof line, table) == NULL || strcmp(line, head) != 0)
        return cli_fail(FT_ERR_USAGE, "%s: exists, and is not a table of measurements; give another file", path);
    fseek(table, -1, SEEK_END);
    if (fgetc(table) != '\n') return cli_fail(FT_ERR_DAMAGED, "%s: the last line is not complete; remove it", path);
    return FT_OK;
}

static ft_status open_table(run *r) {
    const char *path = r->args->table_path;
    if (path == NULL) return FT_OK;
    r->table = fopen(path, "a+e");
    if (r->table == NULL) return cli_fail(FT_ERR_IO, "%s: cannot open: %s", path, strerror(errno));
    ft_status status = check_existing(path, r->table);
    if (status != FT_OK) return status;
    char *whole = realpath(path, NULL), *slash = whole != NULL ? strrchr(whole, '/') : NULL;
    if (slash == NULL) {
        free(whole);
        r->table_folder = strdup("\n"); /* no prefix of a path: a pipe or device */
    } else {
        slash[1] = '\0';
        r->table_folder = whole;
    }
    if (r->table_folder == NULL) return cli_fail(FT_ERR_NOMEM, "out of memory");
    fseek(r->table, 0, SEEK_END);
    if (ftell(r->table) <= 0 && (fputs(ft_measurements_csv_head(), r->table) < 0 || fflush(r->table) != 0))
        return cli_fail(FT_ERR_IO, "%s: cannot write: %s", path, strerror(errno));
    return FT_OK;
}

/* A table of a device that is not bundled is imported with the data sheet beside it. */
static ft_status write_sheet(const run *r) {
    const char *name = r->args->device;
    char folder[FT_RUNTIME_PATH_SIZE], path[FT_RUNTIME_PATH_SIZE + 128];
    ft_outfile out;
    ft_error error;
    if (r->table == NULL || r->table_folder[0] != '/' || ft_device_canonical(name) != NULL) return FT_OK;
    int wrote = snprintf(folder, sizeof folder, "%sdevices", r->table_folder);
    if (wrote < 0 || (size_t)wrote >= sizeof folder) return cli_fail(FT_ERR_LIMIT, "%s: too long", r->table_folder);
    snprintf(path, sizeof path, "%s/%s.json", folder, name);
    if (access(path, F_OK) == 0) return FT_OK;
    if (mkdir(folder, 0777) != 0 && errno != EEXIST)
        return cli_fail(FT_ERR_IO, "%s: cannot create: %s", folder, strerror(errno));
    if (ft_outfile_open(path, &out, &error) != FT_OK) return cli_fail(error.status, "%s", error.message);
    fprintf(
        out.stream,
        "{\"foretell_device\": 1, \"name\": \"%s\", \"text\": \"measured with foretell measure\", \"kind\": \"cpu\",\n"
        " \"runtime\": \"tflite-cpu\", \"threads\": %u}\n",
        name, r->args->measure.threads);
    ft_status status = ft_outfile_commit(&out, &error);
    return status == FT_OK ? FT_OK : cli_fail(status, "%s", error.message);
}

static ft_status close_table(run *r) {
    if (r->table == NULL) return FT_OK;
    int failed = fclose(r->table);
    r->table = NULL;
    return failed != 0 ? cli_fail(FT_ERR_IO, "%s: cannot write: %s", r->args->table_path, strerror(errno)) : FT_OK;
}

/* --- The command ---------------------------------------------------------------------------------------------- */

/* More threads than free cores would measure the scheduler. One is always possible. */
static ft_status probe(run *r) {
    ft_error error;
    ft_status status = ft_machine_probe(0, &r->machine, &error);
    if (status != FT_OK) return cli_fail(status, "%s", error.message);
    double free_cores = r->machine.free_cores;
    uint32_t threads = r->args->measure.threads;
    if (threads > r->machine.cores)
        return cli_fail(FT_ERR_USAGE, "--threads %u: there are %u cores", threads, r->machine.cores);
    if (threads > 1 && threads > free_cores + 0.25)
        return cli_fail(FT_ERR_USAGE,
                        "--threads %u: only %.1f of %u cores are free; stop other programs, or measure "
                        "with fewer threads",
                        threads, free_cores, r->machine.cores);
    if (!r->args->is_quiet && free_cores < 0.9 * r->machine.cores)
        cli_note("%.1f of %u cores are free: other programs are running, times may be noisy", free_cores,
                 r->machine.cores);
    return FT_OK;
}

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The median by which processor times of a round differ from those of the first one. */
static void note_agreement(const run *r, uint32_t per_round) {
    double *differences = malloc((r->count + 1) * sizeof *differences);
    uint32_t count = 0;
    for (uint32_t i = per_round; differences != NULL && i < r->count; i++) {
        double first = r->rows[i % per_round].measurement.cpu_us, now = r->rows[i].measurement.cpu_us;
        differences[count++] = fabs(now / first - 1);
    }
    if (count > 0) {
        qsort(differences, count, sizeof *differences, by_value);
        cli_note("rounds agree within %.1f %% of CPU time (median of %u)", 100 * differences[count / 2], count);
    }
    free(differences);
}

/* One round over all models. */
static ft_status run_round(run *r, bool is_first) {
    output out = {.stream = stdout};
    model_walk m = {.paths = r->args->paths,
                    .out = &out,
                    .is_quiet = r->args->is_quiet,
                    .threads = 1,
                    .visit = measure_graph,
                    .user = r};
    model_walk_run(&m);
    r->is_fatal = m.fatal != FT_OK;
    if (stop_requested()) return FT_OK;
    if (is_first) model_walk_note_skipped(&m);
    if (m.fatal == FT_OK && is_first) m.fatal = shapes_check_used(&r->args->shapes, &m);
    return model_walk_status(&m);
}

/* Models that fail do not keep the others from being measured again. */
static ft_status run_rounds(run *r) {
    ft_status first = run_round(r, true);
    uint32_t per_round = r->count;
    for (uint32_t round = 1; round < r->args->rounds && !r->is_fatal && per_round > 0 && !stop_requested(); round++) {
        ft_status status = run_round(r, false);
        if (first == FT_OK) first = status;
    }
    if (r->args->rounds > 1 && per_round > 0 && r->count % per_round == 0 && !r->args->is_quiet)
        note_agreement(r, per_round);
    return first;
}

static ft_status write_report(run *r) {
    ft_error error;
    if (r->count == 0 || (r->table != NULL && r->args->is_quiet)) return FT_OK;
    output_options options = output_options_default();
    options.style.output = r->args->style.output;
    output out;
    ft_status status = output_open(&options, &out);
    if (status != FT_OK) return status;
    status = ft_report_measurements(out.stream, &options.style, &r->machine, r->rows, r->count, &error);
    return output_end(&out, status, &error);
}

static ft_status write_data_sheet(const run *r, const ft_machine_speed *speed) {
    ft_outfile out;
    ft_error error;
    if (ft_outfile_open(r->args->sheet_path, &out, &error) != FT_OK) return cli_fail(error.status, "%s", error.message);
    ft_status status = ft_machine_speed_sheet(out.stream, r->args->device, speed, &error);
    if (status == FT_OK) status = ft_outfile_commit(&out, &error);
    ft_outfile_discard(&out);
    return status == FT_OK ? FT_OK : cli_fail(status, "%s", error.message);
}

/* Each of the figures gets a part of the budget. */
static ft_status run_stream(run *r) {
    ft_machine_speed speed;
    ft_error error;
    ft_status status = probe(r);
    if (status != FT_OK) return status;
    status = ft_machine_speed_measure(r->args->measure.threads, r->args->seconds, &speed, &error);
    if (status != FT_OK) return cli_fail(status, "%s", error.message);
    if (r->args->sheet_path != NULL) status = write_data_sheet(r, &speed);
    if (status != FT_OK || (r->args->sheet_path != NULL && r->args->is_quiet)) return status;
    output_options options = output_options_default();
    options.style.output = r->args->style.output;
    output out;
    status = output_open(&options, &out);
    if (status != FT_OK) return status;
    status = ft_report_machine_speed(out.stream, &options.style, &speed, &error);
    return output_end(&out, status, &error);
}

static ft_status run_measure(run *r) {
    ft_status status = open_table(r);
    if (status == FT_OK) status = write_sheet(r);
    if (status == FT_OK) status = probe(r);
    if (status == FT_OK) status = run_rounds(r);
    ft_status written = write_report(r), closed = close_table(r);
    if (r->noisy > 0 && !r->args->is_quiet) cli_note("%u of %u measurements are noisy", r->noisy, r->count);
    return status != FT_OK ? status : written != FT_OK ? written : closed;
}

int cmd_measure(int argc, char **argv) {
    run *r = calloc(1, sizeof *r);
    arguments *args = calloc(1, sizeof *args);
    char path[FT_RUNTIME_PATH_SIZE];
    ft_error error;
    ft_status status = FT_OK;
    if (r == NULL || args == NULL) {
        free(r);
        free(args);
        return (int)cli_fail(FT_ERR_NOMEM, "out of memory");
    }
    *args = (arguments){.runtime = default_runtime, .device = "here", .rounds = 1, .seconds = 1};
    args->style = ft_style_default();
    args->measure = ft_measure_options_default();
    r->args = args;
    options_parse(&cmd_measure_options, argc, argv, args);
    stop_install();
    int code = EXIT_NO_RUNTIME;
    if (args->is_stream) {
        code = (int)run_stream(r);
    } else if (ft_runtime_find(args->library, path, &error) != FT_OK) {
        cli_fail(error.status, "%s", error.message);
    } else {
        args->measure.runtime = path;
        status = run_measure(r);
        code = (int)status;
    }
    for (uint32_t i = 0; i < r->count; i++) free_row(&r->rows[i]);
    free(r->rows);
    free(r->table_folder);
    shapes_free(&args->shapes);
    free(args);
    free(r);
    stop_finish();
    return code;
}
