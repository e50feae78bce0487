/* template_steps.c - schedules of AutoTVM's templates, as in TVM's operator library.
 *
 * Stages are numbered as they are when the step is applied: a cache before a stage gets its number, one after it the
 * next. Rows are in the order of the schedule, with two exceptions that do not change its loops: write caches come
 * first, and a stage is inlined after its cache is made. Double buffering of dense_large_batch is omitted: it is no
 * loop. */
#include "program/stage.h"
#include "program/template.h"

#define ITEMS(...) .list = {__VA_ARGS__}, .count = sizeof((uint8_t[]){__VA_ARGS__})
#define CHW(at)                                                                                                        \
    { .kind = ANSOR_CACHE_WRITE, .stage = (at), .text = "local" }
#define CHR(at, scope, reader)                                                                                         \
    { .kind = ANSOR_CACHE_READ, .stage = (at), .text = (scope), ITEMS(reader) }
#define CI(at)                                                                                                         \
    { .kind = ANSOR_COMPUTE_INLINE, .stage = (at) }
#define CA(at, target, where)                                                                                          \
    { .kind = ANSOR_COMPUTE_AT, .stage = (at), .other = (target), .iter = (where) }
#define FU(at, ...)                                                                                                    \
    { .kind = ANSOR_FUSE, .stage = (at), ITEMS(__VA_ARGS__) }
#define RE(at, ...)                                                                                                    \
    { .kind = ANSOR_REORDER, .stage = (at), ITEMS(__VA_ARGS__) }
#define AN(at, where, annotation)                                                                                      \
    { .kind = ANSOR_ANNOTATE, .stage = (at), .iter = (where), .other = (annotation) }
#define RF(at, where)                                                                                                  \
    { .kind = ANSOR_RFACTOR, .stage = (at), .iter = (where), .other = 0 }
/* SP splits by the lengths of a knob; ONE into one part, to have a loop for a pragma. */
#define SP(at, where, name, what, parts)                                                                               \
    {                                                                                                                  \
        .kind = ANSOR_SPLIT, .stage = (at), .iter = (where), .knob = (name), .axis = (what), .lengths = (parts),       \
        .is_inner = true                                                                                               \
    }
#define ONE(at, where)                                                                                                 \
    { .kind = ANSOR_SPLIT, .stage = (at), .iter = (where) }
/* PARTS splits into as many parts, LENGTH into parts as long, as a split by a knob has at a level: the number of
 * threads. */
#define PARTS(at, where, name, which)                                                                                  \
    { .kind = ANSOR_FOLLOW_FUSED_SPLIT, .stage = (at), .iter = (where), .knob = (name), .level = (which) }
#define LENGTH(at, where, name, which)                                                                                 \
    {                                                                                                                  \
        .kind = ANSOR_FOLLOW_FUSED_SPLIT, .stage = (at), .iter = (where), .knob = (name), .level = (which),            \
        .is_inner = true                                                                                               \
    }
#define FOURFOLD(at, where, name, which)                                                                               \
    {                                                                                                                  \
        .kind = ANSOR_SPLIT, .stage = (at), .iter = (where), .knob = (name), .level = (which), .times = 4,             \
        .is_inner = true                                                                                               \
    }
#define PR(at, where)                                                                                                  \
    { .kind = ANSOR_PRAGMA, .stage = (at), .iter = (where), .knob = "auto_unroll_max_step" }

/* Tiles f, y and x at four levels (blocks, virtual threads, threads, serial), with the batch in the blocks of f. */
#define TILE_IMAGE(at)                                                                                                 \
    ONE(at, 0), SP(at, 2, "tile_f", 'F', 3), SP(at, 6, "tile_y", 'Y', 3), SP(at, 10, "tile_x", 'X', 3), FU(at, 1, 2),  \
        RE(at, 0, 1, 5, 9, 2, 6, 10, 3, 7, 11, 4, 8, 12), AN(at, 1, PROG_BLOCK_Z), AN(at, 2, PROG_BLOCK_Y),            \
        AN(at, 3, PROG_BLOCK_X), AN(at, 4, PROG_VTHREAD), AN(at, 5, PROG_VTHREAD), AN(at, 6, PROG_VTHREAD),            \
        AN(at, 7, PROG_THREAD_Z), AN(at, 8, PROG_THREAD_Y), AN(at, 9, PROG_THREAD_X)

/* All threads of a block fill shared memory: each a contiguous run (RUNS), or elements one thread count apart
 * (TRIPS). */
#define FETCH_RUNS(at)                                                                                                 \
    FU(at, 0, 1, 2, 3), PARTS(at, 0, "tile_f", 1), PARTS(at, 1, "tile_y", 1), PARTS(at, 2, "tile_x", 1),               \
        AN(at, 0, PROG_THREAD_Z), AN(at, 1, PROG_THREAD_Y), AN(at, 2, PROG_THREAD_X)
#define FETCH_TRIPS(at)                                                                                                \
    FU(at, 0, 1, 2, 3), LENGTH(at, 0, "tile_x", 1), LENGTH(at, 0, "tile_y", 1), LENGTH(at, 0, "tile_f", 1),            \
        AN(at, 1, PROG_THREAD_Z), AN(at, 2, PROG_THREAD_Y), AN(at, 3, PROG_THREAD_X)

