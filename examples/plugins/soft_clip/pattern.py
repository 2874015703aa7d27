# SPDX-License-Identifier: Apache-2.0
"""Finds limit * tanh(x / limit), which is one node with the operator of examples/operators/soft_clip.c."""
import onnx_graphsurgeon as gs


def get_matching_subgraphs(graph):
    pattern = gs.GraphPattern()
    ratio = pattern.add("div", "Div", inputs=[pattern.variable(), pattern.variable()])
    bent = pattern.add("tanh", "Tanh", inputs=[ratio])
    pattern.set_output_tensors([pattern.add("mul", "Mul", inputs=[bent, pattern.variable()])])
    found = []
    for match in pattern.match_all(graph):
        limit, again = match.get("div").inputs[1], match.get("mul").inputs[1]
        if isinstance(limit, gs.Constant) and limit.name == again.name:
            found.append({
                "inputs": [match.get("div").inputs[0].name],
                "outputs": [match.get("mul").outputs[0].name],
                "attributes": {"limit": float(limit.values)},
            })
    return found


def get_plugin_metadata():
    return {"name": "soft_clip", "op": "SoftClip", "domain": "example"}  # name: that of the folder
