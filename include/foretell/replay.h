/* replay.h - the timeline of a step: kernels scheduled on the engines of a device, or of several workers.
 *
 *     ft_flow *flow;
 *     ft_replay replay;
 *     ft_replay_options options = ft_replay_options_default();
 *     options.engines = "mme:conv,matmul,fc;tpc:*";
 *     ft_status status = ft_flow_from_result(&entry, 0, &flow, &error); // kernels, their times and dependencies
 *     if (!status) status = ft_replay_run(flow, &options, &replay, &error);
 *     if (!status) printf("%.0f us, at least %.0f\n", replay.iteration_us, replay.critical_us);
 *     ft_replay_free(&replay);
 *     ft_flow_free(flow);
 *
 * A kernel starts when its dependencies are done and an engine that runs its kind is free; of several ready kernels,
 * the first by phase, priority and order starts. docs/replay.md has the rules and their limits. */
#ifndef FORETELL_REPLAY_H
#define FORETELL_REPLAY_H

#include "foretell/forecast_report.h"

FT_C_BEGIN

/* name, text; earlier phases go first when several kernels are ready */
#define FT_REPLAY_PHASE_LIST(X)                                                                                        \
    X(FT_REPLAY_FORWARD, "forward")                                                                                    \
    X(FT_REPLAY_BACKWARD, "backward")                                                                                  \
    X(FT_REPLAY_EXCHANGE, "exchange") /* of gradients between workers */                                               \
    X(FT_REPLAY_UPDATE, "update")

typedef enum ft_replay_phase {
#define FT_REPLAY_PHASE_ENUM(name, text) name,
    FT_REPLAY_PHASE_LIST(FT_REPLAY_PHASE_ENUM)
#undef FT_REPLAY_PHASE_ENUM
        FT_REPLAY_PHASES
} ft_replay_phase;

/* As spelled above, and back; false when the text is none of them. */
FT_API const char *ft_replay_phase_name(ft_replay_phase phase);
FT_API bool ft_replay_phase_parse(const char *text, ft_replay_phase *phase);

/* --- Flows: kernels, their times and dependencies ----------------------------------------------------------------- */

typedef struct ft_flow_kernel {
    const char *name;             /* of its first operator, or as in the file */
    const char *type;             /* "conv-bn-relu": selects the engine */
    const char *engine;           /* the engine that must run it; NULL: by its type */
    const uint32_t *dependencies; /* indices of the kernels that must be done first */
    uint32_t dependency_count;
    int32_t priority; /* the lowest goes first when several are ready */
    ft_replay_phase phase;
    double time_us;          /* NaN: not known; 0: needs no engine */
    double backward_us;      /* of its backward pass, in training */
    double update_us;        /* of the optimiser's step over its parameters */
    uint64_t gradient_bytes; /* of gradients that workers exchange for it */
} ft_flow_kernel;

typedef struct ft_flow ft_flow;

/* The kernels of a result with their times; in training, a time is divided between forward, backward and optimiser by
 * the work of each. Parts that belong to no kernel become a start before the first kernel (parts of type "start") or
 * are spread over the kernels, so that these add up to the result. */
FT_API ft_status ft_flow_from_result(const ft_model_results *model, uint32_t index, ft_flow **flow, ft_error *error);
/* The kernels of a model by the fusion rules of a runtime, without times. */
FT_API ft_status ft_flow_from_model(const ft_graph *model, const ft_binding *binding, const ft_rules *rules,
                                    const ft_cost_options *options, ft_flow **flow, ft_error *error);
/* Adds a backward pass and an update to a flow of inference, by the work of each; `options` are those of training. */
FT_API ft_status ft_flow_derive_training(ft_flow *flow, const ft_binding *binding, const ft_cost_options *options,
                                         ft_error *error);
/* Reads a file that describes a flow: a table with a column "after" (CSV or JSON), or the graph.json of TVM's graph
 * executor. FT_ERR_FORMAT when it is neither. */
