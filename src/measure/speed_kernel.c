/* speed_kernel.c - loops that a processor runs at its peak: multiply-adds in registers, and reads of an array.
 *
 * They are compiled with contraction of multiply and add (see the Makefile), once for each width of vectors, and the
 * widest that the processor has is taken. */
#include "measure/speed.h"

#if defined(__x86_64__)
#define HAS_X86 1
#define WIDE    __attribute__((target("avx512f,avx512dq")))
#define MIDDLE  __attribute__((target("avx2,fma")))
#else
#define HAS_X86 0
#endif
#define PLAIN

enum { ACCUMULATORS = 10 }; /* at least latency times units of multiply-adds: 4 x 2 or 5 x 2 */

/* 10 independent sums in registers; the factors are not known to the compiler. */
#define FLOPS_KERNEL(name, isa, type, bytes)                                                                           \
    isa static double name(uint64_t rounds) {                                                                          \
        typedef type vector __attribute__((vector_size(bytes)));                                                       \
        enum { LANES = (bytes) / sizeof(type) };                                                                       \
        volatile type factor = (type)0.999, addend = (type)0.001;                                                      \
        vector f = (vector){0} + factor, a = (vector){0} + addend;                                                     \
        vector s0 = a, s1 = a + f, s2 = a - f, s3 = f, s4 = f + f, s5 = a + a, s6 = s1 + a, s7 = s2 + a, s8 = s3 + a;  \
        vector s9 = s4 + a;                                                                                            \
        for (uint64_t i = 0; i < rounds; i++) {                                                                        \
            s0 = s0 * f + a, s1 = s1 * f + a, s2 = s2 * f + a, s3 = s3 * f + a, s4 = s4 * f + a;                       \
            s5 = s5 * f + a, s6 = s6 * f + a, s7 = s7 * f + a, s8 = s8 * f + a, s9 = s9 * f + a;                       \
        }                                                                                                              \
        vector sum = s0 + s1 + s2 + s3 + s4 + s5 + s6 + s7 + s8 + s9;                                                  \
        speed_sink = (double)sum[0];                                                                                   \
        return 2.0 * ACCUMULATORS * LANES * (double)rounds;                                                            \
    }

/* The array is aligned to 64 bytes and a multiple of 512 bytes long. */
#define READ_KERNEL(name, isa, bytes)                                                                                  \
    isa static void name(const void *data, size_t size) {                                                              \
        typedef uint64_t vector __attribute__((vector_size(bytes)));                                                   \
        const vector *v = data;                                                                                        \
        size_t count = size / (bytes);                                                                                 \
        vector s0 = {0}, s1 = {0}, s2 = {0}, s3 = {0}, s4 = {0}, s5 = {0}, s6 = {0}, s7 = {0};                         \
        for (size_t i = 0; i + 8 <= count; i += 8) {                                                                   \
            s0 += v[i], s1 += v[i + 1], s2 += v[i + 2], s3 += v[i + 3];                                                \
            s4 += v[i + 4], s5 += v[i + 5], s6 += v[i + 6], s7 += v[i + 7];                                            \
        }                                                                                                              \
        vector sum = s0 + s1 + s2 + s3 + s4 + s5 + s6 + s7;                                                            \
        speed_sink = (double)sum[0];                                                                                   \
    }

_Thread_local volatile double speed_sink;

FLOPS_KERNEL(plain_float32, PLAIN, float, 16)
FLOPS_KERNEL(plain_float64, PLAIN, double, 16)
READ_KERNEL(plain_read, PLAIN, 16)
#if HAS_X86
FLOPS_KERNEL(middle_float32, MIDDLE, float, 32)
FLOPS_KERNEL(middle_float64, MIDDLE, double, 32)
READ_KERNEL(middle_read, MIDDLE, 32)
FLOPS_KERNEL(wide_float32, WIDE, float, 64)
FLOPS_KERNEL(wide_float64, WIDE, double, 64)
READ_KERNEL(wide_read, WIDE, 64)
#endif

const speed_kernels *speed_kernels_of_machine(void) {
    static const speed_kernels plain = {"128-bit vectors", plain_float32, plain_float64, plain_read};
#if HAS_X86
    static const speed_kernels middle = {"AVX2", middle_float32, middle_float64, middle_read};
    static const speed_kernels wide = {"AVX-512", wide_float32, wide_float64, wide_read};
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq")) return &wide;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return &middle;
#endif
    return &plain;
}