/* Stages afterwards: data 0, pad 1, its copy 2, filters 3, their copy 4, sum 5, result 6. */
static const template_step conv2d[] = {
    CHW(3),
    CHR(1, "shared", 3),
    CHR(3, "shared", 4),
    CI(1),
    TILE_IMAGE(6),
    CA(5, 6, 9),
    SP(5, 4, "tile_rc", 'C', 1),
    SP(5, 6, "tile_ry", 'H', 1),
    SP(5, 8, "tile_rx", 'W', 1),
    RE(5, 4, 6, 8, 5, 7, 9, 0, 1, 2, 3),
    CA(2, 5, 2),
    CA(4, 5, 2),
    FETCH_RUNS(2),
    FETCH_RUNS(4),
    PR(6, 0),
};

/* Stages afterwards: data 0, pad 1, its copies 2 (shared) and 3, filters 4, their copies 5 (shared) and 6, sum 7,
 * result 8. */
static const template_step depthwise[] = {
    CHW(3),      CHR(1, "shared", 3), CHR(3, "shared", 4), CHR(2, "local", 5), CHR(5, "local", 6),
    CI(1),       TILE_IMAGE(8),       CA(7, 8, 9),         CA(2, 8, 3),        CA(5, 8, 3),
    CA(3, 8, 9), CA(6, 8, 9),         FETCH_TRIPS(2),      FETCH_TRIPS(5),     PR(8, 0),
};

/* Stages afterwards: A 0, its copies 1 (shared) and 2, B 3, its copies 4 (shared) and 5, sum 6, result 7. */
#define CACHE_PRODUCT CHW(2), CHR(0, "shared", 2), CHR(1, "local", 3), CHR(3, "shared", 4), CHR(4, "local", 5)

#define FETCH_ROWS(at, knob)                                                                                           \
    PARTS(at, 0, knob, 1), FOURFOLD(at, 2, knob, 1), PARTS(at, 3, knob, 1), AN(at, 0, PROG_THREAD_Y),                  \
        AN(at, 3, PROG_THREAD_X)

static const template_step dense_large[] = {
    CACHE_PRODUCT,
    SP(7, 0, "tile_x", 'M', 3),
    SP(7, 4, "tile_y", 'N', 3),
    RE(7, 4, 0, 5, 1, 6, 2, 7, 3),
    CA(6, 7, 5),
    AN(7, 0, PROG_BLOCK_Y),
    AN(7, 1, PROG_BLOCK_X),
    AN(7, 2, PROG_VTHREAD),
    AN(7, 3, PROG_VTHREAD),
    AN(7, 4, PROG_THREAD_Y),
    AN(7, 5, PROG_THREAD_X),
    SP(6, 2, "tile_k", 'K', 2),
    RE(6, 2, 3, 4, 0, 1),
    CA(1, 6, 0),
    CA(4, 6, 0),
    AN(6, 1, PROG_UNROLL),
    CA(2, 6, 1),
    CA(5, 6, 1),
    FETCH_ROWS(1, "tile_x"),
    FETCH_ROWS(4, "tile_y"),
};

/* One block per element: each of its threads sums a part, then all parts are combined. */
static const template_step dense_small[] = {
    SP(2, 2, "tile_k", 'K', 1), RF(2, 3),    AN(3, 0, PROG_BLOCK_Y), AN(3, 1, PROG_BLOCK_X),
    AN(3, 2, PROG_THREAD_X),    CA(2, 3, 2),
};

#define FETCH_BATCH(at)                                                                                                \
    PARTS(at, 1, "tile_y", 0), PARTS(at, 3, "tile_x", 0), RE(at, 0, 1, 3, 2, 4), AN(at, 1, PROG_THREAD_Y),             \
        AN(at, 2, PROG_THREAD_X), PR(at, 3)

static const template_step batch_matmul[] = {
    CACHE_PRODUCT,
    SP(7, 1, "tile_y", 'M', 2),
    SP(7, 4, "tile_x", 'N', 2),
    RE(7, 0, 1, 4, 2, 5, 3, 6),
    AN(7, 0, PROG_BLOCK_Z),
    AN(7, 1, PROG_BLOCK_Y),
    AN(7, 2, PROG_BLOCK_X),
    AN(7, 3, PROG_THREAD_Y),
    AN(7, 4, PROG_THREAD_X),
    PR(7, 5),
    CA(6, 7, 4),
    SP(6, 3, "tile_k", 'K', 1),
    RE(6, 0, 3, 4, 1, 2),
    PR(6, 2),
    CA(1, 6, 1),
    CA(2, 6, 2),
    CA(4, 6, 1),
    CA(5, 6, 2),
    FETCH_BATCH(1),
    FETCH_BATCH(4),
};

#define STEPS(table) .steps = (table), .count = sizeof(table) / sizeof((table)[0])

const schedule_template schedule_templates[] = {
    {.name = "conv2d_nchw.cuda", .shape = TEMPLATE_CONV2D, STEPS(conv2d)},
    {.name = "depthwise_conv2d_nchw.cuda", .shape = TEMPLATE_DEPTHWISE, STEPS(depthwise)},
    {.name = "dense_large_batch.gpu",
     .shape = TEMPLATE_DENSE,
     .same = {"tile_x", "tile_y"},
     .level = 2,
     STEPS(dense_large)},
    {.name = "dense_small_batch.gpu", .shape = TEMPLATE_DENSE, STEPS(dense_small)},
    {.name = "batch_matmul.cuda", .shape = TEMPLATE_BATCH_MATMUL, STEPS(batch_matmul)},
};

const uint32_t schedule_template_count = sizeof schedule_templates / sizeof schedule_templates[0];
