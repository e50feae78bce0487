#include "data/names.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

enum { MOST_NAMES = 64 };

static int compare_names(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static const char *name_of(const ft_record *record, bool is_device) {
    return is_device ? record->device : record->family;
}

/* Distinct ones, sorted. */
static size_t find_names(const ft_dataset *data, bool is_device, const char *names[static MOST_NAMES]) {
    const ft_record *records = ft_dataset_records(data);
    size_t count = 0;
    for (uint32_t i = 0; i < ft_dataset_record_count(data) && count < MOST_NAMES; i++) {
        const char *name = name_of(&records[i], is_device);
        size_t at = 0;
        while (at < count && strcmp(names[at], name) != 0) at++;
        if (at == count && name[0] != '\0') names[count++] = name;
    }
    if (count > 1) qsort(names, count, sizeof names[0], compare_names);
    return count;
}

static ft_status no_name(const ft_dataset *data, bool is_device, const char *name, ft_error *error) {
    const char *names[MOST_NAMES] = {NULL};
    size_t count = find_names(data, is_device, names);
    ft_fail(error, FT_ERR_USAGE, "the data set has no %s '%s'; it has%s", is_device ? "device" : "family", name,
            count == 0 ? " none" : "");
    for (size_t i = 0; error != NULL && i < count; i++) {
        size_t length = strlen(error->message);
        snprintf(error->message + length, sizeof error->message - length, "%s %s", i == 0 ? "" : ",", names[i]);
    }
    return FT_ERR_USAGE;
}

ft_status names_no_family(const ft_dataset *data, const char *family, ft_error *error) {
    return no_name(data, false, family, error);
}

ft_status names_no_device(const ft_dataset *data, const char *device, ft_error *error) {
    return no_name(data, true, device, error);
}
