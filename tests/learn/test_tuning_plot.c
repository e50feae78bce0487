/* Tests of the plot of a search: marks, lines and labels are at the places that follow from the trials. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/input.h"
#include "foretell/tune.h"
#include "support/folder.h"

static const char *const losses[] = {"mape", "huber"};
static const ft_tune_key keys[] = {{.name = "rate", .is_log = true, .lo = 1e-4, .hi = 0.1},
                                   {.name = "loss", .choices = losses, .choice_count = 2},
                                   {.name = "depth", .lo = 0, .hi = 10},
                                   {.name = "width", .lo = 0, .hi = 4}};
static const double values[][4] = {{0.01, 0, 5, 1}, {0.001, 1, 10, 2}, {0.1, 1, 0, 3}, {0.0001, 0, 2.5, NAN}};
static const double scores[][2] = {{60, 50}, {40, 20}, {1000}, {30, 10}};
static const ft_trial trials[] = {
    {.index = 0, .rungs = 2, .scores = scores[0], .objective = 50, .config = "{}", .values = values[0]},
    {.index = 1, .rungs = 2, .scores = scores[1], .objective = 20, .config = "{}", .values = values[1]},
    {.index = 2, .rungs = 1, .scores = scores[2], .objective = 1000, .config = "{}", .values = values[2]},
    {.index = 3, .rungs = 2, .scores = scores[3], .objective = 10, .config = "{}", .values = values[3]}};
static const ft_tuning tuning = {.family = "toy",
                                 .metric = "time_us",
                                 .split = "random",
                                 .objective = "mape",
                                 .seed = 3,
                                 .rungs = 2,
                                 .factor = 3,
                                 .keys = keys,
                                 .key_count = 4,
                                 .trials = trials,
                                 .count = 4,
                                 .best = 3,
                                 .is_complete = true};

/* The caller frees it. */
static char *plot_of(const ft_tuning *t) {
    input in;
    ft_error error;
    assert_int_equal(ft_tuning_plot(t, "plot.svg", &error), FT_OK);
    assert_int_equal(input_open("plot.svg", 1 << 24, &in, &error), FT_OK);
    char *text = strndup((const char *)in.bytes, in.size);
    input_close(&in);
    assert_non_null(text);
    return text;
}

static uint32_t count_of(const char *text, const char *part) {
    uint32_t count = 0;
    for (const char *at = text; (at = strstr(at, part)) != NULL; at++) count++;
    return count;
}

static void expect_once(const char *text, const char *part) {
    if (count_of(text, part) != 1) print_message("%u times: %s\n", count_of(text, part), part);
    assert_int_equal(count_of(text, part), 1);
}

/* Scores in order: 10 20 30 40 50 60 1000. The axis ends at 10 + 2.5 * (40 - 10) = 85, with 0.06 * 75 = 4.5 more on
 * either side: 84 in 210 points, 2.5 points each, from 66 down to 276. Trial i is at 78 + 812 * (i + 0.5) / 4. */
static void history_has_a_mark_for_every_rung(void **state) {
    (void)state;
    char *text = plot_of(&tuning);
    expect_once(text, "\"M179.5 139.75L179.5 139.75\""); /* trial 0: 60, then 50 */
    expect_once(text, "\"M179.5 164.75L179.5 164.75\"");
    expect_once(text, "\"M382.5 189.75L382.5 189.75\""); /* trial 1: 40, then 20 */
    expect_once(text, "\"M382.5 239.75L382.5 239.75\"");
    expect_once(text, "\"M585.5 66L585.5 66\"");         /* trial 2: 1000, at the edge */
    expect_once(text, "\"M788.5 214.75L788.5 214.75\""); /* trial 3: 30, then 10 */
    expect_once(text, "\"M788.5 264.75L788.5 264.75\"");
    expect_once(text, "\"M78 164.75L890 164.75\""); /* the defaults */
    free(text);
}

static void best_so_far_is_a_staircase(void **state) {
    (void)state;
    char *text = plot_of(&tuning);
    expect_once(text, "\"M179.5 164.75L382.5 164.75L382.5 239.75L788.5 239.75L788.5 264.75L788.5 264.75\"");
    free(text);
}

/* Higher scores are better: the axis begins at 1000 - 2.5 * (1000 - 40) = -1400, which is below 10: it is 10 to 1000,
 * with 59.4 more on either side: 1108.8 in 210 points. The first trial with the full effort stays the best. */
