/* SPDX-License-Identifier: Apache-2.0 */
/* The verbs of edit scripts, one row each. The usage text is the grammar (call.c). `surgeon edit
 * --help-verbs` and docs/formats/edit_script.md show this table. */
#include <string.h>

#include "gs/script/script.h"

static const verb VERBS[] = {
    /* Nodes */
    {{"insert",
      "OP [name=NAME] [after=NODE] [before=NODE] [slot=K] [inputs=TENSORS] [outputs=TENSORS] "
      "[type=TYPE] [domain=DOMAIN] [attr.NAME=VALUE]...",
      "a new node; behind another one (whose readers then read it), before another one (which then "
      "reads it), or at the end of the list"},
     verb_insert,
     true},
    {{"layer",
      "OP [name=NAME] [inputs=TENSORS] [outputs=NAMES] [domain=DOMAIN] [attr.NAME=VALUE]...",
      "a new node at the end of the list, with generated names: <output>_<n>, "
      "onnx_graphsurgeon_node_<n>"},
     verb_layer,
     true},
    {{"remove", "NODE... [slot=K] [keep=NAME] [--cut]",
      "take a node out; its readers read its input K (0). --cut: leave its readers without"},
     verb_remove,
     true},
    {{"replace",
      "NODE [op=OP] [name=NAME] [domain=DOMAIN] [inputs=TENSORS] [outputs=TENSORS] "
      "[attr.NAME=VALUE]... [--clear-attrs]",
      "make another node of a node; what is not given stays"},
     verb_replace,
     true},
    {{"replace-region",
      "inputs=TENSORS outputs=TENSORS op=OP [name=NAME] [domain=DOMAIN] [attr.NAME=VALUE]...",
      "one node in place of all between these tensors; cleanup takes away what is left"},
     verb_replace_region,
     true},
    {{"rename-node", "NODE NAME", "give a node another name"}, verb_rename_node, false},
    {{"place", "NODE [INDEX] [after=OTHER] [before=OTHER]", "move a node in the list"},
     verb_place,
     false},
    {{"set-attr", "NODE NAME=VALUE...", "set attributes"}, verb_set_attr, false},
    {{"remove-attr", "NODE NAME...", "remove attributes"}, verb_remove_attr, false},
    /* Edges */
    {{"set-input", "NODE SLOT TENSOR", "let a node read another tensor in a slot"},
     verb_set_input,
     true},
    {{"set-output", "NODE SLOT TENSOR", "let a node make another tensor in a slot"},
     verb_set_output,
     true},
    {{"insert-input", "NODE SLOT TENSOR", "put an input before a slot; the others move up"},
     verb_insert_input,
     true},
    {{"remove-input", "NODE SLOT", "remove an input; the others move down"},
     verb_remove_input,
     false},
    {{"remove-output", "NODE SLOT", "remove an output; the others move down"},
     verb_remove_output,
     false},
    {{"set-inputs", "NODE TENSORS", "replace all inputs of a node"}, verb_set_inputs, true},
    {{"set-outputs", "NODE TENSORS", "replace all outputs of a node"}, verb_set_outputs, true},
    {{"replace-uses", "TENSOR OTHER", "let all readers of a tensor read another one"},
     verb_replace_uses,
     true},
    /* Tensors */
    {{"variable", "NAME [TYPE]", "declare a tensor, to be used by name"}, verb_variable, false},
    {{"constant", "NAME VALUES", "declare a weight, to be used by name"}, verb_constant, false},
    {{"rename", "TENSOR NAME", "give a tensor another name"}, verb_rename, false},
    {{"set-type", "TENSOR TYPE",
      "declare type and shape: FLOAT keeps the shape, [2,N,?] the type, FLOAT[*] forgets the "
      "shape"},
     verb_set_type,
     false},
    {{"to-constant", "TENSOR VALUES", "give a tensor values (others, if it is a weight)"},
     verb_to_constant,
     false},
    {{"to-variable", "TENSOR [TYPE]", "make a weight a tensor without values"},
     verb_to_variable,
     false},
    /* The graph */
    {{"set-io", "[inputs=TENSORS] [outputs=TENSORS]", "replace inputs or outputs of the graph"},
     verb_set_io,
     false},
    {{"add-input", "TENSOR...", "more inputs of the graph"}, verb_add_input, false},
    {{"add-output", "TENSOR...", "more outputs of the graph"}, verb_add_output, false},
    {{"set-input-shape", "TENSOR SHAPE [--keep-stale]",
      "another shape for an input; shapes that depend on it are forgotten"},
     verb_set_input_shape,
     false},
    {{"extract", "[inputs=TENSORS] [outputs=TENSORS]", "set-io and cleanup"}, verb_extract, false},
    {{"set-opset", "VERSION", "the version of the default opset; nodes are not rewritten"},
     verb_set_opset,
     false},
    {{"set-import", "DOMAIN VERSION", "the version of an opset; 0 removes it"},
     verb_set_import,
     false},
    {{"set-name", "NAME", "the name of the graph"}, verb_set_name, false},
    {{"set-doc", "TEXT", "the doc string of the graph"}, verb_set_doc, false},
    {{"set-producer", "NAME [VERSION]", "the producer of the model"}, verb_set_producer, false},
    {{"set-ir-version", "VERSION", "the IR version; 0: chosen by what the model needs"},
     verb_set_ir_version,
     false},
    /* Whole graphs */
    {{"fold",
      "[--threshold=BYTES] [--partition=HOW] [--keep-shapes] [--keep-ifs] [--no-subgraphs] "
      "[--no-functions] [--fail] [exclude=NODES]",
      "replace what depends on constants alone by its value; HOW: none, basic, recursive"},
     verb_fold,
     false},
    {{"cleanup", "[--unused-outputs] [--unused-inputs] [--no-subgraphs] [--no-functions]",
      "remove what no output needs"},
     verb_cleanup,
     false},
    {{"sort", "[--stable] [--no-subgraphs] [--no-functions] [--functions-only]",
      "an order in which the nodes can run: by level, or moving only what must move"},
     verb_sort,
     false},
    {{"infer-shapes", "", "infer types and shapes that are unknown"}, verb_infer_shapes, false},
    {{"inline", "[NODE]", "put functions in place of a call, or of all calls"}, verb_inline, false},
    {{"new-subgraph", "NODE ATTRIBUTE [name=NAME] [inputs=NAMES] [outputs=NAMES]",
      "a new graph as an attribute of a node; the verbs below are for it"},
     verb_new_subgraph,
     false},
    {{"new-function", "NAME [domain=DOMAIN] [inputs=NAMES] [outputs=NAMES]",
      "a new function (of domain onnx_graphsurgeon); the verbs below are for its body"},
     verb_new_function,
     false},
    {{"add-parameter", "NAME [VALUE]",
      "an attribute of the function: calls must give it, or VALUE is its default"},
     verb_add_parameter,
     false},
    {{"call",
      "FUNCTION [domain=DOMAIN] [name=NAME] [inputs=TENSORS] [outputs=TENSORS] "
      "[attr.NAME=VALUE]...",
      "a new node at the end of the list that calls a function; outputs get its types, and "
      "generated names where none are given"},
     verb_call,
     true},
    {{"remove-function", "NAME [domain=DOMAIN]", "take a function that nothing calls out"},
     verb_remove_function,
     false},
    {{"enter", "NODE ATTRIBUTE [INDEX]", "the verbs below are for this subgraph"},
     verb_enter,
     false},
    {{"enter-function", "NAME [domain=DOMAIN]", "the verbs below are for this function"},
     verb_enter_function,
     false},
    {{"leave", "", "back to the enclosing graph"}, verb_leave, false},
};
enum { VERB_COUNT = sizeof VERBS / sizeof *VERBS };

const verb *verb_at(size_t i)
{
    return i < VERB_COUNT ? &VERBS[i] : NULL;
}

const verb *verb_find(const char *name)
{
    for (size_t i = 0; i < VERB_COUNT; i++)
        if (strcmp(VERBS[i].text.name, name) == 0) return &VERBS[i];
    return NULL;
}

const pgy_gs_verb *pgy_gs_verb_at(size_t i)
{
    return i < VERB_COUNT ? &VERBS[i].text : NULL;
}
