/* model_walk.c - finds the models of the command line, and hands them over in order (model_queue.h). */
#include "model_walk.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool is_over(const model_walk *m) {
    return m->fatal != FT_OK || stop_requested();
}

static void count_failure(model_walk *m, const char *path, const ft_error *error) {
    m->failed_count++;
    if (m->first_failure == FT_OK) m->first_failure = error->status;
    output_fail(m->out, error->status, path, error);
}

static void begin(model_walk *m, bool has_several) {
    ft_error error;
    if (m->is_begun) return;
    m->is_begun = true;
    m->has_several = has_several;
    if (m->begin == NULL || m->begin(m, &error) == FT_OK) return;
    m->fatal = error.status;
    cli_fail(error.status, "%s", error.message);
}

/* --- Tasks ----------------------------------------------------------------------------------------------------- */

/* On any thread. */
static void prepare(const model_walk *m, model_task *t) {
    if (m->prepare != NULL) t->status = m->prepare(m, t->path, t->graph, &t->work, &t->error);
}

static void read_single(model_task *t) {
    t->opened = ft_source_open(t->path, &t->source, &t->error);
    if (t->opened != FT_OK || ft_source_count(t->source) != 1) return;
    t->status = ft_source_next(t->source, &t->graph, &t->error);
    if (t->status != FT_OK) return;
    assert(t->graph != NULL);
}

static void run_task(void *user, model_task *t) {
    const model_walk *m = user;
    if (is_over(m)) return; /* its result is not taken */
    if (t->is_file) read_single(t);
    if (t->graph != NULL) prepare(m, t);
}

static void visit_graph(model_walk *m, model_task *t) {
    progress_hide();
    if (t->status == FT_OK) t->status = m->visit(m, t->path, t->graph, t->work, &t->error);
    if (t->status == FT_OK) {
        m->model_count++;
        return;
    }
    if (t->status == FT_ERR_IO && t->graph != NULL) m->fatal = t->status;
    count_failure(m, t->path, &t->error);
}

static void free_model(const model_walk *m, model_task *t) {
    if (t->work != NULL) m->release(t->work);
    ft_graph_free(t->graph);
    t->work = NULL;
    t->graph = NULL;
}

/* The next graph of a source; false at its end. `path` is not copied. */
static bool read_next(ft_source *source, char *path, model_task *t) {
    *t = (model_task){.path = path};
    t->status = ft_source_next(source, &t->graph, &t->error);
    return t->status != FT_OK || t->graph != NULL;
}

/* A file of a folder with several graphs: they follow each other on this thread. */
static void visit_all_graphs(model_walk *m, model_task *file) {
    model_task t;
    while (!is_over(m) && read_next(file->source, file->path, &t)) {
        if (t.graph != NULL) prepare(m, &t);
        visit_graph(m, &t);
        free_model(m, &t);
    }
}

static void take_file(model_walk *m, model_task *t) {
    if (t->opened == FT_ERR_FORMAT && !t->is_explicit)
        m->skipped_count++;
    else if (t->opened != FT_OK)
        count_failure(m, t->path, &t->error);
    else if (t->graph != NULL || t->status != FT_OK)
        visit_graph(m, t);
    else
        visit_all_graphs(m, t);
    m->file_count++;
}

static void take_task(void *user, model_task *t) {
    model_walk *m = user;
    if (!is_over(m)) {
        if (t->is_file)
            take_file(m, t);
        else
            visit_graph(m, t);
    }
    free_model(m, t);
    ft_source_close(t->source);
    free(t->path);
}

static void add_task(model_walk *m, const char *path, model_task *t) {
    t->path = strdup(path);
    if (t->path != NULL) {
        model_queue_add(m->queue, t);
        return;
    }
    ft_graph_free(t->graph);
    m->fatal = cli_fail(FT_ERR_NOMEM, "out of memory");
}

/* --- Sources --------------------------------------------------------------------------------------------------- */

/* All graphs of a source, which is made of `file_count` files. */
static void visit_source(model_walk *m, const char *path, ft_source *source, uint64_t file_count) {
    uint64_t done = 0, count = ft_source_count(source);
    model_task t;
    begin(m, count > 1);
    while (!is_over(m) && read_next(source, NULL, &t)) {
        add_task(m, path, &t);
        double part = count > 0 ? (double)++done / (double)count : 0;
        progress_show(m->file_count, part * (double)file_count, path);
    }
    model_queue_drain(m->queue);
    ft_source_close(source);
    m->file_count += file_count;
}

