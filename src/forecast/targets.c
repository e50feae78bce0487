/* targets.c - devices and settings as people name them, resolved for requests: names become data sheets, each device
 * once, and settings become one sorted text, so that equal settings are always spelled the same. */
#include "foretell/target.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

typedef struct target {
    char *name;
    ft_device *sheet; /* of a device that is not bundled; NULL: it is looked up by its name */
    bool is_without_torch;
    double price_per_hour; /* 0: that of the data sheet */
} target;

struct ft_targets {
    target items[FT_MAX_TARGETS];
    uint32_t count;
    char *setting;       /* all settings, as "compile=yes;layout=nhwc" */
    char *other_setting; /* without those of PyTorch, for devices that do not run it */
};

/* --- Data sheets of the user's own ------------------------------------------------------------------------------ */

bool ft_device_is_file(const char *name) {
    static const char *const endings[] = {".json", ".yaml", ".yml"};
    if (name == NULL) return false;
    size_t length = strlen(name);
    bool is_file = strchr(name, '/') != NULL;
    for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++) {
        size_t ending = strlen(endings[i]);
        is_file = is_file || (length > ending && strcmp(name + length - ending, endings[i]) == 0);
    }
    return is_file;
}

/* Numbers that the own file leaves out do not make it another device: bundled sheets get more keys over time. */
static bool has_same_numbers(const ft_device *own, const ft_device *bundled) {
    const char *key;
    for (uint32_t i = 0; (key = ft_device_number_name(i)) != NULL; i++) {
        double number = ft_device_number(own, key);
        if (strcmp(key, "price_per_hour") == 0) continue; /* is the user's own */
        if (!isnan(number) && number != ft_device_number(bundled, key)) return false;
    }
    return true;
}

static ft_status check_name(const char *path, const ft_device *own, ft_error *error) {
    ft_device *bundled = NULL;
    const char *name = ft_device_canonical(ft_device_name(own));
    if (name == NULL) return FT_OK;
    FT_TRY(ft_device_open(name, &bundled, error));
    bool is_same = has_same_numbers(own, bundled);
    ft_device_free(bundled);
    if (is_same) return FT_OK;
    return ft_fail(error, FT_ERR_USAGE,
                   "device %s: '%s' is the name of a bundled device with another data sheet: rename yours", path, name);
}

ft_status ft_device_open_file(const char *path, ft_device **device, ft_error *error) {
    FT_REQUIRE(error, path, device);
    ft_device *own = NULL;
    FT_TRY(ft_device_open(path, &own, error));
    ft_status status = check_name(path, own, error);
    if (status == FT_OK)
        *device = own;
    else
        ft_device_free(own);
    return status;
}

/* --- Devices ------------------------------------------------------------------------------------------------- */

static bool is_in_set(const ft_predictor_set *set, const char *name) {
    for (uint32_t i = 0; i < ft_predictor_set_device_count(set); i++)
        if (strcmp(ft_predictor_set_device(set, i), name) == 0) return true;
    return false;
}

static const target *find_target(const ft_targets *t, const char *name) {
    for (uint32_t i = 0; i < t->count; i++)
        if (strcmp(t->items[i].name, name) == 0) return &t->items[i];
    return NULL;
}

/* Takes over the sheet, also after a failure. `file`: the path that the device was given by; NULL: by its name. */
static ft_status put_target(ft_targets *t, const char *name, ft_device *sheet, const char *file, ft_error *error) {
    ft_status status = FT_OK;
    const target *same = find_target(t, name);
    if (same != NULL && file != NULL)
        status = ft_fail(error, FT_ERR_USAGE, "device %s: another device is called '%s' too: rename one", file, name);
    if (same == NULL && t->count == FT_MAX_TARGETS)
        status = ft_fail(error, FT_ERR_USAGE, "device: at most %d devices", FT_MAX_TARGETS);
    char *copy = same == NULL && status == FT_OK ? strdup(name) : NULL;
    if (same == NULL && status == FT_OK && copy == NULL) status = FT_NOMEM(error);
    if (copy == NULL) {
        ft_device_free(sheet);
        return status;
    }
    t->items[t->count++] = (target){.name = copy, .sheet = sheet};
    return FT_OK;
}

