/* fault.c - a library to preload that lets the n-th call of a kind fail in a whole process: of the command, and of all
 * libraries that it loads. scripts/torture runs every n in turn.
 *
 *     FAULT_KIND    alloc, map, open, read, write, sync, rename, list or make (see kinds[])
 *     FAULT_AT      the number of the call that fails, from 0; without it, calls are only counted
 *     FAULT_KEEP    if set, all later calls fail as well, as on a full disk
 *     FAULT_REPORT  a file that gets the line "hit" when a call has failed, and "count N" at the end
 *     FAULT_TRACE   if set, the report also has the stack of the call that failed
 *
 * Allocations are counted by taking the place of malloc. System calls are counted where the kernel sees them: a seccomp
 * filter turns those of the kind into SIGSYS, whose handler lets one fail and repeats the others; stdio and other
 * libraries make theirs without going through a symbol that could be replaced. */
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

enum { MAX_CALLS = 4, NONE = -1 };

typedef struct kind {
    const char *name;
    int calls[MAX_CALLS]; /* NONE: the end */
    int code;             /* errno of the failure */
} kind;

#ifdef SYS_open /* x86: newer architectures have only the calls with a folder */
#define CALLS_OPEN   SYS_open, SYS_openat, NONE
#define CALLS_RENAME SYS_rename, SYS_renameat2, SYS_link, NONE
#define CALLS_MAKE   SYS_mkdir, SYS_mkdirat, NONE
#else
#define CALLS_OPEN   SYS_openat, NONE
#define CALLS_RENAME SYS_renameat2, SYS_linkat, NONE
#define CALLS_MAKE   SYS_mkdirat, NONE
#endif

static const kind kinds[] = {
    {"alloc", {NONE}, ENOMEM},
    {"map", {SYS_mmap, NONE}, ENOMEM},
    {"open", {CALLS_OPEN}, EMFILE},
    {"read", {SYS_read, SYS_pread64, SYS_readv, NONE}, EIO},
    {"write", {SYS_write, SYS_pwrite64, SYS_writev, NONE}, ENOSPC},
    {"sync", {SYS_fsync, SYS_fdatasync, NONE}, EIO},
    {"rename", {CALLS_RENAME}, EIO},
    {"list", {SYS_getdents64, NONE}, EIO},
    {"make", {CALLS_MAKE}, ENOSPC},
};

static const kind *chosen; /* NULL: none; set last */
static long fail_at = -1;
static bool keeps_failing, has_trace;
static int report = -1;
static atomic_long count;

/* --- System calls that the filter lets pass ---------------------------------------------------------------------- */

long fault_call(long number, long a, long b, long c, long d, long e, long f) __attribute__((visibility("hidden")));
extern const char fault_called[] __attribute__((visibility("hidden"))); /* the address after the call */

#if defined(__x86_64__)
#define ARCHITECTURE AUDIT_ARCH_X86_64
__asm__(".text\n.globl fault_call\n.hidden fault_call\n.globl fault_called\n.hidden fault_called\n"
        "fault_call:\n mov %rdi,%rax\n mov %rsi,%rdi\n mov %rdx,%rsi\n mov %rcx,%rdx\n mov %r8,%r10\n mov %r9,%r8\n"
        " mov 8(%rsp),%r9\n syscall\nfault_called:\n ret\n");
#elif defined(__aarch64__)
#define ARCHITECTURE AUDIT_ARCH_AARCH64
__asm__(".text\n.globl fault_call\n.hidden fault_call\n.globl fault_called\n.hidden fault_called\n"
        "fault_call:\n mov x8,x0\n mov x0,x1\n mov x1,x2\n mov x2,x3\n mov x3,x4\n mov x4,x5\n mov x5,x6\n svc #0\n"
        "fault_called:\n ret\n");
#else
#error "fault.c knows the system calls of x86-64 and AArch64"
#endif

static void write_report(const char *text) {
    fault_call(SYS_write, report, (long)text, (long)strlen(text), 0, 0, 0);
}

/* --- Counting ---------------------------------------------------------------------------------------------------- */

/* The stack as addresses in files, for addr2line. */
static void write_stack(void) {
    static bool is_writing;
    enum { DEPTH = 40 };
    void *frames[DEPTH];
    if (!has_trace || is_writing) return;
    is_writing = true;
    const kind *saved = chosen;
    chosen = NULL; /* backtrace allocates */
    backtrace_symbols_fd(frames, backtrace(frames, DEPTH), report);
    chosen = saved;
    is_writing = false;
}

/* Counts a call; whether it is to fail. */
static bool must_fail(void) {
    long number = atomic_fetch_add(&count, 1);
    if (fail_at < 0 || number < fail_at || (number > fail_at && !keeps_failing)) return false;
    if (number > fail_at) return true;
    write_report("hit\n");
    write_stack();
    return true;
}

static bool alloc_fails(void) {
    if (chosen != &kinds[0] || !must_fail()) return false;
    errno = ENOMEM;
    return true;
}

