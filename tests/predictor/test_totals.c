/* Totals of a graph: every operator is in one kind, and the sums are those of its cost. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "predictor/baseline/totals_gbt.h"
#include "support/synth_data.h"

static void sums_agree(void **state) {
    (void)state;
    for (uint32_t n = 0; n < 12; n++) {
        ft_graph *graph = synth_network(n), *bound = NULL;
        assert_int_equal(ft_graph_bind(graph, &(ft_binding){.batch = 1}, &bound, NULL), FT_OK);
        model_view s;
        model_view_init(&s, bound, &(ft_request){0});
        float row[TOTALS_COUNT];
        const ft_cost *cost;
        assert_int_equal(totals_extract(&s, row, NULL), FT_OK);
        assert_int_equal(model_view_cost(&s, &cost, NULL), FT_OK);
        double count = 0, flops = 0, params = 0, conv = 0;
        for (size_t i = 0; i < TOTALS_KINDS; i++) {
            count += (double)row[i * TOTALS_PER_KIND];
            flops += (double)row[i * TOTALS_PER_KIND + 1];
            params += (double)row[i * TOTALS_PER_KIND + 3];
        }
        for (size_t i = 0; i < TOTALS_SIZES; i++) conv += (double)row[TOTALS_KINDS * TOTALS_PER_KIND + 2 * i];
        assert_true(count == ft_graph_op_count(bound));
        assert_true(fabs(flops - (double)cost->total.forward.flops) <= 1e-5 * flops);
        assert_true(params == (double)cost->total.params);
        assert_true(conv == (double)row[0] && conv == 1 + n % 4); /* all convolutions have a size */
        const float *sums = row + TOTALS_COUNT - TOTALS_SUMS;
        assert_true(sums[0] == (float)cost->total.forward.flops);
        assert_true(sums[7] == 1);
        model_view_free(&s);
        ft_graph_free(bound);
        ft_graph_free(graph);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(sums_agree)};
    return cmocka_run_group_tests_name("predictor/totals", tests, NULL, NULL);
}
