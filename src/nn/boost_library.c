#include "nn/boost_library.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

/* libgomp, which comes with libxgboost, lets waiting threads spin; on a machine that does something else as well that
 * costs many times the work. It reads the environment once, when it is loaded. A user's own setting is left alone. */
static void let_threads_sleep(void) {
    setenv("OMP_WAIT_POLICY", "passive", 0);
}

/* POSIX guarantees that a function's address fits a pointer, which C does not let us say by assignment. */
static bool look_up(void *handle, const char *symbol, void *function) {
    void *address = dlsym(handle, symbol);
    memcpy(function, &address, sizeof address);
    return address != NULL;
}

ft_status boost_library_open(const char *name, boost_library *library, ft_error *error) {
    let_threads_sleep();
    /* NODELETE: threads of libgomp would outlive the code that they run. */
    void *handle = dlopen(name, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (handle == NULL)
        return ft_fail(error, FT_ERR_UNSUPPORTED,
                       "training of boosted trees needs libxgboost: install the Debian package libxgboost0 (or "
                       "libxgboost-dev); predicting does without (%s)",
                       dlerror());
    boost_library l;
    bool is_whole =
        look_up(handle, "XGBGetLastError", &l.last_error) && look_up(handle, "XGBSetGlobalConfig", &l.configure) &&
        look_up(handle, "XGDMatrixCreateFromMat_omp", &l.matrix_new) &&
        look_up(handle, "XGDMatrixSetFloatInfo", &l.matrix_set) && look_up(handle, "XGDMatrixFree", &l.matrix_free) &&
        look_up(handle, "XGBoosterCreate", &l.booster_new) && look_up(handle, "XGBoosterFree", &l.booster_free) &&
        look_up(handle, "XGBoosterSetParam", &l.booster_set) && look_up(handle, "XGBoosterBoostOneIter", &l.boost) &&
        look_up(handle, "XGBoosterPredict", &l.predict) && look_up(handle, "XGBoosterSaveModelToBuffer", &l.save);
    dlclose(handle);
    if (!is_whole)
        return ft_fail(error, FT_ERR_UNSUPPORTED,
                       "%s is not a libxgboost that training can use: version 1.6 or newer has what is needed "
                       "(Debian package libxgboost0)",
                       name);
    *library = l;
    return FT_OK;
}

ft_status boost_library_fail(const boost_library *library, const char *what, ft_error *error) {
    const char *said = library->last_error();
    size_t length = strcspn(said, "\n"); /* a stack trace follows */
    return ft_fail(error, FT_ERR_INTERNAL, "libxgboost: %s failed: %.*s", what, (int)length, said);
}
