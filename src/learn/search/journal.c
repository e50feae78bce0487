/* journal.c - reads, checks and appends to the journal of a search. */
#include "learn/search/journal.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/input.h"
#include "base/outfile.h"

/* --- Lines --------------------------------------------------------------------------------------------------- */

static ft_status read_count(const json_t *object, const char *key, uint32_t *value, ft_error *error) {
    int64_t number;
    if (json_read_int(json_object_get(object, key), 0, UINT32_MAX, &number, error) != FT_OK)
        return ft_fail_prefix(error, FT_ERR_DAMAGED, "'%s'", key);
    *value = (uint32_t)number;
    return FT_OK;
}

/* Either an objective or the reason why there is none. */
static ft_status read_outcome(const json_t *line, journal_entry *entry, ft_error *error) {
    const json_t *objective = json_object_get(line, "objective"), *seconds = json_object_get(line, "seconds");
    entry->error = json_string_value(json_object_get(line, "error"));
    entry->objective = json_is_number(objective) ? json_number_value(objective) : NAN;
    entry->seconds = json_is_number(seconds) ? json_number_value(seconds) : 0;
    if ((entry->error != NULL) != (json_is_number(objective) && isfinite(entry->objective))) return FT_OK;
    return ft_fail(error, FT_ERR_DAMAGED, "must have either an 'objective' or an 'error'");
}

static ft_status read_entry(const journal *j, const json_t *line, journal_entry *entry, ft_error *error) {
    *entry = (journal_entry){.config = json_object_get(line, "config")};
    FT_TRY(read_count(line, "trial", &entry->trial, error));
    FT_TRY(read_count(line, j->round_name, &entry->round, error));
    if (!json_is_object(entry->config))
        return ft_fail(error, FT_ERR_DAMAGED, "'config' is %s, but an object is expected", json_kind(entry->config));
    return read_outcome(line, entry, error);
}

/* Takes over the reference. */
static ft_status add_line(journal *j, json_t *line, ft_error *error) {
    journal_entry entry;
    ft_status status = read_entry(j, line, &entry, error);
    if (status == FT_OK && j->count == j->capacity) {
        uint32_t capacity = j->capacity > 0 ? 2 * j->capacity : 64;
        journal_entry *grown = realloc(j->entries, capacity * sizeof *grown);
        if (grown != NULL) j->entries = grown;
        if (grown != NULL) j->capacity = capacity;
        if (grown == NULL) status = FT_NOMEM(error);
    }
    if (status != FT_OK) {
        json_decref(line);
        return status;
    }
    if (!json_add(j->lines, line)) return FT_NOMEM(error);
    assert(j->count < j->capacity);
    j->entries[j->count++] = entry;
    return FT_OK;
}

static ft_status read_header(journal *j, json_t *line, ft_error *error) {
    j->header = line;
    int64_t version;
    if (json_read_int(json_object_get(line, "foretell_journal"), 1, INT32_MAX, &version, error) != FT_OK)
        return ft_fail(error, FT_ERR_DAMAGED, "not the header of a journal");
    if (version == JOURNAL_VERSION) return FT_OK;
    return ft_fail(error, FT_ERR_UNSUPPORTED, "a journal of version %d; this foretell reads version %d", (int)version,
                   JOURNAL_VERSION);
}

static ft_status read_line(journal *j, const char *text, size_t length, ft_error *error) {
    json_t *line = NULL;
    ft_status status = json_parse(text, length, &line, error);
    if (status != FT_OK) return status == FT_ERR_NOMEM ? status : ft_fail_prefix(error, FT_ERR_DAMAGED, "not JSON");
    if (!json_is_object(line)) {
        status = ft_fail(error, FT_ERR_DAMAGED, "is %s, but an object is expected", json_kind(line));
        json_decref(line);
        return status;
    }
    return j->header == NULL ? read_header(j, line, error) : add_line(j, line, error);
}

ft_status journal_read(journal *j, const char *round_name, const char *text, size_t size, size_t *whole,
                       ft_error *error) {
    *j = (journal){.round_name = round_name, .lines = json_array()};
    *whole = 0;
    ft_status status = j->lines != NULL ? FT_OK : FT_NOMEM(error);
    for (uint32_t number = 1; status == FT_OK; number++) {
        const char *line = text + *whole, *end = size > *whole ? memchr(line, '\n', size - *whole) : NULL;
        if (end == NULL) return FT_OK;
        status = read_line(j, line, (size_t)(end - line), error);
        if (status != FT_OK) ft_fail_prefix(error, status, "line %u", number);
        *whole = (size_t)(end - text) + 1;
        assert(*whole <= size);
    }
    return status;
}

const journal_entry *journal_find(const journal *j, uint32_t trial, uint32_t round) {
    for (uint32_t i = 0; i < j->count; i++)
        if (j->entries[i].trial == trial && j->entries[i].round == round) return &j->entries[i];
    return NULL;
}

/* --- The file ------------------------------------------------------------------------------------------------ */

