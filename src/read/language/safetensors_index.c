/* safetensors_index.c - the index of a model in several safetensors files: {"weight_map": {weight: file, ...}}. */
#include <string.h>
#include <unistd.h>

#include "base/input.h"
#include "base/json_pull.h"
#include "read/language/safetensors.h"

enum { MAX_FILES = 10000, MAX_NAME_BYTES = 4096 };

typedef struct shards {
    arena *memory;
    map files; /* that were read */
    const char *folder;
    weight_list *weights;
    ft_error *error;
} shards;

static ft_status damaged(const shards *s, const json_pull *text) {
    return ft_fail(s->error, FT_ERR_DAMAGED, "the index is not valid: %s", text->why != NULL ? text->why : "its end");
}

static ft_status read_file(const char *path, weight_list *weights, ft_error *error) {
    input in;
    bool is_stream;
    FT_TRY(input_open_stream(path, FT_MAX_UNPACKED_BYTES, &in, &is_stream, error));
    ft_status status = safetensors_read(in.bytes, in.size, &in.file, weights, error);
    if (status == FT_OK) status = filecopy_check(&in.file, path, error);
    if (status != FT_OK) ft_fail_prefix(error, status, "%s", weights_base_name(path));
    input_close(&in);
    return status;
}

/* Reads the file of a weight, unless it was read before. A path that leads elsewhere is refused. */
static ft_status open_shard(shards *s, const char *file) {
    uint32_t found, number = s->files.count;
    if (file[0] == '\0' || strchr(file, '/') != NULL)
        return ft_fail(s->error, FT_ERR_DAMAGED, "the index names '%.200s', which is not a file beside it", file);
    if (!map_add(&s->files, file, number, &found)) return FT_NOMEM(s->error);
    if (found != number) return FT_OK;
    if (number == MAX_FILES) return ft_fail(s->error, FT_ERR_LIMIT, "the index names more than %d files", MAX_FILES);
    const char *path = arena_format(s->memory, "%s%s", s->folder, file);
    return path != NULL ? read_file(path, s->weights, s->error) : FT_NOMEM(s->error);
}

static ft_status decode(const shards *s, const json_text *text, char **out) {
    if (text->length > MAX_NAME_BYTES)
        return ft_fail(s->error, FT_ERR_LIMIT, "a name in the index has more than %d bytes", MAX_NAME_BYTES);
    *out = arena_alloc(s->memory, text->length + 1);
    if (*out == NULL) return FT_NOMEM(s->error);
    if (json_text_decode(text, *out, text->length + 1) == SIZE_MAX)
        return ft_fail(s->error, FT_ERR_DAMAGED, "a name in the index has a wrong escape");
    return FT_OK;
}

static ft_status read_map(shards *s, json_pull *text) {
    bool first = true;
    if (!json_pull_open(text, '{')) return damaged(s, text);
    while (json_pull_more(text, '}', &first)) {
        json_text key, value;
        char *name, *file;
        if (!json_pull_key(text, &key) || !json_pull_string(text, &value)) return damaged(s, text);
        FT_TRY(decode(s, &key, &name));
        FT_TRY(decode(s, &value, &file));
        FT_TRY(open_shard(s, file));
        if (weight_list_find(s->weights, name) == NULL)
            return ft_fail(s->error, FT_ERR_DAMAGED, "weight '%.200s' is not in '%.200s', where the index has it", name,
                           file);
    }
    return text->why != NULL ? damaged(s, text) : FT_OK;
}

ft_status safetensors_read_index(const char *text, size_t size, const char *folder, weight_list *weights,
                                 ft_error *error) {
    shards s = {.memory = weights->memory, .folder = folder, .weights = weights, .error = error};
    json_pull pull;
    bool first = true;
    map_init(&s.files, weights->memory);
    json_pull_init(&pull, text, size);
    if (!json_pull_open(&pull, '{')) return damaged(&s, &pull);
    while (json_pull_more(&pull, '}', &first)) {
        json_text key;
        if (!json_pull_key(&pull, &key)) return damaged(&s, &pull);
        if (json_text_is(&key, "weight_map"))
            FT_TRY(read_map(&s, &pull));
        else if (!json_pull_skip(&pull))
            return damaged(&s, &pull);
    }
    return pull.why != NULL || !json_pull_end(&pull) ? damaged(&s, &pull) : FT_OK;
}

static ft_status read_index_file(const char *path, const char *folder, weight_list *weights, ft_error *error) {
    input in;
    FT_TRY(input_open(path, FT_MAX_UNPACKED_BYTES, &in, error));
    ft_status status = safetensors_read_index((const char *)in.bytes, in.size, folder, weights, error);
    input_close(&in);
    return status != FT_OK ? ft_fail_prefix(error, status, "%s", weights_base_name(path)) : FT_OK;
}

ft_status safetensors_read_folder(const char *folder, weight_list *weights, ft_error *error) {
    const char *index = arena_format(weights->memory, "%smodel.safetensors.index.json", folder);
    const char *single = arena_format(weights->memory, "%smodel.safetensors", folder);
    if (index == NULL || single == NULL) return FT_NOMEM(error);
    if (access(index, F_OK) == 0) return read_index_file(index, folder, weights, error);
    return access(single, F_OK) == 0 ? read_file(single, weights, error) : FT_OK;
}
