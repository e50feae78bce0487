/* timm_name.c - parsing of timm's model names, precisions and versions.
 *
 * timm has a thousand names and no list of families that would hold for its next release, so the family is derived
 * from the name: prefixes for the training method and for added attention are skipped; well-known stems are found
 * inside the word; for all others the letters up to the first digit are the family. */
#include "data/timm.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

/* Prefixes of the architecture: who trained it, or what was added to it. */
static const char *const ignored_prefixes[] = {"adv",    "bat",    "dm", "eca", "ens",  "gc",   "gluon", "ig", "jx",
                                               "lambda", "legacy", "nf", "ssl", "swsl", "test", "tf",    "tv", "wide"};

/* Family stems inside the first word. The order matters. */
static const char *const stems[] = {"resnext", "resnet", "botnet",  "halonet",  "darknet",   "densenet", "efficientnet",
                                    "nfnet",   "regnet", "mnasnet", "ghostnet", "mobilenet", "mobilevit"};

/* Families that the rules above would split or mix. */
static const struct {
    const char *begins, *family;
} exceptions[] = {
    {"inception_next", "inception_next"},
    {"tiny_vit", "tiny_vit"},
    {"cs3", "darknet"}, /* cs3edgenet; cs3se_edgenet */
    {"res2ne", "res2net"},
    {"botnext", "botnet"},
    {"halonext", "halonet"},
    {"coatnext", "coatnet"},
    {"maxxvit", "maxvit"},
    {"sam2_hiera", "hiera"},
    {"hieradet", "hiera"},
    {"flexivit", "vit"},
    {"naflexvit", "vit"},
};

#define COUNT(list) (sizeof(list) / sizeof(list)[0])

static const char *skip_prefixes(const char *name) {
    for (bool is_passed = true; is_passed;) {
        is_passed = false;
        for (size_t i = 0; i < COUNT(ignored_prefixes) && !is_passed; i++) {
            size_t length = strlen(ignored_prefixes[i]);
            is_passed =
                strncmp(name, ignored_prefixes[i], length) == 0 && name[length] == '_' && name[length + 1] != '\0';
            if (is_passed) name += length + 1;
        }
    }
    return name;
}

static void family_from_letters(const char *name, char family[static TIMM_FAMILY_BYTES]) {
    size_t length = strcspn(name, "0123456789_.-@");
    if (length > 1 && name[length - 1] == 'v' && isdigit((unsigned char)name[length])) length--; /* "swinv2" */
    if (length == 0) length = strcspn(name, "_.");
    if (length >= TIMM_FAMILY_BYTES) length = TIMM_FAMILY_BYTES - 1;
    memcpy(family, name, length);
    family[length] = '\0';
}

void timm_family(const char *model, char family[static TIMM_FAMILY_BYTES]) {
    const char *name = skip_prefixes(model);
    for (size_t i = 0; i < COUNT(exceptions); i++) {
        if (strncmp(name, exceptions[i].begins, strlen(exceptions[i].begins)) != 0) continue;
        snprintf(family, TIMM_FAMILY_BYTES, "%s", exceptions[i].family);
        return;
    }
    size_t word = strcspn(name, "_.");
    for (size_t i = 0; i < COUNT(stems); i++) {
        size_t length = strlen(stems[i]);
        const char *found = memmem(name, word, stems[i], length);
        if (found == NULL) continue;
        snprintf(family, TIMM_FAMILY_BYTES, "%s", stems[i]);
        return;
    }
    family_from_letters(name, family);
}

bool timm_precision(const char *word, ft_dtype *dtype, bool *is_amp) {
    static const struct {
        const char *word;
        ft_dtype dtype;
        bool is_amp;
    } precisions[] = {
        {"amp", FT_FLOAT16, true},      {"amp_bf16", FT_BFLOAT16, true},  {"amp_bfloat16", FT_BFLOAT16, true},
        {"bf16", FT_BFLOAT16, false},   {"bfloat16", FT_BFLOAT16, false}, {"fp16", FT_FLOAT16, false},
        {"float16", FT_FLOAT16, false}, {"fp32", FT_FLOAT32, false},      {"float32", FT_FLOAT32, false}};
    for (size_t i = 0; i < COUNT(precisions); i++) {
        if (strcmp(word, precisions[i].word) != 0) continue;
        *dtype = precisions[i].dtype;
        *is_amp = precisions[i].is_amp;
        return true;
    }
    return false;
}

/* Three digits after "pt". PyTorch 1 reached 1.13 and never had a patch number in these names; from 2 on each part
 * is one digit. More digits are a version 2.10 or later. */
bool timm_version(const char *word, char version[static TIMM_VERSION_BYTES]) {
    version[0] = '\0';
    if (word[0] == '\0') return true;
    size_t digits = strspn(word + (strncmp(word, "pt", 2) == 0 ? 2 : 0), "0123456789");
    if (strncmp(word, "pt", 2) != 0 || word[2 + digits] != '\0' || digits < 3 || digits > 4) return false;
    const char *d = word + 2;
    if (d[0] == '1')
        snprintf(version, TIMM_VERSION_BYTES, "1.%c%c.%s", d[1], d[2], digits == 4 ? d + 3 : "0");
    else
        snprintf(version, TIMM_VERSION_BYTES, "%c.%.*s.%c", d[0], (int)digits - 2, d + 1, d[digits - 1]);
    return true;
}

bool timm_graph_parse(const char *file, timm_graph_name *name) {
    const char *at = strrchr(file, '@');
    if (at == NULL || at == file) return false;
    const char *rest = at + 1;
    size_t digits = strspn(rest, "0123456789");
    int64_t size;
    *name = (timm_graph_name){.model = (size_t)(at - file)};
    if (!text_int(rest, digits, &size) || size < 1 || size > 1 << 20) return false;
    name->size = (long)size;
    rest += digits;
    name->is_other_head = strncmp(rest, "_c", 2) == 0;
    if (name->is_other_head) rest += 2 + strspn(rest + 2, "0123456789");
    name->is_reparam = strncmp(rest, "_reparam", 8) == 0;
    if (name->is_reparam) rest += 8;
    return strcmp(rest, ".onnx") == 0 || strcmp(rest, ".onnx.gz") == 0;
}
