# SPDX-License-Identifier: Apache-2.0
"""Abs is renamed, by the plugin itself."""


def get_matching_subgraphs(graph):
    return [{"inputs": [n.inputs[0].name], "outputs": [n.outputs[0].name], "attributes": {}} for n in graph.nodes if n.op == "Abs"]


def get_plugin_metadata():
    return {"name": "hooked", "op": "Absolute"}


def replace_with_plugin(graph, input_tensors, output_tensors, attrs, op):
    output_tensors[0].inputs[0].op = op
    return True