/* Adds a device once, whatever names it was given by. */
static ft_status add_device(ft_targets *t, const ft_predictor_set *set, const char *name, bool has_no_files,
                            ft_error *error) {
    ft_device *sheet = NULL;
    const char *canonical = ft_device_canonical(name), *file = ft_device_is_file(name) ? name : NULL;
    if (canonical != NULL) name = canonical;
    if (file != NULL && has_no_files)
        return ft_fail(error, FT_ERR_USAGE, "device %s: a name is expected, files are not opened here", file);
    if (file != NULL) FT_TRY(ft_device_open_file(file, &sheet, error));
    if (file == NULL && canonical == NULL && !is_in_set(set, name)) /* opening reports unknown names */
        FT_TRY(ft_device_open(name, &sheet, error));
    return put_target(t, sheet != NULL ? ft_device_name(sheet) : name, sheet, file, error);
}

static ft_status add_all(ft_targets *t, const ft_predictor_set *set, ft_error *error) {
    for (uint32_t i = 0; i < ft_predictor_set_device_count(set); i++)
        FT_TRY(add_device(t, set, ft_predictor_set_device(set, i), false, error));
    return FT_OK;
}

static ft_status add_names(ft_targets *t, const ft_predictor_set *set, const ft_target_options *o, char *names,
                           ft_error *error) {
    for (char *name; (name = strsep(&names, ",")) != NULL;) {
        if (name[0] == '\0')
            return ft_fail(error, FT_ERR_USAGE, "device %s: empty name; 'foretell list devices' lists the names",
                           o->devices);
        bool is_all = strcmp(name, "all") == 0;
        FT_TRY(is_all ? add_all(t, set, error) : add_device(t, set, name, o->has_no_files, error));
    }
    if (t->count > 0) return FT_OK;
    return ft_fail(error, FT_ERR_USAGE, "no device: the predictors have none, name one with device");
}

/* The data sheet: the user's own, or a bundled one, which the caller frees by *opened. NULL: there is none. */
static const ft_device *sheet_of(const target *item, ft_device **opened) {
    *opened = NULL;
    if (item->sheet != NULL) return item->sheet;
    return ft_device_open(item->name, opened, NULL) == FT_OK ? *opened : NULL;
}

/* --- Settings ------------------------------------------------------------------------------------------------ */

static ft_status check_runtime(const ft_targets *t, const char *runtime, ft_error *error) {
    ft_status status = FT_OK;
    for (uint32_t i = 0; runtime != NULL && status == FT_OK && i < t->count; i++) {
        ft_device *opened;
        const ft_device *sheet = sheet_of(&t->items[i], &opened);
        if (sheet != NULL && strcmp(ft_device_runtime(sheet), runtime) != 0)
            status = ft_fail(error, FT_ERR_USAGE, "runtime %s: %s runs %s; give devices that run it", runtime,
                             t->items[i].name, ft_device_runtime(sheet));
        ft_device_free(opened);
    }
    return status;
}

static bool is_of_torch(const char *pair) {
    static const char *const keys[] = {
        "amp=", "compile=", "graphs=", "host=", "launch_us=", "layout=", "runtime=", "tf32=", "torch="};
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
        if (strncmp(pair, keys[i], strlen(keys[i])) == 0) return true;
    return false;
}

/* Settings of PyTorch do not apply to devices that run something else: an error when no device runs it. */
static ft_status check_torch(ft_targets *t, const ft_target_options *o, ft_error *error) {
    const char *pair = NULL;
    uint32_t without = 0;
    for (uint32_t i = 0; i < o->setting_count; i++)
        if (is_of_torch(o->settings[i])) pair = o->settings[i];
    for (uint32_t i = 0; pair != NULL && i < t->count; i++) {
        ft_device *opened;
        const ft_device *sheet = sheet_of(&t->items[i], &opened);
        t->items[i].is_without_torch = sheet != NULL && strncmp(ft_device_runtime(sheet), "torch", 5) != 0;
        without += t->items[i].is_without_torch;
        ft_device_free(opened);
    }
    if (pair == NULL || without < t->count) return FT_OK;
    return ft_fail(error, FT_ERR_USAGE, "%s is a setting of PyTorch, which %s does not run: leave it out", pair,
                   t->items[0].name);
}

