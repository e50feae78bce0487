/* fuzz_label.c - any bytes as a PerfSeer label and as the name of a file. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "read/perfseer.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    perfseer_label label;
    perfseer_name name;
    ft_error error;
    perfseer_parse_label((const char *)data, size, &label, &error);
    char *text = malloc(size + 1);
    if (text == NULL) return 0;
    memcpy(text, data, size);
    text[size] = '\0';
    perfseer_parse_name(text, &name);
    free(text);
    return 0;
}