static void higher_is_better_turns_the_axis_and_the_staircase(void **state) {
    (void)state;
    ft_tuning t = tuning;
    t.is_higher_better = true;
    t.best = 0;
    char *text = plot_of(&t);
    expect_once(text, "\"M585.5 77.25L585.5 77.25\"");   /* 66 + 59.4 * 210 / 1108.8 */
    expect_once(text, "\"M179.5 257.17L788.5 257.17\""); /* 66 + (1059.4 - 50) * 210 / 1108.8 */
    expect_once(text, "\"M788.5 264.75L788.5 264.75\""); /* 276 - 59.4 * 210 / 1108.8 */
    free(text);
}

/* Each setting has a panel of 220 by 150 points, three in a row: 78, 374 and 670 from the left; 338 and 550 from the
 * top. A trial is drawn once, at its last score, in 150 / 84 points each: 50 is at 338 + (89.5 - 50) * 150 / 84 =
 * 408.54. */
static void settings_have_a_mark_for_every_trial(void **state) {
    (void)state;
    char *text = plot_of(&tuning);
    expect_once(text, "\"M429 408.54L429 408.54\""); /* the first of two choices: a quarter of the width */
    expect_once(text, "\"M539 462.11L539 462.11\"");
    expect_once(text, "\"M539 338L539 338\"");
    expect_once(text, "\"M429 479.96L429 479.96\"");
    expect_once(text, "\"M780 408.54L780 408.54\""); /* 5 of 10 */
    expect_once(text, "\"M890 462.11L890 462.11\"");
    expect_once(text, "\"M725 479.96L725 479.96\"");
    expect_once(text, "\"M133 620.54L133 620.54\""); /* the second row of panels */
    expect_once(text, "\"M188 674.11L188 674.11\"");
    expect_once(text, "\"M243 550L243 550\"");
    assert_int_equal(count_of(text, "691.96L"), 0); /* trial 3 has no width */
    expect_once(text, "<text x=\"429\" y=\"501\" font-size=\"9\" fill=\"#6b7380\" text-anchor=\"middle\">mape<");
    expect_once(text, "<text x=\"539\" y=\"501\" font-size=\"9\" fill=\"#6b7380\" text-anchor=\"middle\">huber<");
    free(text);
}

/* Between 1e-4 and 0.1 the decades are equally far apart. */
static void ranges_in_ratios_have_a_logarithmic_axis(void **state) {
    (void)state;
    char *text = plot_of(&tuning);
    double at[3] = {0};
    const char *const heights[] = {" 408.54L", " 462.11L", " 479.96L"}; /* 0.01, 0.001, 0.0001 */
    const char *panel = strstr(text, ">trial<"), *end = strstr(text, ">loss<");
    assert_non_null(panel);
    for (const char *p = panel; (p = strstr(p, "\"M")) != NULL && p < end; p++)
        for (int i = 0; i < 3; i++)
            if (strncmp(p + 2 + strcspn(p + 2, " "), heights[i], strlen(heights[i])) == 0 && at[i] == 0)
                at[i] = strtod(p + 2, NULL);
    assert_true(at[2] > 78 && at[0] < 298);
    assert_true(fabs((at[0] - at[1]) - (at[1] - at[2])) < 0.02);
    assert_true(at[0] - at[1] > 60);
    free(text);
}

static void page_is_as_high_as_its_rows(void **state) {
    (void)state;
    ft_tuning t = tuning;
    char *text = plot_of(&t);
    expect_once(text, "width=\"912pt\" height=\"800pt\""); /* 22 + 44 + 210 + 2 * 212 + 40 + 8 + 30 + 22 */
    free(text);
    t.key_count = 3;
    text = plot_of(&t);
    expect_once(text, "width=\"912pt\" height=\"588pt\"");
    free(text);
}

static void legend_names_the_efforts(void **state) {
    (void)state;
    char *text = plot_of(&tuning);
    expect_once(text, ">1/3 of the effort<");
    expect_once(text, ">full effort<");
    expect_once(text, "<path d=\"M82 757L82 757\"");
    free(text);
}

static void all_failed_is_an_error(void **state) {
    (void)state;
    ft_tuning t = tuning;
    ft_error error = {0};
    t.best = FT_NONE;
    assert_int_equal(ft_tuning_plot(&t, "plot.svg", &error), FT_ERR_USAGE);
    assert_non_null(strstr(error.message, "every trial failed"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(history_has_a_mark_for_every_rung),
        cmocka_unit_test(best_so_far_is_a_staircase),
        cmocka_unit_test(higher_is_better_turns_the_axis_and_the_staircase),
        cmocka_unit_test(settings_have_a_mark_for_every_trial),
        cmocka_unit_test(ranges_in_ratios_have_a_logarithmic_axis),
        cmocka_unit_test(page_is_as_high_as_its_rows),
        cmocka_unit_test(legend_names_the_efforts),
        cmocka_unit_test(all_failed_is_an_error),
    };
    return cmocka_run_group_tests_name("learn/tuning_plot", tests, folder_enter, folder_leave);
}
