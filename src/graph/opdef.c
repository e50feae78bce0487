/* opdef.c - lookup in the operator table (ops.c, ops_contrib.c) by the name of an operator in a format, and public
 * access to it. */
#include "graph/opdef.h"

#include <assert.h>
#include <pthread.h>
#include <string.h>

#include "graph/graph.h"
#include "graph/ops.h"

static const ft_opdef unknown = {.name = "Unknown", .cost = COST_UNKNOWN, .flops = 1};

/* --- Finding an entry by name -------------------------------------------------------------------------------- */

/* One hash table for each family of formats, filled on first use and constant afterwards. */
enum { ONNX, TFLITE, TF, NCNN, FAMILIES, SLOTS = 1024 };

typedef struct spelling {
    const char *text; /* not terminated: points into the list of an entry */
    size_t length;
    const ft_opdef *def;
} spelling;

static spelling slots[FAMILIES][SLOTS];
static pthread_once_t slots_once = PTHREAD_ONCE_INIT;

static uint32_t hash_text(const char *text, size_t length) {
    uint32_t hash = 2166136261U;
    for (size_t i = 0; i < length; i++) hash = (hash ^ (unsigned char)text[i]) * 16777619U;
    return hash ^ hash >> 15;
}

static spelling *find_slot(int family, const char *text, size_t length) {
    assert(family >= 0 && family < FAMILIES);
    for (uint32_t i = hash_text(text, length) % SLOTS;; i = (i + 1) % SLOTS) {
        spelling *slot = &slots[family][i];
        if (slot->text == NULL || (slot->length == length && memcmp(slot->text, text, length) == 0)) return slot;
    }
}

static void add_spellings(int family, const char *list, const ft_opdef *def) {
    if (list == NULL) return;
    while (*list != '\0') {
        size_t length = strcspn(list, " ");
        spelling *slot = find_slot(family, list, length);
        if (slot->text == NULL) *slot = (spelling){list, length, def};
        list += length;
        while (*list == ' ') list++;
    }
}

static void fill_slots(void) {
    for (uint32_t i = 0; i < ft_opdef_count(); i++) {
        const ft_opdef *def = ft_opdef_at(i);
        add_spellings(ONNX, def->onnx, def);
        add_spellings(TFLITE, def->tflite, def);
        add_spellings(TF, def->tf, def);
        add_spellings(NCNN, def->ncnn, def);
    }
}

static int family_of(ft_format format) {
    switch (format) {
    case FT_FORMAT_TFLITE:
        return TFLITE;
    case FT_FORMAT_CG:
    case FT_FORMAT_NNMETER:
    case FT_FORMAT_TENSORFLOW:
    case FT_FORMAT_TFJS:
        return TF;
    case FT_FORMAT_NCNN:
        return NCNN;
    default: /* formats that name operators as ONNX does */
        return ONNX;
    }
}

const ft_opdef *opdef_find(ft_format format, const char *text) {
    pthread_once(&slots_once, fill_slots);
    return find_slot(family_of(format), text, strlen(text))->def;
}

/* --- Access to the table ------------------------------------------------------------------------------------- */

uint32_t ft_opdef_count(void) {
    return opdef_table_count + opdef_contrib_count;
}

const ft_opdef *ft_opdef_at(uint32_t index) {
    if (index < opdef_table_count) return &opdef_table[index];
    return index < ft_opdef_count() ? &opdef_contrib[index - opdef_table_count] : NULL;
}

const ft_opdef *ft_opdef_unknown(void) {
    return &unknown;
}

bool ft_opdef_is_known(const ft_opdef *def) {
    return def != NULL && def != &unknown;
}

const char *ft_opdef_name(const ft_opdef *def) {
    return def != NULL ? def->name : NULL;
}

ft_op_class ft_opdef_class(const ft_opdef *def) {
    return def != NULL ? def->op_class : 0;
}

const char *ft_opdef_spellings(const ft_opdef *def, ft_format format) {
    if (def == NULL) return "";
    const char *const lists[FAMILIES] = {
        [ONNX] = def->onnx, [TFLITE] = def->tflite, [TF] = def->tf, [NCNN] = def->ncnn};
    const char *list = lists[family_of(format)];
    return list != NULL ? list : "";
}
