/* model_walk.c - see model_walk.h. */
#include "model_walk.h"

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

static void visit_graph(model_walk *m, const char *path, const ft_graph *graph) {
    ft_error error;
    progress_hide();
    ft_status status = m->visit(m, path, graph, &error);
    if (status == FT_OK) {
        m->model_count++;
        return;
    }
    if (status == FT_ERR_IO) m->fatal = status;
    count_failure(m, path, &error);
}

/* All graphs of a source, which is made of `file_count` files. */
static void visit_source(model_walk *m, const char *path, ft_source *source, uint64_t file_count) {
    uint64_t done = 0, count = ft_source_count(source);
    ft_error error;
    begin(m, count > 1);
    while (!is_over(m)) {
        ft_graph *graph = NULL;
        if (ft_source_next(source, &graph, &error) != FT_OK)
            count_failure(m, path, &error);
        else if (graph == NULL)
            break;
        else
            visit_graph(m, path, graph);
        ft_graph_free(graph);
        done++;
        double part = count > 0 ? (double)done / (double)count : 0;
        progress_show(m->file_count, part * (double)file_count, path);
    }
    ft_source_close(source);
    m->file_count += file_count;
}

static void visit_file(model_walk *m, const char *path, bool is_explicit) {
    ft_source *source;
    ft_error error;
    ft_status status = ft_source_open(path, &source, &error);
    if (status == FT_OK) {
        visit_source(m, path, source, 1);
        return;
    }
    if (status == FT_ERR_FORMAT && !is_explicit)
        m->skipped_count++;
    else
        count_failure(m, path, &error);
    m->file_count++;
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
        count_failure(m, path, &error);
        return;
    }
    size_t count;
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

void model_walk_run(model_walk *m) {
    bool has_several = m->paths.count > 1 || path_kind_of(m->paths.items[0], true) == PATH_FOLDER;
    uint64_t total = 0;
    if (has_several) {
        for (size_t i = 0; i < m->paths.count; i++) total += folder_count_files(m->paths.items[i], true, 0);
        begin(m, true);
    }
    progress_begin(total > 0 ? total : 1, m->is_quiet);
    for (size_t i = 0; i < m->paths.count && !is_over(m); i++) visit_path(m, m->paths.items[i], true, 0);
    progress_hide();
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
