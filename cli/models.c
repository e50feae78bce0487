#include "models.h"

static bool is_over(const models *m) {
    return m->fatal != FT_OK || stop_requested();
}

static void count_failure(models *m, const char *path, const ft_error *error) {
    m->failed_count++;
    if (m->first_failure == FT_OK) m->first_failure = error->status;
    output_fail(m->out, error->status, path, error);
}

static void begin(models *m, bool has_several) {
    ft_error error;
    if (m->is_begun) return;
    m->is_begun = true;
    m->has_several = has_several;
    if (m->begin == NULL || m->begin(m, &error) == FT_OK) return;
    m->fatal = error.status;
    cli_fail(error.status, "%s", error.message);
}

static void take_graph(models *m, const char *path, const ft_graph *graph) {
    ft_error error;
    progress_hide();
    ft_status status = m->take(m, path, graph, &error);
    if (status == FT_OK) {
        m->model_count++;
        return;
    }
    if (status == FT_ERR_IO) m->fatal = status;
    count_failure(m, path, &error);
}

/* All graphs of a source, which is made of `file_count` files. */
static void take_source(models *m, const char *path, ft_source *source, uint64_t file_count) {
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
            take_graph(m, path, graph);
        ft_graph_free(graph);
        done++;
        double part = count > 0 ? (double)done / (double)count : 0;
        progress_show(m->file_count, part * (double)file_count, path);
    }
    ft_source_close(source);
    m->file_count += file_count;
}

static void take_file(models *m, const char *path, bool is_explicit) {
    ft_source *source;
    ft_error error;
    ft_status status = ft_source_open(path, &source, &error);
    if (status == FT_OK) {
        take_source(m, path, source, 1);
        return;
    }
    if (status == FT_ERR_FORMAT && !is_explicit)
        m->skipped_count++;
    else
        count_failure(m, path, &error);
    m->file_count++;
}

static void take_path(models *m, const char *path, bool is_explicit, uint32_t depth);

/* A folder may be one data set; else it is walked. */
static void take_folder(models *m, const char *path, bool is_explicit, uint32_t depth) {
    ft_source *source;
    ft_error error;
    ft_status status = ft_source_open(path, &source, &error);
    if (status == FT_OK) {
        take_source(m, path, source, walk_count(path, is_explicit, 0));
        return;
    }
    if (status != FT_ERR_FORMAT && status != FT_ERR_IO) {
        count_failure(m, path, &error);
        return;
    }
    size_t count;
    char **entries = walk_folder(path, &count);
    if (entries == NULL) {
        m->failed_count++;
        if (m->first_failure == FT_OK) m->first_failure = FT_ERR_IO;
        return;
    }
    for (size_t i = 0; i < count && !is_over(m); i++) take_path(m, entries[i], false, depth + 1);
    walk_free(entries, count);
}

static void take_path(models *m, const char *path, bool is_explicit, uint32_t depth) {
    progress_show(m->file_count, 0, path);
    switch (walk_kind_of(path, is_explicit)) {
    case WALK_FOLDER:
        if (depth < FT_MAX_DEPTH) take_folder(m, path, is_explicit, depth);
        break;
    case WALK_FILE:
        take_file(m, path, is_explicit);
        break;
    case WALK_OTHER:
        if (is_explicit)
            take_file(m, path, true); /* its message says what is wrong */
        else
            m->skipped_count++;
        break;
    }
}

void models_run(models *m) {
    bool has_several = m->paths.count > 1 || walk_kind_of(m->paths.items[0], true) == WALK_FOLDER;
    uint64_t total = 0;
    if (has_several) {
        for (size_t i = 0; i < m->paths.count; i++) total += walk_count(m->paths.items[i], true, 0);
        begin(m, true);
    }
    progress_begin(total > 0 ? total : 1, m->is_quiet);
    for (size_t i = 0; i < m->paths.count && !is_over(m); i++) take_path(m, m->paths.items[i], true, 0);
    progress_hide();
}

void models_say_what_was_left_out(const models *m) {
    if (m->is_quiet) return;
    unsigned long long skipped = m->skipped_count, failed = m->failed_count, taken = m->model_count;
    if (skipped > 0) cli_note("%llu file%s passed over: not a model", skipped, skipped == 1 ? "" : "s");
    if (failed > 0 && failed + taken > 1) cli_note("%llu of %llu models failed", failed, failed + taken);
}

ft_status models_result(const models *m) {
    if (m->fatal != FT_OK) return m->fatal;
    if (m->failed_count > 0) return m->failed_count + m->model_count > 1 ? FT_ERR_PARTIAL : m->first_failure;
    if (m->model_count == 0)
        return cli_fail(FT_ERR_FORMAT, "%s: no model in it; 'foretell list formats' lists what can be read",
                        m->paths.items[0]);
    return FT_OK;
}
