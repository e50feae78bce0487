/* box.c - the predictors that are open, and where those that ship with foretell are found. */
#include "forecast/box.h"

#include <dirent.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/error.h"
#include "predictor/core/predictor.h"

#ifndef FORETELL_DATADIR
#define FORETELL_DATADIR "/usr/local/share/foretell"
#endif

/* --- Opening ------------------------------------------------------------------------------------------------- */

static ft_status add_file(ft_predictor_set *box, const char *path, ft_error *error) {
    if (box->count == BOX_MOST_FILES)
        return ft_fail(error, FT_ERR_LIMIT, "more than %d predictor files", BOX_MOST_FILES);
    box_entry *entry = &box->entries[box->count];
    entry->path = strdup(path);
    if (entry->path == NULL) return FT_NOMEM(error);
    box->count++;
    return ft_predictor_open(path, &entry->predictor, error);
}

static bool has_device(const ft_predictor_set *box, const char *name) {
    for (uint32_t i = 0; i < box->device_count; i++)
        if (strcmp(box->devices[i], name) == 0) return true;
    return false;
}

/* Its data sheet is opened here, once, rather than for every question. */
static ft_status add_device(ft_predictor_set *box, const char *name, ft_error *error) {
    uint32_t index = box->device_count++;
    box->devices[index] = name;
    return ft_device_canonical(name) != NULL ? ft_device_open(name, &box->sheets[index], error) : FT_OK;
}

/* The predictor of a file that tells a time; NULL when none does. */
static const ft_predictor *timed(const box_entry *entry) {
    return ft_predictor_find(entry->predictor, "time_us");
}

/* Devices are those of which a time is told. */
static ft_status list_devices(ft_predictor_set *box, ft_error *error) {
    size_t most = 0;
    box->device_count = 0;
    for (uint32_t i = 0; i < box->count; i++)
        if (timed(&box->entries[i]) != NULL) most += ft_predictor_device_count(timed(&box->entries[i]));
    box->devices = calloc(most + 1, sizeof *box->devices);
    box->sheets = calloc(most + 1, sizeof(ft_device *));
    if (box->devices == NULL || box->sheets == NULL) return FT_NOMEM(error);
    for (uint32_t i = 0; i < box->count; i++) {
        const ft_predictor *p = timed(&box->entries[i]);
        for (uint32_t d = 0; p != NULL && d < ft_predictor_device_count(p); d++) {
            const char *name = ft_predictor_device(p, d);
            if (name != NULL && !has_device(box, name)) FT_TRY(add_device(box, name, error));
        }
    }
    return FT_OK;
}

/* --- Those that ship ----------------------------------------------------------------------------------------- */

static int is_predictor(const struct dirent *entry) {
    size_t length = strlen(entry->d_name);
    return length > 4 && entry->d_name[0] != '.' && strcmp(entry->d_name + length - 4, ".ftm") == 0;
}

/* The files of a folder (and in it of another, unless that is "") by name, so that the same ones win everywhere.
 * *is_found: there is one at least. */
static ft_status add_folder(ft_predictor_set *box, const char *outer, const char *inner, bool *is_found,
                            ft_error *error) {
    struct dirent **names = NULL;
    buf folder = {0};
    buf_format(&folder, "%s%s", outer, inner);
    int count = folder.failed ? -1 : scandir(folder.data, &names, is_predictor, alphasort);
    ft_status status = folder.failed ? FT_NOMEM(error) : FT_OK;
    for (int i = 0; i < count; i++) {
        buf path = {0};
        buf_format(&path, "%s/%s", folder.data, names[i]->d_name);
        if (status == FT_OK) status = path.failed ? FT_NOMEM(error) : add_file(box, path.data, error);
        buf_free(&path);
        free(names[i]);
    }
    free(names);
    buf_free(&folder);
    *is_found = count > 0;
    return status;
}

/* What is before the last slash of a path; "" when there is none. */
static void cut_to_folder(char *path) {
    char *slash = strrchr(path, '/');
    *(slash != NULL ? slash : path) = '\0';
}

/* The folder of the program's own file; "" when it cannot be told. */
static void program_folder(char *folder, size_t size) {
    ssize_t length = readlink("/proc/self/exe", folder, size - 1);
    folder[length > 0 ? length : 0] = '\0';
    cut_to_folder(folder);
}

/* The same of the library, which programs elsewhere have loaded from where it was installed. Inside of a program it is
 * that program. */
static void library_folder(char *folder, size_t size) {
    static const char here;
    Dl_info about;
    bool is_found = dladdr(&here, &about) != 0 && about.dli_fname != NULL;
    snprintf(folder, size, "%s", is_found ? about.dli_fname : "");
    cut_to_folder(folder);
}

