/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the checker share: check.c visits every node of the graph, each other file
 * checks one aspect. Findings go into `list` and do not end the check; a status other than PGY_OK
 * means that the check itself failed. */
#ifndef GRAPH_CHECK_H
#define GRAPH_CHECK_H

#include "graph/graph.h"

typedef struct checker {
    graph_state *state;
    pgy_graph *top;
    finding_list list;
    strmap names;   /* node names seen so far, of all levels */
    strmap domains; /* domains already reported as not imported */
    /* domains that nodes use; called functions as "domain:name:overload" */
    strmap used_domains, called;
} checker;

/* check_model.c: versions, imports, metadata, declarations of inputs and outputs. */
pgy_status check_model(checker *c, pgy_error *err) PGY_MUST_CHECK;
/* Reports functions that no node calls and opset imports that no node needs; call it after all
 * nodes were visited. */
pgy_status check_imports_used(checker *c, pgy_error *err) PGY_MUST_CHECK;

/* check_names.c: names of nodes and values, order, references out of subgraphs. */
pgy_status check_names(checker *c, pgy_graph *g, pgy_error *err) PGY_MUST_CHECK;
void check_order(checker *c, const pgy_node *n);
void check_captures(checker *c, const pgy_node *n);

/* check_attributes.c: whether attributes are stored validly. */
pgy_status check_attributes(checker *c, const pgy_node *n, const pgy_onnx_function *f,
                            pgy_error *err) PGY_MUST_CHECK;

/* check_weights.c: elements of weights and constants, and whether they fit the nodes that read
 * them. */
pgy_status check_weights(checker *c, pgy_graph *g, pgy_error *err) PGY_MUST_CHECK;
pgy_status check_constants(checker *c, pgy_node *n, pgy_error *err) PGY_MUST_CHECK;

/* Says what is wrong with the fields that hold a tensor's elements; NULL: nothing. */
const char *tensor_field_problem(const pgy_onnx_tensor *t);

/* check_unused.c */
pgy_status check_unused(checker *c, pgy_graph *g, pgy_error *err) PGY_MUST_CHECK;

/* check_structure.c: reports whatever would make the import of a model or of a function body fail,
 * and cycles between nodes. */
void check_structure(finding_list *list, graph_state *state, const pgy_onnx_model *m);
void check_structure_of_function(finding_list *list, graph_state *state,
                                 const pgy_onnx_function *f);

#endif