static int by_text(const void *left, const void *right) {
    return strcmp(*(const char *const *)left, *(const char *const *)right);
}

/* "key=value" of letters, digits, '-', '_' and '.'; the keys of sorted pairs differ. */
static ft_status check_pairs(const char *const *pairs, uint32_t count, ft_error *error) {
    static const char good[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-";
    for (uint32_t i = 0; i < count; i++) {
        if (pairs[i] == NULL) return ft_fail(error, FT_ERR_USAGE, "setting: a pair is NULL");
        size_t key = strspn(pairs[i], good);
        if (key == 0 || pairs[i][key] != '=' || pairs[i][key + 1] == '\0' ||
            pairs[i][key + 1 + strspn(pairs[i] + key + 1, good)] != '\0')
            return ft_fail(error, FT_ERR_USAGE, "setting %s: expected KEY=VALUE of letters, digits, '-', '_' and '.'",
                           pairs[i]);
    }
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t j = 0; j < i; j++)
            if (strncmp(pairs[i], pairs[j], strcspn(pairs[i], "=") + 1) == 0 && strcmp(pairs[i], pairs[j]) != 0)
                return ft_fail(error, FT_ERR_USAGE, "setting %s contradicts %s", pairs[i], pairs[j]);
    return FT_OK;
}

/* "compile=yes;layout=nhwc" of sorted pairs. NULL when out of memory. */
static char *join_settings(const char *const *pairs, uint32_t count, bool has_torch) {
    size_t size = 1, used = 0;
    for (uint32_t i = 0; i < count; i++) size += strlen(pairs[i]) + 1;
    char *joined = calloc(1, size);
    for (uint32_t i = 0; joined != NULL && i < count; i++) {
        if (i > 0 && strcmp(pairs[i], pairs[i - 1]) == 0) continue;
        if (!has_torch && is_of_torch(pairs[i])) continue;
        used += (size_t)snprintf(joined + used, size - used, "%s%s", used > 0 ? ";" : "", pairs[i]);
    }
    return joined;
}

static ft_status join_both(ft_targets *t, const ft_target_options *o, ft_error *error) {
    const char **sorted = calloc((size_t)o->setting_count + 1, sizeof *sorted);
    for (uint32_t i = 0; sorted != NULL && i < o->setting_count; i++) sorted[i] = o->settings[i];
    if (sorted != NULL && o->setting_count > 0) qsort(sorted, o->setting_count, sizeof *sorted, by_text);
    t->setting = sorted != NULL ? join_settings(sorted, o->setting_count, true) : NULL;
    t->other_setting = sorted != NULL ? join_settings(sorted, o->setting_count, false) : NULL;
    free(sorted);
    return t->setting != NULL && t->other_setting != NULL ? FT_OK : FT_NOMEM(error);
}

/* --- Prices ---------------------------------------------------------------------------------------------------- */

static target *named_target(ft_targets *t, const char *name) {
    const char *canonical = ft_device_canonical(name);
    return (target *)find_target(t, canonical != NULL ? canonical : name);
}

/* "2.5", "2.5/h" or "NAME=2.5/h". */
static ft_status set_price(ft_targets *t, const char *text, ft_error *error) {
    const char *equals = strrchr(text, '='), *number = equals != NULL ? equals + 1 : text;
    char name[128], *end;
    double price = strtod(number, &end);
    bool is_number = end != number && (strcmp(end, "") == 0 || strcmp(end, "/h") == 0) && price > 0 && price < 1e12;
    if (!is_number || (equals != NULL && (size_t)(equals - text) >= sizeof name))
        return ft_fail(error, FT_ERR_USAGE, "price %.100s: expected a price per hour, as 2.5/h or a100=2.5/h", text);
    if (equals == NULL) {
        for (uint32_t i = 0; i < t->count; i++)
            if (t->items[i].price_per_hour == 0) t->items[i].price_per_hour = price;
        return FT_OK;
    }
    snprintf(name, sizeof name, "%.*s", (int)(equals - text), text);
    target *item = named_target(t, name);
    if (item == NULL) return ft_fail(error, FT_ERR_USAGE, "price: %s is not among the devices", name);
    item->price_per_hour = price;
    return FT_OK;
}

