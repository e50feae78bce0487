/* arch.h - an architecture of PerfSeer's design space: a stem, four stages of a style each, a head.
 *
 * The space is that of the paper as far as it is told (docs/generate.md): which styles there are and what a stage is.
 * How wide and how deep stages are was never published; the ranges in arch.c are ours, set so that parameters, FLOPs
 * and bytes come out distributed like those of the published data. */
#ifndef GENERATE_ARCH_H
#define GENERATE_ARCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/rng.h"

enum { ARCH_STAGES = 4, ARCH_NAME_SIZE = 256 };

typedef enum arch_style {
    STYLE_VGGNET,    /* 3x3 convolutions in a row */
    STYLE_GOOGLENET, /* four branches and a concatenation */
    STYLE_RESNEXT,   /* bottlenecks with grouped convolutions beside a shortcut */
    STYLE_DENSENET,  /* every block adds channels to all before it */
    STYLE_MOBILENET, /* depthwise and pointwise convolutions */
    STYLE_COUNT
} arch_style;

typedef struct arch_stage {
    arch_style style;
    int depth;        /* blocks */
    int width;        /* channels that leave the stage */
    int groups;       /* resnext: of its 3x3 convolutions */
    int narrowing;    /* resnext: the bottleneck is so many times narrower */
    int growth;       /* densenet: channels that a block adds */
    bool halves_last; /* height and width halve in the last block, else in the first */
} arch_stage;

typedef struct arch {
    arch_stage stages[ARCH_STAGES];
} arch;

void arch_draw(rng *random, arch *drawn);

/* The name of a file without its ending, in the form of the published ones: "bs8_synthetic_s['vggnet', ...]_bnum...".
 * Equal names are equal architectures. Returns `name`. */
const char *arch_name(const arch *a, int64_t batch, char name[static ARCH_NAME_SIZE]);

#endif
