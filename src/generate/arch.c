/* arch.c - drawing and naming of random architectures. */
#include "generate/arch.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>

static const char *const style_names[STYLE_COUNT] = {"vggnet", "googlenet", "resnext", "densenet", "mobilenet"};

static int pick(rng *random, const int *from, uint32_t count) {
    assert(count > 0);
    return from[rng_below(random, count)];
}

#define PICK(random, ...)                                                                                              \
    pick((random), (const int[]){__VA_ARGS__}, (uint32_t)(sizeof((const int[]){__VA_ARGS__}) / sizeof(int)))

/* A multiple of 8, at least 16. */
static int round_width(double width) {
    int rounded = (int)lround(width / 8) * 8;
    return rounded < 16 ? 16 : rounded > 2048 ? 2048 : rounded;
}

/* The widest grouping that divides the bottleneck; groups of 8 to 64 channels, or one group (a ResNet). */
static int draw_groups(rng *random, int bottleneck) {
    int group_width = PICK(random, 8, 16, 32, 64, 0);
    return group_width > 0 && bottleneck % group_width == 0 ? bottleneck / group_width : 1;
}

static void draw_stage(rng *random, int max_blocks, double width, arch_stage *s) {
    assert(max_blocks >= 1);
    *s = (arch_stage){.style = (arch_style)rng_below(random, STYLE_COUNT),
                      .depth = 1 + (int)rng_below(random, (uint32_t)max_blocks),
                      .width = round_width(width),
                      .groups = 1,
                      .narrowing = 1,
                      .halves_last = rng_below(random, 2) == 1};
    if (s->style == STYLE_RESNEXT) {
        s->narrowing = PICK(random, 1, 2, 4);
        s->groups = draw_groups(random, s->width / s->narrowing);
    }
    if (s->style == STYLE_DENSENET) s->growth = PICK(random, 8, 12, 16, 24, 32, 48);
}

/* The first width and its growth per stage are log-uniform, which gives the long tail of large networks. Every
 * network has a random size that scales the depth of its stages. */
void arch_draw(rng *random, arch *drawn) {
    double width = 22 * exp2(2.75 * rng_uniform(random)), growth = 1.55 + rng_uniform(random);
    int max = 3 + (int)rng_below(random, 10);
    for (int i = 0; i < ARCH_STAGES; i++) {
        draw_stage(random, i == 2 ? 2 * max : max, width, &drawn->stages[i]);
        width *= growth * (0.8 + 0.4 * rng_uniform(random));
    }
}

static size_t add_list(char *name, size_t at, const char *title, const int *numbers) {
    assert(at < ARCH_NAME_SIZE);
    return at + (size_t)snprintf(name + at, ARCH_NAME_SIZE - at, "_%s[%d, %d, %d, %d]", title, numbers[0], numbers[1],
                                 numbers[2], numbers[3]);
}

const char *arch_name(const arch *a, int64_t batch, char name[static ARCH_NAME_SIZE]) {
    const char *styles[ARCH_STAGES];
    int depth[ARCH_STAGES], width[ARCH_STAGES], groups[ARCH_STAGES], narrowing[ARCH_STAGES], growth[ARCH_STAGES];
    int last[ARCH_STAGES];
    for (int i = 0; i < ARCH_STAGES; i++) {
        const arch_stage *s = &a->stages[i];
        styles[i] = style_names[s->style];
        depth[i] = s->depth;
        width[i] = s->width;
        groups[i] = s->groups;
        narrowing[i] = s->narrowing;
        growth[i] = s->growth;
        last[i] = s->halves_last;
    }
    size_t at = (size_t)snprintf(name, ARCH_NAME_SIZE, "bs%lld_synthetic_s['%s', '%s', '%s', '%s']", (long long)batch,
                                 styles[0], styles[1], styles[2], styles[3]);
    at = add_list(name, at, "bnum", depth);
    at = add_list(name, at, "w", width);
    at = add_list(name, at, "g", groups);
    at = add_list(name, at, "b", narrowing);
    at = add_list(name, at, "k", growth);
    add_list(name, at, "last", last);
    return name;
}
