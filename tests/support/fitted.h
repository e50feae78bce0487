/* fitted.h - a family fitted to a made-up data set, for the tests of families. Whatever fails stops the test. */
#ifndef TESTS_FITTED_H
#define TESTS_FITTED_H

#include "predictor/core/predictor.h"
#include "support/made_data.h"

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
fitted fit_made(const char *name, made_rule *rule, const char *config);
/* The same with another configuration. */
void fitted_again(fitted *f, const char *config);
void fitted_free(fitted *f);

/* Checks every row: the value is within `tolerance` of the label, the loaded model says the same to the bit, and
 * parts, when there are some, add up and have every operator at most once. */
void fitted_check(const fitted *f, double tolerance);
/* The same bytes come out of fits on no, one and three threads. */
void fitted_check_threads(const fitted *f, const char *config);
/* Stopped wherever it can be, taken up again from what it kept and stopped again, the fit ends in the same bytes; what
 * it kept, cut short, is refused. `points`: how many stops to try. */
void fitted_check_resume(const fitted *f, const char *config, uint32_t points);
/* Each allocation of fitting, saving and loading fails in turn, on a few networks. */
void fitted_check_memory(const char *name, made_rule *rule);
/* The family refuses a setting that it does not know, and a device without rows. */
void fitted_check_refusals(const fitted *f);
/* A changed model is refused: `params` (JSON; NULL: its own) and `floats` more or fewer than its own; `part` is in the
 * message. */
void fitted_refuses(const fitted *f, const char *params, int floats, const char *part);

#endif
