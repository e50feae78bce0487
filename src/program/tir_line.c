/* tir_line.c - words and single lines of printed programs: names, buffers and their shapes, threads, pragmas, and the
 * nodes they become. Blocks are in tir_text.c. */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "program/tir_text.h"

/* --- Words --------------------------------------------------------------------------------------------------- */

ft_status tir_fail(tir_parser *r, ft_status status, const char *what) {
    uint64_t line = r->first_line;
    if (r->is_name_too_long) {
        status = FT_ERR_LIMIT;
        what = "a name of more than 159 characters";
    }
    for (const char *c = r->start; c < r->at && c < r->end; c++) line += *c == '\n';
    return ft_fail(r->p->error, status, "line %llu: %s", (unsigned long long)line, what);
}

void tir_space(tir_parser *r) {
    while (r->at < r->end && (*r->at == ' ' || *r->at == '\t' || *r->at == '\n' || *r->at == '\r')) r->at++;
}

bool tir_accept(tir_parser *r, const char *word) {
    tir_space(r);
    size_t length = strlen(word);
    if ((size_t)(r->end - r->at) < length || memcmp(r->at, word, length) != 0) return false;
    r->at += length;
    return true;
}

static bool is_name(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.' ||
           c == '@';
}

bool tir_accept_word(tir_parser *r, char name[static TIR_NAME]) {
    tir_space(r);
    size_t length = 0;
    while (r->at + length < r->end && is_name(r->at[length])) length++;
    if (length >= TIR_NAME) r->is_name_too_long = true;
    if (length == 0 || length >= TIR_NAME) return false;
    memcpy(name, r->at, length);
    name[length] = '\0';
    r->at += length;
    return true;
}

const char *tir_rest_of_line(tir_parser *r, size_t *length) {
    while (r->at < r->end && *r->at == ' ') r->at++;
    const char *from = r->at, *end = from;
    while (end < r->end && *end != '\n') end++;
    r->at = end;
    while (end > from && (end[-1] == ' ' || end[-1] == '\r' || end[-1] == ';')) end--;
    *length = (size_t)(end - from);
    return from;
}

/* --- Buffers ------------------------------------------------------------------------------------------------- */

ft_status tir_buffer(tir_parser *r, const char *name, uint32_t *id) {
    prog *p = r->p;
    for (uint32_t i = 0; i < p->stage_count; i++) {
        if (strcmp(p->stages[i].name, name) == 0) {
            *id = i;
            return FT_OK;
        }
    }
    if (strlen(name) >= sizeof p->stages[0].name)
        return tir_fail(r, FT_ERR_LIMIT, "a buffer whose name has more than 47 characters");
    prog_stage *stage = prog_new_stage(p, p->stage_count);
    if (stage == NULL) return prog_check(p);
    *id = (uint32_t)(stage - p->stages);
    memcpy(stage->name, name, strlen(name) + 1);
    stage->dims = 1;
    stage->extents[0] = 1;
    stage->scope = PROG_NO_SCOPE;
    r->has_shape[*id] = false;
    return FT_OK;
}

/* A tensor without a declared size is as large as the indices used. */
ft_status tir_index(tir_parser *r, uint32_t id, lin *index) {
    prog_stage *stage = &r->p->stages[id];
    uint32_t count = 0;
    do {
        tir_expr e;
        if (count == PROG_MAX_DIMS) return tir_fail(r, FT_ERR_LIMIT, "more than 8 indices");
        FT_TRY(tir_parse(r, &e));
        if (!e.is_sum) return tir_fail(r, FT_ERR_UNSUPPORTED, "an index that is not an integer");
        index[count++] = e.sum;
    } while (tir_accept(r, ","));
    if (!tir_accept(r, "]")) return tir_fail(r, FT_ERR_DAMAGED, "']' is missing");
    if (!r->has_shape[id] && stage->dims == 1 && stage->extents[0] == 1) stage->dims = count;
    for (uint32_t i = stage->dims == count && !r->has_shape[id] ? 0 : count; i < count; i++) {
        int64_t min, max;
        lin_range(&r->p->space, index[i], &min, &max);
        if (i >= PROG_MAX_DIMS) break;
        if (stage->extents[i] < max + 1 || stage->extents[i] < 1) stage->extents[i] = max + 1;
    }
    return stage->dims == count
               ? FT_OK
               : tir_fail(r, FT_ERR_DAMAGED, "the number of indices differs from the dimensions of the tensor");
}

