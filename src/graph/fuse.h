/* fuse.h - fusion rules (the struct behind ft_rules), and the steps that fuse operators into kernels.
 *
 * Fusion works on nodes. A node is an operator, or a block: several operators that match a pattern of the rules and act
 * as one (hard-swish, squeeze-excite). A node is identified by its last operator, the only one whose results are read
 * outside. fuse_rules.c loads rules, fuse_pattern.c parses patterns, fuse_name.c names operators, fuse_match.c finds
 * blocks, and fuse.c fuses nodes into kernels. docs/fusion.md describes rules for users. */
#ifndef GRAPH_FUSE_H
#define GRAPH_FUSE_H

#include "base/arena.h"
#include "base/map.h"
#include "foretell/kernel.h"
#include "graph/graph.h"

/* Limits of a rule file; they also bound the time for a hostile one. */
enum {
    RULES_MAX_BYTES = 1 << 20,
    RULES_MAX_NAMES = 512,   /* different names in a file */
    RULES_MAX_BLOCKS = 128,  /* blocks, and patterns of one block */
    PATTERN_MAX_TERMS = 64,  /* parts of one pattern */
    PATTERN_MAX_ARGS = 4,    /* inputs of one part that a pattern can name */
    PATTERN_MAX_VARS = 8,    /* variables of one pattern */
    PATTERN_MAX_NAMES = 128, /* names in one pattern */
};

/* Symbols are numbers for the names in the rules: first the operator classes ("@activation"), then the names. */
typedef uint16_t symbol;
#define SYMBOL_NONE UINT16_MAX
enum {
#define SYMBOL_OF_CLASS(name, text) SYMBOL_##name,
    FT_OP_CLASS_LIST(SYMBOL_OF_CLASS)
#undef SYMBOL_OF_CLASS
        SYMBOL_FIRST_NAME
};

/* --- Patterns ------------------------------------------------------------------------------------------------ */

typedef enum term_kind {
    TERM_ANY,      /* _ */
    TERM_CONSTANT, /* # */
    TERM_SCALAR,   /* $: a constant of one element */
    TERM_VARIABLE, /* x: the same tensor at every occurrence */
    TERM_NODE,     /* add(...), x:add(...), add?(...), add|sub(...) */
} term_kind;

#define VARIABLE_NONE UINT8_MAX

typedef struct term {
    term_kind kind;
    uint8_t variable; /* bound or compared; VARIABLE_NONE = none */
    bool is_optional; /* may be absent: then its first argument is matched instead */
    uint8_t arg_count;
    uint16_t first_name; /* in pattern->names */
    uint16_t name_count;
    uint8_t args[PATTERN_MAX_ARGS]; /* terms */
} term;

typedef struct pattern {
    const term *terms; /* the first is the last node of the block, the others its inputs, recursively */
    const symbol *names;
    uint32_t term_count;
    uint32_t variable_count;
} pattern;

/* --- Rules --------------------------------------------------------------------------------------------------- */

typedef struct block {
    const char *name;
    symbol name_symbol;
    symbol root; /* the node that is the main operator; SYMBOL_NONE: the first one */
    ft_op_class op_class;
    const pattern *patterns;
    uint32_t pattern_count;
} block;

struct ft_rules {
    arena memory;
    const char *name;
    const char *text;
    map symbols;
    uint32_t symbol_count;
    bool grows_trees;      /* nodes join the latest of their producers, also when it has other readers; else chains */
    bool lists_names_once; /* the type of a kernel has each name once */
    bool has_array;        /* a MAC array runs the convolutions; not used by fusion, but by predictors of kernels */
    bool *is_free;         /* per symbol */
    bool *is_reduction;    /* per symbol */
    bool *pairs;           /* [root * symbol_count + next] */
    const block *blocks;
    uint32_t block_count;
};

/* Parses the text of a rule file; messages use `name` as the file name. */
ft_status rules_parse(const char *bytes, size_t size, const char *name, ft_rules **rules, ft_error *error);

/* The symbol of a name; a new one for a new name. */
ft_status rules_symbol(ft_rules *rules, const char *name, symbol *result, ft_error *error);

ft_status pattern_parse(ft_rules *rules, const char *text, pattern *result, ft_error *error);

/* --- Fusing -------------------------------------------------------------------------------------------------- */

typedef struct node {
    uint32_t parent; /* last operator of its block, or itself (union-find) */
    uint32_t name;   /* in fusion->names; the name of the block for its last operator */
    uint32_t root;   /* main operator */
    uint64_t stamp;  /* number of the last match that it was part of */
    symbol name_symbol;
    ft_op_class op_class;
    bool is_free;
    uint32_t input_count;
    const uint32_t *inputs; /* tensors; of a block, first those bound to its variables */
} node;

typedef struct fusion {
    const ft_graph *graph;
    const ft_rules *rules;
    arena *memory;  /* of the kernels; owns the names */
    arena *scratch; /* freed after fusion */
    node *nodes;    /* per operator */
    map name_index;
    const char **names;
    uint32_t name_count, name_capacity;
    uint32_t add_name, mul_name; /* the two commutative operators */
    uint64_t stamp;
} fusion;

/* Name of an operator in the rules; written to `buffer` unless it is a static text. */
enum { KERNEL_NAME_BYTES = 64 };
const char *kernel_name_of(const ft_graph *graph, const ft_op *op, char buffer[KERNEL_NAME_BYTES]);

/* True for tensors that are constant. */
bool fusion_is_constant(const fusion *f, uint32_t tensor);

/* The index of a name in f->names. False when out of memory. */
bool fusion_name(fusion *f, const char *name, uint32_t *index);

/* The last operator of the node that contains an operator. */
uint32_t fusion_find(fusion *f, uint32_t op);

/* Finds the blocks of the rules, in the order of the rules: an earlier block may be part of a later one. */
ft_status fusion_match_blocks(fusion *f, ft_error *error);

/* True when the node has the name or the class `s`. */
static inline bool node_is(const node *n, symbol s) {
    return n->name_symbol == s || (symbol)n->op_class == s;
}

/* True when a list of the rules contains the name of the node or its class. */
static inline bool node_in(const node *n, const bool *list) {
    return (n->name_symbol != SYMBOL_NONE && list[n->name_symbol]) || list[n->op_class];
}

#endif
