/* SPDX-License-Identifier: Apache-2.0 */
/* Table of the verbs of edit scripts. A verb's usage text is its grammar, which call.c reads.
 * `surgeon edit --help-verbs` and docs/formats/edit_script.md show this table. */
#include <string.h>

#include "gs/script/script.h"

static const verb VERBS[] = {
    /* Nodes */
    {{"insert",
      "OP [name=NAME] [after=NODE] [before=NODE] [slot=K] [inputs=TENSORS] [outputs=TENSORS] "
      "[type=TYPE] [domain=DOMAIN] [attr.NAME=VALUE]...",
      "add a node: behind another one, whose readers then read the new node; before another one, "
      "which then reads the new node; or at the end of the list"},
     verb_insert,
     true},
    {{"layer",
      "OP [name=NAME] [inputs=TENSORS] [outputs=NAMES] [domain=DOMAIN] [attr.NAME=VALUE]...",
      "add a node at the end of the list, with generated names: <output>_<n>, "
      "onnx_graphsurgeon_node_<n>"},
     verb_layer,
     true},
    {{"remove", "NODE... [slot=K] [keep=NAME] [--cut]",
      "remove a node; its readers read its input K (default 0) instead. With --cut its outputs "
      "stay without a node"},
     verb_remove,
     true},
    {{"replace",
      "NODE [op=OP] [name=NAME] [domain=DOMAIN] [inputs=TENSORS] [outputs=TENSORS] "
      "[attr.NAME=VALUE]... [--clear-attrs]",
      "change a node; parts that are not given stay"},
     verb_replace,
     true},
    {{"replace-region",
      "inputs=TENSORS outputs=TENSORS op=OP [name=NAME] [domain=DOMAIN] [attr.NAME=VALUE]...",
      "replace all nodes between these tensors by one node; cleanup removes the old nodes"},
     verb_replace_region,
     true},
    {{"rename-node", "NODE NAME", "rename a node"}, verb_rename_node, false},
    {{"place", "NODE [INDEX] [after=OTHER] [before=OTHER]", "move a node in the list"},
     verb_place,
     false},
    {{"set-attr", "NODE NAME=VALUE...", "set attributes"}, verb_set_attr, false},
    {{"remove-attr", "NODE NAME...", "remove attributes"}, verb_remove_attr, false},
    /* Edges */
    {{"set-input", "NODE SLOT TENSOR", "connect an input slot of a node to another tensor"},
     verb_set_input,
     true},
    {{"set-output", "NODE SLOT TENSOR", "connect an output slot of a node to another tensor"},
     verb_set_output,
     true},
    {{"insert-input", "NODE SLOT TENSOR", "insert an input before a slot; later inputs move up"},
     verb_insert_input,
     true},
    {{"remove-input", "NODE SLOT", "remove an input; later inputs move down"},
     verb_remove_input,
     false},
    {{"remove-output", "NODE SLOT", "remove an output; later outputs move down"},
     verb_remove_output,
     false},
    {{"set-inputs", "NODE TENSORS", "replace all inputs of a node"}, verb_set_inputs, true},
    {{"set-outputs", "NODE TENSORS", "replace all outputs of a node"}, verb_set_outputs, true},
    {{"replace-uses", "TENSOR OTHER", "make all readers of a tensor read another tensor"},
     verb_replace_uses,
     true},
    /* Tensors */
    {{"variable", "NAME [TYPE]", "declare a tensor for use by name"}, verb_variable, false},
    {{"constant", "NAME VALUES", "declare a weight for use by name"}, verb_constant, false},
    {{"rename", "TENSOR NAME", "rename a tensor"}, verb_rename, false},
    {{"set-type", "TENSOR TYPE",
      "declare type and shape: FLOAT keeps the shape, [2,N,?] keeps the type, FLOAT[*] makes the "
      "shape unknown"},
     verb_set_type,
     false},
    {{"to-constant", "TENSOR VALUES",
      "turn a tensor into a weight with these values, or replace the values of a weight"},
     verb_to_constant,
     false},
    {{"to-variable", "TENSOR [TYPE]", "turn a weight into a tensor without values"},
     verb_to_variable,
     false},
    /* The graph */
    {{"set-io", "[inputs=TENSORS] [outputs=TENSORS]", "replace inputs or outputs of the graph"},
     verb_set_io,
     false},
    {{"add-input", "TENSOR...", "add inputs to the graph"}, verb_add_input, false},
    {{"add-output", "TENSOR...", "add outputs to the graph"}, verb_add_output, false},
    {{"set-input-shape", "TENSOR SHAPE [--keep-stale]",
      "change the shape of an input; shapes that depend on it become unknown"},
     verb_set_input_shape,
     false},
    {{"extract", "[inputs=TENSORS] [outputs=TENSORS]", "set-io and cleanup"}, verb_extract, false},
    {{"set-opset", "VERSION", "set the version of the default opset; nodes do not change"},
     verb_set_opset,
     false},
    {{"set-import", "DOMAIN VERSION", "set the version of an opset; 0 removes the opset"},
     verb_set_import,
     false},
    {{"set-name", "NAME", "set the name of the graph"}, verb_set_name, false},
    {{"set-doc", "TEXT", "set the doc string of the graph"}, verb_set_doc, false},
    {{"set-producer", "NAME [VERSION]", "set the producer of the model"}, verb_set_producer, false},
    {{"set-ir-version", "VERSION", "set the IR version; 0: the version that the model needs"},
     verb_set_ir_version,
     false},
    /* Whole graphs */
    {{"fold",
      "[--threshold=BYTES] [--partition=HOW] [--keep-shapes] [--keep-ifs] [--no-subgraphs] "
      "[--no-functions] [--fail] [exclude=NODES]",
      "replace nodes that depend on constants only by their values; HOW: none, basic, recursive"},
     verb_fold,
     false},
    {{"cleanup", "[--unused-outputs] [--unused-inputs] [--no-subgraphs] [--no-functions]",
      "remove nodes and tensors that no output needs"},
     verb_cleanup,
     false},
    {{"sort", "[--stable] [--no-subgraphs] [--no-functions] [--functions-only]",
      "sort the nodes into an order in which they can run: by level, or with --stable moving only "
      "nodes that must move"},
     verb_sort,
     false},
    {{"infer-shapes", "", "infer types and shapes that are unknown"}, verb_infer_shapes, false},
    {{"inline", "[NODE]", "replace a call, or all calls, by the body of the called function"},
     verb_inline,
     false},
    {{"new-subgraph", "NODE ATTRIBUTE [name=NAME] [inputs=NAMES] [outputs=NAMES]",
      "add a subgraph as an attribute of a node; the following verbs apply to it"},
     verb_new_subgraph,
     false},
    {{"new-function", "NAME [domain=DOMAIN] [inputs=NAMES] [outputs=NAMES]",
      "add a function (default domain: onnx_graphsurgeon); the following verbs apply to its body"},
     verb_new_function,
     false},
    {{"add-parameter", "NAME [VALUE]",
      "add an attribute to the function; calls must set it unless VALUE gives its default"},
     verb_add_parameter,
     false},
    {{"call",
      "FUNCTION [domain=DOMAIN] [name=NAME] [inputs=TENSORS] [outputs=TENSORS] "
      "[attr.NAME=VALUE]...",
      "add a node at the end of the list that calls a function; its outputs get the types of the "
      "function, and generated names if none are given"},
     verb_call,
     true},
    {{"remove-function", "NAME [domain=DOMAIN]", "remove a function that no node calls"},
     verb_remove_function,
     false},
    {{"enter", "NODE ATTRIBUTE [INDEX]", "enter a subgraph: the following verbs apply to it"},
     verb_enter,
     false},
    {{"enter-function", "NAME [domain=DOMAIN]",
      "enter a function: the following verbs apply to its body"},
     verb_enter_function,
     false},
    {{"leave", "", "return to the enclosing graph"}, verb_leave, false},
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
