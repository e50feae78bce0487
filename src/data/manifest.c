/* manifest.c - reading and writing of dataset.json. */
#include "data/manifest.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/input.h"
#include "base/json.h"
#include "base/json_writer.h"
#include "base/outfile.h"

enum { VERSION = 1, MAX_BYTES = 64 * 1024 };

static const char format_name[] = "foretell data set";

void manifest_seal(manifest *m) {
    char both[2 * HASH_TEXT];
    int length = snprintf(both, sizeof both, "%s %s", m->graphs.hash, m->records.hash);
    hash_text(hash_bytes(both, (size_t)length), m->hash);
}

/* --- Writing ----------------------------------------------------------------------------------------------------- */

static void put_file(json_writer *w, const char *name, const manifest_file *file) {
    jsonw_key(w, name);
    jsonw_open_object(w, JSON_LINE);
    jsonw_key(w, "bytes");
    jsonw_uint(w, file->bytes);
    jsonw_key(w, "hash");
    jsonw_string(w, file->hash);
    jsonw_close(w);
}

ft_status manifest_write(const char *path, const manifest *m, ft_error *error) {
    buf text = {0};
    json_writer w;
    jsonw_init(&w, &text);
    jsonw_open_object(&w, JSON_BLOCK);
    jsonw_key(&w, "format");
    jsonw_string(&w, format_name);
    jsonw_key(&w, "version");
    jsonw_uint(&w, VERSION);
    jsonw_key(&w, "graphs");
    jsonw_uint(&w, m->graph_count);
    jsonw_key(&w, "records");
    jsonw_uint(&w, m->record_count);
    jsonw_key(&w, "hash");
    jsonw_string(&w, m->hash);
    jsonw_key(&w, "files");
    jsonw_open_object(&w, JSON_BLOCK);
    put_file(&w, GRAPHS_FILE, &m->graphs);
    put_file(&w, RECORDS_FILE, &m->records);
    jsonw_close(&w);
    jsonw_close(&w);
    buf_char(&text, '\n');
    ft_status status = text.failed ? FT_NOMEM(error) : outfile_write(path, text.data, text.length, error);
    buf_free(&text);
    return status;
}

/* --- Reading ----------------------------------------------------------------------------------------------------- */

static ft_status read_count(const json_t *object, const char *key, uint64_t *count, ft_error *error) {
    int64_t number;
    ft_status status = json_read_int(json_object_get(object, key), 0, INT64_MAX, &number, error);
    if (status != FT_OK) return ft_fail_prefix(error, status, "'%s'", key);
    *count = (uint64_t)number;
    return FT_OK;
}

static ft_status read_hash(const json_t *object, char hash[static HASH_TEXT], ft_error *error) {
    const char *text;
    hash128 parsed;
    ft_status status = json_read_string(json_object_get(object, "hash"), &text, error);
    if (status != FT_OK) return ft_fail_prefix(error, status, "'hash'");
    if (!hash_parse(text, strlen(text), &parsed))
        return ft_fail(error, FT_ERR_DAMAGED, "'hash' is '%.40s', but 32 hexadecimal digits are expected", text);
    hash_text(parsed, hash);
    return FT_OK;
}

static ft_status read_file(const json_t *root, const char *name, manifest_file *file, ft_error *error) {
    const json_t *object = json_object_get(json_object_get(root, "files"), name);
    ft_status status = read_count(object, "bytes", &file->bytes, error);
    if (status == FT_OK) status = read_hash(object, file->hash, error);
    return status == FT_OK ? FT_OK : ft_fail_prefix(error, status, "'%s'", name);
}

static ft_status read_all(const json_t *root, manifest *m, ft_error *error) {
    const char *format = json_string_value(json_object_get(root, "format"));
    if (format == NULL || strcmp(format, format_name) != 0)
        return ft_fail(error, FT_ERR_FORMAT, "not the manifest of a foretell data set");
    uint64_t version;
    FT_TRY(read_count(root, "version", &version, error));
    if (version != VERSION)
        return ft_fail(error, FT_ERR_UNSUPPORTED, "version %llu is not supported; this foretell reads version %d",
                       (unsigned long long)version, VERSION);
    FT_TRY(read_count(root, "graphs", &m->graph_count, error));
    FT_TRY(read_count(root, "records", &m->record_count, error));
    FT_TRY(read_hash(root, m->hash, error));
    FT_TRY(read_file(root, GRAPHS_FILE, &m->graphs, error));
    return read_file(root, RECORDS_FILE, &m->records, error);
}

ft_status manifest_read(const char *path, manifest *m, ft_error *error) {
    input in;
    json_t *root = NULL;
    *m = (manifest){0};
    FT_TRY(input_open(path, MAX_BYTES, &in, error));
    ft_status status = in.size <= MAX_BYTES ? json_parse(in.bytes, in.size, &root, error)
                                            : ft_fail(error, FT_ERR_LIMIT, "has more than %d bytes", MAX_BYTES);
    if (status == FT_OK) status = read_all(root, m, error);
    json_decref(root);
    input_close(&in);
    return status == FT_OK ? FT_OK : ft_fail_prefix(error, status, "%s", path);
}
