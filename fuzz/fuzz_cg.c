/* fuzz_cg.c - any bytes as the three CG tables, separated by lines "---". */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "downstream.h"
#include "read/cg.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Splits the text at the next separator; the last table is the rest. */
static const char *cut(const char **text, size_t *left, size_t *size) {
    static const char separator[] = "---\n";
    const char *start = *text, *end = memmem(start, *left, separator, sizeof separator - 1);
    *size = end != NULL ? (size_t)(end - start) : *left;
    size_t used = end != NULL ? *size + sizeof separator - 1 : *left;
    *text += used;
    *left -= used;
    return start;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const char *text = (const char *)data;
    cg_texts tables;
    cg_set *set;
    ft_error error;
    for (int i = 0; i < 3; i++) tables.texts[i] = cut(&text, &size, &tables.sizes[i]);
    cg_matches((const uint8_t *)tables.texts[0], tables.sizes[0]);
    if (cg_open_memory(&tables, "fuzz", &set, &error) != FT_OK) return 0;
    /* cg_next returns at most one graph per row, and then the end. */
    for (uint64_t i = 0; i <= cg_count(set) + 1; i++) {
        ft_graph *graph = NULL;
        ft_status status = cg_next(set, &graph, &error);
        if (status == FT_OK && graph == NULL) break;
        if (status == FT_OK) downstream(graph, &error);
        ft_graph_free(graph);
    }
    cg_close(set);
    return 0;
}
