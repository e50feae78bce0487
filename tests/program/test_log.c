/* Tests of files of printed programs: of a module every function is read or refused by name, kernels follow each other,
 * texts in other languages are named. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "foretell/program.h"
#include "support/folder.h"
#include "support/program_features.h"

static void write_file(const char *path, const char *text) {
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

/* --- Modules ----------------------------------------------------------------------------------------------------- */

/* Bodies that can be read, then those that cannot. */
static const char *const bodies[] = {
    "  for (i, 0, 8) {\n    b[i] = a[i]\n  }\n",
    "  // attr [iter_var(blockIdx.x, , blockIdx.x)] thread_extent = 4\n  b[blockIdx.x] = a[blockIdx.x]\n",
    "  if ((1 < 2)) {\n    b[0] = a[0]\n  } else {\n    b[1] = a[1]\n  }\n",
    "  for (a.loop.whose.name.is.as.long.as.those.of.fused.axes.outer.outer.inner, 0, 8) {\n    b[0] = a[0]\n  }\n",
    "  b[i] = a[0]\n",
    "  for (i, 0, n) {\n    b[0] = a[0]\n  }\n",
};

enum { BODIES = sizeof bodies / sizeof bodies[0], READABLE = 4, FUNCTIONS = 120 };

static void write_module(const char *path, rng *r, bool is_readable[FUNCTIONS]) {
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fprintf(file, "#[version = \"0.0.5\"]\n{llvm -keys=cpu: IRModule({");
    for (int i = 0; i < FUNCTIONS; i++) {
        uint32_t body = rng_below(r, BODIES);
        is_readable[i] = body < READABLE;
        fprintf(file, "%sGlobalVar(f%d): PrimFunc([a, b]) attrs={\"a\": {1: 2}, \"target\": llvm -keys=cpu} {\n%s}\n",
                i > 0 ? ", " : "", i, bodies[body]);
    }
    fprintf(file, "})}\n");
    fclose(file);
}

static void test_every_function_of_a_module(void **state) {
    (void)state;
    rng r;
    rng_init(&r, 6, 0);
    for (int round = 0; round < 5; round++) {
        bool is_readable[FUNCTIONS];
        ft_program_log *log = NULL;
        ft_program *program = NULL;
        ft_program_record record;
        ft_error error = {0};
        write_module("module.txt", &r, is_readable);
        assert_int_equal(ft_program_new(&program, &error), FT_OK);
        assert_int_equal(ft_program_log_open("module.txt", &log, &error), FT_OK);
        for (int i = 0; i < FUNCTIONS; i++) {
            char name[16];
            snprintf(name, sizeof name, "f%d", i);
            assert_int_equal(ft_program_log_next(log, &record, &error), FT_OK);
            assert_string_equal(record.workload, name);
            ft_status status = ft_program_lower(program, log, &error);
            if ((status == FT_OK) != is_readable[i]) fail_msg("f%d: status %d: %s", i, status, error.message);
        }
        assert_int_equal(ft_program_log_next(log, &record, &error), FT_OK);
        assert_int_equal(record.line, 0);
        ft_program_log_close(log);
        ft_program_free(program);
    }
}

/* --- Kernels ----------------------------------------------------------------------------------------------------- */

