/* run.c - makes, resumes, replaces and closes the folder of a run.
 *
 * Only files of a run are ever removed: a folder that holds anything else is not replaced. */
#include "learn/train/run.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "base/input.h"
#include "base/outfile.h"

static const char *const file_names[] = {"config.json", "log.jsonl", "checkpoint.bin", "predictor.ftm", "metrics.json"};
enum { FILE_COUNT = sizeof file_names / sizeof file_names[0], MAX_CONFIG_BYTES = 16 << 20 };

static bool exists(const char *path) {
    struct stat info;
    return lstat(path, &info) == 0;
}

static char *join(const char *folder, const char *name) {
    char *text;
    return asprintf(&text, "%s/%s", folder, name) < 0 ? NULL : text;
}

static bool has_file(const char *folder, const char *name) {
    char *path = join(folder, name);
    bool is_there = path != NULL && exists(path);
    free(path);
    return is_there;
}

/* --- Content of a folder ------------------------------------------------------------------------------------- */

/* "config.json.1a2b3c4d-123-0.tmp": a temporary file of config.json that a killed process left behind. */
static bool is_leftover(const char *name, const char *of) {
    size_t length = strlen(name), start = strlen(of);
    return length > start + 5 && strncmp(name, of, start) == 0 && name[start] == '.' &&
           strcmp(name + length - 4, ".tmp") == 0;
}

typedef enum entry_kind { ENTRY_DOT, ENTRY_RUN_FILE, ENTRY_LEFTOVER, ENTRY_OTHER } entry_kind;

static entry_kind kind_of(const char *name) {
    if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0) return ENTRY_DOT;
    for (int i = 0; i < FILE_COUNT; i++) {
        if (strcmp(name, file_names[i]) == 0) return ENTRY_RUN_FILE;
        if (is_leftover(name, file_names[i])) return ENTRY_LEFTOVER;
    }
    return ENTRY_OTHER;
}

/* Removes temporary files, and unless `leftovers_only` the files of the run too. */
static void remove_entries(const char *folder, bool leftovers_only) {
    DIR *entries = opendir(folder);
    if (entries == NULL) return;
    for (struct dirent *entry = readdir(entries); entry != NULL; entry = readdir(entries)) {
        entry_kind kind = kind_of(entry->d_name);
        if (kind == ENTRY_LEFTOVER || (kind == ENTRY_RUN_FILE && !leftovers_only))
            unlinkat(dirfd(entries), entry->d_name, 0);
    }
    closedir(entries);
}

void run_remove(const char *folder) {
    remove_entries(folder, false);
    rmdir(folder);
}

/* Only a folder that holds a run and nothing else may be replaced. */
static ft_status check_replaceable(const char *folder, ft_error *error) {
    DIR *entries = opendir(folder);
    if (entries == NULL) return ft_fail_file(error, folder, "cannot be replaced", errno);
    ft_status status = FT_OK;
    bool has_config = false;
    for (struct dirent *entry; status == FT_OK && (errno = 0, entry = readdir(entries)) != NULL;) {
        has_config = has_config || strcmp(entry->d_name, "config.json") == 0;
        if (kind_of(entry->d_name) == ENTRY_OTHER)
            status = ft_fail(error, FT_ERR_USAGE, "%s: contains %s, which is not a file of a run: not replaced", folder,
                             entry->d_name);
    }
    if (status == FT_OK && errno != 0) status = ft_fail_file(error, folder, "cannot list", errno);
    closedir(entries);
    if (status == FT_OK && !has_config)
        status = ft_fail(error, FT_ERR_USAGE, "%s: not a run (no config.json in it): not replaced", folder);
    return status;
}

/* --- Paths --------------------------------------------------------------------------------------------------- */

/* Without slashes at the end, so that "run/" equals "run" and ".next" can be appended. */
static char *plain_path(const char *path) {
    size_t length = strlen(path);
    while (length > 1 && path[length - 1] == '/') length--;
    return strndup(path, length);
}

static ft_status find_paths(const char *path, const run_mode *mode, run_folder *run, ft_error *error) {
    run->path = plain_path(path);
    if (run->path == NULL) return FT_NOMEM(error);
    if (run->path[0] == '\0') return ft_fail(error, FT_ERR_USAGE, "the path of the run folder is empty");
    const char *suffix = mode->is_forced && exists(run->path) ? ".next" : "";
    if (asprintf(&run->work_path, "%s%s", run->path, suffix) < 0) {
        run->work_path = NULL;
        return FT_NOMEM(error);
    }
    return FT_OK;
}

