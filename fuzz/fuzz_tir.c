/* fuzz_tir.c - any bytes as printed programs: the features of a program must be numbers, and it can be printed. */
#include <math.h>
#include <stdlib.h>

#include "program/program.h"
#include "program/show.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static ft_program *program; /* large; reused for all texts */
    ft_program_features f;
    ft_error error;
    if (program == NULL && ft_program_new(&program, &error) != FT_OK) abort();
    for (size_t used = 1; used > 0;) {
        if (ft_program_parse(program, (const char *)data, size, &used, &error) != FT_OK || used == 0) break;
        if (used > size) abort();
        if (ft_program_extract_features(program, &f, &error) == FT_OK) {
            for (uint32_t i = 0; i < f.leaf_count * FT_PROGRAM_FEATURES; i++) {
                if (!isfinite(f.leaves[i])) abort();
            }
        }
        buf text = {0};
        show_tir(&program->n, &text);
        text.length = 0;
        show_json(&program->n, &text);
        buf_free(&text);
        data += used;
        size -= used;
    }
    return 0;
}
