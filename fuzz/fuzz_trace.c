/* fuzz_trace.c - any bytes as a recorded trace: one that is read is summed up, merged with itself, and its operators
 * become text. */
#include <math.h>
#include <stdlib.h>

#include "base/arena.h"
#include "data/kernels/trace_operator.h"
#include "trace/summary.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_operators(const ft_trace *t) {
    arena memory;
    trace_order order;
    ft_error error;
    arena_init(&memory, UINT64_MAX);
    if (trace_order_make(t, &memory, &order, &error) == FT_OK) {
        for (uint32_t i = 0; i < order.count; i++) {
            kernel_row row = kernel_row_new();
            ft_graph *graph;
            const char *why;
            if (!trace_operator_read(t, &order, order.events[i], &row, &why)) {
                if (why == NULL) abort();
                continue;
            }
            operator_text text = {row.op, row.inputs, row.attributes};
            if (operator_text_graph(&text, &graph, &error) == FT_OK) ft_graph_free(graph);
        }
    }
    arena_free(&memory);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static FILE *null;
    ft_trace *t;
    ft_error error;
    if (null == NULL) null = fopen("/dev/null", "w");
    if (null == NULL || trace_from_memory(data, size, "fuzz", &t, &error) != FT_OK) return 0;
    const ft_trace *const list[] = {t, t};
    ft_style style = ft_style_default();
    if (!(ft_trace_kernel_time_us(t) >= 0)) abort();
    if (ft_report_trace_summary(null, &style, list, 1, NULL, &error) != FT_OK) abort();
    if (ft_trace_merge(null, list, 2, NULL, &error) != FT_OK) abort();
    read_operators(t);
    ft_trace_free(t);
    return 0;
}
