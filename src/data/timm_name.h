/* timm_name.h - what the words of timm's result files mean: names of models, precisions, versions. */
#ifndef DATA_TIMM_NAME_H
#define DATA_TIMM_NAME_H

#include <stdbool.h>
#include <stddef.h>

#include "foretell/graph.h"

enum { TIMM_FAMILY_BYTES = 64, TIMM_VERSION_BYTES = 16 };

/* The family of architectures that a model belongs to, from its name alone, so that names nobody has seen yet find
 * their place: "tf_efficientnetv2_s.in1k" is an "efficientnet". docs/data.md has the rule. */
void timm_family(const char *model, char family[static TIMM_FAMILY_BYTES]);

/* "amp" is float16 under autocast; false when the word is not known. */
bool timm_precision(const char *word, ft_dtype *dtype, bool *is_amp);

/* "pt240" is "2.4.0", "pt113" is "1.13.0", "" is ""; false when it is none. */
bool timm_version(const char *word, char version[static TIMM_VERSION_BYTES]);

/* Takes the name of a graph's file apart: "MODEL@224_c21841_reparam.onnx.gz". False when it is none. */
typedef struct timm_graph_name {
    size_t model; /* bytes of the model's name */
    long size;    /* of the image */
    bool is_other_head, is_reparam;
} timm_graph_name;

bool timm_graph_parse(const char *file, timm_graph_name *name);

#endif
