/* Tests of cache reuse between blocks: sectors of global memory that waves of 16, 64, 256 and 1024 blocks move. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>

#include "support/program_features.h"

#define BLOCKS(axis, count) "// attr [iter_var(blockIdx." #axis ", , blockIdx." #axis ")] thread_extent = " #count "\n"
#define THREADS(count)      "// attr [iter_var(threadIdx.x, , threadIdx.x)] thread_extent = " #count "\n"
#define SHARED(size)        "allocate S[float32 * " #size "], storage_scope = shared\n"

/* Sectors that all blocks move, for waves of 16, 64, 256 and 1024. */
typedef struct sectors {
    double of[4];
} sectors;

static void expect_sectors(const lowered *s, uint32_t leaf, sectors e) {
    static const char *const names[] = {"wave16.sectors", "wave64.sectors", "wave256.sectors", "wave1024.sectors"};
    for (int i = 0; i < 4; i++) expect_log_feature(s, leaf, names[i], e.of[i]);
}

static void expect_program(const char *buffers, const char *statements, sectors e) {
    const lowered s = lower_text(buffers, statements);
    expect_sectors(&s, 0, e);
    close_program(&s);
}

/* A load into shared memory is all that counts: 64 blocks of 32 elements each. 16 blocks load 512 elements, which start
 * anywhere in a sector of 8 and so touch 7 more on average; all 64 load the whole tensor. */
static void test_contiguous_blocks(void **state) {
    (void)state;
    const double part = (16 * 32 + 7) / 8.0;
    expect_program("// buffer A: float32[2048]",
                   BLOCKS(x, 64) SHARED(32) THREADS(32) "S[threadIdx.x] = A[((blockIdx.x*32) + threadIdx.x)]\n",
                   (sectors){{4 * part, 256, 256, 256}});
    /* A store to global memory counts as a load does. */
    expect_program("// buffer A: float32[2048]\n// buffer B: float32[2048]",
                   BLOCKS(x, 64)
                       THREADS(32) "B[((blockIdx.x*32) + threadIdx.x)] = A[((blockIdx.x*32) + threadIdx.x)]\n",
                   (sectors){{8 * part, 512, 512, 512}});
    /* Backwards: the factor of the block is -32. */
    expect_program("// buffer A: float32[2048]",
                   BLOCKS(x, 64) SHARED(32)
                       THREADS(32) "S[threadIdx.x] = A[((2016 - (blockIdx.x*32)) + threadIdx.x)]\n",
                   (sectors){{4 * part, 256, 256, 256}});
}

/* 2048 blocks are two waves of 1024, 8 of 256 and so on. */
static void test_sizes_of_waves(void **state) {
    (void)state;
    expect_program("// buffer A: float32[16384]",
                   BLOCKS(x, 2048) SHARED(8) THREADS(8) "S[threadIdx.x] = A[((blockIdx.x*8) + threadIdx.x)]\n",
                   (sectors){{128 * (16 * 8 + 7) / 8.0, 32 * (64 * 8 + 7) / 8.0, 8 * (256 * 8 + 7) / 8.0,
                              2 * (1024 * 8 + 7) / 8.0}});
}

/* Blocks that are 4 apart share 28 of their 32 elements; blocks that are 1000 apart share none. */
static void test_overlap_of_neighbours(void **state) {
    (void)state;
    expect_program("// buffer A: float32[284]",
                   BLOCKS(x, 64) SHARED(32) THREADS(32) "S[threadIdx.x] = A[((blockIdx.x*4) + threadIdx.x)]\n",
                   (sectors){{4 * (32 + 15 * 4 + 7) / 8.0, 284 / 8.0, 284 / 8.0, 284 / 8.0}});
    const double all = (64 * 32 + 7) / 8.0;
    expect_program("// buffer A: float32[100000]",
                   BLOCKS(x, 64) SHARED(32) THREADS(32) "S[threadIdx.x] = A[((blockIdx.x*1000) + threadIdx.x)]\n",
                   (sectors){{4 * (16 * 32 + 7) / 8.0, all, all, all}});
    /* All blocks read the same: once per wave. */
    expect_program("// buffer A: float32[32]", BLOCKS(x, 64) SHARED(32) THREADS(32) "S[threadIdx.x] = A[threadIdx.x]\n",
                   (sectors){{4 * 4, 4, 4, 4}});
}

#define GRID_4_8                                                                                                       \
    BLOCKS(x, 4)                                                                                                       \
    BLOCKS(y, 8) SHARED(8) THREADS(8) "S[threadIdx.x] = A[blockIdx.y, ((blockIdx.x*8) + threadIdx.x)]\n"

