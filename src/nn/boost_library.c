#include "nn/boost_library.h"

#include <string.h>

#include "base/error.h"
#include "base/library.h"

ft_status boost_library_open(const char *name, boost_library *library, ft_error *error) {
    const library_function functions[] = {
        {"XGBGetLastError", &library->last_error},
        {"XGBSetGlobalConfig", &library->configure},
        {"XGDMatrixCreateFromMat_omp", &library->matrix_new},
        {"XGDMatrixSetFloatInfo", &library->matrix_set},
        {"XGDMatrixFree", &library->matrix_free},
        {"XGBoosterCreate", &library->booster_new},
        {"XGBoosterFree", &library->booster_free},
        {"XGBoosterSetParam", &library->booster_set},
        {"XGBoosterBoostOneIter", &library->boost},
        {"XGBoosterPredict", &library->predict},
        {"XGBoosterSaveModelToBuffer", &library->save},
    };
    ft_error why;
    if (library_load(name, functions, sizeof functions / sizeof functions[0], &why) == FT_OK) return FT_OK;
    return ft_fail(error, FT_ERR_UNSUPPORTED,
                   "training of boosted trees needs libxgboost 1.6 or newer: install the Debian package libxgboost0 "
                   "(or libxgboost-dev); predicting does without (%s)",
                   why.message);
}

ft_status boost_library_fail(const boost_library *library, const char *what, ft_error *error) {
    const char *said = library->last_error();
    size_t length = strcspn(said, "\n"); /* a stack trace follows */
    return ft_fail(error, FT_ERR_INTERNAL, "libxgboost: %s failed: %.*s", what, (int)length, said);
}
