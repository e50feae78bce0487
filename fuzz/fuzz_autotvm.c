/* fuzz_autotvm.c - any bytes as AutoTVM records: a record must point into itself, and the features of one with a
 * template must be numbers. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "program/program.h"
#include "program/template.h"

static void check_program(const autotvm_record *tuned, ansor_record *record, ft_program *program) {
    ft_program_features f;
    ft_error error;
    if (template_apply(tuned, record, &error) != FT_OK || program_lower_record(program, record, &error) != FT_OK ||
        ft_program_extract_features(program, &f, &error) != FT_OK)
        return;
    for (uint32_t i = 0; i < f.leaf_count * FT_PROGRAM_FEATURES; i++) {
        if (!isfinite(f.leaves[i])) abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static autotvm_record tuned[1]; /* large; reused for each line, as for a log */
    static ansor_record record[1];
    static ft_program *program;
    ft_error error;
    bool is_record;
    if (program == NULL && ft_program_new(&program, &error) != FT_OK) abort();
    if (autotvm_read((const char *)data, size, tuned, &is_record, &error) == FT_OK && is_record) {
        for (uint32_t i = 0; i < tuned->knob_count; i++) {
            const autotvm_knob *knob = &tuned->knobs[i];
            if (strlen(knob->name) >= AUTOTVM_MAX_TEXT || knob->count > AUTOTVM_MAX_NUMBERS) abort();
            if (knob->numbers + knob->count > tuned->numbers + AUTOTVM_MAX_NUMBERS) abort();
        }
        check_program(tuned, record, program);
    }
    return 0;
}
