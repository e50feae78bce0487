/* run_config.h - config.json: all inputs of a run, so that it can be repeated and identified.
 *
 * It depends on neither machine, folder, time nor number of threads: the same inputs yield the same bytes, whose hash
 * is the identity that checkpoints are bound to. */
#ifndef LEARN_RUN_CONFIG_H
#define LEARN_RUN_CONFIG_H

#include "base/buf.h"
#include "foretell/learn.h"
#include "learn/train/fitset.h"

enum { RUN_VERSION = 1, CONFIG_MAX_BYTES = 1 << 20, CONFIG_MAX_DEPTH = 8 };

/* The family's settings: JSON text (NULL: an empty object), overridden by "key=value" items. The caller releases
 * *config with json_decref. */
ft_status config_parse(const char *text, const char *const *settings, uint32_t setting_count, json_t **config,
                       ft_error *error);

typedef struct config_facts {
    const family *family;
    const json_t *config;
    const ft_split *split;
    const ft_time_filter *filter;
    const fitset *rows;
    uint64_t seed;
    const json_t *folds; /* hashes of the predictors that accuracy is measured with; NULL: none */
} config_facts;

/* The text of config.json. */
ft_status config_write(const config_facts *facts, buf *text, ft_error *error);

#endif
