/* boost_library.h - the few functions of libxgboost that training calls, looked up when it begins. */
#ifndef NN_BOOST_LIBRARY_H
#define NN_BOOST_LIBRARY_H

#include <xgboost/c_api.h>

#include "foretell/status.h"

#define BOOST_LIBRARY_NAME "libxgboost.so.0"

typedef struct boost_library {
    __typeof__(&XGBGetLastError) last_error;
    __typeof__(&XGBSetGlobalConfig) configure;
    __typeof__(&XGDMatrixCreateFromMat_omp) matrix_new;
    __typeof__(&XGDMatrixSetFloatInfo) matrix_set;
    __typeof__(&XGDMatrixFree) matrix_free;
    __typeof__(&XGBoosterCreate) booster_new;
    __typeof__(&XGBoosterFree) booster_free;
    __typeof__(&XGBoosterSetParam) booster_set;
    __typeof__(&XGBoosterBoostOneIter) boost;
    __typeof__(&XGBoosterPredict) predict;
    __typeof__(&XGBoosterSaveModelToBuffer) save;
} boost_library;

/* `name` is BOOST_LIBRARY_NAME but in tests. The library stays loaded. */
ft_status boost_library_open(const char *name, boost_library *library, ft_error *error);

/* Says what libxgboost said last. */
ft_status boost_library_fail(const boost_library *library, const char *what, ft_error *error);

#endif
