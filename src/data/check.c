/* check.c - looking at all of a data set, and accepting what was changed on purpose. */
#include "base/error.h"
#include "data/dataset.h"

enum { PROGRESS_STEP = 256 };

static ft_status check_graphs(const ft_dataset *d, ft_progress *progress, void *user, ft_error *error) {
    for (uint32_t i = 0; i < d->graphs.count; i++) {
        ft_graph *graph;
        FT_TRY(ft_dataset_graph(d, i, &graph, error));
        ft_graph_free(graph);
        if (progress == NULL || i % PROGRESS_STEP != 0) continue;
        if (!progress(user, i, d->graphs.count, d->folder))
            return ft_fail(error, FT_ERR_CANCELLED, "the check was stopped");
    }
    return FT_OK;
}

ft_status ft_dataset_check(const char *folder, ft_progress *progress, void *user, ft_error *error) {
    ft_dataset *d;
    FT_TRY(ft_dataset_open(folder, &d, error));
    ft_status status = check_graphs(d, progress, user, error);
    ft_dataset_free(d);
    return status;
}

ft_status ft_dataset_rehash(const char *folder, ft_error *error) {
    ft_dataset *d;
    FT_TRY(dataset_open_files(folder, &d, error));
    ft_status status = check_graphs(d, NULL, NULL, error);
    const char *path = dataset_path(&d->memory, folder, MANIFEST_FILE);
    if (status == FT_OK) status = path != NULL ? manifest_write(path, &d->found, error) : FT_NOMEM(error);
    ft_dataset_free(d);
    return status;
}