/* Reports the first key whose value differs. */
static ft_status compare_headers(const json_t *before, const json_t *now, ft_error *error) {
    const char *key;
    const json_t *value;
    if (json_equal(before, now)) return FT_OK;
    json_object_foreach((json_t *)(uintptr_t)now, key, value) {
        const json_t *old = json_object_get(before, key);
        if (old != NULL && json_equal(old, value)) continue;
        char *was = old != NULL ? json_dumps(old, JSON_ENCODE_ANY | JSON_COMPACT) : NULL;
        char *is = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT);
        ft_fail(error, FT_ERR_USAGE,
                "belongs to another search: its %s was %.120s, now it is %.120s: use the same data and options, "
                "or another folder",
                key, was != NULL ? was : "unset", is != NULL ? is : "other");
        free(was);
        free(is);
        return FT_ERR_USAGE;
    }
    return ft_fail(error, FT_ERR_USAGE, "belongs to another search: use another folder");
}

static ft_status write_line(journal *j, const json_t *line, ft_error *error) {
    char *text = json_dumps(line, JSON_COMPACT | JSON_REAL_PRECISION(17));
    if (text == NULL) return FT_NOMEM(error);
    errno = 0;
    bool is_written = fprintf(j->file, "%s\n", text) > 0 && fflush(j->file) == 0 && fdatasync(fileno(j->file)) == 0;
    free(text);
    if (is_written || errno == EINVAL || errno == EROFS) return FT_OK; /* files that cannot be synced are accepted */
    return ft_fail_file(error, j->path, "cannot write", errno);
}

/* An empty file is a journal without lines. */
static ft_status read_file(journal *j, const char *round_name, const char *path, size_t *whole, ft_error *error) {
    struct stat info;
    input in;
    if (stat(path, &info) == 0 && info.st_size == 0) return journal_read(j, round_name, "", 0, whole, error);
    FT_TRY(input_open(path, JOURNAL_MAX_BYTES, &in, error));
    ft_status status = journal_read(j, round_name, (const char *)in.bytes, in.size, whole, error);
    input_close(&in);
    return status;
}

/* Opens an existing journal: checks it, and removes a partial last line. */
static ft_status open_existing(journal *j, const char *round_name, const char *path, const json_t *header,
                               ft_error *error) {
    size_t whole = 0;
    ft_status status = read_file(j, round_name, path, &whole, error);
    if (status == FT_OK && j->header != NULL) status = compare_headers(j->header, header, error);
    if (status != FT_OK) return ft_fail_prefix(error, status, "%s", path);
    j->file = fopen(path, "r+e");
    if (j->file == NULL) return ft_fail_file(error, path, "cannot write", errno);
    if (flock(fileno(j->file), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
        return ft_fail(error, FT_ERR_USAGE, "%s: locked: another process works on this search", path);
    if (ftruncate(fileno(j->file), (off_t)whole) != 0)
        return ft_fail_file(error, path, "cannot remove the partial last line", errno);
    return fseek(j->file, 0, SEEK_END) == 0 ? FT_OK : ft_fail_file(error, path, "cannot write", errno);
}

static ft_status create_new(journal *j, const char *round_name, const char *path, ft_error *error) {
    size_t whole;
    FT_TRY(journal_read(j, round_name, "", 0, &whole, error));
    j->file = fopen(path, "wxe");
    if (j->file == NULL) return ft_fail_file(error, path, "cannot write", errno);
    flock(fileno(j->file), LOCK_EX | LOCK_NB);
    return FT_OK;
}

ft_status journal_open(journal *j, const char *round_name, const char *path, const json_t *header, bool is_resumed,
                       ft_error *error) {
    *j = (journal){0};
    bool is_there = access(path, F_OK) == 0;
    if (is_there && !is_resumed)
        return ft_fail(error, FT_ERR_USAGE, "%s: exists already: resume the search (--resume), or name another folder",
                       path);
    ft_status status =
        is_there ? open_existing(j, round_name, path, header, error) : create_new(j, round_name, path, error);
    if (status == FT_OK && (j->path = strdup(path)) == NULL) status = FT_NOMEM(error);
    if (status == FT_OK && j->header == NULL) {
        j->header = json_incref((json_t *)(uintptr_t)header);
        status = write_line(j, header, error);
    }
    if (status != FT_OK) journal_close(j);
    return status;
}

void journal_close(journal *j) {
    if (j->file != NULL) fclose(j->file);
    free(j->path);
    free(j->entries);
    json_decref(j->header);
    json_decref(j->lines);
    *j = (journal){0};
}

/* A message may quote bytes that are not UTF-8. */
static json_t *message_json(const char *text) {
    json_t *message = NULL;
    return json_utf8(text, strlen(text), &message, NULL) == FT_ERR_USAGE ? json_string("failed") : message;
}

static json_t *entry_json(const journal *j, const journal_entry *e) {
    json_t *line = json_pack("{s:I, s:I, s:O}", "trial", (json_int_t)e->trial, j->round_name, (json_int_t)e->round,
                             "config", (json_t *)(uintptr_t)e->config);
    line = e->error != NULL ? json_with(line, "error", message_json(e->error))
                            : json_with(line, "objective", json_real(e->objective));
    return json_with(line, "seconds", json_real(e->seconds));
}

ft_status journal_add(journal *j, const journal_entry *entry, ft_error *error) {
    assert(j->file != NULL && (entry->error != NULL || isfinite(entry->objective)));
    json_t *line = entry_json(j, entry);
    if (line == NULL) return FT_NOMEM(error);
    ft_status status = write_line(j, line, error);
    if (status != FT_OK) {
        json_decref(line);
        return status;
    }
    return add_line(j, line, error);
}
