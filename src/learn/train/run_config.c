/* run_config.c - parses the settings of a family, and writes config.json. */
#include "learn/train/run_config.h"

#include <stdlib.h>
#include <string.h>

#include "base/json_writer.h"
#include "base/yaml.h"
#include "foretell/foretell.h"
#include "learn/score/filter.h"

static uint32_t depth_of(const json_t *value) {
    uint32_t deepest = 0;
    const char *key;
    const json_t *item;
    size_t i;
    if (json_is_object(value)) {
        json_object_foreach((json_t *)(uintptr_t)value, key, item) {
            uint32_t depth = depth_of(item);
            if (depth > deepest) deepest = depth;
        }
    }
    json_array_foreach(value, i, item) {
        uint32_t depth = depth_of(item);
        if (depth > deepest) deepest = depth;
    }
    return deepest + 1;
}

/* Settings are equal whatever the order of their keys. */
static ft_status sort_keys(json_t **value, ft_error *error) {
    char *text = json_dumps(*value, JSON_SORT_KEYS | JSON_COMPACT);
    if (text == NULL) return FT_NOMEM(error);
    json_t *sorted = NULL;
    ft_status status = json_parse(text, strlen(text), &sorted, error);
    free(text);
    FT_TRY(status);
    json_decref(*value);
    *value = sorted;
    return FT_OK;
}

/* "depth=8", "name=plain text", "sizes=[1, 2]". */
static ft_status apply(json_t *config, const char *setting, ft_error *error) {
    const char *equal = strchr(setting, '=');
    if (equal == NULL || equal == setting)
        return ft_fail(error, FT_ERR_USAGE, "'%s' is not a setting: write KEY=VALUE", setting);
    char *key = strndup(setting, (size_t)(equal - setting));
    if (key == NULL) return FT_NOMEM(error);
    json_t *value = NULL, *name = NULL;
    ft_status status = json_parse_plain(equal + 1, strlen(equal + 1), &value, error);
    if (status == FT_OK) status = json_utf8(key, strlen(key), &name, error);
    if (status == FT_OK)
        status = json_put(config, key, value) ? FT_OK : FT_NOMEM(error);
    else
        json_decref(value);
    json_decref(name);
    free(key);
    return status == FT_ERR_USAGE ? ft_fail_prefix(error, status, "'%s' is not a setting", setting) : status;
}

static ft_status parse(const char *text, json_t **found, ft_error *error) {
    if (strlen(text) > CONFIG_MAX_BYTES)
        return ft_fail(error, FT_ERR_LIMIT, "is longer than %d bytes", CONFIG_MAX_BYTES);
    FT_TRY(config_text_parse(text, strlen(text), found, error));
    if (json_is_object(*found)) return FT_OK;
    return ft_fail(error, FT_ERR_USAGE, "is %s, but an object is expected, like {\"depth\": 6}", json_kind(*found));
}

ft_status config_parse(const char *text, const char *const *settings, uint32_t setting_count, json_t **config,
                       ft_error *error) {
    json_t *found = NULL;
    ft_status status = parse(text != NULL ? text : "{}", &found, error);
    for (uint32_t i = 0; i < setting_count && status == FT_OK; i++) status = apply(found, settings[i], error);
    if (status == FT_OK && depth_of(found) > CONFIG_MAX_DEPTH)
        status = ft_fail(error, FT_ERR_LIMIT, "is nested more than %d levels deep", CONFIG_MAX_DEPTH);
    if (status == FT_OK) status = sort_keys(&found, error);
    if (status == FT_OK) {
        *config = found;
        return FT_OK;
    }
    json_decref(found);
    return ft_fail_prefix(error, status, "the config");
}

static void write_split(json_writer *w, const ft_split *split) {
    jsonw_key(w, "split");
    jsonw_open_object(w, JSON_LINE);
    jsonw_pair_string(w, "spec", split->spec);
    jsonw_pair_uint(w, "seed", split->seed);
    jsonw_pair_string(w, "hash", split->hash);
    jsonw_close(w);
}

/* Omitted when no filter is set: such runs keep the identity that they had before filters existed. */
static void write_filter(json_writer *w, const ft_time_filter *filter) {
    if (!filter_is_set(filter)) return;
    jsonw_key(w, "filter");
    jsonw_open_object(w, JSON_LINE);
    if (filter->max_noise > 0) jsonw_pair_double(w, "max_noise", filter->max_noise);
    if (filter->min_time_us > 0) jsonw_pair_double(w, "min_time_us", filter->min_time_us);
    if (filter->max_time_us > 0) jsonw_pair_double(w, "max_time_us", filter->max_time_us);
    jsonw_close(w);
}

static void write_data(json_writer *w, const ft_dataset *data) {
    jsonw_key(w, "data");
    jsonw_open_object(w, JSON_LINE);
    jsonw_pair_string(w, "hash", ft_dataset_hash(data));
    jsonw_pair_uint(w, "graphs", ft_dataset_graph_count(data));
    jsonw_pair_uint(w, "records", ft_dataset_record_count(data));
    jsonw_close(w);
}

/* The number of rows per use. */
static void write_rows(json_writer *w, const fitset *rows) {
    jsonw_key(w, "rows");
    jsonw_open_object(w, JSON_LINE);
    jsonw_pair_uint(w, "train", rows->set.train.count);
    jsonw_pair_uint(w, "valid", rows->set.valid.count);
    jsonw_pair_uint(w, "calibration", rows->calibration.counts[FT_PART_TEST]);
    jsonw_pair_uint(w, "test", rows->test_count);
    jsonw_close(w);
    jsonw_key(w, "devices");
    jsonw_open_array(w, JSON_LINE);
    for (uint32_t i = 0; i < rows->set.device_count; i++) jsonw_string(w, rows->set.devices[i]);
    jsonw_close(w);
}

/* The list as it is written in --metric. */
static void write_metrics(json_writer *w, const fit_set *set) {
    buf list = {0};
    buf_text(&list, set->metric);
    for (uint32_t i = 0; i < set->other_count; i++) buf_format(&list, ",%s", set->others[i]);
    jsonw_pair_string(w, "metric", list.data != NULL && !list.failed ? list.data : set->metric);
    if (list.failed) w->out->failed = true;
    buf_free(&list);
}

ft_status config_write(const config_facts *facts, buf *text, ft_error *error) {
    json_writer w;
    jsonw_init(&w, text);
    jsonw_open_object(&w, JSON_BLOCK);
    jsonw_pair_uint(&w, "foretell_run", RUN_VERSION);
    jsonw_pair_string(&w, "version", ft_version_string());
    jsonw_pair_string(&w, "family", facts->family->name);
    jsonw_pair_string(&w, "schema", facts->family->schema);
    write_metrics(&w, &facts->rows->set);
    jsonw_pair_uint(&w, "seed", facts->seed);
    write_data(&w, facts->rows->set.data);
    write_split(&w, facts->split);
    write_filter(&w, facts->filter);
    write_rows(&w, facts->rows);
    if (facts->folds != NULL) {
        jsonw_key(&w, "folds");
        jsonw_json(&w, facts->folds);
    }
    jsonw_key(&w, "config");
    jsonw_json(&w, facts->config);
    jsonw_close(&w);
    buf_char(text, '\n');
    return text->failed ? FT_NOMEM(error) : FT_OK;
}