FT_API ft_status ft_flow_read(const char *path, ft_flow **flow, ft_error *error);
FT_API void ft_flow_free(ft_flow *flow);
FT_API const char *ft_flow_name(const ft_flow *flow);
FT_API const ft_flow_kernel *ft_flow_kernels(const ft_flow *flow, uint32_t *count);
/* Assumptions and omissions, one per index. NULL after the last. */
FT_API const char *ft_flow_note(const ft_flow *flow, uint32_t index);

/* --- Times from a table ----------------------------------------------------------------------------------------- */

/* CSV or JSON with at least "name" (or "operators") and "time_us"; docs/replay.md lists all columns. `foretell predict
 * --by-layer` writes such a table. Rows without a usable time are noted, or, when `is_strict`, an error that names the
 * line. */
typedef struct ft_times ft_times;
FT_API ft_status ft_times_read(const char *path, bool is_strict, ft_times **times, ft_error *error);
FT_API ft_status ft_times_read_memory(const void *bytes, size_t size, const char *name, bool is_strict,
                                      ft_times **times, ft_error *error);
FT_API void ft_times_free(ft_times *times);
/* Whether it lists the operators of each kernel, so that ft_flow_from_table can make kernels of its rows. */
FT_API bool ft_times_have_operators(const ft_times *times);

/* The kernels of a model as listed in a table with operators. */
FT_API ft_status ft_flow_from_table(const ft_graph *model, const ft_binding *binding, const ft_times *times,
                                    const ft_cost_options *options, ft_flow **flow, ft_error *error);
/* Sets the times of the kernels of a flow from a table, by name: of the kernel, of its operators (their sum), or of its
 * type. Kernels that are not in the table get the median of the others, which is noted, or, when `is_strict`, are an
 * error that names them. Backward and update times follow by the work of each. */
FT_API ft_status ft_flow_set_times(ft_flow *flow, const ft_times *times, bool is_strict, ft_error *error);

/* --- Replaying -------------------------------------------------------------------------------------------------- */

/* name, text */
#define FT_ORDER_LIST(X)                                                                                               \
    X(FT_ORDER_PROGRAM, "program")   /* as the kernels are listed */                                                   \
    X(FT_ORDER_CRITICAL, "critical") /* longest path to the end first */                                               \
    X(FT_ORDER_READY, "ready")       /* longest waiting first */

typedef enum ft_order {
#define FT_ORDER_ENUM(name, text) name,
    FT_ORDER_LIST(FT_ORDER_ENUM)
#undef FT_ORDER_ENUM
} ft_order;

/* As spelled above, and back; false when the text is none of them. */
FT_API const char *ft_order_name(ft_order order);
FT_API bool ft_order_parse(const char *text, ft_order *order);

enum { FT_REPLAY_MAX_ENGINES = 16, FT_REPLAY_MAX_LANES = 1024, FT_REPLAY_MAX_WORKERS = 4096 };

typedef struct ft_replay_options {
    const char *engines; /* of a worker: "compute:1", "compute:2,copy:1", "mme:conv*,matmul;tpc:*" */
    const char *gaps;    /* idle time after each kernel: "2.5", or by engine "mme=1,tpc=2.5", in us; NULL: none */
    ft_order order;
    ft_mode mode;          /* FT_TRAIN: backward pass and optimiser as well */
    uint32_t workers;      /* data-parallel: each trains on a batch, then gradients are exchanged */
    double latency_us;     /* of one message between neighbours in the ring */
    double bytes_per_s;    /* bandwidth of a worker, each way */
    uint64_t bucket_bytes; /* gradients are exchanged in buckets of about this size */
    bool is_exchange_last; /* exchange only after the whole backward pass */
} ft_replay_options;

/* One engine, no gaps, order of the program, inference, one worker; 10 us, 12.5 GB/s (100 Gbit/s), 25 MiB. */
FT_API ft_replay_options ft_replay_options_default(void);