/* A single file decides whether there are several models: it is opened before its models are prepared. */
static void visit_single_file(model_walk *m, const char *path) {
    ft_source *source;
    ft_error error;
    if (ft_source_open(path, &source, &error) == FT_OK)
        visit_source(m, path, source, 1);
    else
        count_failure(m, path, &error);
}

static void visit_file(model_walk *m, const char *path, bool is_explicit) {
    if (m->is_begun)
        add_task(m, path, &(model_task){.is_file = true, .is_explicit = is_explicit});
    else
        visit_single_file(m, path);
}

static void visit_path(model_walk *m, const char *path, bool is_explicit, uint32_t depth);

/* A folder may be one data set; else it is walked. */
static void visit_folder(model_walk *m, const char *path, bool is_explicit, uint32_t depth) {
    ft_source *source;
    ft_error error;
    ft_status status = ft_source_open(path, &source, &error);
    if (status == FT_OK) {
        visit_source(m, path, source, folder_count_files(path, is_explicit, 0));
        return;
    }
    if (status != FT_ERR_FORMAT && status != FT_ERR_IO) {
        model_queue_drain(m->queue); /* messages come in the order of the paths */
        count_failure(m, path, &error);
        return;
    }
    size_t count;
    if (access(path, R_OK) != 0) model_queue_drain(m->queue);
    char **entries = folder_list(path, &count, &status);
    if (entries == NULL) {
        m->failed_count++;
        if (m->first_failure == FT_OK) m->first_failure = status;
        return;
    }
    for (size_t i = 0; i < count && !is_over(m); i++) visit_path(m, entries[i], false, depth + 1);
    folder_free(entries, count);
}

static void visit_path(model_walk *m, const char *path, bool is_explicit, uint32_t depth) {
    progress_show(m->file_count, 0, path);
    switch (path_kind_of(path, is_explicit)) {
    case PATH_FOLDER:
        if (depth < FT_MAX_DEPTH) visit_folder(m, path, is_explicit, depth);
        break;
    case PATH_FILE:
        visit_file(m, path, is_explicit);
        break;
    case PATH_OTHER:
        if (is_explicit)
            visit_file(m, path, true); /* for its message */
        else
            m->skipped_count++;
        break;
    }
}

static void walk(model_walk *m) {
    bool has_several = m->paths.count > 1 || path_kind_of(m->paths.items[0], true) == PATH_FOLDER;
    uint64_t total = 0;
    if (has_several) {
        for (size_t i = 0; i < m->paths.count; i++) total += folder_count_files(m->paths.items[i], true, 0);
        begin(m, true);
    }
    progress_begin(total > 0 ? total : 1, m->is_quiet);
    for (size_t i = 0; i < m->paths.count && !is_over(m); i++) visit_path(m, m->paths.items[i], true, 0);
    model_queue_drain(m->queue);
    progress_hide();
}

void model_walk_run(model_walk *m) {
    /* Without a part that threads may run there is nothing to do in parallel. */
    m->queue = model_queue_new(m->prepare != NULL ? m->threads : 1, run_task, take_task, m);
    if (m->queue == NULL) {
        m->fatal = cli_fail(FT_ERR_NOMEM, "out of memory");
        return;
    }
    walk(m);
    model_queue_free(m->queue);
    m->queue = NULL;
}

void model_walk_note_skipped(const model_walk *m) {
    if (m->is_quiet) return;
    unsigned long long skipped = m->skipped_count, failed = m->failed_count, taken = m->model_count;
    if (skipped > 0) cli_note("%llu file%s skipped: not a model", skipped, skipped == 1 ? "" : "s");
    if (failed > 0 && failed + taken > 1) cli_note("%llu of %llu models failed", failed, failed + taken);
}

ft_status model_walk_status(const model_walk *m) {
    if (m->fatal != FT_OK) return m->fatal;
    if (m->failed_count > 0) return m->failed_count + m->model_count > 1 ? FT_ERR_PARTIAL : m->first_failure;
    if (m->model_count == 0)
        return cli_fail(FT_ERR_FORMAT, "%s: no model found; 'foretell list formats' lists the formats",
                        m->paths.items[0]);
    return FT_OK;
}
