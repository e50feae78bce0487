/* The networks of digraph beside PyTorch. tests/predictor/reference/digraph.py made the numbers and describes
 * the file. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "predictor/peers/digraph.h"

enum { MAX_MATRICES = 200, NAME = 64, NODES = 8, EDGES = 9, FIRST = 5 };

typedef struct matrix {
    char name[NAME];
    uint32_t rows, cols;
    float *values;
} matrix;

static matrix items[MAX_MATRICES];
static int count;

static int read_reference(void **state) {
    (void)state;
    FILE *file = fopen("tests/predictor/reference/digraph.txt", "r");
    matrix m;
    if (file == NULL) return -1;
    while (count < MAX_MATRICES && fscanf(file, "%63s %u %u", m.name, &m.rows, &m.cols) == 3) {
        m.values = malloc((size_t)m.rows * m.cols * sizeof *m.values);
        for (size_t i = 0; m.values != NULL && i < (size_t)m.rows * m.cols; i++)
            if (fscanf(file, "%f", &m.values[i]) != 1) return -1;
        items[count++] = m;
    }
    fclose(file);
    return 0;
}

static int forget_reference(void **state) {
    (void)state;
    while (count > 0) free(items[--count].values);
    return 0;
}

static const matrix *find(const char *layer, const char *kind, const char *name) {
    char whole[3 * NAME];
    snprintf(whole, sizeof whole, "%s%s%s", layer, kind, name);
    for (int i = 0; i < count; i++)
        if (strcmp(items[i].name, whole) == 0) return &items[i];
    fail_msg("there is no %s", whole);
    return NULL;
}

/* One of the two graphs. */
static gnn_sample sample_of(const gnn_widths *w, uint32_t first, uint32_t end, const float *eigenvalues,
                            arena *memory) {
    const float *edges = find("", "", "edges")->values;
    uint32_t inside = 0;
    for (int e = 0; e < EDGES; e++) inside += edges[2 * e] >= (float)first && edges[2 * e] < (float)end;
    gnn_sample s;
    assert_true(gnn_sample_open(&s, w, end - first, inside, memory));
    memcpy(s.node_values, find("", "", "node_values")->values + (size_t)first * w->node_values,
           s.nodes * w->node_values * sizeof(float));
    memcpy(s.node_marks, find("", "", "node_marks")->values + (size_t)first * w->node_marks,
           s.nodes * w->node_marks * sizeof(float));
    memcpy(s.global_marks, eigenvalues, w->global_marks * sizeof(float));
    for (uint32_t i = 0; i < s.nodes; i++) s.kinds[i] = (uint32_t)find("", "", "kinds")->values[first + i];
    for (uint32_t e = 0, i = 0; e < EDGES; e++) {
        if (edges[2 * e] < (float)first || edges[2 * e] >= (float)end) continue;
        s.from[i] = (uint32_t)edges[2 * e] - first;
        s.to[i] = (uint32_t)edges[2 * e + 1] - first;
        s.edge_values[i++] = find("", "", "edge_values")->values[e];
    }
    return s;
}

static void copy_parameters(const char *layer, params *p) {
    for (uint32_t i = 0; i < p->count; i++) {
        const matrix *m = find(layer, ".param.", p->items[i].name);
        assert_int_equal(m->rows, p->items[i].rows);
        assert_int_equal(m->cols, p->items[i].cols);
        memcpy(p->values + p->items[i].offset, m->values, (size_t)m->rows * m->cols * sizeof(float));
    }
}

static void compare(const char *layer, digraph_options options) {
    const float *eigenvalues = find("", "", "eigenvalues")->values;
    gnn_plan plan = {.shared = {.hidden = 8, .layers = 1}, .own = &options, .outputs = 2};
    arena memory;
    gnn_batch batch;
    params p;
    tape *t = NULL;
    arena_init(&memory, 1 << 22);
    plan.widths = digraph_widths(&options);
    gnn_sample one = sample_of(&plan.widths, 0, FIRST, eigenvalues, &memory);
    gnn_sample two = sample_of(&plan.widths, FIRST, NODES, eigenvalues + plan.widths.global_marks, &memory);
    const gnn_sample *list[] = {&one, &two};
    assert_true(gnn_batch_join(&batch, &plan.widths, list, 2, &memory));
    params_init(&p);
    gnn_net *net = digraph_build(&plan, &p);
    assert_non_null(net);
    assert_int_equal(params_finish(&p, 0, NULL), FT_OK);
    copy_parameters(layer, &p);
    assert_int_equal(tape_new(&p, 1 << 24, &t, NULL), FT_OK);
    tape_begin(t, TAPE_INFER, 0, 0);
    const tensor *predicted = digraph_forward(net, t, &batch);
    const matrix *expected = find(layer, ".", "out");
    assert_non_null(predicted);
    for (int i = 0; i < 4; i++)
        if (!(fabsf(predicted->data[i] - expected->values[i]) < 1e-4F * (1 + fabsf(expected->values[i]))))
            fail_msg("%s: output %d is %g, PyTorch has %g", layer, i, (double)predicted->data[i],
                     (double)expected->values[i]);
    tape_free(t);
    free(net);
    params_free(&p);
    arena_free(&memory);
}

static void outputs_match_pytorch(void **state) {
    (void)state;
    static const char *const layers[DIGRAPH_LAYERS] = {"gcn", "gin", "gine", "gat", "gps"};
    for (uint32_t i = 0; i < DIGRAPH_LAYERS; i++) {
        compare(layers[i], (digraph_options){.head = 1,
                                             .heads = 2,
                                             .vectors = 3,
                                             .layer = i,
                                             .direction = DIGRAPH_BIDIRECTED,
                                             .readout = DIGRAPH_LOG_SUM,
                                             .encoding = DIGRAPH_MAGNETIC,
                                             .form = i >= DIGRAPH_GINE ? DIGRAPH_STABLE : DIGRAPH_PLAIN});
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(outputs_match_pytorch)};
    return cmocka_run_group_tests_name("predictor/digraph_net", tests, read_reference, forget_reference);
}
