/* evaluation.h - helpers shared by the files that compute, write and plot evaluations. */
#ifndef LEARN_EVALUATION_H
#define LEARN_EVALUATION_H

#include "base/arena.h"
#include "base/json_writer.h"
#include "foretell/learn.h"
#include "report/sink.h"

/* --- Cases and scores ---------------------------------------------------------------------------------------- */

/* A copy sorted by device, then family, then record; the caller frees it. NULL when out of memory. */
ft_case *cases_sorted(const ft_case *cases, uint32_t count);
/* The number of leading cases of a sorted list that share the device (the device and family) of the first one. */
uint32_t cases_of_device(const ft_case *sorted, uint32_t count);
uint32_t cases_of_family(const ft_case *sorted, uint32_t count);

/* The scores of cases in any order: by device "all", "mean", then each family by name. Memory is from the arena. */
ft_status evaluation_scores(arena *memory, const char *metric, const ft_case *cases, uint32_t count,
                            const ft_score **scores, uint32_t *score_count, ft_error *error);
/* Ranking quality within tasks (names with several graphs), by device; only devices that have tasks. task_scores.c */
ft_status evaluation_tasks(arena *memory, const ft_dataset *data, const ft_case *cases, uint32_t count,
                           const ft_task_score **scores, uint32_t *score_count, ft_error *error);
/* The number of leading scores that share the device of the first one. */
uint32_t evaluation_device_scores(const ft_score *scores, uint32_t count);
/* Up to `max` cases per device with the largest relative errors, largest first, devices by name. The caller frees the
 * list. NULL when out of memory. */
ft_case *evaluation_worst(const ft_evaluation *evaluation, uint32_t max, uint32_t *count);

/* --- Documents ----------------------------------------------------------------------------------------------- */

/* Writes the keys and values of a score into an open object. */
void evaluation_json_score(json_writer *j, const ft_score *score);
/* The same as CSV: the column headings, and the cells of a row, without a line end. */
void evaluation_csv_heading(buf *out);
void evaluation_csv_score(buf *out, const ft_score *score);
/* "test part of split random, seed 1", or "all records". */
enum { PART_TEXT = 384 };
void evaluation_part_text(const ft_evaluation *evaluation, char text[static PART_TEXT]);

/* The documents of all metrics in the chain. */
void evaluation_json(sink *out, const ft_evaluation *evaluation, const char *title, uint32_t worst);
void evaluation_csv(sink *out, const ft_evaluation *evaluation);

#endif
