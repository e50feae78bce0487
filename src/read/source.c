/* source.c - opens a path, detects its format by content, and returns its graphs one after the other.
 *
 * To add a format: write its reader (read.h) and append a line to FT_FORMAT_LIST (foretell/graph.h);
 * docs/recipes/format.md shows how. Most files hold one graph; the CG tables, which are many graphs in three files,
 * have an interface of their own (cg.h). A folder stands for the model in it. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "read/catalogue.h"
#include "read/cg.h"
#include "read/read.h"

#define READER_ADDRESS(id, name, text, extensions, identified_by) &name##_reader,
static const reader *const readers[] = {FT_FORMAT_LIST(READER_ADDRESS)};
#undef READER_ADDRESS

struct ft_source {
    char *path;
    cg_set *set; /* or, when NULL: */
    const reader *reader;
    input bytes;
    bool is_stream; /* a pipe: no files are beside it */
    bool is_read;
};

/* Formats that are often mistaken for models, and the advice for each. */
typedef struct foreign_format {
    const char *magic;
    size_t size;
    const char *advice;
} foreign_format;

static const foreign_format foreign_formats[] = {
    {"PK\x03\x04", 4, "it is a zip file, perhaps a PyTorch checkpoint: export the model to ONNX"},
    {"\x89HDF\r\n\x1a\n", 8, "it is an HDF5 file, perhaps a Keras model: convert it to ONNX or TFLite"},
    {"version https://git-lfs", 23, "it is a pointer of Git LFS: fetch the file with 'git lfs pull'"},
    {"\x28\xb5\x2f\xfd", 4, "it is compressed with zstd: decompress it first"},
    {"BZh", 3, "it is compressed with bzip2: decompress it first"},
    {"\xfd"
     "7zXZ",
     5, "it is compressed with xz: decompress it first"},
};

static ft_status unknown_format(const uint8_t *bytes, size_t size, const char *name, ft_error *error) {
    for (size_t i = 0; i < sizeof foreign_formats / sizeof foreign_formats[0]; i++) {
        const foreign_format *s = &foreign_formats[i];
        if (size >= s->size && memcmp(bytes, s->magic, s->size) == 0)
            return ft_fail(error, FT_ERR_FORMAT, "%s: not a model in any known format; %s", name, s->advice);
    }
    if (cg_matches(bytes, size))
        return ft_fail(error, FT_ERR_FORMAT,
                       "%s: one of the three tables of a CG data set, which are read together; give the folder with "
                       "models.csv, nodes.csv and edges.csv (or .csv.gz)",
                       name);
    return ft_fail(error, FT_ERR_FORMAT, "%s: not a model in any known format; 'foretell list formats' lists them",
                   name);
}

enum { READER_COUNT = sizeof readers / sizeof readers[0] };

/* ONNX, the first, has no magic number: it is tried last. */
static const reader *reader_at(size_t index) {
    return readers[(index + 1) % READER_COUNT];
}

/* A large file of a format with weights is copied in parts only; all others are copied as a whole. */
static ft_status find_reader(input *in, const char *name, const reader **found, ft_error *error) {
    for (size_t i = 0; i < READER_COUNT && in->file.blocks != NULL; i++) {
        const reader *r = reader_at(i);
        if (r->matches_parts == NULL && r->matches(in->bytes, INPUT_FIRST_BYTES)) break;
        if (r->matches_parts == NULL || !r->matches_parts(in->bytes, in->size, &in->file)) continue;
        *found = r;
        return FT_OK;
    }
    filecopy_load(&in->file, in->bytes, in->size);
    for (size_t i = 0; i < READER_COUNT; i++) {
        if (!reader_at(i)->matches(in->bytes, in->size)) continue;
        *found = reader_at(i);
        return FT_OK;
    }
    FT_TRY(filecopy_check(&in->file, name, error));
    return unknown_format(in->bytes, in->size, name, error);
}

/* A folder with one of these files, the first that it has, is read like the file. */
static const char *const folder_files[] = {"/saved_model.pb", "/config.json", "/model.safetensors.index.json",
                                           "/model.safetensors"};

static ft_status enter_folder(ft_source *source, ft_error *error) {
    struct stat info;
    size_t length = strlen(source->path);
    if (stat(source->path, &info) != 0 || !S_ISDIR(info.st_mode)) return FT_OK;
    while (length > 1 && source->path[length - 1] == '/') length--;
    for (size_t i = 0; i < sizeof folder_files / sizeof folder_files[0]; i++) {
        size_t size = strlen(folder_files[i]) + 1;
        char *file = malloc(length + size);
        if (file == NULL) return FT_NOMEM(error);
        memcpy(file, source->path, length);
        memcpy(file + length, folder_files[i], size);
        if (stat(file, &info) == 0 && S_ISREG(info.st_mode)) {
            free(source->path);
            source->path = file;
            return FT_OK;
        }
        free(file);
    }
    return FT_OK;
}

