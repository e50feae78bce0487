#include "predictor/config.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"

static ft_status fail_unknown(const char *name, const config_key *keys, uint32_t count, ft_error *error) {
    ft_fail(error, FT_ERR_USAGE, "config: there is no setting '%s'; there %s", name, count == 0 ? "are none" : "are");
    for (uint32_t i = 0; error != NULL && i < count; i++) {
        size_t length = strlen(error->message);
        snprintf(error->message + length, sizeof error->message - length, "%s %s", i == 0 ? "" : ",", keys[i].name);
    }
    return FT_ERR_USAGE;
}

ft_status config_take(const json_t *config, const config_key *keys, uint32_t count, ft_error *error) {
    const char *name;
    const json_t *value;
    if (config != NULL && !json_is_object(config))
        return ft_fail(error, FT_ERR_USAGE, "config: is %s, but an object is expected", json_kind(config));
    json_object_foreach((json_t *)config, name, value) {
        uint32_t i = 0;
        while (i < count && strcmp(keys[i].name, name) != 0) i++;
        if (i == count) return fail_unknown(name, keys, count, error);
        if (json_take_number(value, keys[i].lo, keys[i].hi, keys[i].value, error) == FT_OK) continue;
        return ft_fail_prefix(error, FT_ERR_USAGE, "config: '%s'", name);
    }
    return FT_OK;
}
