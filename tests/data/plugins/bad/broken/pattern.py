# SPDX-License-Identifier: Apache-2.0
"""Fails when it is asked."""


def get_matching_subgraphs(graph):
    raise ValueError("this pattern is broken")


def get_plugin_metadata():
    return {"name": "broken", "op": "Broken"}
