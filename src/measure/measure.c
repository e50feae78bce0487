/* measure.c - measures a model in a process of its own, and finds the runtime that runs it. */
#include "measure/measure.h"

#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "base/temporary.h"

ft_measure_options ft_measure_options_default(void) {
    return (ft_measure_options){.threads = 1, .seconds = 1};
}

const char *ft_noise_text(ft_noise noise) {
    static const char *const texts[] = {
#define NOISE_TEXT(id, text) [id] = (text),
        FT_NOISE_LIST(NOISE_TEXT)
#undef NOISE_TEXT
    };
    return (size_t)noise < sizeof texts / sizeof texts[0] ? texts[noise] : "unknown";
}

static ft_status check_options(const ft_measure_options *options, ft_error *error) {
    uint32_t cores = machine_cores();
    if (options->threads == 0 || options->threads > cores)
        return ft_fail(error, FT_ERR_USAGE, "%u threads cannot be measured: this process may use %u core%s",
                       options->threads, cores, cores == 1 ? "" : "s");
    if (!(options->seconds > 0 && options->seconds <= 3600))
        return ft_fail(error, FT_ERR_USAGE, "a budget of %g seconds is not above 0 and at most 3600", options->seconds);
    return FT_OK;
}

/* The batch of a file that fixes it cannot be changed by foretell's own scaling: the runtime runs the file as it is. */
static ft_status check_graph(const ft_graph *bound, ft_error *error) {
    if (!ft_graph_is_bound(bound)) return ft_fail(error, FT_ERR_USAGE, "the graph is not bound to a batch");
    if (ft_graph_format(bound) != FT_FORMAT_ONNX)
        return ft_fail(error, FT_ERR_UNSUPPORTED, "ONNX Runtime runs ONNX models, this is one in the format %s",
                       ft_format_name(ft_graph_format(bound)));
    if (ft_graph_is_scaled(bound))
        return ft_fail(error, FT_ERR_UNSUPPORTED,
                       "the file fixes its batch at %lld, so batch %lld cannot be run; export it with an open batch",
                       (long long)ft_graph_exported_batch(bound), (long long)ft_graph_batch(bound));
    return FT_OK;
}

/* --- The process that runs the model ------------------------------------------------------------------------------ */

/* Ends with the process that made it, even when that one is killed. */
static int run_child(const child_job *job, struct rusage *usage, ft_error *error) {
    int state = 0;
    fflush(NULL);
    pid_t child = fork();
    if (child < 0) return ft_fail(error, FT_ERR_NOMEM, "cannot start a process: %s", strerror(errno)), -1;
    if (child == 0) {
        signal(SIGINT, SIG_IGN); /* the measurement is finished, then the caller stops */
        child_run(job);
        _exit(0);
    }
    while (wait4(child, &state, 0, usage) < 0) {
        if (errno != EINTR) return ft_fail(error, FT_ERR_INTERNAL, "cannot wait: %s", strerror(errno)), -1;
    }
    return state;
}

static ft_status read_result(const child_result *r, int state, ft_error *error) {
    if (WIFSIGNALED(state) && WTERMSIG(state) == SIGKILL)
        return ft_fail(error, FT_ERR_NOMEM, "the process was killed, most likely because memory was exhausted");
    if (WIFSIGNALED(state))
        return ft_fail(error, FT_ERR_UNSUPPORTED, "ONNX Runtime crashed: %s", strsignal(WTERMSIG(state)));
    if (WEXITSTATUS(state) != 0)
        return ft_fail(error, FT_ERR_UNSUPPORTED, "ONNX Runtime ended the process with status %d", WEXITSTATUS(state));
    if (r->status != FT_OK) return ft_fail(error, r->status, "%s", r->error.message);
    return FT_OK;
}

static ft_status take_nodes(const child_result *r, ft_measurement *m, ft_error *error) {
    arena *memory = calloc(1, sizeof *memory);
    if (memory == NULL) return FT_NOMEM(error);
    arena_init(memory, FT_MAX_GRAPH_BYTES);
    m->memory = memory;
    return profile_read(r->profile, memory, &m->nodes, &m->node_count, error);
}

static ft_status measure_in_child(const child_job *job, ft_measurement *m, ft_error *error) {
    struct rusage usage = {0};
    int state = run_child(job, &usage, error);
    if (state < 0) return error != NULL ? error->status : FT_ERR_INTERNAL;
    FT_TRY(read_result(job->result, state, error));
    *m = job->result->measurement;
    m->resident_bytes = (double)usage.ru_maxrss * 1024;
    return job->profile_prefix != NULL ? take_nodes(job->result, m, error) : FT_OK;
}

static ft_status measure_shared(child_job *job, ft_measurement *m, ft_error *error) {
    temporary folder = {0};
    char prefix[FT_RUNTIME_PATH_SIZE];
    const char *parent = getenv("TMPDIR");
    if (job->options->has_layers) {
        snprintf(prefix, sizeof prefix, "%s/foretell-profile", parent != NULL && parent[0] != '\0' ? parent : "/tmp");
        FT_TRY(temporary_new(prefix, true, &folder, error));
        snprintf(prefix, sizeof prefix, "%s/run", folder.path);
        job->profile_prefix = prefix;
    }
    ft_status status = measure_in_child(job, m, error);
    if (folder.path != NULL) {
        temporary_remove(folder.path);
        close(folder.file);
        free(folder.path);
    }
    return status;
}

ft_status ft_measure_model(const char *path, const ft_graph *bound, const ft_measure_options *options,
                           ft_measurement *measurement, ft_error *error) {
    FT_REQUIRE(error, path, bound, options, measurement);
    ft_measure_options chosen = *options;
    char found[FT_RUNTIME_PATH_SIZE];
    *measurement = (ft_measurement){0};
    FT_TRY(check_options(options, error));
    FT_TRY(check_graph(bound, error));
    FT_TRY(ft_runtime_find(options->runtime, found, error));
    chosen.runtime = found;
    child_result *result = mmap(NULL, sizeof *result, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (result == MAP_FAILED) return FT_NOMEM(error);
    child_job job = {.path = path, .bound = bound, .options = &chosen, .result = result};
    ft_error own;
    ft_status status = measure_shared(&job, measurement, error != NULL ? error : &own);
    if (status != FT_OK) ft_measurement_free(measurement);
    munmap(result, sizeof *result);
    return status;
}

void ft_measurement_free(ft_measurement *measurement) {
    if (measurement == NULL) return;
    if (measurement->memory != NULL) arena_free(measurement->memory);
    free(measurement->memory);
    *measurement = (ft_measurement){0};
}