enum { PLACE_COUNT = 6, PLACE_BYTES = 4096 };

/* Where those that ship may be, the likeliest first: the tree that foretell was built in, then where it is installed.
 * Either is found from the program or from the library, wherever it was moved to. */
static void list_places(char places[PLACE_COUNT][PLACE_BYTES]) {
    char program[PLACE_BYTES - 64], library[PLACE_BYTES - 64];
    program_folder(program, sizeof program);
    library_folder(library, sizeof library);
    snprintf(places[0], PLACE_BYTES, "%s/../predictors", program);
    snprintf(places[1], PLACE_BYTES, "%s/../../predictors", program); /* of build/examples and build/bench */
    snprintf(places[2], PLACE_BYTES, "%s/../share/foretell/predictors", program);
    snprintf(places[3], PLACE_BYTES, "%s/../share/foretell/predictors", library);
    snprintf(places[4], PLACE_BYTES, "%s/../../share/foretell/predictors", library); /* of lib/x86_64-linux-gnu */
    snprintf(places[5], PLACE_BYTES, "%s", FORETELL_DATADIR "/predictors");
}

/* `inner`: "", or the folder of those that tell of programs. */
static ft_status add_shipped(ft_predictor_set *box, const char *inner, ft_error *error) {
    const char *wanted = getenv("FORETELL_PREDICTORS");
    char places[PLACE_COUNT][PLACE_BYTES];
    bool is_found = false;
    if (wanted != NULL && wanted[0] != '\0') {
        FT_TRY(add_folder(box, wanted, inner, &is_found, error));
        if (is_found) return FT_OK;
        return ft_fail(error, FT_ERR_IO, "%s%s: no predictors (*.ftm) in the folder that FORETELL_PREDICTORS names",
                       wanted, inner);
    }
    list_places(places);
    for (size_t i = 0; i < PLACE_COUNT && !is_found; i++) {
        char *real = realpath(places[i], NULL); /* names of files are shown: without detours */
        ft_status status = real != NULL ? add_folder(box, real, inner, &is_found, error) : FT_OK;
        free(real);
        FT_TRY(status);
    }
    if (is_found) return FT_OK;
    return ft_fail(
        error, FT_ERR_IO,
        "the predictors that ship with foretell are neither at %s%s nor at %s%s; give one with --predictor, or "
        "their folder in FORETELL_PREDICTORS",
        places[0], inner, places[PLACE_COUNT - 1], inner);
}

static ft_status open_box(const char *const *files, uint32_t count, const char *inner, ft_predictor_set **box,
                          ft_error *error) {
    ft_predictor_set *made = calloc(1, sizeof *made);
    if (made == NULL) return FT_NOMEM(error);
    ft_status status = count == 0 ? add_shipped(made, inner, error) : FT_OK;
    for (uint32_t i = 0; i < count && status == FT_OK; i++) status = add_file(made, files[i], error);
    if (status == FT_OK) status = list_devices(made, error);
    if (status == FT_OK)
        *box = made;
    else
        ft_predictor_set_free(made);
    return status;
}

ft_status ft_predictor_set_open(const char *const *files, uint32_t count, ft_predictor_set **box, ft_error *error) {
    return open_box(files, count, "", box, error);
}

ft_status ft_predictor_set_open_programs(const char *const *files, uint32_t count, ft_predictor_set **box,
                                         ft_error *error) {
    return open_box(files, count, "/programs", box, error);
}

void ft_predictor_set_free(ft_predictor_set *box) {
    if (box == NULL) return;
    for (uint32_t i = 0; i < box->count; i++) {
        ft_predictor_free(box->entries[i].predictor);
        free(box->entries[i].path);
    }
    for (uint32_t i = 0; i < box->device_count; i++) ft_device_free(box->sheets[i]);
    free(box->sheets);
    free(box->devices);
    free(box);
}

/* --- Looking in ---------------------------------------------------------------------------------------------- */

uint32_t ft_predictor_set_count(const ft_predictor_set *box) {
    return box->count;
}

const ft_predictor *ft_predictor_set_at(const ft_predictor_set *box, uint32_t index) {
    return index < box->count ? box->entries[index].predictor : NULL;
}

const char *ft_predictor_set_path(const ft_predictor_set *box, uint32_t index) {
    return index < box->count ? box->entries[index].path : NULL;
}

uint32_t ft_predictor_set_device_count(const ft_predictor_set *box) {
    return box->device_count;
}

const char *ft_predictor_set_device(const ft_predictor_set *box, uint32_t index) {
    return index < box->device_count ? box->devices[index] : NULL;
}
