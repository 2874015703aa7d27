# SPDX-License-Identifier: Apache-2.0
"""Functions for the cases of tests/cli/code_from_here."""
import numpy as np


def load_data():
    yield {"image": np.zeros((1, 1, 8, 8), np.float32)}


def import_beside():
    """PYTHONPATH still counts: this script imports itself by name."""
    import s
    return s.load_data()


def judge(a, b):
    return {name: True for name in a}


def post(results):
    return results
