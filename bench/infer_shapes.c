/* SPDX-License-Identifier: Apache-2.0 */
/* Shape inference: infer_shapes MODEL [RUNS] prints, in milliseconds, the best and the median time
 * to open the file, to import the graph, to infer, and to clone the graph with what was inferred.
 * `infer_shapes make FILE NODES` writes a model of so many nodes: blocks with a residual branch and
 * a Reshape whose target is computed from the shape of the block's input, over a dynamic batch and
 * length. Prints, asserts nothing. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <polygraphy/graph.h>

#include "base/alloc.h"
#include "base/system.h"
#include "graph/graph.h"

enum { STEPS = 4, MAX_RUNS = 1000 };

static int compare(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static pgy_status run_once(const char *path, int64_t *took, pgy_error *err)
{
    pgy_model *model = NULL;
    pgy_graph *graph = NULL, *copy = NULL;
    const int64_t start = clock_ns();
    pgy_status st = pgy_model_load(&model, path, NULL, err);
    const int64_t opened = clock_ns();
    if (!st) st = pgy_graph_import(&graph, model, err);
    const int64_t imported = clock_ns();
    if (!st) st = pgy_graph_infer_shapes(graph, NULL, err);
    took[0] = opened - start;
    took[1] = imported - opened;
    const int64_t inferred = clock_ns();
    if (!st) st = graph_clone(&copy, graph, err);
    took[2] = inferred - imported;
    took[3] = clock_ns() - inferred;
    pgy_graph_destroy(copy);
    pgy_graph_destroy(graph);
    pgy_model_destroy(model);
    return st;
}

static int measure(const char *path, int runs)
{
    static const char *const NAMES[STEPS + 1] = {"open", "import", "infer", "clone", "all"};
    static int64_t took[STEPS + 1][MAX_RUNS];
    pgy_error err = {0};
    for (int i = 0; i < runs; i++) {
        int64_t one[STEPS];
        if (run_once(path, one, &err)) {
            fprintf(stderr, "%s: %s\n", path, err.text);
            return 1;
        }
        for (int k = 0; k < STEPS; k++) took[k][i] = one[k];
        took[STEPS][i] = one[0] + one[1] + one[2];
    }
    for (int k = 0; k <= STEPS; k++) {
        qsort(took[k], (size_t)runs, sizeof took[k][0], compare);
        printf("%s %.3f %.3f\n", NAMES[k], (double)took[k][0] / 1e6,
               (double)took[k][runs / 2] / 1e6);
    }
    return 0;
}

/* ---- The generated model -------------------------------------------------------------------- */

/* Protocol buffers are lengths in front of bytes: written from the inside outwards. */
typedef struct bytes {
    char *data;
    size_t size, capacity;
} bytes;

static void put(bytes *b, const void *data, size_t size)
{
    if (!mem_grow((void **)&b->data, &b->capacity, b->size + size + 1, 1)) exit(1);
    if (size) memcpy(b->data + b->size, data, size);
    b->size += size;
}

static void put_number(bytes *b, uint64_t v)
{
    for (; v >= 128; v >>= 7) put(b, &(char){(char)(v | 128)}, 1);
    put(b, &(char){(char)v}, 1);
}

static void put_int(bytes *b, int field, int64_t v)
{
    put_number(b, (uint64_t)field << 3);
    put_number(b, (uint64_t)v);
}

static void put_bytes(bytes *b, int field, const void *data, size_t size)
{
    put_number(b, (uint64_t)field << 3 | 2);
    put_number(b, size);
    put(b, data, size);
}

static void put_text(bytes *b, int field, const char *text)
{
    put_bytes(b, field, text, strlen(text));
}

/* Moves `inner` into `b` and empties it. */
static void put_message(bytes *b, int field, bytes *inner)
{
    put_bytes(b, field, inner->data, inner->size);
    inner->size = 0;
}

/* A node "op in in -> out", with an int attribute if `attribute` is given. */
static void put_node(bytes *graph, const char *op, const char *const *in, size_t count,
                     const char *out, const char *attribute, int64_t value)
{
    bytes node = {0}, attr = {0};
    for (size_t i = 0; i < count; i++) put_text(&node, 1, in[i]);
    put_text(&node, 2, out);
    put_text(&node, 3, out);
    put_text(&node, 4, op);
    if (attribute) {
        put_text(&attr, 1, attribute);
        put_int(&attr, 3, value);
        put_int(&attr, 20, 2);
        put_message(&node, 5, &attr);
    }
    put_message(graph, 1, &node);
    mem_free(node.data);
    mem_free(attr.data);
}

static void put_weight(bytes *graph, const char *name, int type, const int64_t *dims, size_t rank,
                       const void *data, size_t size)
{
    bytes t = {0};
    for (size_t i = 0; i < rank; i++) put_int(&t, 1, dims[i]);
    put_int(&t, 2, type);
    put_text(&t, 8, name);
    put_bytes(&t, 9, data, size);
    put_message(graph, 5, &t);
    mem_free(t.data);
}