/* Two kernels of a function, and loads of shared memory that name the threads around them again. */
static void test_kernels(void **state) {
    (void)state;
    static const char text[] =
        "GlobalVar(f): PrimFunc([a, b]) attrs={} {\n"
        "  allocate s[float32 * 64], storage_scope = global\n"
        "  // attr [iter_var(blockIdx.x, , blockIdx.x)] thread_extent = 4\n"
        "  allocate t.shared[float32x4 * 2 * 2], storage_scope = shared\n"
        "  // attr [iter_var(threadIdx.x, , threadIdx.x)] thread_extent = 16\n"
        "  for (k, 0, 8) {\n"
        "    // attr [iter_var(threadIdx.x, range(min=0, ext=16), threadIdx.x)] thread_extent = 16\n"
        "    t.shared[threadIdx.x] = a[((blockIdx.x*16) + threadIdx.x)]\n"
        "    s[((blockIdx.x*16) + threadIdx.x)] = t.shared[threadIdx.x]\n"
        "  }\n"
        "  // attr [iter_var(blockIdx.x, , blockIdx.x)] thread_extent = 2\n"
        "  // attr [iter_var(threadIdx.x, , threadIdx.x)] thread_extent = 32\n"
        "  b[((blockIdx.x*32) + threadIdx.x)] = s[((blockIdx.x*32) + threadIdx.x)]\n"
        "}\n";
    ft_program *program = NULL;
    ft_program_features f;
    ft_error error = {0};
    size_t used;
    assert_int_equal(ft_program_new(&program, &error), FT_OK);
    if (ft_program_parse(program, text, strlen(text), &used, &error) != FT_OK) fail_msg("%s", error.message);
    assert_int_equal(ft_program_extract_features(program, &f, &error), FT_OK);
    assert_int_equal(f.leaf_count, 3);
    expect_log(feature(&f, 0, "outer_prod"), 4 * 16 * 8);
    expect_log(feature(&f, 0, "blockIdx.x_len"), 4);
    expect_log(feature(&f, 0, "threadIdx.x_len"), 16);
    expect_log(feature(&f, 2, "outer_prod"), 2 * 32);
    expect_log(feature(&f, 2, "blockIdx.x_len"), 2);
    expect_log(feature(&f, 2, "threadIdx.x_len"), 32);
    expect_log(feature(&f, 0, "shared_bytes"), 4 * 4 * 2 * 2);
    ft_program_free(program);
}

/* --- Other texts -------------------------------------------------------------------------------------------------- */

static void test_other_languages(void **state) {
    (void)state;
    static const struct {
        const char *text, *language;
        int count;
    } cases[] = {
        {"#include <mma.h>\nextern \"C\" __global__ void __launch_bounds__(64) k0(float* a) {\n  for (int i = 0; i < "
         "4; "
         "++i) {\n    a[i] = 1;\n  }\n}\nextern \"C\" __global__ void k1(float* a) {\n}\n",
         "CUDA source", 2},
        {"__kernel void k0(__global float* a) {\n  a[0] = 1;\n}\n", "OpenCL source", 1},
        {"@T.prim_func\ndef main(a: T.handle) -> None:\n    for i in T.serial(0, 4):\n        a[i] = 1\n", "TVMScript",
         1},
        {"@main = primfn(A_1: handle) -> ()\n  attr = {\"tir.noalias\": True} {\n  for (i: int32, 0, 4) {\n    A[i] = "
         "1f32\n  }\n}\n",
         "primfn", 1},
        {"{llvm: IRModule({GlobalVar(f): PrimFunc([a]) attrs={} {\n  a[0] = 1f\n}\n, GlobalVar(main): fn (%x) "
         "{\n}\n})}\n",
         "not lowered to loops", 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        ft_program_log *log = NULL;
        ft_program_record record;
        ft_error error = {0};
        int refused = 0;
        write_file("other.txt", cases[i].text);
        assert_int_equal(ft_program_log_open("other.txt", &log, &error), FT_OK);
        for (;;) {
            ft_status status = ft_program_log_next(log, &record, &error);
            if (status == FT_OK && record.line == 0) break;
            if (status == FT_OK) continue;
            assert_int_equal(status, FT_ERR_UNSUPPORTED);
            if (strstr(error.message, cases[i].language) == NULL) fail_msg("%s", error.message);
            refused++;
        }
        assert_int_equal(refused, cases[i].count);
        ft_program_log_close(log);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_function_of_a_module),
        cmocka_unit_test(test_kernels),
        cmocka_unit_test(test_other_languages),
    };
    return cmocka_run_group_tests(tests, folder_enter, folder_leave);
}
