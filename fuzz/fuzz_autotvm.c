/* fuzz_autotvm.c - AutoTVM records of any bytes; what is read must point into itself. */
#include <stdlib.h>
#include <string.h>

#include "read/autotvm.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    autotvm_record *record = malloc(sizeof *record);
    ft_error error;
    bool is_record;
    double seconds;
    if (record == NULL) abort();
    if (autotvm_read((const char *)data, size, record, &is_record, &error) == FT_OK && is_record) {
        for (uint32_t i = 0; i < record->knob_count; i++) {
            const autotvm_knob *knob = &record->knobs[i];
            if (strlen(knob->name) >= AUTOTVM_MAX_TEXT || knob->count > AUTOTVM_MAX_NUMBERS) abort();
            if (knob->numbers + knob->count > record->numbers + AUTOTVM_MAX_NUMBERS) abort();
        }
        autotvm_seconds(record, &seconds, &error);
    }
    free(record);
    return 0;
}
