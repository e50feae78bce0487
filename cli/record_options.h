/* record_options.h - options shared by `eval` and `compare`: the records of a data set to evaluate. */
#ifndef CLI_RECORD_OPTIONS_H
#define CLI_RECORD_OPTIONS_H

#include "cli.h"
#include "foretell/learn.h"

typedef struct record_options {
    const char *data;
    const char *metric; /* NULL: all metrics of the predictor */
    const char *split;  /* NULL: the one that the predictor was trained with, or all records */
    uint64_t seed;
    ft_split_part part;
    bool has_part, has_seed;
    name_list devices, families;
    const char *setting; /* NULL: any */
    bool has_mode;
    ft_mode mode;
    ft_time_filter filter;
    uint32_t threads;
    bool is_quiet;
} record_options;

/* --data, --metric, --split, --seed, --part, --device, --family, --setting, --mode, --max-noise, --min-time,
 * --max-time, --threads, --quiet. `input` is a record_options. */
extern const option_set record_option_set;

record_options record_options_default(void);

/* The split to use: that of --split, else the one that the predictor was trained with on this data set when it has a
 * test part; *is_found is false when all records are used. Prints notes about the choice. */
ft_status record_options_split(const record_options *c, const ft_predictor *predictor, const ft_dataset *data,
                               ft_split *split, bool *is_found);

/* Predicts, with a progress line. Messages begin with `name`. */
ft_status record_options_evaluate(const record_options *c, const char *name, const ft_predictor *predictor,
                                  const ft_dataset *data, const ft_split *split, ft_evaluation *evaluation);

#endif
