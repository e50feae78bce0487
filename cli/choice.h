/* choice.h - which records of a data set are looked at: the options that `eval` and `compare` share. */
#ifndef CLI_CHOICE_H
#define CLI_CHOICE_H

#include "cli.h"
#include "foretell/learn.h"

typedef struct choice {
    const char *data;
    const char *metric; /* NULL: all that the predictor tells */
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
} choice;

/* --data, --metric, --split, --seed, --part, --device, --family, --setting, --mode, --max-noise, --min-time,
 * --max-time, --threads, --quiet. `input` is a choice. */
extern const option_set choice_set;

choice choice_default(void);

/* The split to use: the one that was asked for, else the one of the predictor when it was trained on this data set and
 * has something to test; *is_found is false when all records are to be looked at. Says what it leaves to chance. */
ft_status choice_split(const choice *c, const ft_predictor *predictor, const ft_dataset *data, ft_split *split,
                       bool *is_found);

/* Predicts, with a progress line. Messages begin with `name`. */
ft_status choice_evaluate(const choice *c, const char *name, const ft_predictor *predictor, const ft_dataset *data,
                          const ft_split *split, ft_evaluation *evaluation);

#endif
