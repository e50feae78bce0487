/* torch_setting.h - the ways in which PyTorch ran models: a column is a device with a mode, a type, a layout of memory,
 * a version, and whether models were compiled.
 *
 * A predictor knows the columns that were measured. A question names some of this and leaves the rest open; it is
 * answered from the column that is nearest to it, at the rates of the data sheet of the device that was asked for. */
#ifndef PREDICTOR_TORCH_SETTING_H
#define PREDICTOR_TORCH_SETTING_H

#include "base/json.h"
#include "foretell/cost.h"
#include "foretell/device.h"
#include "predictor/torch/torch_rows.h"

enum { TORCH_MAX_SETTINGS = 256 };

typedef enum torch_choice { TORCH_OPEN, TORCH_NO, TORCH_YES } torch_choice;

typedef struct torch_setting {
    uint32_t device; /* of the predictor; FT_NONE in a question about another one */
    ft_mode mode;
    ft_dtype dtype;
    torch_choice is_mixed, is_compiled, is_nhwc; /* amp, compile, layout */
    int32_t version;                             /* 204 is 2.4; 0: not told */
    uint32_t typical_batch;                      /* of what was measured; no part of what a column is */
} torch_setting;

/* From the setting of a record or a question ("amp=yes;compile=no;layout=nchw;torch=2.4.0"). Keys of others are passed
 * over; a value that cannot be is FT_ERR_USAGE. */
ft_status torch_setting_parse(const char *text, ft_mode mode, ft_dtype dtype, torch_setting *setting, ft_error *error);
/* Whether columns differ in the device alone, as far as it matters: the same mode, type, compilation and layout, and
 * both before or after version 2. */
bool torch_setting_same_group(const torch_setting *a, const torch_setting *b);
/* Numbers the groups of columns that are akin, in the order of their first ones; gives how many there are. */
uint32_t torch_setting_groups(const torch_setting *settings, uint32_t count, uint32_t *groups);
bool torch_setting_equal(const torch_setting *a, const torch_setting *b);
torch_precision torch_setting_precision(const torch_setting *setting);

/* GPUs and processors have networks of their own: next to nothing that bends prices on one does so on the other. */
typedef enum torch_side { TORCH_GPU, TORCH_CPU, TORCH_SIDES } torch_side;

/* What the data sheet says, as far as it matters here. */
typedef struct torch_sheet {
    bool is_gpu;
    double peak16, peak16b, peak19, peak32; /* operations per second: float16, bfloat16, TensorFloat-32, float32 */
    double bandwidth;                       /* bytes per second */
} torch_sheet;

static inline torch_side torch_sheet_side(const torch_sheet *sheet) {
    return sheet->is_gpu ? TORCH_GPU : TORCH_CPU;
}

/* FT_ERR_UNSUPPORTED when peak or bandwidth are missing. */
ft_status torch_sheet_read(const ft_device *device, torch_sheet *sheet, ft_error *error);
/* Microseconds that one unit of each term takes at these rates. */
void torch_sheet_anchors(const torch_sheet *sheet, const torch_setting *setting, double anchors[static TORCH_TERMS]);

/* How far a known column is from a question; 0: the same. `is_device_far` adds what another device is worth. */
typedef struct torch_match {
    uint32_t setting; /* FT_NONE: none will do */
    double distance;
    bool is_assumed; /* mode, type, layout, compilation or generation of versions differ */
} torch_match;

torch_match torch_setting_nearest(const torch_setting *settings, const torch_sheet *sheets, uint32_t count,
                                  const torch_setting *asked, const torch_sheet *sheet);

json_t *torch_setting_save(const torch_setting *setting); /* NULL when out of memory */
ft_status torch_setting_load(const json_t *list, uint32_t device_count, torch_setting *c, ft_error *error);
json_t *torch_sheet_save(const torch_sheet *sheet);
ft_status torch_sheet_load(const json_t *list, torch_sheet *sheet, ft_error *error);

#endif
