/* trained.c - the split that a predictor was trained with, so that it is not asked about what it was shown. */
#include <string.h>

#include "base/error.h"
#include "base/json.h"
#include "foretell/learn.h"

/* What the header says of the training; NULL when it does not, or says it of another data set. */
static const json_t *training_on(const json_t *header, const ft_dataset *data) {
    const json_t *training = json_object_get(header, "trained_on");
    const char *hash = json_string_value(json_object_get(training, "dataset"));
    if (hash == NULL || strcmp(hash, ft_dataset_hash(data)) != 0) return NULL;
    return json_is_string(json_object_get(training, "split")) ? training : NULL;
}

static ft_status make_split(const json_t *training, const ft_dataset *data, ft_split *split, ft_error *error) {
    const char *hash = json_string_value(json_object_get(training, "split_hash"));
    ft_split made = {0};
    FT_TRY(ft_split_make(data, json_string_value(json_object_get(training, "split")),
                         (uint64_t)json_integer_value(json_object_get(training, "seed")), &made, error));
    if (hash != NULL && strcmp(hash, made.hash) != 0) {
        ft_split_free(&made);
        return ft_fail(error, FT_ERR_UNSUPPORTED,
                       "the split that the predictor was trained with has other parts in this version of foretell; say "
                       "which split to use");
    }
    *split = made;
    return FT_OK;
}

ft_status ft_predictor_split(const ft_predictor *predictor, const ft_dataset *data, ft_split *split, bool *is_found,
                             ft_error *error) {
    const char *text = ft_predictor_header(predictor);
    json_t *header;
    FT_TRY(json_parse(text, strlen(text), &header, error));
    const json_t *training = training_on(header, data);
    ft_status status = training != NULL ? make_split(training, data, split, error) : FT_OK;
    if (status == FT_OK) *is_found = training != NULL;
    json_decref(header);
    return status;
}
