/* report_values.h - the values of a report about a replay, computed in one place so that tables, JSON and CSV agree,
 * and the keys of JSON and CSV. */
#ifndef REPLAY_REPORT_VALUES_H
#define REPLAY_REPORT_VALUES_H

#include "foretell/replay.h"
#include "report/fields.h"
#include "report/sink.h"

/* One replay. NaN and NULL: not known. */
typedef struct replay_row {
    const char *file, *device;
    double batch;
    const char *mode, *times_from, *engines_spec, *gaps, *order;
    uint64_t workers, kernel_count;
    double iteration_us, kernel_us, critical_us, gap_us, speedup_ratio, samples_per_s;
    double forward_us, backward_us, update_us, exchange_us, exposed_us, alone_us, efficiency_ratio;
    uint64_t gradient_bytes;
} replay_row;

extern const field replay_fields[];
void replay_row_fill(const ft_model_replays *entry, const ft_replay *replay, replay_row *row);

/* One engine of a replay. */
typedef struct engine_row {
    uint32_t worker;
    const char *engine;
    uint64_t lanes, kernel_count;
    double busy_us, use_ratio, gap_us;
} engine_row;

extern const field engine_fields[];
void engine_row_fill(const ft_replay_engine *engine, uint32_t worker, engine_row *row);
/* The engines of all workers, one worker after the other, then the network. *index is FT_NONE at first; false after the
 * last. */
bool engine_list_next(const ft_replay *replay, uint32_t *index, uint32_t *worker);

/* An event of one worker, or of the network. */
typedef struct event_copy {
    uint32_t event, worker; /* worker: FT_NONE for the network */
    uint64_t index;         /* by start, among the events of all workers */
} event_copy;

/* That of the first worker, or of the network. */
event_copy event_first(const ft_replay *replay, uint32_t event);

typedef struct event_row {
    uint64_t index;
    const char *name, *type, *phase;
    uint32_t worker;
    const char *engine;
    uint64_t lane;
    double start_us, time_us, share_ratio; /* of the iteration */
    bool is_critical;
} event_row;

extern const field event_fields[];
void event_row_fill(const ft_replay *replay, const event_copy *copy, event_row *row);

/* Selects events of the first worker and the network: all by start, or the `top` longest, longest first; of the
 * critical path or of all. NULL when out of memory; the caller frees it. */
uint32_t *select_events(const ft_replay *replay, bool is_critical, uint32_t top, uint32_t *count);

/* Lists the events of all workers: by start, or the `top` longest, longest first. */
typedef struct event_list {
    const ft_replay *replay;
    uint32_t begin, end, at, worker; /* by start: the events that start together, and where the list is */
    uint64_t index;
    event_copy *longest; /* NULL: by start */
    uint32_t longest_count;
} event_list;

bool event_list_open(event_list *l, const ft_replay *replay, uint32_t top); /* false: out of memory */
bool event_list_next(event_list *l, event_copy *copy);                      /* false: after the last */
void event_list_close(event_list *l);

/* Notes about a replay: those of the flow, then its own. NULL after the last. */
const char *replay_note(const ft_model_replays *entry, const ft_replay *replay, uint32_t index);

/* --- Renderings ------------------------------------------------------------------------------------------------- */

struct ft_replay_report {
    sink out;
    ft_replay_style style;
    uint64_t replay_count; /* written so far */
};

void replay_table_model(ft_replay_report *r, const ft_model_replays *entry);

#endif
