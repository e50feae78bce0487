/* kernels.h - import of measured kernels and operators in the layouts of published sets.
 *
 * import_kernels.c walks the files, finds the layout of each by the columns of its header, and stores rows; a layout is
 * a function in kernels_*.c that says which operator a row is, as text (operator_text.h). import_trace.c makes such
 * rows of the operators of a recorded trace. */
#ifndef DATA_KERNELS_H
#define DATA_KERNELS_H

#include "base/map.h"
#include "data/import.h"
#include "data/kernels/operator_text.h"
#include "data/records.h"

enum { KERNEL_MAX_COLUMNS = 128, KERNEL_METRICS = 3, KERNEL_ALL_METRICS = 6 };

/* A measurement of an operator, before it becomes a graph and a record. */
typedef struct kernel_row {
    const char *op;
    char inputs[MAX_CELL], attributes[MAX_CELL], setting[MAX_CELL];
    const char *name, *family, *part;
    const char *device; /* as the source spells it */
    int64_t batch;
    ft_dtype dtype;
    ft_mode mode;
    double time_us, time_std_us, power_w; /* NaN: not measured */
    /* Of traces: occupancy of the kernels; of a step, the sum of its kernels and the share in which the device is busy.
     */
    double occupancy_ratio, kernel_time_us, busy_ratio;
} kernel_row;

typedef struct kernel_reader {
    import_job *job;
    builder *builder;
    arena memory;
    map graphs;                /* from the text of an operator to the index of its graph, FT_NONE: cannot be used */
    map devices;               /* from a name as the source spells it to an index in `device_names` */
    const char **device_names; /* canonical, NULL: unknown */
    uint32_t device_count, device_capacity;
    const char *path; /* of the file, and for layouts that depend on it: */
    char stem[256];   /* file name without .csv and .gz */
    csv rows;         /* line 0: not a table */
    uint32_t column_count;
    char columns[KERNEL_MAX_COLUMNS][64]; /* names in the header */
    csv_field cells[KERNEL_MAX_COLUMNS];
    uint64_t lines; /* of all files so far */
} kernel_reader;

typedef struct kernel_layout {
    const char *name;
    const char *columns; /* separated by spaces: a header with all of them has this layout */
    ft_status (*read)(kernel_reader *r);
} kernel_layout;

/* Layouts of each set; the last has no name. */
extern const kernel_layout aiconfigurator_layouts[], deepbench_layouts[], neusight_layouts[], serving_layouts[];

/* The cell of a column in the current row; NULL when there is no such column. */
const csv_field *kernel_cell(const kernel_reader *r, const char *column);
/* Copies the text of a cell; "" when there is no such column. Returns `text`. */
const char *kernel_text(const kernel_reader *r, const char *column, char *text, size_t size);
/* A size from 1 to FT_MAX_DIM; false for any other text. */
bool kernel_size(const kernel_reader *r, const char *column, int64_t *size);
/* A number above zero; NaN for any other text. */
double kernel_number(const kernel_reader *r, const char *column);

/* A reader without files; free with kernel_reader_free. */
kernel_reader *kernel_reader_new(import_job *job);
void kernel_reader_free(kernel_reader *r);
/* A row with defaults: batch 1, float32, inference, nothing measured. */
kernel_row kernel_row_new(void);
/* Write inputs and attributes; a text that is too long is cut, and then refused as an operator. */
void kernel_inputs(kernel_row *row, const char *format, ...) FT_PRINTF(2, 3);
void kernel_attributes(kernel_row *row, const char *format, ...) FT_PRINTF(2, 3);
void kernel_setting(kernel_row *row, const char *format, ...) FT_PRINTF(2, 3);
/* Appends "key=value", after a semicolon where there is a setting already. */
void kernel_setting_add(kernel_row *row, const char *format, ...) FT_PRINTF(2, 3);
/* Stores a row; one of an unknown device or an operator that cannot be used is skipped. */
ft_status kernel_add(kernel_reader *r, const kernel_row *row);
/* The same for a graph that is in the data set already. */
ft_status kernel_add_record(kernel_reader *r, const kernel_row *row, uint32_t graph);
/* Skips the current row. */
ft_status kernel_skip(kernel_reader *r, const char *why);

#endif