/* Blocks go along x first: 16 of 4 x 8 are four rows. */
static void test_grids(void **state) {
    (void)state;
    /* Whole rows are contiguous. */
    expect_program("// buffer A: float32[8, 32]", GRID_4_8, (sectors){{2 * (4 * 32 + 7) / 8.0, 32, 32, 32}});
    /* Half rows are not: each starts anew. */
    const double all = 8 * (32 + 7) / 8.0;
    expect_program("// buffer A: float32[8, 64]", GRID_4_8, (sectors){{2 * 4 * (32 + 7) / 8.0, all, all, all}});
    /* 16 blocks of rows of five are three rows and one block: counted as 16 of the 20 in four rows. */
    expect_program("// buffer A: float32[10, 40]",
                   BLOCKS(x, 5) BLOCKS(y, 10) SHARED(8)
                       THREADS(8) "S[threadIdx.x] = A[blockIdx.y, ((blockIdx.x*8) + threadIdx.x)]\n",
                   (sectors){{50 / 16.0 * (4 * 40 + 7) / 8.0 * 16 / 20, 50, 50, 50}});
    /* Blocks that overlap by half are fewer different ones: 2.5 in a row, 10 in four rows, so all of the 16 count. */
    expect_program("// buffer A: float32[10, 24]",
                   BLOCKS(x, 5) BLOCKS(y, 10) SHARED(8)
                       THREADS(8) "S[threadIdx.x] = A[blockIdx.y, ((blockIdx.x*4) + threadIdx.x)]\n",
                   (sectors){{50 / 16.0 * (4 * 24 + 7) / 8.0, 30, 30, 30}});
    /* After x comes y, then z. */
    expect_program("// buffer A: float32[8, 32]",
                   BLOCKS(z, 8) BLOCKS(y, 4) SHARED(8)
                       THREADS(8) "S[threadIdx.x] = A[blockIdx.z, ((blockIdx.y*8) + threadIdx.x)]\n",
                   (sectors){{2 * (4 * 32 + 7) / 8.0, 32, 32, 32}});
    /* Two blocks are a wave. */
    expect_program("// buffer A: float32[16]",
                   BLOCKS(x, 2) SHARED(8) THREADS(8) "S[threadIdx.x] = A[((blockIdx.x*8) + threadIdx.x)]\n",
                   (sectors){{2, 2, 2, 2}});
    /* Without x and y, along z. */
    expect_program("// buffer A: float32[32]",
                   BLOCKS(z, 4) SHARED(8) THREADS(8) "S[threadIdx.x] = A[((blockIdx.z*8) + threadIdx.x)]\n",
                   (sectors){{4, 4, 4, 4}});
}

/* A quotient grows by a part of one from block to block. */
static void test_quotients_of_blocks(void **state) {
    (void)state;
    /* Four blocks share what they read: 16 blocks read four times 8 elements. */
    expect_program("// buffer A: float32[128]",
                   BLOCKS(x, 64) SHARED(8) THREADS(8) "S[threadIdx.x] = A[(((blockIdx.x/4)*8) + threadIdx.x)]\n",
                   (sectors){{4 * (4 * 8 + 7) / 8.0, 16, 16, 16}});
    /* Every fourth block reads the same: 4 x 8 elements, the whole tensor. */
    expect_program("// buffer A: float32[32]",
                   BLOCKS(x, 64) SHARED(8) THREADS(8) "S[threadIdx.x] = A[(((blockIdx.x % 4)*8) + threadIdx.x)]\n",
                   (sectors){{4 * 4, 4, 4, 4}});
    /* (2 block + i) / 4 grows by a half. */
    expect_program("// buffer A: float32[256]",
                   BLOCKS(x, 64) SHARED(8) THREADS(
                       8) "for (i, 0, 2) { S[threadIdx.x] = A[(((((blockIdx.x*2) + i)/4)*8) + threadIdx.x)]\n }",
                   (sectors){{4 * (8 * 8 + 7) / 8.0, 32, 32, 32}});
    /* A quotient inside a quotient counts as if it grew by one. */
    expect_program("// buffer A: float32[88]",
                   BLOCKS(x, 64) SHARED(8) THREADS(
                       8) "for (i, 0, 2) { S[threadIdx.x] = A[((((((blockIdx.x/3)*2) + i)/4)*8) + threadIdx.x)]\n }",
                   (sectors){{4 * (4 * 8 + 7) / 8.0, 11, 11, 11}});
}

static void test_one_block_has_no_waves(void **state) {
    (void)state;
    expect_program("// buffer A: float32[32]\n// buffer B: float32[32]", "for (i, 0, 32) { B[i] = A[i]\n }",
                   (sectors){{0, 0, 0, 0}});
    expect_program("// buffer A: float32[32]\n// buffer B: float32[32]",
                   BLOCKS(x, 1) "for (i, 0, 32) { B[i] = A[i]\n }", (sectors){{0, 0, 0, 0}});
    expect_program("// buffer A: float32[32]\n// buffer B: float32[32]",
                   THREADS(32) "B[threadIdx.x] = A[threadIdx.x]\n", (sectors){{0, 0, 0, 0}});
}

/* Schedule 37: 42 blocks of a pool, each a row of 5 of the 7 x 5 of one of 6 images, whose windows are 3 rows high. 64
 * blocks at a time load each of the 378 elements once, one at a time would load 3 rows each. */
static void test_schedule_of_a_pool(void **state) {
    (void)state;
    const lowered s = lower_record("tests/program/schedules.jsonl", 37);
    const double stored = 2 * 3 * 7 * 5 / 8.0, loaded = 2 * 3 * 9 * 7 / 8.0;
    expect_log_feature(&s, 0, "wave64.sectors", stored);
    expect_log_feature(&s, 0, "wave1024.sectors", stored);
    expect_log_feature(&s, 1, "wave64.sectors", loaded + stored);
    double some = exp2(feature(&s.f, 1, "wave16.sectors")) - 1;
    assert_true(some > loaded + stored && some < 42 * (3 * 7 + 5) / 8.0);
    close_program(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_contiguous_blocks),     cmocka_unit_test(test_sizes_of_waves),
        cmocka_unit_test(test_overlap_of_neighbours), cmocka_unit_test(test_grids),
        cmocka_unit_test(test_quotients_of_blocks),   cmocka_unit_test(test_one_block_has_no_waves),
        cmocka_unit_test(test_schedule_of_a_pool),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
