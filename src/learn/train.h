/* train.h - the inside of ft_train, for tests that cannot wait. */
#ifndef LEARN_TRAIN_H
#define LEARN_TRAIN_H

#include "foretell/learn.h"

/* ft_train with checkpoints that go to the disk every `interval_s` seconds; 0: each. */
ft_status train_run(const ft_dataset *data, const char *run_folder, const ft_train_options *options, double interval_s,
                    ft_evaluation *tested, ft_error *error);

#endif
