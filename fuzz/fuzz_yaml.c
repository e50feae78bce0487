/* fuzz_yaml.c - any bytes as a configuration, JSON or YAML; what is read is within the limits, and is the same value
 * when it is written as JSON and read again. */
#include <stdlib.h>
#include <string.h>

#include "base/yaml.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static size_t count(const json_t *value, uint32_t depth) {
    const char *key;
    const json_t *item;
    size_t i, sum = 1;
    if (depth > 256) abort(); /* the limit of JSON; that of YAML is lower */
    json_object_foreach((json_t *)value, key, item) sum += count(item, depth + 1);
    json_array_foreach(value, i, item) sum += count(item, depth + 1);
    return sum;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    json_t *root = NULL, *again = NULL;
    ft_error error;
    if (config_text_parse(data, size, &root, &error) != FT_OK) {
        if (root != NULL || error.message[0] == '\0') abort();
        return 0;
    }
    if (!json_is_object(root) && !json_is_array(root)) abort();
    if (count(root, 0) > size + 2) abort(); /* no text stands for a longer one */
    char *text = json_dumps(root, JSON_REAL_PRECISION(17));
    if (text != NULL && (json_parse(text, strlen(text), &again, &error) != FT_OK || !json_equal(root, again))) abort();
    json_decref(again);
    json_decref(root);
    free(text);
    return 0;
}
