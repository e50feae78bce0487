/* fuzz_timm.c - any bytes as a table of a timm folder: the first byte selects the table, the rest is its text. */
#include "data/timm.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static char one[] = "resnet50@224.onnx", two[] = "vit@384_c10_reparam.onnx.gz", three[] = "vit@224_c10.onnx.gz";
    static char *names[] = {one, three, two};
    if (size == 0) return 0;
    arena memory;
    arena_init(&memory, FT_MAX_GRAPH_BYTES);
    ft_import_options options = {0};
    ft_import_result result = {0};
    ft_error error;
    import_job job = {.source = "fuzz", .options = &options, .result = &result, .error = &error};
    const name_list graphs = {.names = names, .count = 3};
    timm_rows rows = {0};
    timm_table kind = data[0] % 2 == 0 ? TIMM_BENCHMARK : TIMM_MEMORY;
    timm_table_text source = {kind, "fuzz.csv", (const char *)data + 1, size - 1};
    timm_table_parse(&job, &source, &graphs, &memory, &rows);
    arena_free(&memory);
    return 0;
}
