/* fuzz_journal.c - any bytes as a journal; every entry that is read must be found again. */
#include <stdlib.h>

#include "learn/search/journal.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    journal j;
    ft_error error;
    size_t whole;
    if (journal_read(&j, "rung", (const char *)data, size, &whole, &error) != FT_OK) {
        journal_close(&j);
        return 0;
    }
    if (whole > size || (whole > 0 && data[whole - 1] != '\n') || (j.count > 0 && j.header == NULL)) abort();
    for (uint32_t i = 0; i < j.count && i < 64; i++) {
        const journal_entry *found = journal_find(&j, j.entries[i].trial, j.entries[i].round);
        if (found == NULL || !json_is_object(found->config)) abort();
    }
    journal_close(&j);
    return 0;
}
