/* predictor_set.c - opens predictor files, and finds the bundled ones. */
#include "forecast/job.h"

#include <assert.h>
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/error.h"

#ifndef FORETELL_DATADIR
#define FORETELL_DATADIR "/usr/local/share/foretell"
#endif

/* --- Opening ------------------------------------------------------------------------------------------------- */

static ft_status add_file(ft_predictor_set *set, const char *path, ft_error *error) {
    if (set->count == SET_MAX_FILES) return ft_fail(error, FT_ERR_LIMIT, "more than %d predictor files", SET_MAX_FILES);
    set_entry *entry = &set->entries[set->count];
    entry->path = strdup(path);
    if (entry->path == NULL) return FT_NOMEM(error);
    set->count++;
    return ft_predictor_open(path, &entry->predictor, error);
}

static bool has_device(const ft_predictor_set *set, const char *name) {
    for (uint32_t i = 0; i < set->device_count; i++)
        if (strcmp(set->devices[i], name) == 0) return true;
    return false;
}

/* The data sheet is opened once here, not for every request. */
static ft_status add_device(ft_predictor_set *set, const char *name, ft_error *error) {
    assert(!has_device(set, name));
    uint32_t index = set->device_count++;
    set->devices[index] = name;
    return ft_device_canonical(name) != NULL ? ft_device_open(name, &set->sheets[index], error) : FT_OK;
}

/* The predictor of times in a file; NULL when there is none. */
static const ft_predictor *time_predictor(const set_entry *entry) {
    return ft_predictor_find(entry->predictor, "time_us");
}

/* The predictor of times whose devices count as measured: single kernels of a GPU do, where there is nothing else. */
static const ft_predictor *measured_predictor(const ft_predictor_set *set, uint32_t entry) {
    const ft_predictor *p = time_predictor(&set->entries[entry]);
    if (p == NULL || !family_can(predictor_family(p), FAMILY_KERNELS)) return p;
    for (uint32_t i = 0; i < set->count; i++) {
        const ft_predictor *other = time_predictor(&set->entries[i]);
        if (other != NULL && !family_can(predictor_family(other), FAMILY_KERNELS)) return NULL;
    }
    return p;
}

/* Lists the devices that a predictor of times was trained on. */
static ft_status list_devices(ft_predictor_set *set, ft_error *error) {
    size_t max_count = 0;
    set->device_count = 0;
    for (uint32_t i = 0; i < set->count; i++)
        if (measured_predictor(set, i) != NULL) max_count += ft_predictor_device_count(measured_predictor(set, i));
    set->devices = calloc(max_count + 1, sizeof *set->devices);
    set->sheets = calloc(max_count + 1, sizeof(ft_device *));
    if (set->devices == NULL || set->sheets == NULL) return FT_NOMEM(error);
    for (uint32_t i = 0; i < set->count; i++) {
        const ft_predictor *p = measured_predictor(set, i);
        for (uint32_t d = 0; p != NULL && d < ft_predictor_device_count(p); d++) {
            const char *name = ft_predictor_device(p, d);
            if (name != NULL && !has_device(set, name)) FT_TRY(add_device(set, name, error));
        }
    }
    assert(set->device_count <= max_count);
    return FT_OK;
}

/* --- Bundled predictors -------------------------------------------------------------------------------------- */

static int is_predictor(const struct dirent *entry) {
    size_t length = strlen(entry->d_name);
    return length > 4 && entry->d_name[0] != '.' && strcmp(entry->d_name + length - 4, ".ftm") == 0;
}

/* Adds the files of the folder `outer``inner` in the order of their names, so that the order is the same everywhere.
 * *is_found: there is at least one. */
static ft_status add_folder(ft_predictor_set *set, const char *outer, const char *inner, bool *is_found,
                            ft_error *error) {
    struct dirent **names = NULL;
    buf folder = {0};
    buf_format(&folder, "%s%s", outer, inner);
    int count = folder.failed ? -1 : scandir(folder.data, &names, is_predictor, alphasort);
    ft_status status = folder.failed ? FT_NOMEM(error) : FT_OK;
    if (status == FT_OK && count < 0 && errno != ENOENT && errno != ENOTDIR)
        status = ft_fail_file(error, folder.data, "cannot list", errno);
    for (int i = 0; i < count; i++) {
        buf path = {0};
        buf_format(&path, "%s/%s", folder.data, names[i]->d_name);
        if (status == FT_OK) status = path.failed ? FT_NOMEM(error) : add_file(set, path.data, error);
        buf_free(&path);
        free(names[i]);
    }
    free(names);
    buf_free(&folder);
    *is_found = count > 0;
    return status;
}

/* Cuts a path before its last slash; to "" when there is none. */
static void cut_to_folder(char *path) {
    char *slash = strrchr(path, '/');
    *(slash != NULL ? slash : path) = '\0';
}

/* The folder of the program's own file; "" when it cannot be found. */
static void program_folder(char *folder, size_t size) {
    ssize_t length = readlink("/proc/self/exe", folder, size - 1);
    folder[length > 0 ? length : 0] = '\0';
    cut_to_folder(folder);
}