/* --- Nodes --------------------------------------------------------------------------------------------------- */

ft_status tir_add_node(tir_parser *r, uint16_t parent, nest_node node, uint16_t *id) {
    nest *n = r->n;
    assert(parent < n->count);
    if (n->count == NEST_MAX_NODES) return tir_fail(r, FT_ERR_LIMIT, "the program has too many loops and stores");
    *id = (uint16_t)n->count++;
    node.parent = parent;
    node.first_child = node.last_child = node.next = NEST_NONE;
    n->nodes[*id] = node;
    nest_node *above = &n->nodes[parent];
    if (above->first_child == NEST_NONE)
        above->first_child = *id;
    else
        n->nodes[above->last_child].next = *id;
    above->last_child = *id;
    return FT_OK;
}

ft_status tir_add_name(tir_parser *r, const char *name, lin value) {
    if (r->name_count == TIR_MAX_NAMES) return tir_fail(r, FT_ERR_LIMIT, "too many variables");
    snprintf(r->names[r->name_count].name, TIR_NAME, "%s", name);
    r->names[r->name_count++].value = value;
    return FT_OK;
}

ft_status tir_add_loop(tir_parser *r, uint16_t parent, const tir_loop *loop, uint16_t *id) {
    const char *name = loop->name;
    const int64_t extent = loop->extent;
    assert(loop->kind == NEST_LOOP || loop->kind == NEST_THREAD);
    if (extent < 1 || extent > INT64_C(1) << 40)
        return tir_fail(r, FT_ERR_DAMAGED, "a loop whose length is not from 1 to 2^40");
    nest_node node = {.kind = loop->kind, .annotation = loop->annotation, .extent = extent, .has_atom = extent > 1};
    node.name = arena_copy(r->p->memory, name, strlen(name) + 1);
    if (node.name == NULL) return FT_NOMEM(r->p->error);
    lin value = lin_constant(loop->low);
    if (node.has_atom) {
        node.atom = lin_new_loop(&r->p->space, extent);
        value = lin_add(&r->p->space, value, lin_from_atom(&r->p->space, node.atom), 1);
    }
    FT_TRY(prog_check(r->p));
    FT_TRY(tir_add_node(r, parent, node, id));
    return tir_add_name(r, name, value);
}

/* --- Attributes ---------------------------------------------------------------------------------------------- */

bool tir_has(const char *line, size_t length, const char *word) {
    return memmem(line, length, word, strlen(word)) != NULL;
}

/* The number after the last '='. */
static int64_t number_of(const char *line, size_t length) {
    const char *equals = memrchr(line, '=', length), *end = line + length;
    int64_t number = 0;
    if (equals == NULL) return -1;
    for (equals++; equals < end && (*equals < '0' || *equals > '9'); equals++) {
        if (*equals == ')' && equals + 1 < end) continue;
    }
    if (equals == end) return -1;
    for (; equals < end && *equals >= '0' && *equals <= '9' && number < INT64_C(1) << 50; equals++)
        number = number * 10 + (*equals - '0');
    return number;
}

/* "[iter_var(threadIdx.x_1, , threadIdx.x)]", "[IterVar(blockIdx.x: int32, (nullptr), "ThreadIndex", "blockIdx.x")]" */
static void variable_of(const char *line, size_t length, char name[static TIR_NAME]) {
    const char *open = memchr(line, '(', length), *end = line + length;
    size_t size = 0;
    for (open = open == NULL ? end : open + 1; open < end && is_name(*open) && size + 1 < TIR_NAME; open++)
        name[size++] = *open;
    name[size] = '\0';
}