typedef struct ft_replay_event {
    const char *name, *type;
    uint32_t kernel; /* index in the flow; FT_NONE: start, exchange, update */
    uint32_t worker; /* 0: each worker; FT_NONE: the network between workers */
    uint32_t engine; /* in `engines` */
    uint32_t lane;
    ft_replay_phase phase;
    double start_us, time_us;
    bool is_critical; /* on the critical path */
    uint64_t index;   /* by start, among the events of all workers: of the first worker */
} ft_replay_event;

typedef struct ft_replay_engine {
    const char *name;
    uint32_t worker; /* 0: each worker; FT_NONE: the network */
    uint32_t lane_count;
    uint32_t event_count;
    double busy_us, gap_us; /* of all lanes */
    double use_ratio;       /* share of the time that lanes are busy */
} ft_replay_engine;

typedef struct ft_replay {
    ft_replay_options options;
    double iteration_us;               /* from the start of the first event to the end of the last */
    double kernel_us;                  /* sum of the kernels of a worker */
    double critical_us;                /* the critical path: a lower bound for any number of engines */
    double gap_us;                     /* sum of the gaps of a worker; kernel_us + gaps + exchanges is an upper bound */
    double phase_us[FT_REPLAY_PHASES]; /* sum per phase of a worker; exchange: of the network */
    double alone_us;                   /* iteration of one worker without exchange */
    double exposed_us;                 /* time that the exchange adds to it */
    double efficiency_ratio;           /* alone / iteration */
    uint64_t gradient_bytes;           /* exchanged by a worker */
    const ft_replay_event *events;     /* of a worker (all run alike) and the network, by start; those of no time are
                                          omitted */
    uint32_t event_count;
    uint64_t total_event_count; /* of all workers and the network */
    const uint32_t *critical;   /* events of the critical path, in order */
    uint32_t critical_count;
    const ft_replay_engine *engines; /* of a worker, then the network */
    uint32_t engine_count;
    const char *notes[3]; /* assumptions */
    uint32_t note_count;
    void *owner;
} ft_replay;

/* The replay points into the flow, which must outlive it. The same flow and options give the same replay. */
FT_API ft_status ft_replay_run(const ft_flow *flow, const ft_replay_options *options, ft_replay *replay,
                               ft_error *error);
FT_API void ft_replay_free(ft_replay *replay);

/* --- Reports ---------------------------------------------------------------------------------------------------- */

/* A flow and its replays, which differ in the number of workers. */
typedef struct ft_model_replays {
    const char *file; /* its name in the report */
    const ft_flow *flow;
    const char *device;     /* NULL: not known */
    const char *times_from; /* source of the times: a predictor, a table */
    int64_t batch;          /* samples in a step of a worker; 0: not known */
    const ft_replay *replays;
    uint32_t count;
} ft_model_replays;

/* Tables show the details (engines, critical path, kernels) of the last replay, JSON and CSV those of each. */
typedef struct ft_replay_style {
    ft_style style;
    bool has_kernels; /* also list when each kernel runs */
    bool is_list;     /* tables: one line per replay */
    uint32_t top;     /* the longest kernels only; 0: all */
} ft_replay_style;

/* A report is one document: begin, add any number of entries, end. The style is copied; the stream must outlive the
 * report. */
typedef struct ft_replay_report ft_replay_report;
FT_API ft_status ft_replay_report_begin(FILE *stream, const ft_replay_style *style, ft_replay_report **report,
                                        ft_error *error);
FT_API ft_status ft_replay_report_add(ft_replay_report *report, const ft_model_replays *model, ft_error *error);
/* Ends the document and frees the report, also after an error; accepts NULL. */
FT_API ft_status ft_replay_report_end(ft_replay_report *report, ft_error *error);

/* Writes one replay for chrome://tracing and ui.perfetto.dev: a process per worker, a thread per lane of an engine. */
FT_API ft_status ft_replay_trace(const char *path, const ft_model_replays *model, uint32_t index, ft_error *error);
/* Draws the timeline of the last replay and, of several, speed-up and efficiency over workers. The file extension
 * selects the format: .svg or .png. */
FT_API ft_status ft_replay_plot(const char *path, const ft_model_replays *model, ft_error *error);

FT_C_END

#endif
