/* families.c - access to the predictor families that families.h lists. */
#include "predictor/core/families.h"

#include <string.h>

#define FAMILY_ADDRESS(name) &family_##name,
static const family *const built_in[] = {FAMILY_LIST(FAMILY_ADDRESS)};

const family *const *families = built_in;
uint32_t family_total = sizeof built_in / sizeof built_in[0];

const family *family_find(const char *name) {
    for (uint32_t i = 0; i < family_total; i++) {
        if (strcmp(families[i]->name, name) == 0) return families[i];
    }
    return NULL;
}

uint32_t ft_family_count(void) {
    return family_total;
}

const char *ft_family_name(uint32_t index) {
    return index < family_total ? families[index]->name : NULL;
}

const char *ft_family_text(uint32_t index) {
    return index < family_total ? families[index]->text : NULL;
}
