/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the tests of drawings and exports: a small graph with all kinds of cards and a place
 * for each of them, built by hand, so that nothing but the drawing is tested. */
#ifndef TESTS_DRAWING_CASE_H
#define TESTS_DRAWING_CASE_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "viewer/draw/parts.h"

#define LENGTH(list) ((uint32_t)(sizeof(list) / sizeof *(list)))

/* Nodes: image -> conv -> relu -> add -> probs, relu -> If (folded) -> add, and a folded block of
 * 24 between relu and add. Container 1 is an open scope around conv and relu. */
enum { N_IMAGE, N_CONV, N_RELU, N_ADD, N_PROBS, N_IF, N_GEMM, N_SOFTMAX, NODES };
enum { T_IMAGE, T_CONV, T_RELU, T_ADD, T_IF, T_GEMM, T_WEIGHT, T_SOFTMAX, TENSORS };
enum { C_MAIN, C_STEM, C_CALL, C_REPEAT, C_FUSED, CONTAINERS };

typedef struct drawing_case {
    view_graph graph;
    view_op ops[NODES];
    view_node nodes[NODES];
    view_tensor tensors[TENSORS];
    view_container containers[CONTAINERS];
    uint32_t wires[2 * NODES + 4];
    view_place places[NODES + CONTAINERS];
    view_line lines[8];
    float points[8][8];
    view_scene scene;
    view_results results;
    pgy_error err;
} drawing_case;

static inline view_node case_node(uint32_t op, const char *name, uint32_t parent)
{
    return (view_node){.op = op, .name = name, .parent = parent, .width = 120, .height = 40};
}

static inline void case_line(drawing_case *c, uint32_t tensor, uint32_t count, const float *points)
{
    float *to = c->points[c->scene.line_count];
    memcpy(to, points, 2 * sizeof *points * count);
    c->lines[c->scene.line_count++] =
        (view_line){.tensor = tensor, .points = to, .count = count, .ends_there = true};
}

static inline void case_place(drawing_case *c, view_item_kind kind, uint32_t ref, float x, float y,
                              float width, float height)
{
    c->places[c->scene.place_count++] =
        (view_place){.item = {kind, ref}, .x = x, .y = y, .width = width, .height = height};
}

static inline void case_scene(drawing_case *c)
{
    c->scene = (view_scene){.width = 470, .height = 560, .places = c->places, .lines = c->lines};
    case_place(c, VIEW_ITEM_CONTAINER, C_STEM, 80, 80, 160, 170);
    case_place(c, VIEW_ITEM_CONTAINER, C_FUSED, 40, 440, 240, 72);
    case_place(c, VIEW_ITEM_NODE, N_IMAGE, 100, 0, 120, 40);
    case_place(c, VIEW_ITEM_NODE, N_CONV, 100, 112, 120, 40);
    case_place(c, VIEW_ITEM_NODE, N_RELU, 100, 196, 120, 40);
    case_place(c, VIEW_ITEM_CONTAINER, C_CALL, 0, 300, 120, 40);
    case_place(c, VIEW_ITEM_CONTAINER, C_REPEAT, 200, 300, 160, 40);
    case_place(c, VIEW_ITEM_NODE, N_ADD, 70, 464, 120, 40);
    case_place(c, VIEW_ITEM_NODE, N_PROBS, 70, 540, 120, 40);
    c->scene.height = 584;
    case_line(c, T_IMAGE, 2, (float[]){160, 40, 160, 112});
    case_line(c, T_CONV, 2, (float[]){160, 152, 160, 196});
    case_line(c, T_RELU, 2, (float[]){160, 236, 60, 300});
    case_line(c, T_RELU, 2, (float[]){160, 236, 280, 300});
    case_line(c, T_RELU, 4, (float[]){160, 236, 160, 320, 160, 360, 130, 464});
    case_line(c, T_IF, 2, (float[]){60, 340, 90, 464});
    case_line(c, T_SOFTMAX, 2, (float[]){280, 340, 170, 464});
    case_line(c, T_ADD, 2, (float[]){130, 504, 130, 540});
    c->lines[4].is_tunnel = true;
}

static inline void case_tensor(drawing_case *c, uint32_t at, const char *name, const char *size,
                               uint32_t producer)
{
    c->tensors[at] = (view_tensor){
        .name = name, .dtype = "float32", .shape = size, .producer = producer, .bytes = 4096};
}

