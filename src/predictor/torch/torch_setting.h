/* torch_setting.h - settings of PyTorch: device, mode, type, memory layout, version, and whether models are compiled.
 *
 * A predictor has the settings that were measured. A request specifies some of them and leaves others open; it is
 * predicted from the nearest measured setting, at the rates of the data sheet of the requested device. Files call
 * settings "columns". */
#ifndef PREDICTOR_TORCH_SETTING_H
#define PREDICTOR_TORCH_SETTING_H

#include "base/json.h"
#include "foretell/cost.h"
#include "foretell/device.h"
#include "predictor/torch/torch_rows.h"

enum { TORCH_MAX_SETTINGS = 256 };

/* What runs the model. Only PyTorch was measured; the others have fusion rules and launches of their own. */
typedef enum torch_runtime { TORCH_PYTORCH, TORCH_TENSORRT, TORCH_ONNXRUNTIME, TORCH_RUNTIMES } torch_runtime;

/* The key runtime of a setting ("runtime=tensorrt"); PyTorch when it is absent. */
ft_status torch_runtime_parse(const char *setting, torch_runtime *runtime, ft_error *error);
const char *torch_runtime_name(torch_runtime runtime); /* "TensorRT" */

typedef enum torch_choice { TORCH_OPEN, TORCH_NO, TORCH_YES } torch_choice;

/* Float32 products that run as TensorFloat-32: those of cuDNN (convolutions, recurrent layers) and of cuBLAS (linear
 * layers, attention) have a switch each in PyTorch. */
typedef enum torch_tf32 {
    TORCH_TF32_OPEN,
    TORCH_TF32_NONE,
    TORCH_TF32_CONV,
    TORCH_TF32_MATMUL,
    TORCH_TF32_ALL
} torch_tf32;

typedef struct torch_setting {
    uint32_t device; /* of the predictor; FT_NONE: a request for another one */
    ft_mode mode;
    ft_dtype dtype;
    torch_choice is_mixed, is_compiled, is_nhwc; /* amp, compile, layout */
    int32_t version;                             /* 204 is 2.4; 0: open */
    torch_tf32 tf32;                             /* of float32 on GPUs; files do not store it */
    uint32_t typical_batch;                      /* of its measurements; not compared by torch_setting_equal */
} torch_setting;

/* Parses the setting of a record or a request ("amp=yes;compile=no;layout=nchw;torch=2.4.0"). Other keys are ignored;
 * an invalid value is FT_ERR_USAGE. Choices that it leaves open have their defaults. */
ft_status torch_setting_parse(const char *text, ft_mode mode, ft_dtype dtype, torch_setting *setting, ft_error *error);
/* Gives open choices the defaults of PyTorch: not compiled, nchw, and autocast for types of 16 bits; whether there is
 * autocast stays open as long as the type is. TensorFloat-32: convolutions since 1.7, and matrix products from 1.7 to
 * 1.11. */
void torch_setting_complete(torch_setting *setting);
/* Whether settings belong to one group: the same mode, type, compilation and layout, and both before or after version
 * 2; the device may differ. */
bool torch_setting_same_group(const torch_setting *a, const torch_setting *b);
/* Assigns each setting its group, numbered by their first settings; returns the number of groups. */
uint32_t torch_setting_groups(const torch_setting *settings, uint32_t count, uint32_t *groups);
bool torch_setting_equal(const torch_setting *a, const torch_setting *b);
torch_precision torch_setting_precision(const torch_setting *c);

/* GPUs and CPUs have separate networks: hardly any effect on one exists on the other. */
typedef enum torch_side { TORCH_GPU, TORCH_CPU, TORCH_SIDES } torch_side;

/* Rates of a data sheet. */
typedef struct torch_sheet {
    bool is_gpu;
    double peak16, peak16b, peak19, peak32; /* operations per second: float16, bfloat16, TensorFloat-32, float32 */
    double bandwidth;                       /* bytes per second */
    double product32;                       /* full float32 products; 0: as peak32 */
    double peak8;                           /* int8; 0: twice peak16. Files do not store it */
} torch_sheet;

static inline torch_side torch_sheet_side(const torch_sheet *sheet) {
    return sheet->is_gpu ? TORCH_GPU : TORCH_CPU;
}

/* FT_ERR_UNSUPPORTED when peak or bandwidth are missing. */
ft_status torch_sheet_read(const ft_device *device, torch_sheet *sheet, ft_error *error);
/* Whether a GPU has no matrix units for a type of 16 bits: products run at the rate of float32. */
bool torch_sheet_lacks_type(const torch_sheet *sheet, ft_dtype dtype);
/* The time of a kernel over what it would take with the algorithms of recent GPUs for 16 bits and TensorFloat-32: 1
 * where they are the same. */
float torch_algorithm_ratio(const torch_sheet *sheet, const torch_setting *setting, const torch_row *row);
/* Microseconds per unit of each term at these rates. */
void torch_sheet_anchors(const torch_sheet *sheet, const torch_setting *setting, double anchors[static TORCH_ANCHORS]);

/* Changes those of float16 to those of int8: half of the bytes, and the rate of int8 products. */
void torch_int8_anchors(const torch_sheet *sheet, double anchors[static TORCH_ANCHORS]);

/* torch_amounts.c: microseconds of each term of `launches` launches of a row at the rates of the data sheet; on CPUs
 * with the known effects of kinds of kernels and of memory. */
void torch_amounts(const torch_row *row, torch_side side, const double anchors[static TORCH_ANCHORS], double batch,
                   double launches, float amounts[static TORCH_TERMS]);

/* The measured setting nearest to a request; distance 0: the same. */
typedef struct torch_match {
    uint32_t setting; /* FT_NONE: there is none */
    double distance;
    bool is_assumed; /* mode, type, layout, compilation or generation of versions differ */
} torch_match;

torch_match torch_setting_nearest(const torch_setting *settings, const torch_sheet *sheets, uint32_t count,
                                  const torch_setting *requested, const torch_sheet *sheet);

/* The first difference that makes a match assumed, as a clause: "compile=yes was not measured on this device, but
 * compile=no". */
enum { TORCH_DIFFERENCE_SIZE = 112 };
void torch_setting_difference(const torch_setting *known, const torch_setting *requested,
                              char text[static TORCH_DIFFERENCE_SIZE]);

json_t *torch_setting_save(const torch_setting *c); /* NULL when out of memory */
ft_status torch_setting_load(const json_t *list, uint32_t device_count, torch_setting *c, ft_error *error);
json_t *torch_sheet_save(const torch_sheet *sheet);
ft_status torch_sheet_load(const json_t *list, torch_sheet *sheet, ft_error *error);

#endif
