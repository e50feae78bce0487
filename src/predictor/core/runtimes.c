/* runtimes.c - see runtimes.h. */
#include "predictor/core/runtimes.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "data/dataset.h"
#include "data/devices.h"
#include "foretell/device.h"

/* The index of a rule set, opened when it is new. */
static ft_status add_rules(runtimes *r, const char *name, uint32_t *index, ft_error *error) {
    uint32_t i = 0;
    while (i < r->count && strcmp(r->names[i], name) != 0) i++;
    if (i == MAX_RUNTIMES)
        return ft_fail(error, FT_ERR_LIMIT, "devices with more than %d different runtimes", MAX_RUNTIMES);
    if (i == r->count) {
        char *copy = strdup(name);
        if (copy == NULL) return FT_NOMEM(error);
        ft_status status = ft_rules_open(name, &r->rules[i], error);
        if (status != FT_OK) {
            free(copy);
            return status;
        }
        r->names[i] = copy;
        r->count++;
    }
    *index = i;
    return FT_OK;
}

static ft_status begin(uint32_t device_count, runtimes *r, ft_error *error) {
    *r = (runtimes){.device_count = device_count};
    r->of_device = calloc(device_count > 0 ? device_count : 1, sizeof *r->of_device);
    return r->of_device != NULL ? FT_OK : FT_NOMEM(error);
}

static bool is_bundled(const char *rules) {
    uint32_t i = 0;
    while (i < ft_rules_count() && strcmp(ft_rules_name_at(i), rules) != 0) i++;
    return i < ft_rules_count();
}

/* `file` is the name of a bundled device, or the path of one that a data set describes. */
static ft_status add_described(runtimes *r, const char *file, uint32_t *index, ft_error *error) {
    ft_device *device;
    FT_TRY(ft_device_open(file, &device, error));
    const char *rules = ft_device_runtime(device);
    ft_status status =
        is_bundled(rules)
            ? add_rules(r, rules, index, error)
            : ft_fail(error, FT_ERR_UNSUPPORTED,
                      "%s: the runtime '%s' is not bundled ('foretell list runtimes' lists those that are), and a "
                      "predictor file cannot contain rules",
                      file, rules);
    ft_device_free(device);
    return status;
}

static ft_status add_device(runtimes *r, const ft_dataset *data, const char *name, uint32_t *index, ft_error *error) {
    if (ft_device_canonical(name) != NULL) return add_described(r, name, index, error);
    if (data == NULL) return add_rules(r, RUNTIME_UNKNOWN, index, error);
    arena memory;
    arena_init(&memory, 1 << 16);
    const char *path = device_path(data->folder, name, &memory);
    ft_status status = path != NULL ? add_described(r, path, index, error) : FT_NOMEM(error);
    arena_free(&memory);
    return status;
}

ft_status runtimes_open(const ft_dataset *data, const char *const *devices, uint32_t device_count, runtimes *r,
                        ft_error *error) {
    runtimes made;
    ft_status status = begin(device_count, &made, error);
    for (uint32_t i = 0; status == FT_OK && i < device_count; i++)
        status = add_device(&made, data, devices[i], &made.of_device[i], error);
    if (status != FT_OK) {
        runtimes_free(&made);
        return status;
    }
    *r = made;
    return FT_OK;
}

void runtimes_free(runtimes *r) {
    for (uint32_t i = 0; i < r->count; i++) {
        ft_rules_free(r->rules[i]);
        free(r->names[i]);
    }
    free(r->of_device);
    *r = (runtimes){0};
}

const ft_rules *runtimes_rules(const runtimes *r, uint32_t device) {
    assert(device < r->device_count && r->of_device[device] < r->count);
    return r->rules[r->of_device[device]];
}

json_t *runtimes_save(const runtimes *r) {
    json_t *list = json_array();
    for (uint32_t i = 0; i < r->device_count; i++) list = json_list_with(list, json_string(r->names[r->of_device[i]]));
    return list;
}

/* Only bundled rules are opened, by name: a file must not make foretell open paths. */
static ft_status load_one(runtimes *r, const json_t *value, uint32_t *index, ft_error *error) {
    const char *name;
    FT_TRY(json_read_string(value, &name, error));
    if (!is_bundled(name))
        return ft_fail(error, FT_ERR_UNSUPPORTED, "has the runtime '%s', whose rules this foretell does not have",
                       name);
    return add_rules(r, name, index, error);
}

ft_status runtimes_load(const json_t *names, uint32_t device_count, runtimes *r, ft_error *error) {
    if (!json_is_array(names) || json_array_size(names) != device_count)
        return ft_fail(error, FT_ERR_DAMAGED, "must be a list of %u names", device_count);
    runtimes made;
    ft_status status = begin(device_count, &made, error);
    for (uint32_t i = 0; status == FT_OK && i < device_count; i++)
        status = load_one(&made, json_array_get(names, i), &made.of_device[i], error);
    if (status != FT_OK) {
        runtimes_free(&made);
        return status;
    }
    *r = made;
    return FT_OK;
}

ft_status runtimes_params(const runtimes *r, json_t **params, ft_error *error) {
    *params = json_with(json_object(), "runtimes", runtimes_save(r));
    return *params != NULL ? FT_OK : FT_NOMEM(error);
}

ft_status runtimes_from_params(const json_t *params, uint32_t device_count, runtimes *r, ft_error *error) {
    if (json_object_size(params) != 1)
        return ft_fail(error, FT_ERR_DAMAGED, "must have the parameter 'runtimes' and no other");
    ft_status status = runtimes_load(json_object_get(params, "runtimes"), device_count, r, error);
    return status == FT_OK ? FT_OK : ft_fail_prefix(error, status, "'runtimes'");
}
