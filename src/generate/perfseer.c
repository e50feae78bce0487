/* perfseer.c - `foretell generate perfseer`: draws networks, computes their labels, and writes the folder.
 *
 * Networks are drawn one after the other, each from its own random stream, and duplicates are drawn again; the rest
 * runs in parallel. Each network is read back from its own pickle, so that the labels are those of the graph that a
 * reader gets. */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/json_writer.h"
#include "base/map.h"
#include "base/outfile.h"
#include "base/pool.h"
#include "foretell/generate.h"
#include "generate/label.h"
#include "generate/marginals.h"
#include "generate/net.h"

enum { NETWORKS_AT_A_TIME = 256, BATCHES = 9, MAX_TRIES = 1000 };
enum { STREAMS = 1 + BATCHES }; /* random streams per network: its architecture, and the noise of each batch */

static const char graph_folder[] = "dataset/cg/cg", label_folder[] = "dataset/label/label";

static const char readme[] =
    "SYNTHETIC DATA\n"
    "\n"
    "Nothing in this folder was measured. The networks are random ones of PerfSeer's design space, in the layout\n"
    "of its data set; the labels in dataset/label/label were computed by 'foretell generate perfseer' from a roofline\n"
    "of an RTX 3090 and a memory timeline. Every graph (attribute 'synthetic') and every file name is marked.\n"
    "\n";

typedef struct job {
    arch arch;
    uint64_t stream; /* random stream it was drawn from */
    ft_status status;
    ft_error error;
    uint32_t row_count;
    marginal_row rows[BATCHES];
} job;

typedef struct worker {
    buf pickle, text, path;
} worker;

typedef struct generator {
    const char *folder; /* to write into, or NULL */
    const ft_generate_options *options;
    ft_device *device;
    arena names;
    map by_name;
    uint64_t next_stream;
    job *jobs;
    worker *workers;
    pool *threads;
    marginals *rows;
    ft_generate_result *result;
    ft_error *error;
} generator;

/* --- Drawing ----------------------------------------------------------------------------------------------------- */

static ft_status draw_distinct(generator *g, job *j) {
    for (int i = 0; i < MAX_TRIES; i++) {
        rng random;
        char name[ARCH_NAME_SIZE];
        *j = (job){.stream = g->next_stream++};
        rng_init(&random, g->options->seed, STREAMS * j->stream);
        arch_draw(&random, &j->arch);
        arch_name(&j->arch, 1, name);
        const char *key = arena_string(&g->names, name, strlen(name));
        uint32_t found, number = g->by_name.count;
        if (key == NULL || !map_add(&g->by_name, key, number, &found)) return FT_NOMEM(g->error);
        if (found == number) return FT_OK;
    }
    return ft_fail(g->error, FT_ERR_LIMIT, "found no further distinct network; request fewer");
}

/* --- One network ------------------------------------------------------------------------------------------------- */

static ft_status write_file(worker *w, const char *folder, const char *part, const char *name, const char *ending,
                            const buf *content, ft_error *error) {
    w->path.length = 0;
    buf_format(&w->path, "%s/%s/%s%s", folder, part, name, ending);
    if (w->path.failed) return FT_NOMEM(error);
    FILE *stream = fopen(w->path.data, "wb");
    if (stream == NULL) return ft_fail_file(error, w->path.data, "cannot write", errno);
    bool is_written = fwrite(content->data, 1, content->length, stream) == content->length;
    int code = errno;
    if (fclose(stream) != 0 && is_written) {
        is_written = false;
        code = errno;
    }
    return is_written ? FT_OK : ft_fail_file(error, w->path.data, "cannot write", code);
}

/* The current network: its description as exported and as run, and the memory of its worker. */
typedef struct network {
    const generator *generator;
    worker *worker;
    job *job;
    const net *exported;
    const ft_graph *graph; /* as a framework runs it, not bound */
    arena *memory;
} network;

static ft_status write_pair(const network *in, const label *l, int64_t batch, ft_error *error) {
    const generator *g = in->generator;
    worker *w = in->worker;
    char name[ARCH_NAME_SIZE];
    arch_name(&in->job->arch, batch, name);
    w->pickle.length = w->text.length = 0;
    FT_TRY(net_pickle(in->exported, batch, in->memory, &w->pickle, error));
    label_text(l, batch, &w->text);
    if (w->text.failed) return FT_NOMEM(error);
    FT_TRY(write_file(w, g->folder, graph_folder, name, ".pkl", &w->pickle, error));
    return write_file(w, g->folder, label_folder, name, ".txt", &w->text, error);
}

