/* devices.c - resolution of device names: bundled data sheets, and those beside a table or in a data set. */
#include "data/devices.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"

static bool is_file_name(const char *name) {
    return name[0] != '\0' && name[0] != '.' && strchr(name, '/') == NULL;
}

char *device_path(const char *folder, const char *name, arena *memory) {
    return is_file_name(name) ? arena_format(memory, "%s/%s/%s.json", folder, DEVICES_FOLDER, name) : NULL;
}

/* "adreno-630, adreno-640, ..." as far as it fits. */
static void list_devices(char *text, size_t size) {
    size_t used = 0;
    text[0] = '\0';
    for (uint32_t i = 0; i < ft_device_count(); i++) {
        int wrote = snprintf(text + used, size - used, "%s%s", i > 0 ? ", " : "", ft_device_name_at(i));
        if (wrote < 0 || (size_t)wrote >= size - used) {
            text[used] = '\0';
            return;
        }
        used += (size_t)wrote;
    }
}

static ft_status check_name(const char *path, const char *name, ft_error *error) {
    ft_device *device;
    FT_TRY(ft_device_open(path, &device, error));
    ft_status status = FT_OK;
    if (strcmp(ft_device_name(device), name) != 0)
        status = ft_fail(error, FT_ERR_DAMAGED, "%s: describes '%s', but '%s' is expected", path,
                         ft_device_name(device), name);
    ft_device_free(device);
    return status;
}

ft_status device_resolve(const char *folder, const char *name, arena *memory, const char **canonical, ft_error *error) {
    const char *known = ft_device_canonical(name);
    if (known != NULL) {
        *canonical = known;
        return FT_OK;
    }
    const char *path = folder != NULL ? device_path(folder, name, memory) : NULL;
    if (path == NULL || access(path, F_OK) != 0) {
        *canonical = ft_device_match(name);
        if (*canonical != NULL) return FT_OK;
        char list[256];
        list_devices(list, sizeof list);
        return ft_fail(error, FT_ERR_DAMAGED,
                       "unknown device '%.60s'; known: %s; describe another one in %s/NAME.json beside the table", name,
                       list, DEVICES_FOLDER);
    }
    FT_TRY(check_name(path, name, error));
    *canonical = arena_string(memory, name, strlen(name));
    return *canonical != NULL ? FT_OK : FT_NOMEM(error);
}

ft_status device_open(const char *folder, const char *name, ft_device **device, ft_error *error) {
    arena memory;
    arena_init(&memory, UINT64_MAX);
    const char *path = ft_device_canonical(name) != NULL ? name : device_path(folder, name, &memory);
    ft_status status = path != NULL ? ft_device_open(path, device, error) : FT_NOMEM(error);
    arena_free(&memory);
    return status;
}