static ft_status check_paths(const run_folder *run, const run_mode *mode, ft_error *error) {
    bool is_beside = strcmp(run->path, run->work_path) != 0;
    if (is_beside) FT_TRY(check_replaceable(run->path, error));
    bool is_there = exists(run->work_path);
    if (mode->is_resumed && !is_there) return ft_fail(error, FT_ERR_USAGE, "%s: no such run to resume", run->work_path);
    if (mode->is_resumed && !has_file(run->work_path, "config.json"))
        return ft_fail(error, FT_ERR_USAGE, "%s: not a run (no config.json in it)", run->work_path);
    if (is_there && !mode->is_resumed) {
        if (is_beside) return check_replaceable(run->work_path, error);
        return ft_fail(error, FT_ERR_USAGE,
                       "%s: exists already: resume the run in it (--resume), replace it (--force), or name another "
                       "folder",
                       run->path);
    }
    return FT_OK;
}

static void free_paths(run_folder *run) {
    free(run->path);
    free(run->work_path);
    run->path = run->work_path = NULL;
}

ft_status run_check(const char *path, const run_mode *mode, ft_error *error) {
    run_folder run = {.lock = -1};
    ft_status status = find_paths(path, mode, &run, error);
    if (status == FT_OK) status = check_paths(&run, mode, error);
    free_paths(&run);
    return status;
}

/* --- Comparing config.json ----------------------------------------------------------------------------------- */

/* Reports the first key whose value differs. */
static ft_status report_difference(const json_t *before, const json_t *now, ft_error *error) {
    const char *key;
    const json_t *value;
    json_object_foreach((json_t *)(uintptr_t)now, key, value) {
        const json_t *old = json_object_get(before, key);
        if (old != NULL && json_equal(old, value)) continue;
        char *was = old != NULL ? json_dumps(old, JSON_ENCODE_ANY | JSON_COMPACT) : NULL;
        char *is = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT);
        ft_fail(
            error, FT_ERR_USAGE,
            "the run was started with %s %.140s, now it is %.140s: use the same data and options, or another folder",
            key, was != NULL ? was : "unset", is != NULL ? is : "other");
        free(was);
        free(is);
        return FT_ERR_USAGE;
    }
    return ft_fail(error, FT_ERR_USAGE, "config.json was changed since the run was started: use another folder");
}

static ft_status compare_config(const input *in, const buf *config, ft_error *error) {
    if (in->size == config->length && memcmp(in->bytes, config->data, in->size) == 0) return FT_OK;
    json_t *before, *now;
    ft_status status = json_parse(in->bytes, in->size, &before, error);
    if (status != FT_OK) return ft_fail_prefix(error, status, "config.json");
    status = json_parse(config->data, config->length, &now, error);
    if (status == FT_OK) {
        status = report_difference(before, now, error);
        json_decref(now);
    }
    json_decref(before);
    return status;
}

static ft_status check_config(const run_folder *run, const buf *config, ft_error *error) {
    input in;
    char *path = run_file(run, "config.json");
    if (path == NULL) return FT_NOMEM(error);
    ft_status status = input_open(path, MAX_CONFIG_BYTES, &in, error);
    free(path);
    FT_TRY(status);
    status = compare_config(&in, config, error);
    input_close(&in);
    return status == FT_OK ? FT_OK : ft_fail_prefix(error, status, "%s", run->work_path);
}

/* --- Opening and closing ------------------------------------------------------------------------------------- */

/* The folder appears with config.json in it, so that every run folder can be identified. */
static ft_status make_folder(run_folder *run, const buf *config, ft_error *error) {
    outfolder out;
    if (strcmp(run->path, run->work_path) != 0) run_remove(run->work_path); /* of an interrupted replacement */
    FT_TRY(outfolder_open(run->work_path, &out, error));
    char *path = join(out.temporary, "config.json");
    ft_status status = path != NULL ? outfile_write(path, config->data, config->length, error) : FT_NOMEM(error);
    free(path);
    if (status != FT_OK) {
        outfolder_discard(&out);
        return status;
    }
    FT_TRY(outfolder_commit(&out, error));
    run->is_new = true;
    return FT_OK;
}

