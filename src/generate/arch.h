/* arch.h - architectures of PerfSeer's design space: a stem, four stages of one style each, a head.
 *
 * The space follows the paper as far as published (docs/generate.md): the styles and the structure of a stage.
 * Widths and depths were not published; the ranges in arch.c are chosen so that parameters, FLOPs and bytes are
 * distributed like those of the published data. */
#ifndef GENERATE_ARCH_H
#define GENERATE_ARCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/rng.h"

enum { ARCH_STAGES = 4, ARCH_NAME_SIZE = 256 };

typedef enum arch_style {
    STYLE_VGGNET,    /* a sequence of 3x3 convolutions */
    STYLE_GOOGLENET, /* four branches and a concatenation */
    STYLE_RESNEXT,   /* bottlenecks with grouped convolutions beside a shortcut */
    STYLE_DENSENET,  /* every block appends channels to its input */
    STYLE_MOBILENET, /* depthwise and pointwise convolutions */
    STYLE_COUNT
} arch_style;

typedef struct arch_stage {
    arch_style style;
    int depth;        /* blocks */
    int width;        /* output channels */
    int groups;       /* resnext: of its 3x3 convolutions */
    int narrowing;    /* resnext: input channels / bottleneck channels */
    int growth;       /* densenet: channels added by a block */
    bool halves_last; /* height and width halve in the last block, else in the first */
} arch_stage;

typedef struct arch {
    arch_stage stages[ARCH_STAGES];
} arch;

void arch_draw(rng *random, arch *drawn);

/* The file name without its suffix, in the form of the published ones: "bs8_synthetic_s['vggnet', ...]_bnum...".
 * Equal names are equal architectures. Returns `name`. */
const char *arch_name(const arch *a, int64_t batch, char name[static ARCH_NAME_SIZE]);

#endif