static marginal_row marginals_of(const net *n, const label *l, int64_t batch) {
    marginal_row row = {0};
    for (uint32_t i = 0; i < n->count; i++) {
        const net_node *node = &n->nodes[i];
        row.values[MARGINAL_PARAMS] += (double)net_weights(node) / 1e6;
        row.values[MARGINAL_FLOPS] += (double)(batch * net_flops(node)) / 1e9;
        row.values[MARGINAL_BYTES] +=
            4.0 * (double)(batch * (net_in_elems(node) + net_out_elems(node)) + net_weights(node)) / 1e9;
    }
    for (int mode = FT_INFER; mode <= FT_TRAIN; mode++) {
        double *values = row.values + (mode == FT_TRAIN ? MARGINAL_TRAIN : MARGINAL_INFER);
        values[0] = l->modes[mode].sm_util_percent;
        values[1] = l->modes[mode].memory_mib;
        values[2] = l->modes[mode].time_ms;
    }
    return row;
}

static ft_status generate_batch(const network *in, int batch_index, ft_error *error) {
    assert(batch_index >= 0 && batch_index < BATCHES);
    assert(in->job->row_count < BATCHES);
    const generator *g = in->generator;
    job *j = in->job;
    int64_t batch = INT64_C(1) << batch_index;
    ft_graph *bound;
    label l;
    FT_TRY(ft_graph_bind(in->graph, &(ft_binding){.batch = batch}, &bound, error));
    ft_status status = label_compute(bound, g->device, &l, error);
    ft_graph_free(bound);
    if (status != FT_OK || !l.fits) return status;
    if (g->options->noise_ratio > 0) {
        rng random;
        rng_init(&random, g->options->seed, STREAMS * j->stream + 1 + (uint64_t)batch_index);
        label_add_noise(&l, g->options->noise_ratio, &random);
    }
    j->rows[j->row_count++] = marginals_of(in->exported, &l, batch);
    return g->folder != NULL ? write_pair(in, &l, batch, error) : FT_OK;
}

/* The network as a framework runs it, which the labels describe. */
static ft_status read_back(worker *w, const arch *a, arena *memory, ft_graph **graph, ft_error *error) {
    net n;
    FT_TRY(net_build(a, true, memory, &n, error));
    w->pickle.length = 0;
    FT_TRY(net_pickle(&n, 1, memory, &w->pickle, error));
    return ft_graph_read_memory(w->pickle.data, w->pickle.length, "bs1.pkl", graph, error);
}

static ft_status generate_network(const generator *g, worker *w, job *j, arena *memory, ft_error *error) {
    net n;
    ft_graph *graph;
    FT_TRY(net_build(&j->arch, false, memory, &n, error));
    FT_TRY(read_back(w, &j->arch, memory, &graph, error));
    const network in = {g, w, j, &n, graph, memory};
    ft_status status = FT_OK;
    for (int i = 0; i < BATCHES && status == FT_OK; i++) status = generate_batch(&in, i, error);
    ft_graph_free(graph);
    return status;
}

static void run_job(void *user, uint32_t part, uint32_t worker_index) {
    generator *g = user;
    job *j = &g->jobs[part];
    arena memory;
    arena_init(&memory, FT_MAX_GRAPH_BYTES);
    j->status = generate_network(g, &g->workers[worker_index], j, &memory, &j->error);
    arena_free(&memory);
}

/* --- All networks ------------------------------------------------------------------------------------------------ */

static ft_status collect_results(generator *g, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        const job *j = &g->jobs[i];
        if (j->status != FT_OK) return ft_fail(g->error, j->status, "%s", j->error.message);
        g->result->networks++;
        g->result->graphs += j->row_count;
        g->result->skipped += BATCHES - j->row_count;
        for (uint32_t k = 0; k < j->row_count; k++)
            if (!marginals_add(g->rows, &j->rows[k])) return FT_NOMEM(g->error);
    }
    return FT_OK;
}

static ft_status generate_all(generator *g, uint32_t networks) {
    for (uint32_t done = 0; done < networks;) {
        uint32_t count = networks - done < NETWORKS_AT_A_TIME ? networks - done : NETWORKS_AT_A_TIME;
        for (uint32_t i = 0; i < count; i++) FT_TRY(draw_distinct(g, &g->jobs[i]));
        pool_run(g->threads, count, run_job, g);
        FT_TRY(collect_results(g, count));
        done += count;
        if (g->options->progress != NULL && !g->options->progress(g->options->user, done, networks, "networks"))
            return ft_fail(g->error, FT_ERR_CANCELLED, "interrupted; nothing was written");
    }
    marginals_finish(g->rows, g->result->marginals);
    return FT_OK;
}