/* The lock ends with the process, however it ends. */
static ft_status lock_folder(run_folder *run, ft_error *error) {
    run->lock = open(run->work_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (run->lock < 0) return ft_fail_file(error, run->work_path, "cannot open the folder", errno);
    if (flock(run->lock, LOCK_EX | LOCK_NB) == 0) return FT_OK;
    if (errno != EWOULDBLOCK) return FT_OK; /* a file system without locks */
    return ft_fail(error, FT_ERR_USAGE, "%s: locked: another process works on this run", run->work_path);
}

/* Removes a partial last line, which a killed process may have left. */
static void cut_partial_line(FILE *log) {
    if (fseek(log, 0, SEEK_END) != 0) return;
    long end = ftell(log), size = end;
    while (end > 0 && fseek(log, end - 1, SEEK_SET) == 0 && fgetc(log) != '\n') end--;
    fseek(log, 0, SEEK_END);
    if (end < size && ftruncate(fileno(log), end) != 0) fputc('\n', log);
}

static ft_status open_log(run_folder *run, ft_error *error) {
    char *path = run_file(run, "log.jsonl");
    if (path == NULL) return FT_NOMEM(error);
    run->log = fopen(path, "a+e");
    ft_status status = run->log != NULL ? FT_OK : ft_fail_file(error, path, "cannot write", errno);
    free(path);
    if (status == FT_OK) cut_partial_line(run->log);
    return status;
}

static ft_status open_work_path(const run_mode *mode, const buf *config, run_folder *run, ft_error *error) {
    FT_TRY(check_paths(run, mode, error));
    if (!mode->is_resumed) FT_TRY(make_folder(run, config, error));
    FT_TRY(lock_folder(run, error));
    if (mode->is_resumed) FT_TRY(check_config(run, config, error));
    remove_entries(run->work_path, true);
    run->is_complete = has_file(run->work_path, "metrics.json") && has_file(run->work_path, "predictor.ftm");
    return open_log(run, error);
}

ft_status run_open(const char *path, const run_mode *mode, const buf *config, run_folder *run, ft_error *error) {
    *run = (run_folder){.lock = -1};
    ft_status status = find_paths(path, mode, run, error);
    if (status == FT_OK) status = open_work_path(mode, config, run, error);
    if (status != FT_OK) run_close(run);
    return status;
}

void run_close(run_folder *run) {
    if (run->log != NULL) fclose(run->log);
    if (run->work_path != NULL && run->is_new && !run->is_complete && !has_file(run->work_path, "checkpoint.bin"))
        run_remove(run->work_path);
    if (run->lock >= 0) close(run->lock);
    free_paths(run);
    *run = (run_folder){.lock = -1};
}

/* --- Files --------------------------------------------------------------------------------------------------- */

char *run_file(const run_folder *run, const char *name) {
    assert(run->work_path != NULL);
    return join(run->work_path, name);
}

ft_status run_write(const run_folder *run, const char *name, const void *bytes, size_t size, ft_error *error) {
    char *path = run_file(run, name);
    if (path == NULL) return FT_NOMEM(error);
    ft_status status = outfile_write(path, bytes, size, error);
    free(path);
    return status;
}

static void time_text(char *text, size_t size) {
    struct timespec now;
    struct tm parts;
    char seconds[32];
    clock_gettime(CLOCK_REALTIME, &now);
    gmtime_r(&now.tv_sec, &parts);
    strftime(seconds, sizeof seconds, "%Y-%m-%dT%H:%M:%S", &parts);
    snprintf(text, size, "%s.%03ldZ", seconds, now.tv_nsec / 1000000);
}

void run_log(run_folder *run, json_t *line) {
    char time[64];
    time_text(time, sizeof time);
    json_t *whole = json_pack("{s:s}", "time", time);
    char *text = json_merge(whole, line) ? json_dumps(whole, JSON_REAL_PRECISION(9)) : NULL;
    if (text == NULL && run->log_code == 0) run->log_code = ENOMEM;
    if (text != NULL && run->log_code == 0) {
        errno = 0;
        if (fprintf(run->log, "%s\n", text) < 0 || fflush(run->log) != 0) run->log_code = errno != 0 ? errno : EIO;
    }
    free(text);
    json_decref(whole);
    json_decref(line);
}

ft_status run_check_log(const run_folder *run, ft_error *error) {
    return run->log_code == 0 ? FT_OK : ft_fail_file(error, run->work_path, "cannot write log.jsonl", run->log_code);
}

/* --- Finishing ------------------------------------------------------------------------------------------------ */

/* Replaces the old folder by the new one, atomically where the kernel can, and removes the old one. */
static ft_status replace_old(const run_folder *run, ft_error *error) {
    if (strcmp(run->path, run->work_path) == 0) return FT_OK;
    if (renameat2(AT_FDCWD, run->work_path, AT_FDCWD, run->path, RENAME_EXCHANGE) == 0) {
        run_remove(run->work_path);
        return FT_OK;
    }
    char *old;
    if (asprintf(&old, "%s.old", run->path) < 0) return FT_NOMEM(error);
    ft_status status = FT_OK;
    if (rename(run->path, old) != 0 || rename(run->work_path, run->path) != 0)
        status = ft_fail_file(error, run->path,
                              "cannot be replaced; the new run is complete and stays beside it, in NAME.next", errno);
    else
        run_remove(old);
    free(old);
    return status;
}

ft_status run_finish(run_folder *run, ft_error *error) {
    assert(run->work_path != NULL && run->lock >= 0);
    char *checkpoint = run_file(run, "checkpoint.bin");
    if (checkpoint == NULL) return FT_NOMEM(error);
    if (unlink(checkpoint) != 0) errno = 0; /* it may not exist */
    free(checkpoint);
    run->is_complete = true;
    return replace_old(run, error);
}
