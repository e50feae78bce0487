/* facts.h - the contents of a report on one model, in plain values.
 *
 * facts_gather() computes them once; table.c, json.c and csv.c only format them, so that all three agree. Rows of
 * operators and kernels are made one at a time (facts_node, facts_kernel), since a graph may have two million of them.
 * The keys of JSON and CSV are in fields.c. */
#ifndef REPORT_FACTS_H
#define REPORT_FACTS_H

#include "base/arena.h"
#include "base/num.h"
#include "foretell/inspect.h"
#include "foretell/language.h"

/* A count that depends on an open dimension: null in JSON, nothing in CSV, "?" in tables. */
#define FACT_UNKNOWN (UINT64_MAX - 1)

typedef struct summary_facts {
    uint64_t op_count;        /* operators that run: sub-graphs and functions inlined, folded ones left out */
    uint64_t folded_op_count; /* constant-folded operators */
    uint64_t unused_op_count; /* operators that no output depends on */
    uint64_t op_type_count;
    uint64_t open_op_count; /* operators whose cost depends on an open dimension: not in the sums below */

    uint64_t params, tied_params, buffer_elems;
    uint64_t stored_bytes, weight_bytes;

    uint64_t macs, flops;
    uint64_t read_bytes, write_bytes, moved_bytes;
    double flops_per_byte;
    uint64_t activation_elems, conv_matmul_elems;

    uint64_t backward_macs, backward_flops, optimizer_flops;
    uint64_t train_macs, train_flops, train_moved_bytes; /* forward + backward + optimiser */

    uint64_t peak_infer_bytes; /* its parts follow, and add up to it */
    uint64_t peak_infer_weight_bytes, peak_infer_activation_bytes, peak_infer_workspace_bytes;
    const char *peak_infer_op, *peak_infer_op_type; /* NULL for an empty graph */
    uint32_t peak_infer_op_index;

    uint64_t peak_train_bytes; /* its parts follow, and add up to it */
    uint64_t peak_train_weight_bytes, peak_train_gradient_bytes, peak_train_optimizer_bytes;
    uint64_t peak_train_activation_bytes, peak_train_workspace_bytes;
    const char *peak_train_op, *peak_train_op_type;
    uint32_t peak_train_op_index;
    const char *peak_train_phase;
    uint64_t train_saved_bytes;

    double coverage_ratio, coverage_ops_ratio;
    uint64_t estimated_op_count;

    uint64_t batch, exported_batch;
    bool is_scaled;
    const char *dtype; /* of --dtype; NULL: as in the file */
    const char *optimizer;
    bool is_mixed;

    const char *runtime; /* runtime of the listed kernels; NULL: none are listed */
    uint64_t kernel_count;
    uint64_t kernel_moved_bytes; /* by all kernels: moved_bytes without the tensors inside kernels */
} summary_facts;

/* Of a model that generates text: a token, and the cache of a sequence. */
typedef struct language_facts {
    ft_language of;
    const char *run; /* what the graph can run: "prefill and decode" */
} language_facts;

/* One type of operator, as the file spells it. */
typedef struct type_facts {
    const char *type;
    const char *op_class;
    uint64_t count;
    uint64_t params;
    uint64_t macs, flops;
    uint64_t read_bytes, write_bytes, moved_bytes;
    uint64_t activation_elems;
    uint64_t estimated_count;
    uint64_t open_count;     /* operators whose cost is not in the sums */
    uint8_t open;            /* OPEN_ bits of these operators */
    double share_ratio;      /* of the total of the sort key (facts.share_of) */
    double cumulative_ratio; /* of this and all types before it */
    bool is_known;
} type_facts;

typedef struct node_facts {
    uint32_t index; /* in the graph */
    const char *name;
    const char *type;
    const char *op_class;
    const ft_tensor *output; /* NULL when it has none */
    const char *dtype;
    uint64_t params;
    uint64_t macs, flops;
    uint64_t read_bytes, write_bytes, moved_bytes;
    double flops_per_byte;
    uint64_t activation_elems;
    uint64_t backward_flops;
    uint64_t repeats;
    bool is_estimated;
    bool is_open; /* its cost depends on an open dimension: FACT_UNKNOWN */
} node_facts;

typedef struct kernel_facts {
    uint32_t index;
    const char *type;
    const ft_kernel *kernel; /* its operators */
    uint64_t op_count;
    const char *name;       /* of its first operator */
    const ft_tensor *input; /* first data input of its first operator, NULL when there is none */
    const ft_tensor *output;
    uint64_t params;
    uint64_t macs, flops;
    uint64_t read_bytes, write_bytes, moved_bytes;
    double flops_per_byte;
    bool is_estimated;
    bool is_open; /* as of its operators */
} kernel_facts;

