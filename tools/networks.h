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

/* networks_residual.c */
void resnet18(builder *b);
void resnet34(builder *b);
void resnet50(builder *b);
void resnet101(builder *b);
void resnet152(builder *b);
void resnext50(builder *b);
void resnext101(builder *b);
void wide_resnet50(builder *b);
void retinanet_resnet50(builder *b);

/* networks_plain.c */
void alexnet(builder *b);
void vgg11(builder *b);
void vgg16(builder *b);
void vgg19(builder *b);
void squeezenet(builder *b);
void densenet121(builder *b);
void densenet169(builder *b);

/* networks_mobile.c */
void mobilenet_v3_small(builder *b);
void mobilenet_v3_large(builder *b);
void efficientnet_b0(builder *b);
void efficientnet_b4(builder *b);
void efficientnet_b7(builder *b);

/* networks_window.c */
void convnext_tiny(builder *b);
void convnext_small(builder *b);
void convnext_base(builder *b);
void swin_tiny(builder *b);
void swin_small(builder *b);
void swin_base(builder *b);

/* networks_diffusion.c */
void diffusion_unet(builder *b);

/* networks_vision.c */
void mobilenet_v2(builder *b);
void detector(builder *b);
void fixed_batch(builder *b);
void custom_op(builder *b);

/* networks_sequence.c */
void vit_tiny(builder *b);
void vit_small(builder *b);
void vit_base(builder *b);
void vit_large(builder *b);
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
