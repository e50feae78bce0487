/* ansor.h - records of TVM's auto-scheduler (Ansor, TenSet): workload, schedule steps, measured times.
 *
 * One JSON text a line (docs/formats/ansor.md). A record is read into memory that is reused for the next one:
 * nothing is allocated. src/program interprets the steps as loops. */
#ifndef READ_ANSOR_H
#define READ_ANSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "foretell/status.h"

enum {
    ANSOR_MAX_STEPS = 512,
    ANSOR_MAX_NUMBERS = 8192, /* in all lists of the steps of a record */
    ANSOR_MAX_TEXT = 16384,   /* bytes of all strings of a record */
    ANSOR_MAX_COSTS = 64,
    ANSOR_HARDWARE = 8
};

#define ANSOR_STEP_LIST(X)                                                                                             \
    X(ANSOR_SPLIT, "SP")                                                                                               \
    X(ANSOR_REORDER, "RE")                                                                                             \
    X(ANSOR_FUSE, "FU")                                                                                                \
    X(ANSOR_ANNOTATE, "AN")                                                                                            \
    X(ANSOR_PRAGMA, "PR")                                                                                              \
    X(ANSOR_FOLLOW_SPLIT, "FSP")                                                                                       \
    X(ANSOR_FOLLOW_FUSED_SPLIT, "FFSP")                                                                                \
    X(ANSOR_STORAGE_ALIGN, "SA")                                                                                       \
    X(ANSOR_COMPUTE_AT, "CA")                                                                                          \
    X(ANSOR_COMPUTE_INLINE, "CI")                                                                                      \
    X(ANSOR_COMPUTE_ROOT, "CR")                                                                                        \
    X(ANSOR_CACHE_READ, "CHR")                                                                                         \
    X(ANSOR_CACHE_WRITE, "CHW")                                                                                        \
    X(ANSOR_RFACTOR, "RF")

typedef enum ansor_kind {
#define ANSOR_STEP_ENUM(name, tag) name,
    ANSOR_STEP_LIST(ANSOR_STEP_ENUM)
#undef ANSOR_STEP_ENUM
        ANSOR_KINDS
} ansor_kind;

const char *ansor_step_tag(ansor_kind kind);

/* Numbers as in the log, unchecked: a stage or iterator with that number need not exist. */
typedef struct ansor_step {
    ansor_kind kind;
    int64_t stage;
    int64_t iter; /* SP FSP FFSP AN PR SA RF; of the target stage: CA */
    union {
        int64_t extent;       /* SP: of the iterator when it was tuned; 0: not recorded */
        int64_t annotation;   /* AN */
        int64_t source_step;  /* FSP */
        int64_t level;        /* FFSP */
        int64_t target_stage; /* CA */
        int64_t factor_iter;  /* RF */
        int64_t factor;       /* SA */
    };
    union {
        int64_t parts;  /* FSP: how many lengths the split has */
        int64_t offset; /* SA */
    };
    bool is_inner_to_outer; /* SP, FFSP: lengths are those of the inner parts */
    const int64_t *list;    /* SP: lengths; RE, FU: iterators; FFSP: steps; CHR: stages */
    uint32_t count;
    const char *text; /* PR: the pragma; CHR, CHW: the scope; NUL-terminated */
} ansor_step;

typedef struct ansor_record {
    const char *workload; /* JSON: ["matmul_layer", 128, 256, 512] or ["<hash of a graph>", ...]; NUL-terminated */
    const char *target;   /* "cuda -keys=..." */
    const char *fused;    /* "_add", "_relu", "_add_relu"; "" */
    const char *version;  /* "v0.6" */
    int64_t hardware[ANSOR_HARDWARE];
    bool has_hardware;
    ansor_step steps[ANSOR_MAX_STEPS];
    uint32_t step_count;
    double costs[ANSOR_MAX_COSTS]; /* seconds */
    uint32_t cost_count;
    int64_t error_no;
    int64_t timestamp;
    /* storage of the lists and strings */
    int64_t numbers[ANSOR_MAX_NUMBERS];
    uint32_t number_count;
    char text[ANSOR_MAX_TEXT];
    size_t text_length;
} ansor_record;

/* Parses one line. The error does not name the file and line; the caller prefixes them. For an empty line or a
 * comment ('#'), *is_record is false. */
ft_status ansor_read(const char *line, size_t length, ansor_record *record, bool *is_record, ft_error *error);

/* Writes epilogue and steps of a record, under this spelling of its workload, as a line that ansor_read accepts;
 * without times, target and hardware. */
void ansor_write_program(const ansor_record *record, const char *workload, buf *out);

/* The mean of the measured seconds. Fails when the run failed, and when a time is 0, negative, 1e9 or more (a failed
 * run) or not a number. */
ft_status ansor_mean_seconds(const ansor_record *record, double *seconds, ft_error *error);

#endif
