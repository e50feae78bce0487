/* observation.c - rows of observations: what finished jobs took, beside what was predicted for them. The rows are a
 * table that `foretell import table` reads. */
#include <math.h>
#include <stdio.h>

#include "base/csv.h"
#include "base/error.h"
#include "base/text.h"
#include "command/command_options.h"

enum { COLUMN_COUNT = 13, COLUMN_MODEL = 2, COLUMN_PEAK = 9, COLUMN_TIME, COLUMN_DEVICE, COLUMN_PREDICTED };

const char *ft_observation_columns(void) {
    return "name,family,model,setting,shape,mode,dtype,batch,util_ratio,peak_bytes,time_us,device,predicted\n";
}

/* --- Writing --------------------------------------------------------------------------------------------------- */

static void put_text(buf *line, const char *text) {
    csv_cell(line, text != NULL ? text : "");
    buf_char(line, ',');
}

static void put_number(buf *line, double number, char end) {
    char text[DOUBLE_TEXT_SIZE];
    if (!isnan(number)) {
        double_text(number, text);
        buf_text(line, text);
    }
    buf_char(line, end);
}

static void put_shapes(buf *line, const command_options *q) {
    buf text = {0};
    for (uint32_t i = 0; i < q->shape_count; i++) {
        const ft_shape_binding *shape = &q->shapes[i];
        buf_format(&text, "%s%s=", i > 0 ? ";" : "", shape->name);
        for (int32_t d = 0; d < shape->rank; d++)
            buf_format(&text, "%s%lld", d > 0 ? "x" : "", (long long)shape->dims[d]);
    }
    put_text(line, text.data);
    if (text.failed) line->failed = true;
    buf_free(&text);
}

void observation_put(const command_options *q, const char *model, const ft_result *result, buf *line) {
    const ft_metric_result *time = ft_result_time(result), *memory = ft_result_memory(result);
    put_text(line, q->name);
    put_text(line, q->family);
    put_text(line, model);
    put_text(line, result->request.setting);
    put_shapes(line, q);
    put_text(line, result->request.mode == FT_TRAIN ? "train" : "infer");
    put_text(line, ft_dtype_name(result->request.dtype));
    buf_int(line, result->request.batch);
    buf_char(line, ',');
    put_number(line, q->util_ratio, ',');
    put_number(line, q->peak_bytes, ',');
    put_number(line, q->time_us, ',');
    put_text(line, result->request.device);
    put_number(line, time != NULL ? time->value : NAN, ';');
    put_number(line, memory != NULL ? memory->value : NAN, '\n');
}

/* --- Reading --------------------------------------------------------------------------------------------------- */

static bool read_number(const char *text, size_t length, double *number) {
    *number = NAN;
    return length == 0 || (text_double(text, length, number) && *number > 0);
}

static bool read_numbers(const csv_field *cells, ft_observation *o) {
    const csv_field *predicted = &cells[COLUMN_PREDICTED];
    size_t middle = 0;
    while (middle < predicted->length && predicted->text[middle] != ';') middle++;
    if (middle == predicted->length) return false;
    return read_number(cells[COLUMN_PEAK].text, cells[COLUMN_PEAK].length, &o->peak_bytes) &&
           read_number(cells[COLUMN_TIME].text, cells[COLUMN_TIME].length, &o->time_us) &&
           read_number(predicted->text, middle, &o->predicted_time_us) &&
           read_number(predicted->text + middle + 1, predicted->length - middle - 1, &o->predicted_peak_bytes);
}

ft_status ft_observation_read(const char *row, size_t size, ft_observation *observation, ft_error *error) {
    FT_REQUIRE(error, row, observation);
    csv rows;
    csv_field cells[COLUMN_COUNT];
    ft_observation read = {0};
    uint32_t count = 0;
    csv_init(&rows, "observations", row, size);
    FT_TRY(csv_row(&rows, cells, COLUMN_COUNT, &count, error));
    if (count != COLUMN_COUNT || cells[COLUMN_DEVICE].length >= sizeof read.device || !read_numbers(cells, &read))
        return ft_fail(error, FT_ERR_DAMAGED, "observations: not a row of observations");
    csv_unquote(&cells[COLUMN_DEVICE], read.device, sizeof read.device);
    csv_unquote(&cells[COLUMN_MODEL], read.model, sizeof read.model);
    *observation = read;
    return FT_OK;
}
