/* fitted.h - a family fitted to a synthetic data set, and checks that every family must pass. */
#ifndef TESTS_FITTED_H
#define TESTS_FITTED_H

#include "predictor/core/predictor.h"
#include "support/synth_data.h"

typedef struct fitted {
    ft_dataset *data;
    const family *family;
    fit_row *rows; /* all records; every eighth is for validation */
    fit_set set;
    void *model;
    ft_predictor *opened; /* the model, saved and loaded again */
} fitted;

enum { FITTED_NETWORKS = 64, FITTED_DEVICES = 2 };
extern const char *const fitted_devices[FITTED_DEVICES]; /* "adreno-640", "cortex-a76" */

/* The rows of all records of a data set. */
fit_row *fitted_rows(const ft_dataset *data, fit_set *set);

/* Fits a family to FITTED_NETWORKS networks on both devices. `config` is JSON, or NULL. */
fitted fit_synth(const char *name, synth_rule *rule, const char *config);
/* Fits again with another configuration. */
void fitted_refit(fitted *f, const char *config);
void fitted_free(fitted *f);

/* Checks every row: the value is within `tolerance` of the label, the loaded model predicts the same bits, and parts,
 * if any, add up and have every operator at most once. */
void fitted_check(const fitted *f, double tolerance);
/* Fits on no, one and three threads give the same bytes. */
void fitted_check_threads(const fitted *f, const char *config);
/* A fit that is cancelled at up to `points` points and resumed each time from its saved state gives the same bytes; a
 * truncated state is refused. */
void fitted_check_resume(const fitted *f, const char *config, uint32_t points);
/* Each allocation of fitting, saving and loading fails in turn, on a few networks. */
void fitted_check_memory(const char *name, synth_rule *rule);
/* The family refuses an unknown setting, and a device without rows. */
void fitted_check_refusals(const fitted *f);
/* Loading a changed model fails with a message that has `part`: `params` (JSON; NULL: unchanged), and `floats` more or
 * fewer floats. */
void fitted_refuses(const fitted *f, const char *params, int floats, const char *part);

#endif