static bool thread_of(const char *line, size_t length, prog_annotation *annotation) {
    for (prog_annotation n = PROG_BLOCK_X; n <= PROG_THREAD_Z; n++) {
        if (!tir_has(line, length, prog_annotation_name(n))) continue;
        *annotation = n;
        return true;
    }
    return false;
}

/* The node around `at` that binds a thread index; NEST_NONE when none does. Virtual threads may be nested. */
static uint16_t find_thread(const nest *n, uint16_t at, prog_annotation annotation) {
    for (; at != NEST_NONE; at = n->nodes[at].parent)
        if (n->nodes[at].kind == NEST_THREAD && n->nodes[at].annotation == annotation) return at;
    return NEST_NONE;
}

static bool has_threads(const nest *n, uint16_t at) {
    for (; at != NEST_NONE; at = n->nodes[at].parent)
        if (n->nodes[at].kind == NEST_THREAD) return true;
    return false;
}

/* A thread index up to the end of the block. TVM prints the kernels of a function one after the other, so a block index
 * that comes again, or after a store, begins the next kernel; and it repeats the indices of the threads that load
 * shared memory together, which are those around them. */
static ft_status open_threads(tir_parser *r, uint16_t *into, const tir_loop *loop) {
    nest *n = r->n;
    bool is_block = prog_annotation_is_block(loop->annotation), is_own = r->kernel_depth == r->depth;
    uint16_t around = find_thread(n, *into, loop->annotation);
    if (is_block && is_own && (around != NEST_NONE || r->kernel_has_work)) {
        *into = r->kernel_parent;
        r->name_count = r->kernel_names;
        around = NEST_NONE;
        r->kernel_depth = 0;
    }
    if (around != NEST_NONE && strcmp(n->nodes[around].name, loop->name) == 0) {
        if (n->nodes[around].extent == loop->extent) return FT_OK;
        return tir_fail(r, FT_ERR_UNSUPPORTED, "a thread index that has two lengths in one kernel");
    }
    if (!has_threads(n, *into)) {
        r->kernel_depth = r->depth;
        r->kernel_names = r->name_count;
        r->kernel_parent = *into;
        r->kernel_has_work = false;
    }
    return tir_add_loop(r, *into, loop, into);
}

ft_status tir_attribute(tir_parser *r, uint16_t *into, const char *line, size_t length) {
    char name[TIR_NAME];
    prog_annotation annotation;
    int64_t number = number_of(line, length);
    variable_of(line, length, name);
    if (tir_has(line, length, "virtual_thread"))
        return tir_add_loop(r, *into, &(tir_loop){NEST_THREAD, PROG_VTHREAD, name, 0, number}, into);
    if (tir_has(line, length, "thread_extent")) {
        if (!thread_of(line, length, &annotation)) return tir_fail(r, FT_ERR_UNSUPPORTED, "an unknown thread index");
        const tir_loop loop = {NEST_THREAD, annotation, name, 0, number};
        return line[length - 1] == '{' ? tir_add_loop(r, *into, &loop, into) : open_threads(r, into, &loop);
    }
    if (tir_has(line, length, "pragma_auto_unroll_max_step"))
        return tir_add_node(
            r, *into, (nest_node){.kind = NEST_PRAGMA, .unroll = number < 0 ? 0 : (int32_t)(number & 0xffffff)}, into);
    if (tir_has(line, length, "pragma_unroll_explicit"))
        return tir_add_node(r, *into, (nest_node){.kind = NEST_PRAGMA, .is_explicit = true}, into);
    uint16_t leaf;
    if (tir_has(line, length, "reduce_scope")) return tir_add_node(r, *into, (nest_node){.kind = NEST_REDUCE}, &leaf);
    return FT_OK;
}

