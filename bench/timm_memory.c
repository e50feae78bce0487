/* timm_memory.c - bytes that training saves for the backward pass, compared with PyTorch's accounting.
 *
 *     timm_memory FOLDER > bench/results/timm_memory.csv
 *
 * FOLDER holds train_memory_a100.csv (model, batch_size, ..., faketensor_after_forward_mib) and graphs/. The growth of
 * the latter from batch 32 to 64, per image, is what PyTorch saves for backward; it is compared with saved_bytes. The
 * table lacks the image size, so only models with a single size among the graphs are used. */
#include <dirent.h>
#include <foretell/foretell.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_MAX_BYTES = 128, MAX_MODELS = 4096 };

typedef struct model {
    char name[NAME_MAX_BYTES];
    char file[NAME_MAX_BYTES];
    int sizes;             /* image sizes among the graphs */
    double mib_32, mib_64; /* after forward; 0: missing */
    double ours, theirs;   /* MiB an image */
} model;

static _Noreturn void stop(const char *what, const char *why) {
    fprintf(stderr, "timm_memory: %s: %s\n", what, why);
    exit(1);
}

static model *find(model *models, size_t count, const char *name) {
    for (size_t i = 0; i < count; i++)
        if (strcmp(models[i].name, name) == 0) return &models[i];
    return NULL;
}

/* Graphs named "model@size.onnx.gz"; other heads and re-parameterised ones have a suffix and are skipped. */
static size_t list_models(const char *folder, model *models) {
    char path[4096];
    size_t count = 0;
    snprintf(path, sizeof path, "%s/graphs", folder);
    DIR *dir = opendir(path);
    if (dir == NULL) stop(path, "cannot be read");
    for (struct dirent *entry = readdir(dir); entry != NULL; entry = readdir(dir)) {
        char name[NAME_MAX_BYTES];
        const char *at = strchr(entry->d_name, '@');
        if (at == NULL || strlen(entry->d_name) >= sizeof name) continue;
        if (strcmp(at + 1 + strspn(at + 1, "0123456789"), ".onnx.gz") != 0) continue;
        snprintf(name, sizeof name, "%.*s", (int)(at - entry->d_name), entry->d_name);
        model *m = find(models, count, name);
        if (m == NULL && count == MAX_MODELS) stop(path, "more models than expected");
        if (m == NULL) {
            m = &models[count++];
            snprintf(m->name, sizeof m->name, "%s", name);
            memcpy(m->file, entry->d_name, strlen(entry->d_name) + 1);
        }
        m->sizes++;
    }
    closedir(dir);
    return count;
}

static void read_table(const char *folder, model *models, size_t count) {
    char path[4096], line[1024];
    snprintf(path, sizeof path, "%s/train_memory_a100.csv", folder);
    FILE *file = fopen(path, "r");
    if (file == NULL || fgets(line, sizeof line, file) == NULL) stop(path, "cannot be read");
    if (strncmp(line, "model,batch_size,max_gpu_memory_mib,faketensor_after_forward_mib,", 65) != 0)
        stop(path, "has other columns than expected");
    while (fgets(line, sizeof line, file) != NULL) {
        char *rest = line;
        const char *name = strsep(&rest, ","), *batch = strsep(&rest, ","), *peak = strsep(&rest, ",");
        const char *mib = strsep(&rest, ",");
        model *m = mib != NULL && peak != NULL ? find(models, count, name) : NULL;
        if (m == NULL) continue;
        if (strcmp(batch, "32") == 0) m->mib_32 = strtod(mib, NULL);
        if (strcmp(batch, "64") == 0) m->mib_64 = strtod(mib, NULL);
    }
    fclose(file);
}

static double saved_mib(const char *folder, const model *m) {
    enum { BATCH = 32 };
    char path[4096];
    ft_error error;
    ft_graph *read = NULL, *bound = NULL;
    ft_memory memory = {0};
    ft_cost_options options = ft_cost_options_default();
    options.mode = FT_TRAIN;
    snprintf(path, sizeof path, "%s/graphs/%s", folder, m->file);
    ft_status status = ft_graph_read(path, &read, &error);
    if (!status) status = ft_graph_bind(read, &(ft_binding){.batch = BATCH}, &bound, &error);
    if (!status) status = ft_memory_plan(bound, &options, &memory, NULL, NULL, &error);
    if (status) stop(path, error.message);
    ft_graph_free(bound);
    ft_graph_free(read);
    return (double)memory.saved_bytes / BATCH / (1 << 20);
}

static double error_of(const model *m) {
    return m->ours / m->theirs - 1;
}

static int by_error(const void *a, const void *b) {
    double x = error_of(a), y = error_of(b);
    return (x > y) - (x < y);
}

static int by_size_of_error(const void *a, const void *b) {
    double x = fabs(error_of(a)), y = fabs(error_of(b));
    return (x > y) - (x < y);
}

static void print_agreement(model *models, size_t count) {
    static const double quantiles[] = {0.5, 0.75, 0.9, 0.95}, bounds[] = {0.02, 0.05, 0.1, 0.2};
    printf("metric,models,within_2,within_5,within_10,within_20,p50,p75,p90,p95\nkept_for_backward,%zu", count);
    for (size_t i = 0; i < 4; i++) {
        size_t within = 0;
        for (size_t k = 0; k < count; k++) within += fabs(error_of(&models[k])) <= bounds[i];
        printf(",%.3f", count > 0 ? (double)within / (double)count : 0);
    }
    qsort(models, count, sizeof *models, by_size_of_error);
    for (size_t i = 0; i < 4; i++)
        printf(",%.4f", count > 0 ? fabs(error_of(&models[(size_t)(quantiles[i] * (double)(count - 1))])) : 0);
    printf("\n\nmodel,ours_mib_per_image,theirs_mib_per_image,relative_error\n");
    qsort(models, count, sizeof *models, by_error);
    for (size_t i = 0; i < count; i++)
        if (fabs(error_of(&models[i])) > 0.2)
            printf("%s,%.2f,%.2f,%+.3f\n", models[i].name, models[i].ours, models[i].theirs, error_of(&models[i]));
}

int main(int argc, char **argv) {
    if (argc != 2) stop("usage", "timm_memory FOLDER");
    model *models = calloc(MAX_MODELS, sizeof *models);
    if (models == NULL) stop("models", "out of memory");
    size_t listed = list_models(argv[1], models), count = 0;
    read_table(argv[1], models, listed);
    for (size_t i = 0; i < listed; i++) {
        model m = models[i];
        if (m.sizes != 1 || m.mib_32 <= 0 || m.mib_64 <= m.mib_32) continue;
        m.theirs = (m.mib_64 - m.mib_32) / 32;
        m.ours = saved_mib(argv[1], &m);
        models[count++] = m;
    }
    print_agreement(models, count);
    free(models);
    return 0;
}