/* Those of single devices come first, whatever their order. */
static ft_status set_prices(ft_targets *t, const char *prices, ft_error *error) {
    ft_status status = FT_OK;
    for (int pass = 0; prices != NULL && pass < 2; pass++) {
        char *copy = strdup(prices), *rest = copy;
        if (copy == NULL) return FT_NOMEM(error);
        for (char *text; status == FT_OK && (text = strsep(&rest, ",")) != NULL;)
            if ((strchr(text, '=') != NULL) == (pass == 0)) status = set_price(t, text, error);
        free(copy);
    }
    return status;
}

/* --- The whole ----------------------------------------------------------------------------------------------- */

static ft_status resolve(ft_targets *t, const ft_predictor_set *set, const ft_target_options *o, ft_error *error) {
    FT_TRY(check_pairs(o->settings, o->setting_count, error));
    char *names = strdup(o->devices != NULL ? o->devices : "all");
    if (names == NULL) return FT_NOMEM(error);
    ft_status status = add_names(t, set, o, names, error);
    free(names);
    if (status == FT_OK) status = check_runtime(t, o->runtime, error);
    if (status == FT_OK) status = check_torch(t, o, error);
    if (status == FT_OK) status = set_prices(t, o->prices, error);
    return status == FT_OK ? join_both(t, o, error) : status;
}

ft_status ft_targets_open(const ft_predictor_set *set, const ft_target_options *options, ft_targets **targets,
                          ft_error *error) {
    FT_REQUIRE(error, set, options, targets);
    if (options->settings == NULL && options->setting_count > 0)
        return ft_fail(error, FT_ERR_USAGE, "ft_targets_open: settings is NULL");
    ft_targets *t = calloc(1, sizeof *t);
    if (t == NULL) return FT_NOMEM(error);
    ft_status status = resolve(t, set, options, error);
    if (status == FT_OK)
        *targets = t;
    else
        ft_targets_free(t);
    return status;
}

void ft_targets_free(ft_targets *targets) {
    if (targets == NULL) return;
    for (uint32_t i = 0; i < targets->count; i++) {
        ft_device_free(targets->items[i].sheet);
        free(targets->items[i].name);
    }
    free(targets->setting);
    free(targets->other_setting);
    free(targets);
}

uint32_t ft_targets_count(const ft_targets *targets) {
    return targets != NULL ? targets->count : 0;
}

const char *ft_targets_name(const ft_targets *targets, uint32_t index) {
    return index < ft_targets_count(targets) ? targets->items[index].name : NULL;
}

ft_request ft_targets_request(const ft_targets *targets, uint32_t index) {
    if (index >= ft_targets_count(targets)) return (ft_request){0};
    const target *item = &targets->items[index];
    return (ft_request){.device = item->name,
                        .sheet = item->sheet,
                        .price_per_hour = item->price_per_hour,
                        .setting = item->is_without_torch ? targets->other_setting : targets->setting};
}

bool ft_targets_have_price(const ft_targets *targets) {
    bool has_price = false;
    for (uint32_t i = 0; i < ft_targets_count(targets) && !has_price; i++) {
        ft_device *opened;
        const ft_device *sheet = sheet_of(&targets->items[i], &opened);
        has_price = targets->items[i].price_per_hour > 0 ||
                    (sheet != NULL && !isnan(ft_device_number(sheet, "price_per_hour")));
        ft_device_free(opened);
    }
    return has_price;
}

double ft_targets_memory(const ft_targets *targets, uint32_t index) {
    if (index >= ft_targets_count(targets)) return NAN;
    ft_device *opened;
    const ft_device *sheet = sheet_of(&targets->items[index], &opened);
    double bytes = sheet != NULL ? ft_device_number(sheet, "memory_bytes") : NAN;
    ft_device_free(opened);
    return bytes;
}