/* Operators whose cost is an estimate, by type and reason. */
typedef struct estimate_facts {
    const char *type;
    uint64_t count;
    const char *reason; /* "unknown operator" or "unknown shape" */
    const char *rule;   /* "cost from bytes" */
} estimate_facts;

/* A dimension that the file leaves open, and the value it was given. */
typedef struct symbol_facts {
    const char *name;
    int64_t value; /* -1: none */
} symbol_facts;

/* An open symbol or input, and the option that sets it. */
typedef struct open_facts {
    const char *name; /* of a symbol or of an input */
    const char *flag; /* "--shape sequence=N" */
} open_facts;

/* Costs of an operator that depend on an open dimension. OPEN_OTHER: of training, and activations. */
enum { OPEN_MACS = 1, OPEN_FLOPS = 2, OPEN_BYTES = 4, OPEN_OTHER = 8 };

typedef struct facts {
    const char *file;
    const char *format;
    const char *name;
    summary_facts summary;
    language_facts language; /* of.has_cache: there are some */
    const type_facts *types; /* sorted; all of them */
    uint32_t type_count;
    uint32_t type_shown; /* number that is listed */
    const char *share_of;
    uint8_t all_open; /* OPEN_ bits of all operators */
    const estimate_facts *estimates;
    uint32_t estimate_count;
    const symbol_facts *symbols;
    uint32_t symbol_count;
    const open_facts *open;
    uint32_t open_count;
    const uint8_t *op_open;     /* per operator: OPEN_ bits of the costs that depend on an open dimension; NULL: none */
    const uint32_t *node_order; /* operators that run, sorted; NULL: not listed */
    uint32_t node_count, node_shown;
    const uint32_t *kernel_order;
    uint32_t kernel_count, kernel_shown;

    ft_graph *graph;          /* bound */
    const ft_tensor *tensors; /* of the graph; open dimensions are symbols or unknown */
    int64_t open_sizes[2];    /* that open dimensions were bound to */
    ft_cost infer, train;
    ft_kernels kernels;
    arena memory;
} facts;

ft_status facts_gather(const char *file, const ft_graph *graph, const ft_inspect_options *options, facts *f,
                       ft_error *error);
void facts_free(facts *f);

/* The row at a position of the sorted list. */
void facts_node(const facts *f, uint32_t position, node_facts *row);
void facts_kernel(const facts *f, uint32_t position, kernel_facts *row);

/* The name of an operator: its own, or that of its first output when the file gives it none. */
const char *facts_op_name(const ft_graph *graph, const ft_op *op);

/* Bytes read and written. */
static inline uint64_t facts_moved(const ft_work *work) {
    return num_add_sat(work->read_bytes, work->write_bytes);
}

/* Whether the cost of an operator depends on an open dimension. */
static inline bool facts_is_open(const facts *f, uint32_t op) {
    return f->op_open != NULL && f->op_open[op] != 0;
}

/* A cost of an operator, or FACT_UNKNOWN when it depends on an open dimension. */
static inline uint64_t facts_known(const facts *f, uint32_t op, uint8_t bit, uint64_t value) {
    return f->op_open != NULL && (f->op_open[op] & bit) != 0 ? FACT_UNKNOWN : value;
}

bool facts_is_open_kernel(const facts *f, const ft_kernel *kernel);

/* --- Between inspect.c and inspect_open.c ------------------------------------------------------------------------- */

/* Costs and memory of inference and training. The caller frees the costs, also after an error. */
ft_status facts_compute_costs(const ft_graph *graph, const ft_inspect_options *options, ft_cost *infer, ft_cost *train,
                              ft_memory *infer_memory, ft_memory *train_memory, ft_error *error);
/* For a graph that ft_graph_bind refuses with FT_ERR_UNBOUND: sets graph, costs, tensors and open dimensions. */
ft_status facts_bind_open(facts *f, const ft_graph *graph, const ft_inspect_options *options, ft_memory *infer_memory,
                          ft_memory *train_memory, ft_error *error);

/* --- Between inspect.c and inspect_lists.c ------------------------------------------------------------------------ */

ft_status facts_order_nodes(facts *f, const ft_inspect_options *options, ft_error *error);
ft_status facts_order_kernels(facts *f, const ft_inspect_options *options, ft_error *error);
ft_status facts_sum_types(facts *f, const ft_inspect_options *options, ft_error *error);
/* Of the types: unknown operators first, then those that only lack a shape. */
ft_status facts_list_estimates(facts *f, ft_error *error);

#endif