/* The folder of the shared library; of the program where it is linked statically. */
static void library_folder(char *folder, size_t size) {
    static const char here;
    Dl_info about;
    bool is_found = dladdr(&here, &about) != 0 && about.dli_fname != NULL;
    snprintf(folder, size, "%s", is_found ? about.dli_fname : "");
    cut_to_folder(folder);
}

enum { FOLDER_COUNT = 6, FOLDER_BYTES = 4096 };

/* Folders that may hold the bundled predictors: of the build tree, then of an installation, found from the program or
 * from the library, so that either may be moved. */
static void list_folders(char folders[FOLDER_COUNT][FOLDER_BYTES]) {
    char program[FOLDER_BYTES - 64], library[FOLDER_BYTES - 64];
    program_folder(program, sizeof program);
    library_folder(library, sizeof library);
    snprintf(folders[0], FOLDER_BYTES, "%s/../predictors", program);
    snprintf(folders[1], FOLDER_BYTES, "%s/../../predictors", program); /* of build/examples and build/bench */
    snprintf(folders[2], FOLDER_BYTES, "%s/../share/foretell/predictors", program);
    snprintf(folders[3], FOLDER_BYTES, "%s/../share/foretell/predictors", library);
    snprintf(folders[4], FOLDER_BYTES, "%s/../../share/foretell/predictors", library); /* of lib/x86_64-linux-gnu */
    snprintf(folders[5], FOLDER_BYTES, "%s", FORETELL_DATADIR "/predictors");
}

/* `inner`: "", or "/programs" for predictors of tensor programs. */
static ft_status add_bundled(ft_predictor_set *set, const char *inner, ft_error *error) {
    const char *wanted = getenv("FORETELL_PREDICTORS");
    char folders[FOLDER_COUNT][FOLDER_BYTES];
    bool is_found = false;
    if (wanted != NULL && wanted[0] != '\0') {
        FT_TRY(add_folder(set, wanted, inner, &is_found, error));
        if (is_found) return FT_OK;
        return ft_fail(error, FT_ERR_IO, "%s%s: no predictors (*.ftm) in the folder that FORETELL_PREDICTORS names",
                       wanted, inner);
    }
    list_folders(folders);
    for (size_t i = 0; i < FOLDER_COUNT && !is_found; i++) {
        char *real = realpath(folders[i], NULL); /* paths are shown to users: without ".." */
        ft_status status = real != NULL ? add_folder(set, real, inner, &is_found, error) : FT_OK;
        free(real);
        FT_TRY(status);
    }
    if (is_found) return FT_OK;
    return ft_fail(error, FT_ERR_IO,
                   "the bundled predictors are neither in %s%s nor in %s%s: name a file with --predictor, or "
                   "their folder in FORETELL_PREDICTORS",
                   folders[0], inner, folders[FOLDER_COUNT - 1], inner);
}

static ft_status open_set(const char *const *files, uint32_t count, const char *inner, ft_predictor_set **set,
                          ft_error *error) {
    ft_predictor_set *made = calloc(1, sizeof *made);
    if (made == NULL) return FT_NOMEM(error);
    ft_status status = count == 0 ? add_bundled(made, inner, error) : FT_OK;
    for (uint32_t i = 0; i < count && status == FT_OK; i++) status = add_file(made, files[i], error);
    if (status == FT_OK) status = list_devices(made, error);
    if (status == FT_OK)
        *set = made;
    else
        ft_predictor_set_free(made);
    return status;
}

ft_status ft_predictor_set_open(const char *const *files, uint32_t count, ft_predictor_set **set, ft_error *error) {
    FT_REQUIRE(error, set);
    if (count > 0) FT_REQUIRE(error, files);
    return open_set(files, count, "", set, error);
}

ft_status ft_predictor_set_open_programs(const char *const *files, uint32_t count, ft_predictor_set **set,
                                         ft_error *error) {
    FT_REQUIRE(error, set);
    if (count > 0) FT_REQUIRE(error, files);
    return open_set(files, count, "/programs", set, error);
}

void ft_predictor_set_free(ft_predictor_set *set) {
    if (set == NULL) return;
    for (uint32_t i = 0; i < set->count; i++) {
        ft_predictor_free(set->entries[i].predictor);
        free(set->entries[i].path);
    }
    for (uint32_t i = 0; i < set->device_count; i++) ft_device_free(set->sheets[i]);
    free(set->sheets);
    free(set->devices);
    free(set);
}

/* --- Access -------------------------------------------------------------------------------------------------- */

uint32_t ft_predictor_set_count(const ft_predictor_set *set) {
    return set != NULL ? set->count : 0;
}

const ft_predictor *ft_predictor_set_at(const ft_predictor_set *set, uint32_t index) {
    if (set == NULL) return NULL;
    return index < set->count ? set->entries[index].predictor : NULL;
}

const char *ft_predictor_set_path(const ft_predictor_set *set, uint32_t index) {
    if (set == NULL) return NULL;
    return index < set->count ? set->entries[index].path : NULL;
}

uint32_t ft_predictor_set_device_count(const ft_predictor_set *set) {
    return set != NULL ? set->device_count : 0;
}

const char *ft_predictor_set_device(const ft_predictor_set *set, uint32_t index) {
    if (set == NULL) return NULL;
    return index < set->device_count ? set->devices[index] : NULL;
}