/* --- Allocations ------------------------------------------------------------------------------------------------- */

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t items, size_t size);
void *__libc_realloc(void *block, size_t size);
void *__libc_memalign(size_t alignment, size_t size);

void *malloc(size_t size) {
    return alloc_fails() ? NULL : __libc_malloc(size);
}

void *calloc(size_t items, size_t size) {
    return alloc_fails() ? NULL : __libc_calloc(items, size);
}

void *realloc(void *block, size_t size) {
    return alloc_fails() ? NULL : __libc_realloc(block, size);
}

void *memalign(size_t alignment, size_t size) {
    return alloc_fails() ? NULL : __libc_memalign(alignment, size);
}

void *aligned_alloc(size_t alignment, size_t size) {
    return memalign(alignment, size);
}

int posix_memalign(void **block, size_t alignment, size_t size) {
    void *made = memalign(alignment, size);
    if (made == NULL) return ENOMEM;
    *block = made;
    return 0;
}

/* --- System calls ------------------------------------------------------------------------------------------------ */

/* Messages must arrive. */
static bool is_message(const kind *k, long file) {
    return strcmp(k->name, "write") == 0 && file == STDERR_FILENO;
}

static void on_call(int number, siginfo_t *about, void *context) {
    (void)number;
    mcontext_t *m = &((ucontext_t *)context)->uc_mcontext;
#if defined(__x86_64__)
    greg_t *r = m->gregs;
    long a[] = {r[REG_RDI], r[REG_RSI], r[REG_RDX], r[REG_R10], r[REG_R8], r[REG_R9]};
#else
    unsigned long long *r = m->regs;
    long a[] = {(long)r[0], (long)r[1], (long)r[2], (long)r[3], (long)r[4], (long)r[5]};
#endif
    const kind *k = chosen;
    long result;
    if (k != NULL && !is_message(k, a[0]) && must_fail())
        result = -k->code;
    else
        result = fault_call(about->si_syscall, a[0], a[1], a[2], a[3], a[4], a[5]);
#if defined(__x86_64__)
    r[REG_RAX] = result;
#else
    r[0] = (unsigned long long)result;
#endif
}

#define LOAD(field)           BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)offsetof(struct seccomp_data, field))
#define EQUAL(value, yes, no) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)(value), (yes), (no))

static int install_filter(const kind *k) {
    uint64_t from = (uint64_t)(uintptr_t)fault_called;
    enum { IP = offsetof(struct seccomp_data, instruction_pointer) };
    struct sock_filter code[MAX_CALLS + 12];
    unsigned short n = 0, calls = 0;
    while (calls < MAX_CALLS && k->calls[calls] != NONE) calls++;
    code[n++] = (struct sock_filter)LOAD(arch);
    code[n++] = (struct sock_filter)EQUAL(ARCHITECTURE, 1, 0);
    code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    code[n++] = (struct sock_filter)LOAD(nr);
    for (unsigned short i = 0; i < calls; i++)
        code[n++] = (struct sock_filter)EQUAL(k->calls[i], (uint8_t)(calls - i), 0);
    code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    code[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, IP);
    code[n++] = (struct sock_filter)EQUAL(from & UINT32_MAX, 0, 2);
    code[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, IP + 4);
    code[n++] = (struct sock_filter)EQUAL(from >> 32, 1, 0);
    code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP);
    code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    struct sock_fprog program = {.len = n, .filter = code};
    struct sigaction action = {.sa_sigaction = on_call, .sa_flags = SA_SIGINFO | SA_NODEFER | SA_RESTART};
    if (sigaction(SIGSYS, &action, NULL) != 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return -1;
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

/* --- Start and end ----------------------------------------------------------------------------------------------- */

__attribute__((constructor)) static void begin(void) {
    const char *wanted = getenv("FAULT_KIND"), *at = getenv("FAULT_AT"), *path = getenv("FAULT_REPORT");
    if (wanted == NULL || path == NULL) return;
    const kind *found = NULL;
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (strcmp(kinds[i].name, wanted) == 0) found = &kinds[i];
    if (at != NULL) fail_at = atol(at);
    keeps_failing = getenv("FAULT_KEEP") != NULL;
    has_trace = getenv("FAULT_TRACE") != NULL;
    report = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    bool is_ready = found != NULL && report >= 0 && (found == &kinds[0] || install_filter(found) == 0);
    if (!is_ready) {
        static const char text[] = "fault: unknown kind, no report, or no seccomp\n";
        if (write(STDERR_FILENO, text, sizeof text - 1) < 0) _exit(99);
        _exit(99);
    }
    void *frame[1];
    if (has_trace) backtrace(frame, 1); /* loads what it needs */
    chosen = found;
}

__attribute__((destructor)) static void end(void) {
    char line[40];
    if (chosen == NULL) return;
    chosen = NULL;
    snprintf(line, sizeof line, "count %ld\n", atomic_load(&count));
    write_report(line);
}
