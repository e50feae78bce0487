/* cmd_program.h - `foretell program predict`, for cmd_program.c. */
#ifndef CLI_CMD_PROGRAM_H
#define CLI_CMD_PROGRAM_H

#include "cli.h"

typedef struct program_predict_options {
    const char *predictor, *device;
    char *const *logs; /* LOG or LOG:LINE */
    uint32_t log_count;
    uint64_t every; /* of a log without a line: every N-th record */
    uint32_t top;   /* of each task; 0: all */
    uint32_t pick;  /* of each task, apart from each other; 0: all */
    bool is_ranked; /* by task, the fastest first; else as they stand in the logs */
    bool is_strict, is_quiet;
    const ft_style *style;
} program_predict_options;

/* Prints messages itself. */
ft_status program_predict(const program_predict_options *options, const output *out);

#endif