static void put_value(bytes *graph, int field, const char *name, const char *const *dims)
{
    bytes value = {0}, shape = {0}, one = {0}, tensor = {0}, type = {0};
    for (size_t i = 0; i < 3; i++) {
        if (dims[i][0] >= '0' && dims[i][0] <= '9')
            put_int(&one, 1, atoi(dims[i]));
        else
            put_text(&one, 2, dims[i]);
        put_message(&shape, 1, &one);
    }
    put_int(&tensor, 1, 1);
    put_message(&tensor, 2, &shape);
    put_message(&type, 1, &tensor);
    put_text(&value, 1, name);
    put_message(&value, 2, &type);
    put_message(graph, field, &value);
    mem_free(value.data);
    mem_free(shape.data);
    mem_free(one.data);
    mem_free(tensor.data);
    mem_free(type.data);
}

/* Ten nodes: y = x + relu(reshape(x w + b, [batch, -1, 16])). */
static void put_block(bytes *graph, size_t index, const char *x, const char *y)
{
    enum { NAMES = 9 };
    static const char *const STEM[NAMES] = {"mm", "sum",  "shape", "batch", "target",
                                            "re", "soft", "relu",  "tanh"};
    char names[NAMES][32];
    for (size_t i = 0; i < NAMES; i++)
        snprintf(names[i], sizeof names[i], "%s_%zu", STEM[i], index);
    const struct {
        const char *op, *in[2], *out, *attribute;
        int64_t value;
    } nodes[] = {
        {"MatMul", {x, "w"}, names[0], NULL, 0},
        {"Add", {names[0], "b"}, names[1], NULL, 0},
        {"Shape", {x}, names[2], NULL, 0},
        {"Gather", {names[2], "first"}, names[3], "axis", 0},
        {"Concat", {names[3], "rest"}, names[4], "axis", 0},
        {"Reshape", {names[1], names[4]}, names[5], NULL, 0},
        {"Softmax", {names[5]}, names[6], "axis", -1},
        {"Relu", {names[6]}, names[7], NULL, 0},
        {"Tanh", {names[7]}, names[8], NULL, 0},
        {"Add", {names[8], x}, y, NULL, 0},
    };
    for (size_t i = 0; i < sizeof nodes / sizeof *nodes; i++)
        put_node(graph, nodes[i].op, nodes[i].in, nodes[i].in[1] ? 2 : 1, nodes[i].out,
                 nodes[i].attribute, nodes[i].value);
}

static void put_weights(bytes *graph)
{
    static const float W[256], B[16];
    put_weight(graph, "w", 1, (int64_t[]){16, 16}, 2, W, sizeof W);
    put_weight(graph, "b", 1, (int64_t[]){16}, 1, B, sizeof B);
    put_weight(graph, "first", 7, (int64_t[]){1}, 1, (int64_t[]){0}, sizeof(int64_t));
    put_weight(graph, "rest", 7, (int64_t[]){2}, 1, (int64_t[]){-1, 16}, 2 * sizeof(int64_t));
}

static int make(const char *path, size_t nodes)
{
    bytes model = {0}, graph = {0}, opset = {0};
    char x[32] = "x", y[32];
    const size_t blocks = nodes / 10;
    for (size_t i = 0; i < blocks; i++) {
        snprintf(y, sizeof y, i + 1 == blocks ? "y" : "block_%zu", i);
        put_block(&graph, i, x, y);
        memcpy(x, y, sizeof x);
    }
    put_text(&graph, 2, "generated");
    put_weights(&graph);
    put_value(&graph, 11, "x", (const char *const[]){"N", "L", "16"});
    put_value(&graph, 12, "y", (const char *const[]){"N", "L", "16"});
    put_int(&model, 1, 8);
    put_message(&model, 7, &graph);
    put_text(&opset, 1, "");
    put_int(&opset, 2, 17);
    put_message(&model, 8, &opset);
    FILE *file = fopen(path, "wb");
    const bool written = file && fwrite(model.data, 1, model.size, file) == model.size;
    const bool closed = file && fclose(file) == 0;
    mem_free(model.data);
    mem_free(graph.data);
    mem_free(opset.data);
    return !(written && closed);
}

int main(int argc, char **argv)
{
    if (argc == 4 && strcmp(argv[1], "make") == 0)
        return make(argv[2], (size_t)strtoul(argv[3], NULL, 10));
    const int runs = argc > 2 ? atoi(argv[2]) : 11;
    if (argc < 2 || runs < 1 || runs > MAX_RUNS) {
        fprintf(stderr, "infer_shapes MODEL [RUNS] | infer_shapes make FILE NODES\n");
        return 2;
    }
    return measure(argv[1], runs);
}
