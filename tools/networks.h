/* networks.h - the networks that makemodel can write. */
#ifndef TOOLS_NETWORKS_H
#define TOOLS_NETWORKS_H

#include "builder.h"

typedef struct network {
    const char *name;
    const char *text; /* one-line description */
    void (*describe)(builder *b);
} network;

/* Ends with an entry whose name is NULL. */
extern const network networks[];

/* networks_vision.c */
void resnet50(builder *b);
void mobilenet_v2(builder *b);
void detector(builder *b);
void fixed_batch(builder *b);
void custom_op(builder *b);

/* networks_sequence.c */
void vit_base(builder *b);
void bert_base(builder *b);
void lstm_tagger(builder *b);

/* networks_exported.c */
void llama_1b_int4(builder *b);
void bert_optimized(builder *b);

/* networks_long.c: of about `ops` operators */
void chain(builder *b);
void varied(builder *b);
void wide(builder *b);
void nested(builder *b);
void attention_chain(builder *b);

#endif
