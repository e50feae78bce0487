/* train.h - the internals of ft_train, for tests (which set the checkpoint interval) and for searches. */
#ifndef LEARN_TRAIN_H
#define LEARN_TRAIN_H

#include "foretell/learn.h"
#include "predictor/core/family.h"

/* ft_train with a checkpoint on disk every `interval_s` seconds; 0: at every save. */
ft_status train_run(const ft_dataset *data, const char *run_folder, const ft_train_options *options, double interval_s,
                    ft_evaluation *tested, ft_error *error);

/* Finds every error of the options that can be found without a run. */
ft_status train_check(const ft_dataset *data, const ft_train_options *options, ft_error *error);
/* The family of a name, NULL for the default one; the error message lists the families. */
ft_status train_family(const char *name, const family **found, ft_error *error);

#endif