/* Only the text after the size counts: names contain "shared" and "local" too. */
static prog_scope scope_of(const char *line, size_t length) {
    const char *from = memrchr(line, ']', length), *end = line + length;
    if (from == NULL) from = line;
    if (tir_has(from, (size_t)(end - from), "shared")) return PROG_SHARED;
    return tir_has(from, (size_t)(end - from), "local") ? PROG_LOCAL : PROG_GLOBAL;
}

/* The elements of "data_vec[float32x4 * 2 * 16]": 128; below 1 when there are none, or too many. */
static int64_t elements_of(const char *line, size_t length) {
    const char *at = memchr(line, '[', length), *end = line + length;
    int64_t size = 1, number = 0;
    bool has_size = false, in_number = false;
    for (at = at == NULL ? end : at; at < end && *at != ']'; at++) {
        bool is_digit = *at >= '0' && *at <= '9', begins = is_digit && (at[-1] == 'x' || at[-1] == ' ');
        if (begins) number = 0;
        in_number = begins || (in_number && is_digit);
        if (!in_number) continue;
        has_size |= at[-1] == ' ';
        number = number * 10 + (*at - '0');
        bool is_last = at + 1 == end || at[1] < '0' || at[1] > '9';
        if (number > INT64_C(1) << 40 || (is_last && size > (INT64_C(1) << 50) / (number > 0 ? number : 1))) return 0;
        if (is_last) size *= number;
    }
    return has_size ? size : 0;
}

/* "data_vec[float32 * 589824], storage_scope = global" */
ft_status tir_allocate(tir_parser *r, uint16_t *into, const char *line, size_t length) {
    tir_parser inner = *r;
    char name[TIR_NAME];
    uint32_t stage = 0;
    inner.at = line;
    if (!tir_accept_word(&inner, name)) return tir_fail(r, FT_ERR_DAMAGED, "a buffer without a name");
    if (tir_is_param(r, name))
        return tir_fail(r, FT_ERR_UNSUPPORTED,
                        "a buffer that has the name of a parameter: which is meant is not known");
    FT_TRY(tir_buffer(r, name, &stage));
    prog_stage *buffer = &r->p->stages[stage];
    int64_t size = elements_of(line, length);
    if (!r->has_shape[stage]) {
        if (size < 1) return tir_fail(r, FT_ERR_DAMAGED, "a buffer without a size");
        buffer->dims = 1;
        buffer->extents[0] = size;
        r->has_shape[stage] = true;
    }
    buffer->scope = scope_of(line, length);
    for (uint32_t i = 0; i < PROG_MAX_DIMS; i++) {
        buffer->region[i] = i == 0 ? size : 1;
        buffer->low[i] = lin_constant(0);
    }
    return tir_add_node(r, *into, (nest_node){.kind = NEST_REALIZE, .stage = (uint16_t)stage}, into);
}

/* "// buffer data: float32[128, 64]" */
ft_status tir_declare(tir_parser *r) {
    char name[TIR_NAME], type[TIR_NAME];
    uint32_t stage = 0;
    if (!tir_accept_word(r, name) || !tir_accept(r, ":") || !tir_accept_word(r, type) || !tir_accept(r, "["))
        return tir_fail(r, FT_ERR_DAMAGED, "a buffer without name, type and shape");
    FT_TRY(tir_buffer(r, name, &stage));
    prog_stage *buffer = &r->p->stages[stage];
    buffer->dims = 0;
    do {
        tir_expr e;
        FT_TRY(tir_parse(r, &e));
        if (!e.is_sum || e.sum.count > 0 || e.sum.base < 1 || buffer->dims == PROG_MAX_DIMS)
            return tir_fail(r, FT_ERR_DAMAGED, "a shape that is not 1 to 8 sizes");
        buffer->extents[buffer->dims++] = e.sum.base;
    } while (tir_accept(r, ","));
    r->has_shape[stage] = true;
    return tir_accept(r, "]") ? FT_OK : tir_fail(r, FT_ERR_DAMAGED, "']' is missing");
}
