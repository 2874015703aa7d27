/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the checker share: check.c walks the graph, the others each look at one side of
 * it. A failure does not hide the next; what they return are failures to check at all. */
#ifndef GRAPH_CHECK_H
#define GRAPH_CHECK_H

#include "graph/graph.h"

typedef struct checker {
    graph_state *state;
    pgy_graph *top;
    finding_list list;
    strmap names;                /* of nodes, all levels */
    strmap domains;              /* that lack an opset and were reported */
    strmap used_domains, called; /* functions as "domain:name:overload" */
} checker;

/* check_model.c: versions, imports, metadata, declarations of inputs and outputs. */
pgy_status check_model(checker *c, pgy_error *err) PGY_MUST_CHECK;
/* Functions that no node calls and domains that none is of; after all nodes were seen. */
pgy_status check_imports_used(checker *c, pgy_error *err) PGY_MUST_CHECK;

/* check_names.c: names of nodes and values, order, references out of subgraphs. */
pgy_status check_names(checker *c, pgy_graph *g, pgy_error *err) PGY_MUST_CHECK;
void check_order(checker *c, const pgy_node *n);
void check_captures(checker *c, const pgy_node *n);

/* check_attributes.c: how attributes are stored. */
pgy_status check_attributes(checker *c, const pgy_node *n, const pgy_onnx_function *f,
                            pgy_error *err) PGY_MUST_CHECK;

/* check_weights.c: elements of weights and of constants, and what is done with them. */
pgy_status check_weights(checker *c, pgy_graph *g, pgy_error *err) PGY_MUST_CHECK;
pgy_status check_constants(checker *c, pgy_node *n, pgy_error *err) PGY_MUST_CHECK;

/* What is wrong with the fields that hold a tensor's elements, or NULL. */
const char *tensor_field_problem(const pgy_onnx_tensor *t);

/* check_unused.c */
pgy_status check_unused(checker *c, pgy_graph *g, pgy_error *err) PGY_MUST_CHECK;

/* check_structure.c: what keeps a model, or the body of a function, from being imported; circles.
 */
void check_structure(finding_list *list, graph_state *state, const pgy_onnx_model *m);
void check_structure_of_function(finding_list *list, graph_state *state,
                                 const pgy_onnx_function *f);

#endif
