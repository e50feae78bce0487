/* bundle.c - several predictors in one file: they stand in it one after the other. */
#include "base/buf.h"
#include "base/error.h"
#include "base/input.h"
#include "base/outfile.h"
#include "foretell/predictor.h"
#include "predictor/core/file.h"

/* Added unpacked: a bundle is mapped. */
static ft_status add_file(const char *path, buf *bytes, ft_error *error) {
    input in;
    FT_TRY(input_open(path, PREDICTOR_FILE_MAX_BYTES, &in, error));
    ft_predictor *alone = NULL;
    ft_status status = ft_predictor_open_memory(in.bytes, in.size, path, &alone, error);
    if (status == FT_OK) buf_add(bytes, in.bytes, in.size);
    ft_predictor_free(alone);
    input_close(&in);
    return status == FT_OK && bytes->failed ? FT_NOMEM(error) : status;
}

ft_status ft_predictor_bundle(const char *const *paths, uint32_t count, const char *path, ft_error *error) {
    buf bytes = {0};
    ft_predictor *together = NULL;
    ft_status status = count > 0 ? FT_OK : ft_fail(error, FT_ERR_USAGE, "there is nothing to bundle");
    for (uint32_t i = 0; i < count && status == FT_OK; i++) status = add_file(paths[i], &bytes, error);
    if (status == FT_OK) status = ft_predictor_open_memory(bytes.data, bytes.length, path, &together, error);
    if (status == FT_OK) status = outfile_write(path, bytes.data, bytes.length, error);
    ft_predictor_free(together);
    buf_free(&bytes);
    return status;
}
