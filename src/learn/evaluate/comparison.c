#include "learn/evaluate/comparison.h"

#include <math.h>
#include <string.h>

#include "learn/score/metrics.h"

uint32_t comparison_group(const comparison_row *rows, uint32_t count) {
    uint32_t run = 0;
    while (run < count && strcmp(rows[run].score.device, rows[0].score.device) == 0 &&
           strcmp(rows[run].score.family, rows[0].score.family) == 0)
        run++;
    return run;
}

/* How far a score is from what it aims at: less is better. */
static double distance(const ft_score *score, const score_field *field) {
    double value = score_value(score, field);
    switch (field->aim) {
    case AIM_LOW:
        return value;
    case AIM_HIGH:
        return -value;
    case AIM_NINETY:
        return fabs(value - 90);
    case AIM_ZERO:
        break;
    }
    return fabs(value);
}

static void mark_field(comparison_row *rows, uint32_t count, size_t field) {
    double best = INFINITY, worst = -INFINITY;
    for (uint32_t i = 0; i < count; i++) {
        double here = distance(&rows[i].score, &score_fields[field]);
        best = fmin(best, here);
        worst = fmax(worst, here);
    }
    if (!(best < worst)) return;
    for (uint32_t i = 0; i < count; i++)
        if (distance(&rows[i].score, &score_fields[field]) <= best) rows[i].best |= 1u << field;
}

void comparison_mark(comparison_row *rows, uint32_t count) {
    for (uint32_t i = 0, run; i < count; i += run) {
        run = comparison_group(rows + i, count - i);
        for (size_t f = 0; run > 1 && f < SCORE_FIELDS; f++) mark_field(rows + i, run, f);
    }
}
