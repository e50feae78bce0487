/* adapt_keep.c - see adapt_keep.h. */
#include "learn/adapt/adapt_keep.h"

#include <math.h>
#include <string.h>

#include "base/json.h"

static bool has_text(const json_t *object, const char *key, const char *text) {
    const char *value = json_string_value(json_object_get(object, key));
    return value != NULL && strcmp(value, text) == 0;
}

ft_status adapt_usual_find(const ft_predictor *from, uint32_t device, adapt_usual *usual, ft_error *error) {
    const char *text = ft_predictor_header(from);
    const json_t *row;
    json_t *header;
    size_t i;
    *usual = (adapt_usual){NAN, NAN};
    FT_TRY(json_parse(text, strlen(text), &header, error));
    json_array_foreach(json_object_get(header, "accuracy"), i, row) {
        const json_t *mape = json_object_get(row, "mape"), *rmspe = json_object_get(row, "rmspe");
        if (!has_text(row, "part", "valid") || !has_text(row, "device", ft_predictor_device(from, device)) ||
            !has_text(row, "metric", ft_predictor_metric(from)) || !json_is_number(mape) || !json_is_number(rmspe))
            continue;
        double mean = json_number_value(mape), square = json_number_value(rmspe);
        *usual = (adapt_usual){mean, sqrt(fmax(square * square - mean * mean, 0))};
    }
    json_decref(header);
    return FT_OK;
}

bool adapt_is_usual(const adapt_usual *usual, double mape, uint32_t models) {
    static const double FARTHEST = 2.33; /* standard errors: one chance in a hundred */
    return isnan(usual->mape) || mape <= usual->mape + FARTHEST * usual->deviation / sqrt(models);
}