static inline void case_graph(drawing_case *c)
{
    static const char *const OPS[NODES] = {"Input",  "Conv", "Relu", "Add",
                                           "Output", "If",   "Gemm", "Softmax"};
    static const view_category CATEGORIES[NODES] = {VIEW_INPUT, VIEW_LAYER,     VIEW_ACTIVATION,
                                                    VIEW_OTHER, VIEW_OUTPUT,    VIEW_CONTROL,
                                                    VIEW_LAYER, VIEW_ACTIVATION};
    static const char *const NAMES[NODES] = {
        "image",         "/stem/a_rather_long_name_of_a_layer/conv",
        "/stem/relu",    "add",
        "probs",         "choose",
        "/layer.0/gemm", "/layer.0/softmax"};
    static const uint32_t PARENTS[NODES] = {C_MAIN, C_STEM, C_STEM,   C_FUSED,
                                            C_MAIN, C_CALL, C_REPEAT, C_REPEAT};
    for (uint32_t i = 0; i < NODES; i++) {
        c->ops[i] = (view_op){.name = OPS[i], .domain = "", .doc = "", .category = CATEGORIES[i]};
        c->nodes[i] = case_node(i, NAMES[i], PARENTS[i]);
        c->wires[i] =
            (uint32_t[]){T_IMAGE, T_CONV, T_RELU, T_ADD, VIEW_NONE, T_IF, T_GEMM, T_SOFTMAX}[i];
        c->nodes[i].outputs = &c->wires[i];
        c->nodes[i].output_count = i != N_PROBS;
    }
    c->nodes[N_IMAGE].kind = VIEW_NODE_INPUT;
    c->nodes[N_PROBS].kind = VIEW_NODE_OUTPUT;
    c->wires[NODES] = T_ADD;
    c->nodes[N_PROBS].inputs = &c->wires[NODES];
    c->nodes[N_PROBS].input_count = 1;
    case_tensor(c, T_IMAGE, "image", "1x3x224x224", N_IMAGE);
    case_tensor(c, T_CONV, "conv_out", "1x64x112x112", N_CONV);
    case_tensor(c, T_RELU, "relu_out", "1x64x112x112", N_RELU);
    case_tensor(c, T_ADD, "probs", "Nx1000", N_ADD);
    case_tensor(c, T_IF, "if_out", NULL, N_IF);
    case_tensor(c, T_GEMM, "gemm_out", "", N_GEMM);
    case_tensor(c, T_WEIGHT, "w", "64x3x7x7", VIEW_NONE);
    case_tensor(c, T_SOFTMAX, "softmax_out", "1x64", N_SOFTMAX);
    c->tensors[T_CONV].declared = "1x64x56x56";
    c->tensors[T_IF].seen = "1x1000 float32";
    const view_container containers[CONTAINERS] = {
        [C_MAIN] = {.kind = VIEW_GRAPH,
                    .name = "main",
                    .parent = VIEW_NONE,
                    .node = VIEW_NONE,
                    .state = VIEW_OPEN},
        [C_STEM] = {.kind = VIEW_SCOPE,
                    .name = "stem",
                    .parent = C_MAIN,
                    .node = VIEW_NONE,
                    .state = VIEW_OPEN},
        [C_CALL] = {.kind = VIEW_CALL, .name = "choose", .parent = C_MAIN, .node = N_IF},
        [C_REPEAT] = {.kind = VIEW_REPEAT,
                      .name = "layer",
                      .note = "layer.0 to layer.23",
                      .parent = C_MAIN,
                      .node = VIEW_NONE,
                      .child_count = 24},
        [C_FUSED] = {.kind = VIEW_FUSED,
                     .name = "add + cast",
                     .parent = C_MAIN,
                     .node = VIEW_NONE,
                     .state = VIEW_OPEN},
    };
    memcpy(c->containers, containers, sizeof containers);
    c->graph = (view_graph){.name = "small.onnx",
                            .kind = "onnx",
                            .role = "a",
                            .ops = c->ops,
                            .nodes = c->nodes,
                            .tensors = c->tensors,
                            .containers = c->containers,
                            .op_count = NODES,
                            .node_count = NODES,
                            .tensor_count = TENSORS,
                            .container_count = CONTAINERS};
}

static inline void case_begin(drawing_case *c)
{
    *c = (drawing_case){0};
    case_graph(c);
    case_scene(c);
}

static inline void case_end(drawing_case *c)
{
    view_results_deinit(&c->results);
}

static inline void case_good(drawing_case *c, pgy_status st, const char *call)
{
    if (st) fail_msg("%s: %s: %s", call, pgy_status_name(st), c->err.text);
}
#define GOOD(c, call) case_good(c, call, #call)

static inline void case_mark(drawing_case *c, view_of of, uint32_t at, view_mark_kind kind,
                             const char *text)
{
    GOOD(c, view_mark_add(&c->results, &(view_mark){.at = at, .of = of, .kind = kind, .text = text},
                          &c->err));
}

/* Errors with all states: measured, zero, NaN, and not measured (If). */
static inline void case_errors(drawing_case *c)
{
    view_quantity *q;
    const view_quantity like = {.id = "maxabs",
                                .label = "largest absolute error",
                                .unit = "",
                                .group = "accuracy",
                                .of = VIEW_OF_TENSOR,
                                .scale = VIEW_LOG,
                                .better = VIEW_BETTER_LOW};
    GOOD(c, view_quantity_add(&q, &c->results, &c->graph, &like, &c->err));
    view_quantity_set(q, T_IMAGE, 0);
    view_quantity_set(q, T_CONV, 1.25e-6);
    view_quantity_set(q, T_RELU, NAN);
    view_quantity_set(q, T_GEMM, 2e-4);
    view_quantity_set(q, T_SOFTMAX, 1e-5);
    view_quantity_set(q, T_ADD, 0.0371);
    case_mark(c, VIEW_OF_TENSOR, T_RELU, VIEW_MARK_NAN, "3 of 802816 elements");
    case_mark(c, VIEW_OF_TENSOR, T_ADD, VIEW_MARK_FAIL, "tolerance 1e-5");
    case_mark(c, VIEW_OF_TENSOR, T_ADD, VIEW_MARK_FIRST, "");
}

static inline void case_draw(drawing_case *c, picture_list *list, const view_draw_options *options)
{
    *list = (picture_list){0};
    GOOD(c, drawing_make(list, &c->graph, &c->results, &c->scene, options, c->graph.name, &c->err));
}

#endif
