/* SPDX-License-Identifier: Apache-2.0 */
/* What a view draws: nodes, the tensors between them, and the containers that nodes lie in.
 * docs/formats/page.md says what each part means. All texts and arrays live in the graph's arena.
 */
#ifndef VIEWER_GRAPH_H
#define VIEWER_GRAPH_H

#include <polygraphy/engine.h>
#include <polygraphy/onnx.h>

#include "base/arena.h"
#include "base/json.h"
#include "base/str.h"

#define VIEW_NONE UINT32_MAX

typedef enum view_category {
    VIEW_LAYER,
    VIEW_ACTIVATION,
    VIEW_POOL,
    VIEW_NORMALIZATION,
    VIEW_SHAPE,
    VIEW_TENSOR,
    VIEW_DATA,
    VIEW_QUANTIZATION,
    VIEW_ATTENTION,
    VIEW_CONTROL,
    VIEW_CONSTANT,
    VIEW_INPUT,
    VIEW_OUTPUT,
    VIEW_OTHER
} view_category;

typedef struct view_op {
    const char *name, *domain, *doc;
    view_category category;
} view_op;

typedef enum view_node_kind { VIEW_NODE, VIEW_NODE_INPUT, VIEW_NODE_OUTPUT } view_node_kind;

typedef struct view_node {
    view_node_kind kind;
    uint32_t op;                /* index in ops */
    const char *name;           /* "" if it has none */
    uint32_t parent;            /* container */
    uint32_t *inputs, *outputs; /* tensors; VIEW_NONE: left out */
    uint32_t input_count, output_count;
    const pgy_onnx_node *source; /* NULL: none, as for inputs and layers of plans */
    const pgy_plan_layer
        *layer;                 /* plans: what its details are read from, of the plan; NULL: none */
    const char *const *members; /* plans: names of the model's nodes in it */
    uint32_t member_count;
    float width, height;                      /* of the card */
    double flops, weight_bytes, output_bytes; /* NaN: unknown */
} view_node;

typedef enum view_tensor_kind {
    VIEW_VALUE,
    VIEW_GRAPH_INPUT,
    VIEW_GRAPH_OUTPUT,
    VIEW_WEIGHT,
    VIEW_NODE_CONSTANT
} view_tensor_kind;

typedef struct view_tensor {
    const char *name;
    view_tensor_kind kind;
    const char *dtype;    /* "float32"; "": unknown */
    const char *shape;    /* "1x64x56x56", "" a scalar; NULL: unknown */
    const char *declared; /* shape and type in the file where they contradict; NULL: they do not */
    const char *seen;     /* as a run saw them; NULL: not known */
    const char *value;    /* of a scalar weight; NULL: none */
    uint32_t producer;    /* node; VIEW_NONE: none */
    uint32_t container;   /* the graph, body or function that it belongs to */
    uint64_t bytes;       /* 0: unknown */
} view_tensor;

typedef enum view_container_kind {
    VIEW_GRAPH,
    VIEW_SCOPE,
    VIEW_REPEAT,
    VIEW_INSTANCE,
    VIEW_FUSED,
    VIEW_CALL,
    VIEW_BODY,
    VIEW_FUNCTION
} view_container_kind;

typedef enum view_state { VIEW_FOLDED, VIEW_OPEN, VIEW_ONE } view_state;

/* A child of a container, or an item of a layout. */
typedef enum view_item_kind {
    VIEW_ITEM_NODE,
    VIEW_ITEM_CONTAINER,
    VIEW_ITEM_BEND,
    VIEW_ITEM_IN,
    VIEW_ITEM_OUT
} view_item_kind;
typedef struct view_item {
    view_item_kind kind;
    uint32_t ref; /* node, container, or tensor (ports) */
} view_item;

typedef struct view_layout view_layout; /* layout/layout.h */

typedef struct view_container {
    view_container_kind kind;
    const char *name, *note; /* note: NULL if there is none */
    uint32_t parent;         /* VIEW_NONE: a root */
    uint32_t node;           /* call: its node; else VIEW_NONE */
    view_item *children;     /* nodes and containers in the model's order, but not the node of a
                                call; equal places of the instances of a repeat correspond */
    uint32_t child_count;
    view_state state;
    view_layout *layout; /* NULL: not laid out */
} view_container;

typedef struct view_graph {
    arena memory;
    const char *name, *kind, *role; /* docs/formats/page.md: graph-I */
    size_t profile;                 /* of the plan, whose program it is; 0 for models */
    view_op *ops;
    view_node *nodes;
    view_tensor *tensors;
    view_container *containers; /* 0 is the main graph */
    uint32_t op_count, node_count, tensor_count, container_count;
    uint32_t container_room; /* allocated containers; 0: as many as there are */
    const char *(*properties)[2];
    uint32_t property_count;
    strmap node_by_name, tensor_by_name; /* to the struct; first of equal names in the main graph */
    pgy_model *model;                    /* retained; NULL for plans */
} view_graph;

void view_graph_destroy(view_graph *g); /* NULL is fine */

/* Makes the graph of a model as it is in the file: whatever is damaged is left out, with a line in
 * `warnings`. Shapes are inferred where possible. Has no containers but those of subgraphs and
 * functions. */
pgy_status view_graph_from_model(view_graph **out, pgy_model *model, const char *name,
                                 strvec *warnings, pgy_error *err) PGY_MUST_CHECK;
/* Makes the graph of a profile of a plan, which must outlive the graph.
 * @return PGY_E_ARGUMENT: the plan has no such profile */
pgy_status view_graph_from_plan(view_graph **out, const pgy_plan *plan, size_t profile,
                                const char *name, strvec *warnings, pgy_error *err) PGY_MUST_CHECK;
/* Puts nodes into containers: scopes, repetitions, fusions; and chooses their first states so that
 * the first picture is small. */
pgy_status view_graph_group(view_graph *g, pgy_error *err) PGY_MUST_CHECK;
/* Puts nodes that are children of the same container into a new container at the place of the first
 * one. A call's node stands for the call. view_graph_group, called later, takes a fused container
 * as one item, and opens it up again if it would turn arrows back.
 * @param container  may be NULL
 * @return PGY_E_ARGUMENT: the nodes have different parents */
pgy_status view_graph_wrap(view_graph *g, view_container_kind kind, const char *name,
                           const uint32_t *nodes, size_t count, uint32_t *container,
                           pgy_error *err) PGY_MUST_CHECK;

/* Finds a node or tensor by the name that a file of results uses; VIEW_NONE: there is none. A layer
 * "a + b" is found by its whole name, then by its first member. */
uint32_t view_graph_node(const view_graph *g, const char *name);
uint32_t view_graph_tensor(const view_graph *g, const char *name);

/* Write blocks of the page: graph-I, and chunk k of detail-I (docs/formats/page.md). */
void view_graph_write(json_writer *w, const view_graph *g);
size_t view_detail_count(const view_graph *g);
void view_detail_write(json_writer *w, const view_graph *g, size_t k);

#endif
