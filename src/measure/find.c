/* find.c - finds ONNX Runtime's library: in a folder, as npm or pip installed it, or where the system has libraries. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "foretell/measure.h"

#define LIBRARY "libonnxruntime.so"

#if defined(__aarch64__)
#define NPM_FOLDER "linux/arm64"
#else
#define NPM_FOLDER "linux/x64"
#endif

/* Folders below one that is given, and the system's. %s: the folder. */
static const char *const layouts[] = {
    "%s",
    "%s/lib",
    "%s/bin/napi-v6/" NPM_FOLDER,
    "%s/bin/napi-v3/" NPM_FOLDER,
    "%s/node_modules/onnxruntime-node/bin/napi-v6/" NPM_FOLDER,
    "%s/node_modules/onnxruntime-node/bin/napi-v3/" NPM_FOLDER,
    "%s/onnxruntime/capi",
};

static const char *const system_folders[] = {
    "/usr/local/lib", "/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64",
    "/usr/lib",       "/opt/onnxruntime/lib"};

static bool is_folder(const char *path) {
    struct stat s;
    return stat(path, &s) == 0 && S_ISDIR(s.st_mode);
}

/* libonnxruntime.so, or with a version after it; the first by name. */
static bool find_in(const char *folder, char path[FT_RUNTIME_PATH_SIZE]) {
    DIR *entries = opendir(folder);
    char best[sizeof((struct dirent *)0)->d_name] = "";
    if (entries == NULL) return false;
    for (struct dirent *e = readdir(entries); e != NULL; e = readdir(entries)) {
        if (strncmp(e->d_name, LIBRARY, strlen(LIBRARY)) != 0) continue;
        if (best[0] == '\0' || strcmp(e->d_name, best) < 0) snprintf(best, sizeof best, "%s", e->d_name);
    }
    closedir(entries);
    int wrote = snprintf(path, FT_RUNTIME_PATH_SIZE, "%s/%s", folder, best);
    return best[0] != '\0' && wrote > 0 && wrote < FT_RUNTIME_PATH_SIZE;
}

static bool find_below(const char *folder, char path[FT_RUNTIME_PATH_SIZE]) {
    char place[FT_RUNTIME_PATH_SIZE];
    for (size_t i = 0; i < sizeof layouts / sizeof layouts[0]; i++) {
        const char *rest = layouts[i] + 2; /* behind the %s */
        int wrote = snprintf(place, sizeof place, "%s%s", folder, rest);
        if (wrote > 0 && (size_t)wrote < sizeof place && find_in(place, path)) return true;
    }
    return false;
}

static ft_status find_given(const char *where, const char *origin, char path[FT_RUNTIME_PATH_SIZE], ft_error *error) {
    if (is_folder(where)) {
        if (find_below(where, path)) return FT_OK;
        return ft_fail(error, FT_ERR_UNSUPPORTED, "%s%s: no %s in this folder, nor where npm puts it below", origin,
                       where, LIBRARY);
    }
    if (access(where, F_OK) != 0)
        return ft_fail(error, FT_ERR_UNSUPPORTED, "%s%s: no such file or folder; it is to be the path of %s", origin,
                       where, LIBRARY);
    int wrote = snprintf(path, FT_RUNTIME_PATH_SIZE, "%s%s", strchr(where, '/') == NULL ? "./" : "", where);
    if (wrote < 0 || wrote >= FT_RUNTIME_PATH_SIZE)
        return ft_fail(error, FT_ERR_LIMIT, "%.60s...: too long a path", where);
    return FT_OK;
}

ft_status ft_runtime_find(const char *where, char path[FT_RUNTIME_PATH_SIZE], ft_error *error) {
    FT_REQUIRE(error, path);
    const char *variable = getenv("FORETELL_ORT");
    if (where != NULL) return find_given(where, "", path, error);
    if (variable != NULL && variable[0] != '\0') return find_given(variable, "FORETELL_ORT=", path, error);
    if (find_below("build", path) || find_below(".", path)) return FT_OK;
    for (size_t i = 0; i < sizeof system_folders / sizeof system_folders[0]; i++)
        if (find_in(system_folders[i], path)) return FT_OK;
    return ft_fail(error, FT_ERR_UNSUPPORTED,
                   "ONNX Runtime is not installed: no %s in build/node_modules, node_modules and the folders of the "
                   "system; install it with 'npm install --ignore-scripts onnxruntime-node', or let FORETELL_ORT be "
                   "its path",
                   LIBRARY);
}
