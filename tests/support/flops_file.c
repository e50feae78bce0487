/* flops_file.c - writes predictor files of the simplest family. */
#include "support/flops_file.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/outfile.h"
#include "predictor/core/file.h"

void flops_file_write(const char *path, const char *metric, float start, float slope) {
    const float block[] = {start, slope, start, slope};
    ft_error error;
    buf bytes = {0};
    json_t *root = json_pack("{s:s, s:s, s:s, s:s, s:[s, s], s:[s], s:{}, s:{s:{s:f}}}", "format", "foretell predictor",
                             "family", "flops", "schema", "flops/1", "metric", metric, "devices", "adreno-640", "mine",
                             "modes", "infer", "params", "calibration", "adreno-640", "q90", 0.69314718055994531);
    assert_non_null(root);
    assert_int_equal(predictor_file_encode(root, block, 4, &bytes, &error), FT_OK);
    assert_int_equal(outfile_write(path, bytes.data, bytes.length, &error), FT_OK);
    buf_free(&bytes);
    json_decref(root);
}
