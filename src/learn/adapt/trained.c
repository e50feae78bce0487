/* trained.c - the split that a predictor was trained with, so that it is not asked about what it was shown. */
#include <string.h>

#include "base/error.h"
#include "base/json.h"
#include "learn/adapt/trained.h"

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

/* What an adapted predictor learned from is not tested, whatever part it was in. */
static void take_adapted(const json_t *header, const ft_dataset *data, ft_split *split) {
    const json_t *adapted = json_object_get(header, "adapted"), *item, *list = json_object_get(adapted, "graphs");
    const json_t *tasks = json_object_get(adapted, "tasks");
    const ft_record *records = ft_dataset_records(data);
    size_t i;
    json_array_foreach(tasks != NULL ? tasks : list, i, item) {
        const char *id = json_string_value(item);
        for (uint32_t r = 0; id != NULL && r < ft_dataset_record_count(data); r++) {
            if (strcmp(tasks != NULL ? records[r].name : ft_dataset_graph_id(data, records[r].graph), id) != 0)
                continue;
            split->counts[split->parts[r]]--;
            split->counts[FT_PART_TRAIN]++;
            split->parts[r] = FT_PART_TRAIN;
        }
    }
}

ft_status trained_split(const ft_predictor *predictor, const ft_dataset *data, bool with_adapted, ft_split *split,
                        bool *is_found, ft_error *error) {
    const char *text = ft_predictor_header(predictor);
    json_t *header;
    FT_TRY(json_parse(text, strlen(text), &header, error));
    const json_t *training = training_on(header, data);
    ft_status status = training != NULL ? make_split(training, data, split, error) : FT_OK;
    if (status == FT_OK) *is_found = training != NULL;
    if (status == FT_OK && *is_found && with_adapted) take_adapted(header, data, split);
    json_decref(header);
    return status;
}

ft_status ft_predictor_split(const ft_predictor *predictor, const ft_dataset *data, ft_split *split, bool *is_found,
                             ft_error *error) {
    return trained_split(predictor, data, true, split, is_found, error);
}
