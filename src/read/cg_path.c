/* cg_path.c - finding and recognising CG tables: three files in one folder, each plain or gzipped. */
#include <assert.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "read/cg.h"

const char *const cg_table_names[CG_TABLES] = {"models", "nodes", "edges"};

static bool is_folder(const char *path) {
    struct stat info;
    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

static bool is_file(const char *path) {
    struct stat info;
    return stat(path, &info) == 0 && S_ISREG(info.st_mode);
}

bool cg_find_table(const char *folder, int table, char *path, size_t size) {
    assert(table >= 0 && table < CG_TABLES);
    const char *const endings[] = {".csv", ".csv.gz"};
    for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++) {
        int length = snprintf(path, size, "%s/%s%s", folder, cg_table_names[table], endings[i]);
        if (length > 0 && (size_t)length < size && is_file(path)) return true;
    }
    return false;
}

bool cg_find_folder(const char *path, char *folder, size_t size) {
    size_t length = strlen(path);
    if (length == 0 || length >= size) return false;
    memcpy(folder, path, length + 1);
    if (is_folder(path)) return true;
    const char *slash = strrchr(path, '/'), *base = slash != NULL ? slash + 1 : path;
    bool is_table = false;
    for (int table = 0; table < CG_TABLES; table++) {
        size_t stem = strlen(cg_table_names[table]);
        const char *ending = base + stem;
        if (strncmp(base, cg_table_names[table], stem) != 0) continue;
        is_table = is_table || strcmp(ending, ".csv") == 0 || strcmp(ending, ".csv.gz") == 0;
    }
    if (!is_table) return false;
    if (slash == NULL)
        memcpy(folder, ".", 2);
    else
        folder[slash == path ? 1 : slash - path] = '\0';
    return true;
}

bool cg_matches_path(const char *path) {
    char folder[PATH_MAX], table_path[PATH_MAX];
    if (!cg_find_folder(path, folder, sizeof folder)) return false;
    for (int table = 0; table < CG_TABLES; table++) {
        if (!cg_find_table(folder, table, table_path, sizeof table_path)) return false;
    }
    return true;
}

bool cg_matches(const uint8_t *bytes, size_t size) {
    const char *const headers[] = {"family,index,name,num_nodes,num_edges", "op,in0,in1,in2,in3,in4,k_h,k_w",
                                   "src,dst\n", "src,dst\r\n"};
    for (size_t i = 0; i < sizeof headers / sizeof headers[0]; i++) {
        size_t length = strlen(headers[i]);
        if (size >= length && memcmp(bytes, headers[i], length) == 0) return true;
    }
    return false;
}