static ft_status make_workers(generator *g, uint32_t networks) {
    FT_TRY(ft_device_open("rtx-3090", &g->device, g->error));
    if (networks > 1 && g->options->threads != 1) FT_TRY(pool_new(g->options->threads, &g->threads, g->error));
    uint32_t count = g->threads != NULL ? pool_threads(g->threads) : 1;
    g->workers = calloc(count, sizeof *g->workers);
    g->jobs = calloc(NETWORKS_AT_A_TIME, sizeof *g->jobs);
    g->rows = marginals_new();
    return g->workers != NULL && g->jobs != NULL && g->rows != NULL ? FT_OK : FT_NOMEM(g->error);
}

static void free_workers(generator *g) {
    uint32_t count = g->threads != NULL ? pool_threads(g->threads) : 1;
    for (uint32_t i = 0; g->workers != NULL && i < count; i++) {
        buf_free(&g->workers[i].pickle);
        buf_free(&g->workers[i].text);
        buf_free(&g->workers[i].path);
    }
    free(g->workers);
    free(g->jobs);
    marginals_free(g->rows);
    pool_free(g->threads);
    ft_device_free(g->device);
    arena_free(&g->names);
}

static ft_status run(const char *folder, uint32_t networks, const ft_generate_options *options,
                     ft_generate_result *result, ft_error *error) {
    generator g = {.folder = folder, .options = options, .result = result, .error = error};
    arena_init(&g.names, UINT64_MAX);
    map_init(&g.by_name, &g.names);
    ft_status status = make_workers(&g, networks);
    if (status == FT_OK) status = generate_all(&g, networks);
    free_workers(&g);
    return status;
}

/* --- The folder -------------------------------------------------------------------------------------------------- */

static ft_status make_folder(const char *base, const char *name, ft_error *error) {
    char path[4096];
    int length = snprintf(path, sizeof path, "%s/%s", base, name);
    if (length < 0 || (size_t)length >= sizeof path)
        return ft_fail(error, FT_ERR_IO, "%s: the name of the folder is too long", base);
    if (mkdir(path, 0777) == 0) return FT_OK;
    return ft_fail_file(error, path, "cannot make the folder", errno);
}

static ft_status make_folders(const char *base, ft_error *error) {
    static const char *const names[] = {"dataset", "dataset/cg", "dataset/label", graph_folder, label_folder};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) FT_TRY(make_folder(base, names[i], error));
    return FT_OK;
}

static ft_status write_readme(const char *folder, const ft_generate_options *options, const ft_generate_result *result,
                              ft_error *error) {
    char path[4096], noise[DOUBLE_TEXT_SIZE];
    buf text = {0};
    double_text(options->noise_ratio, noise);
    snprintf(path, sizeof path, "%s/README.txt", folder);
    buf_text(&text, readme);
    buf_format(&text, "foretell generate perfseer -n %llu --seed %llu --noise %s\n%llu graphs; %llu did not fit.\n",
               (unsigned long long)result->networks, (unsigned long long)options->seed, noise,
               (unsigned long long)result->graphs, (unsigned long long)result->skipped);
    ft_status status = text.failed ? FT_NOMEM(error) : outfile_write(path, text.data, text.length, error);
    buf_free(&text);
    return status;
}

/* One sync for thousands of small files. */
static void sync_all(const char *folder) {
    int file = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (file < 0) return;
    syncfs(file);
    close(file);
}

static ft_status fill_folder(const char *folder, uint32_t networks, const ft_generate_options *options,
                             ft_generate_result *result, ft_error *error) {
    FT_TRY(make_folders(folder, error));
    FT_TRY(run(folder, networks, options, result, error));
    FT_TRY(write_readme(folder, options, result, error));
    sync_all(folder);
    return FT_OK;
}

ft_status ft_generate_perfseer(const char *folder, uint32_t networks, const ft_generate_options *options,
                               ft_generate_result *result, ft_error *error) {
    FT_REQUIRE(error, options, result);
    ft_generate_result made = {0};
    if (networks == 0) return ft_fail(error, FT_ERR_USAGE, "the number of networks is 0");
    if (!(options->noise_ratio >= 0 && options->noise_ratio <= 0.3))
        return ft_fail(error, FT_ERR_USAGE, "the noise must be a ratio from 0 to 0.3");
    if (folder == NULL) {
        FT_TRY(run(NULL, networks, options, &made, error));
        *result = made;
        return FT_OK;
    }
    outfolder out;
    FT_TRY(outfolder_open(folder, &out, error));
    ft_status status = fill_folder(out.temporary, networks, options, &made, error);
    if (status == FT_OK) status = outfolder_commit(&out, error);
    outfolder_discard(&out);
    if (status == FT_OK) *result = made;
    return status;
}
