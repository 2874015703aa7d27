/* SPDX-License-Identifier: Apache-2.0 */
/* Graph surgery on many nodes: gs MODEL [RUNS] prints, in milliseconds, the best and the median
 * time to open the file, to import the graph, to clean it, to sort it, to export it and to save it.
 * `gs make FILE NODES` writes a model of so many nodes: blocks of ten, each in reverse order and
 * with two nodes that nothing needs. Prints, asserts nothing. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <polygraphy/gs.h>

#include "base/system.h"

enum { STEPS = 6, MAX_RUNS = 1000 };

static int compare(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static pgy_status run_once(const char *path, const char *result, int64_t *took, pgy_error *err)
{
    pgy_model *model = NULL, *edited = NULL;
    pgy_gs_graph *g = NULL;
    int64_t at[STEPS + 1] = {clock_ns()};
    pgy_status st = pgy_model_load(&model, path, NULL, err);
    at[1] = clock_ns();
    if (!st) st = pgy_gs_import(&g, model, err);
    at[2] = clock_ns();
    if (!st) st = pgy_gs_cleanup(g, NULL, err);
    at[3] = clock_ns();
    if (!st) st = pgy_gs_toposort(g, NULL, err);
    at[4] = clock_ns();
    if (!st) st = pgy_gs_export(&edited, g, NULL, err);
    at[5] = clock_ns();
    if (!st) st = pgy_model_save(edited, result, NULL, err);
    at[6] = clock_ns();
    for (int i = 0; i < STEPS; i++) took[i] = at[i + 1] - at[i];
    pgy_model_destroy(edited);
    pgy_gs_destroy(g);
    pgy_model_destroy(model);
    return st;
}

static int measure(const char *path, int runs)
{
    static const char *const NAMES[STEPS + 1] = {"open",   "import", "cleanup", "toposort",
                                                 "export", "save",   "all"};
    static int64_t took[STEPS + 1][MAX_RUNS];
    char result[4096];
    pgy_error err = {0};
    snprintf(result, sizeof result, "%.4000s.sorted", path);
    for (int i = 0; i < runs; i++) {
        int64_t one[STEPS];
        if (run_once(path, result, one, &err)) {
            fprintf(stderr, "%s: %s\n", path, err.text);
            return 1;
        }
        took[STEPS][i] = 0;
        for (int k = 0; k < STEPS; k++) took[STEPS][i] += took[k][i] = one[k];
    }
    remove(result);
    for (int k = 0; k <= STEPS; k++) {
        qsort(took[k], (size_t)runs, sizeof took[k][0], compare);
        printf("%s %.3f %.3f\n", NAMES[k], (double)took[k][0] / 1e6,
               (double)took[k][runs / 2] / 1e6);
    }
    return 0;
}

/* ---- The generated model -------------------------------------------------------------------- */

typedef struct maker {
    pgy_gs_graph *g;
    pgy_gs_tensor *weight; /* that every block reads */
    pgy_tensor *bias;
    size_t block;
    pgy_error err;
} maker;

static pgy_status make_variable(pgy_gs_tensor **out, maker *m, const char *stem)
{
    static const pgy_dim DIMS[] = {{-1, "N"}, {16, NULL}};
    char name[48];
    snprintf(name, sizeof name, "%s_%zu", stem, m->block);
    return pgy_gs_variable(out, m->g, name, PGY_F32, 2, DIMS, &m->err);
}

static pgy_status make_node(maker *m, const char *op, pgy_gs_tensor *a, pgy_gs_tensor *b,
                            pgy_gs_tensor *y)
{
    pgy_gs_tensor *inputs[] = {a, b};
    const pgy_gs_node_spec spec = {.op = op,
                                   .name = y->name,
                                   .inputs = inputs,
                                   .input_count = b ? 2 : 1,
                                   .outputs = &y,
                                   .output_count = 1};
    return pgy_gs_add_node(NULL, m->g, &spec, &m->err);
}

/* y = x + (tanh(relu(x w + bias)) + |-x|), and log(exp(x w + bias)) for nobody. */
static pgy_status make_block(pgy_gs_tensor **x, maker *m)
{
    enum { NAMES = 10 };
    static const char *const STEM[NAMES] = {"mul", "sum",  "relu", "tanh", "neg",
                                            "abs", "join", "y",    "exp",  "log"};
    pgy_gs_tensor *t[NAMES], *bias = NULL;
    char name[32];
    pgy_status st = PGY_OK;
    snprintf(name, sizeof name, "bias_%zu", m->block);
    for (size_t i = 0; i < NAMES && !st; i++) st = make_variable(&t[i], m, STEM[i]);
    if (!st) st = pgy_gs_constant(&bias, m->g, name, m->bias, &m->err);
    if (!st) st = make_node(m, "Log", t[8], NULL, t[9]);
    if (!st) st = make_node(m, "Exp", t[1], NULL, t[8]);
    if (!st) st = make_node(m, "Add", t[6], *x, t[7]);
    if (!st) st = make_node(m, "Add", t[3], t[5], t[6]);
    if (!st) st = make_node(m, "Abs", t[4], NULL, t[5]);
    if (!st) st = make_node(m, "Neg", *x, NULL, t[4]);
    if (!st) st = make_node(m, "Tanh", t[2], NULL, t[3]);
    if (!st) st = make_node(m, "Relu", t[1], NULL, t[2]);
    if (!st) st = make_node(m, "Add", t[0], bias, t[1]);
    if (!st) st = make_node(m, "Mul", *x, m->weight, t[0]);
    if (!st) *x = t[7];
    m->block++;
    return st;
}

static pgy_status make_graph(maker *m, size_t nodes)
{
    pgy_gs_tensor *x = NULL;
    pgy_status st = pgy_gs_create(&m->g, &m->err);
    if (!st) st = pgy_gs_set_opset(m->g, 17, &m->err);
    if (!st) st = pgy_tensor_create(&m->bias, PGY_F32, 1, (const int64_t[]){16}, &m->err);
    if (st) return st;
    memset(pgy_tensor_data(m->bias), 0, 16 * sizeof(float));
    st = pgy_gs_constant(&m->weight, m->g, "weight", m->bias, &m->err);
    if (!st) st = make_variable(&x, m, "x");
    if (!st) st = pgy_gs_add_graph_input(m->g, x, &m->err);
    for (size_t i = 0; i < nodes / 10 && !st; i++) st = make_block(&x, m);
    return st ? st : pgy_gs_add_graph_output(m->g, x, &m->err);
}

static int make(const char *path, size_t nodes)
{
    maker m = {0};
    pgy_model *model = NULL;
    pgy_status st = make_graph(&m, nodes);
    if (!st) st = pgy_gs_export(&model, m.g, NULL, &m.err);
    if (!st) st = pgy_model_save(model, path, NULL, &m.err);
    if (st) fprintf(stderr, "%s: %s\n", path, m.err.text);
    pgy_model_destroy(model);
    pgy_tensor_release(m.bias);
    pgy_gs_destroy(m.g);
    return st != PGY_OK;
}

int main(int argc, char **argv)
{
    if (argc == 4 && strcmp(argv[1], "make") == 0)
        return make(argv[2], (size_t)strtoul(argv[3], NULL, 10));
    const int runs = argc > 2 ? atoi(argv[2]) : 11;
    if (argc < 2 || runs < 1 || runs > MAX_RUNS) {
        fprintf(stderr, "gs MODEL [RUNS] | gs make FILE NODES\n");
        return 2;
    }
    return measure(argv[1], runs);
}
