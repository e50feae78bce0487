/* fuzz_ansor.c - any bytes as a tuning log: the features of programs that lower must be numbers. */
#include <math.h>
#include <stdlib.h>

#include "base/buf.h"
#include "program/program.h"
#include "program/show.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static ft_program *program; /* large; reused for each line, as for a log */
    static ansor_record record[1];
    lines text = {0};
    ft_error error;
    if (program == NULL && ft_program_new(&program, &error) != FT_OK) abort();
    const char *line = "";
    size_t length;
    if (lines_open_memory((const char *)data, size, "fuzz", &text, &error) != FT_OK) abort();
    while (lines_next(&text, &line, &length, &error) == FT_OK && line != NULL) {
        bool is_record;
        ft_program_features f;
        buf shown = {0};
        if (ansor_read(line, length, record, &is_record, &error) != FT_OK || !is_record) continue;
        if (program_lower_record(program, record, &error) != FT_OK ||
            ft_program_extract_features(program, &f, &error) != FT_OK)
            continue;
        for (uint32_t i = 0; i < f.leaf_count * FT_PROGRAM_FEATURES; i++) {
            if (!isfinite(f.leaves[i])) abort();
        }
        if (show_tir(&program->n, &shown) != FT_OK && !shown.failed) abort();
        buf_free(&shown);
    }
    lines_close(&text);
    return 0;
}
