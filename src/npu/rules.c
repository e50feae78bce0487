#include "npu/rules.h"

#include <assert.h>

#include "npu/lower.h"

#define NPU_RULE_ROW(id, name, lowering, constraint, typed_inputs, flags)                                              \
    [NPU_OP_##id] = {NPU_OP_##id, name, npu_lower_##lowering, npu_check_##constraint, typed_inputs, flags},

static const npu_rule rules[NPU_OP_COUNT] = {NPU_RULE_LIST(NPU_RULE_ROW)};

static const npu_rule *find_by_name(const char *name) {
    for (size_t i = 0; i < NPU_OP_COUNT; i++) {
        assert(rules[i].id == (npu_op_id)i);
        if (rules[i].name[0] == name[0] && strcmp(rules[i].name, name) == 0) return &rules[i];
    }
    return NULL;
}

const npu_rule *npu_rule_find(const ft_opdef *def, npu_rule_cache *cache) {
    size_t slot = (uintptr_t)def / sizeof *def % NPU_RULE_SLOTS;
    if (cache->defs[slot] != def) {
        cache->defs[slot] = def;
        cache->rules[slot] = find_by_name(def->name);
    }
    return cache->rules[slot];
}
