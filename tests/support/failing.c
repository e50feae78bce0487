/* failing.c - wraps the allocation functions of test programs. */
#include "support/failing.h"

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *block, size_t size);
void *__real_aligned_alloc(size_t alignment, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *block, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);

static long left = -1; /* allocations before the one that fails; -1: none fails */
static bool has_failed;

void failing_start(long n) {
    left = n;
    has_failed = false;
}

bool failing_stop(void) {
    left = -1;
    return has_failed;
}

static bool must_fail(void) {
    if (left < 0 || left-- > 0) return false;
    has_failed = true;
    return true;
}

void *__wrap_malloc(size_t size) {
    return must_fail() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size) {
    return must_fail() ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *block, size_t size) {
    return must_fail() ? NULL : __real_realloc(block, size);
}

void *__wrap_aligned_alloc(size_t alignment, size_t size) {
    return must_fail() ? NULL : __real_aligned_alloc(alignment, size);
}
