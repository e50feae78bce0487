#include "learn/evaluate/cases.h"

#include <stdlib.h>
#include <string.h>

static int by_device_and_family(const void *a, const void *b) {
    const ft_case *x = a, *y = b;
    int order = strcmp(x->device, y->device);
    if (order == 0) order = strcmp(x->family, y->family);
    return order != 0 ? order : (x->record > y->record) - (x->record < y->record);
}

ft_case *cases_sorted(const ft_case *cases, uint32_t count) {
    ft_case *sorted = calloc(count > 0 ? count : 1, sizeof *sorted);
    if (sorted == NULL) return NULL;
    for (uint32_t i = 0; i < count; i++) sorted[i] = cases[i];
    qsort(sorted, count, sizeof *sorted, by_device_and_family);
    return sorted;
}

uint32_t cases_of_device(const ft_case *sorted, uint32_t count) {
    uint32_t run = 0;
    while (run < count && strcmp(sorted[run].device, sorted[0].device) == 0) run++;
    return run;
}

uint32_t cases_of_family(const ft_case *sorted, uint32_t count) {
    uint32_t run = 0;
    while (run < count && strcmp(sorted[run].device, sorted[0].device) == 0 &&
           strcmp(sorted[run].family, sorted[0].family) == 0)
        run++;
    return run;
}
