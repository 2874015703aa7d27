# SPDX-License-Identifier: Apache-2.0
"""Relu followed by Neg becomes one node."""
import onnx_graphsurgeon as gs


def get_matching_subgraphs(graph):
    pattern = gs.GraphPattern()
    relu = pattern.add("relu", "Relu", inputs=[pattern.variable()])
    pattern.set_output_tensors([pattern.add("neg", "Neg", inputs=[relu])])
    return [{
        "inputs": [t.name for t in match.inputs],
        "outputs": [t.name for t in match.outputs],
        "attributes": {"count": 2, "scale": 0.5, "mode": "fast", "axes": (1, 2)},
    } for match in pattern.match_all(graph)]


def get_plugin_metadata():
    return {"name": "toy", "op": "NegatedRelu"}
