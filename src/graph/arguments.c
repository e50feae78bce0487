/* arguments.c - checks of what callers of the public functions pass: graphs in the wrong state, shapes that no tensor
 * has. */
#include "graph/arguments.h"

ft_status graph_check_bound(const ft_graph *graph, const char *what, ft_error *error) {
    if (graph->is_bound) return FT_OK;
    return ft_fail(error, FT_ERR_USAGE, "model '%s': %s a bound graph; call ft_graph_bind() first", graph->name, what);
}

ft_status dtype_check(ft_dtype dtype, const char *what, ft_error *error) {
    return dtype_is_valid(dtype) ? FT_OK : FT_OUT_OF_RANGE(error, what, dtype, "ft_dtype");
}

static ft_status check_shape(const ft_shape_binding *shape, uint32_t index, ft_error *error) {
    if (shape->name == NULL) return ft_fail(error, FT_ERR_USAGE, "binding: shape %u has no name", index);
    if (shape->rank < 0 || shape->rank > FT_MAX_RANK)
        return ft_fail(error, FT_ERR_USAGE, "binding: the shape of '%.60s' has %d dimensions; 0 to %d are possible",
                       shape->name, shape->rank, FT_MAX_RANK);
    for (int32_t i = 0; i < shape->rank; i++)
        if (shape->dims[i] < 0 || shape->dims[i] > FT_MAX_DIM)
            return ft_fail(error, FT_ERR_USAGE, "binding: dimension %d of '%.60s' is %lld; 0 to %lld are possible", i,
                           shape->name, (long long)shape->dims[i], (long long)FT_MAX_DIM);
    return FT_OK;
}

ft_status binding_check(const ft_binding *binding, ft_error *error) {
    if (binding->batch < 0 || binding->batch > FT_MAX_DIM)
        return ft_fail(error, FT_ERR_USAGE, "a batch of %lld is not possible; use 1 to %lld", (long long)binding->batch,
                       (long long)FT_MAX_DIM);
    if (binding->open_size > FT_MAX_DIM)
        return ft_fail(error, FT_ERR_USAGE, "binding: a size of %lld for open dimensions is above the limit of %lld",
                       (long long)binding->open_size, (long long)FT_MAX_DIM);
    if (binding->shape_count > 0 && binding->shapes == NULL)
        return ft_fail(error, FT_ERR_USAGE, "binding: has %u shapes, but 'shapes' is NULL", binding->shape_count);
    for (uint32_t i = 0; i < binding->shape_count; i++) FT_TRY(check_shape(&binding->shapes[i], i, error));
    return FT_OK;
}