/* A bundled model, by its name. */
static ft_status open_bundled(ft_source *source, const catalogue_entry *entry, ft_error *error) {
    source->is_stream = true; /* nothing is beside it */
    FT_TRY(input_from_memory(entry->bytes, entry->size, source->path, FT_MAX_UNPACKED_BYTES, &source->bytes, error));
    return find_reader(&source->bytes, source->path, &source->reader, error);
}

static ft_status open_path(ft_source *source, ft_error *error) {
    const catalogue_entry *entry = catalogue_find_path(source->path);
    if (entry != NULL) return open_bundled(source, entry, error);
    if (cg_matches_path(source->path)) return cg_open(source->path, &source->set, error);
    FT_TRY(enter_folder(source, error));
    ft_status status =
        input_open_stream(source->path, FT_MAX_UNPACKED_BYTES, &source->bytes, &source->is_stream, error);
    if (status != FT_OK) {
        catalogue_suggest(source->path, error);
        return status;
    }
    return find_reader(&source->bytes, source->path, &source->reader, error);
}

ft_status ft_source_open(const char *path, ft_source **source, ft_error *error) {
    FT_REQUIRE(error, path, source);
    ft_source *s = calloc(1, sizeof *s);
    if (s == NULL || (s->path = strdup(path)) == NULL) {
        free(s);
        return FT_NOMEM(error);
    }
    ft_status status = open_path(s, error);
    if (status == FT_OK)
        *source = s;
    else
        ft_source_close(s);
    return status;
}

ft_status ft_source_next(ft_source *source, ft_graph **graph, ft_error *error) {
    FT_REQUIRE(error, source, graph);
    assert(source->set != NULL || source->reader != NULL);
    if (source->set != NULL) return cg_next(source->set, graph, error);
    if (source->is_read) {
        *graph = NULL;
        return FT_OK;
    }
    source->is_read = true;
    input *in = &source->bytes;
    read_origin origin = {.path = source->path, .is_on_disk = !source->is_stream, .file = &in->file};
    ft_graph *made = NULL;
    ft_status status = source->reader->read(in->bytes, in->size, &origin, &made, error);
    ft_status copied = filecopy_check(&in->file, source->path, error); /* what could not be copied is zeros */
    if (copied != FT_OK) ft_graph_free(made);
    if (copied != FT_OK || status != FT_OK) return copied != FT_OK ? copied : status;
    *graph = made;
    return FT_OK;
}

uint64_t ft_source_count(const ft_source *source) {
    if (source == NULL) return 0;
    return source->set != NULL ? cg_count(source->set) : 1;
}

ft_format ft_source_format(const ft_source *source) {
    if (source == NULL) return 0;
    return source->set != NULL ? FT_FORMAT_CG : source->reader->format;
}

void ft_source_close(ft_source *source) {
    if (source == NULL) return;
    cg_close(source->set);
    input_close(&source->bytes);
    free(source->path);
    free(source);
}

ft_status ft_graph_read(const char *path, ft_graph **graph, ft_error *error) {
    FT_REQUIRE(error, path, graph);
    ft_source *source;
    FT_TRY(ft_source_open(path, &source, error));
    ft_graph *first = NULL;
    ft_status status = ft_source_next(source, &first, error);
    ft_source_close(source);
    if (status != FT_OK) return status;
    if (first == NULL) return ft_fail(error, FT_ERR_FORMAT, "%s: contains no model", path);
    *graph = first;
    return FT_OK;
}

ft_status ft_graph_read_memory(const void *bytes, size_t size, const char *name, ft_graph **graph, ft_error *error) {
    FT_REQUIRE(error, name, graph);
    if (size > 0) FT_REQUIRE(error, bytes);
    input in;
    const reader *reader;
    FT_TRY(input_from_memory(bytes, size, name, FT_MAX_UNPACKED_BYTES, &in, error));
    ft_status status = find_reader(&in, name, &reader, error);
    read_origin origin = {.path = name, .is_on_disk = false};
    if (status == FT_OK) status = reader->read(in.bytes, in.size, &origin, graph, error);
    input_close(&in);
    return status;
}
