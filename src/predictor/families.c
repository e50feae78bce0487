/* families.c - the list of predictor families. A new family is declared in families.h and added here; nothing else
 * names it. */
#include "predictor/families.h"

#include <string.h>

static const family *const built_in[] = {
    &family_kernel_sum,    &family_kernel_sum_wide, &family_torch_sum, &family_ethos_u,  &family_kernel_nnls,
    &family_totals_gbt,    &family_roofline,        &family_flops_mem, &family_flops,    &family_memory_replay,
    &family_memory_plan,   &family_digraph,         &family_perfsage,  &family_seernet,  &family_seernet_multi,
    &family_leaf_sequence, &family_step_sequence,   &family_leaf_gbt,  &family_nest_gbt, &family_task_median};

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
