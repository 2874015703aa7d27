# SPDX-License-Identifier: Apache-2.0
"""Forests of kinds that converters do not write: other types of features, and TreeEnsemble of ai.onnx.ml version 5, also with sets of categories."""
import numpy as np
from onnx import AttributeProto, ModelProto, TensorProto, helper, numpy_helper

MODES = [b"BRANCH_LEQ", b"BRANCH_LT", b"BRANCH_GTE", b"BRANCH_GT", b"BRANCH_EQ", b"BRANCH_NEQ"]


def tree_node(model):
    return next(n for n in model.graph.node if n.op_type.startswith("TreeEnsemble"))


def copy_of(model, version):
    made = ModelProto.FromString(model.SerializeToString())
    for o in made.opset_import:
        if o.domain == "ai.onnx.ml":
            o.version = version
    return made


def with_features(model, code):
    """The same forest on features of another type."""
    made = copy_of(model, 3)
    made.graph.input[0].type.tensor_type.elem_type = code
    return made


def in_float64(model):
    """Features, thresholds and weights in float64."""
    made = with_features(model, TensorProto.DOUBLE)
    node = tree_node(made)
    for a in list(node.attribute):
        if a.type == AttributeProto.FLOATS and a.name != "nodes_hitrates":
            node.attribute.append(helper.make_attribute(a.name + "_as_tensor", numpy_helper.from_array(np.array(a.floats, np.float64))))
            node.attribute.remove(a)
    return made


class Lists:
    """The attributes of TreeEnsemble."""

    def __init__(self):
        self.tests, self.leaves, self.roots, self.members = [], [], [], {}

    def leaf(self, target, weight):
        self.leaves.append((target, weight))
        return len(self.leaves) - 1, 1

    def test(self, mode, feature, split, missing, members=()):
        self.tests.append([mode, feature, split, missing, None, None])
        if members:
            self.members[len(self.tests) - 1] = members
        return len(self.tests) - 1, 0

    def model(self, features, targets, dtype=np.float32):
        code = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
        tensor = lambda values, kind=dtype: numpy_helper.from_array(np.array(values, kind))
        column = lambda i: [t[i] for t in self.tests]
        sides = lambda i, part: [t[i][part] for t in self.tests]
        sets = [v for i in sorted(self.members) for v in [*self.members[i], np.nan]]
        node = helper.make_node(
            "TreeEnsemble", ["X"], ["Y"], domain="ai.onnx.ml", nodes_modes=tensor(column(0), np.uint8), nodes_featureids=column(1),
            nodes_splits=tensor(column(2)), nodes_missing_value_tracks_true=column(3), nodes_truenodeids=sides(4, 0), nodes_trueleafs=sides(4, 1),
            nodes_falsenodeids=sides(5, 0), nodes_falseleafs=sides(5, 1), tree_roots=self.roots, n_targets=targets,
            leaf_targetids=[leaf[0] for leaf in self.leaves], leaf_weights=tensor([leaf[1] for leaf in self.leaves]),
            **({"membership_values": tensor(sets)} if sets else {}))
        x, y = helper.make_tensor_value_info("X", code, ["n", features]), helper.make_tensor_value_info("Y", code, ["n", targets])
        return helper.make_model(helper.make_graph([node], "trees", [x], [y]), ir_version=10,
                                 opset_imports=[helper.make_opsetid("", 21), helper.make_opsetid("ai.onnx.ml", 5)])


def version5(model, dtype=np.float32):
    """The trees of a regressor as TreeEnsemble."""
    a = {x.name: helper.get_attribute_value(x) for x in tree_node(model).attribute}
    features = model.graph.input[0].type.tensor_type.shape.dim[1].dim_value
    at = {key: i for i, key in enumerate(zip(a["nodes_treeids"], a["nodes_nodeids"]))}
    weights = {(t, n): (k, w) for t, n, k, w in zip(a["target_treeids"], a["target_nodeids"], a["target_ids"], a["target_weights"])}
    missing = a.get("nodes_missing_value_tracks_true") or [0] * len(at)
    lists = Lists()

    def add(tree, node):
        i = at[tree, node]
        if a["nodes_modes"][i] == b"LEAF":
            return lists.leaf(*weights[tree, node])
        made = lists.test(MODES.index(a["nodes_modes"][i]), a["nodes_featureids"][i], a["nodes_values"][i], missing[i])
        lists.tests[made[0]][4] = add(tree, a["nodes_truenodeids"][i])
        lists.tests[made[0]][5] = add(tree, a["nodes_falsenodeids"][i])
        return made

    lists.roots = [add(tree, node)[0] for i, (tree, node) in enumerate(at) if i == 0 or a["nodes_treeids"][i - 1] != tree]
    return lists.model(features, a["n_targets"], dtype)


def lightgbm_sets(booster, dtype=np.float32):
    """The trees of LightGBM as TreeEnsemble: tests of categories are tests for membership."""
    described, lists = booster.dump_model(), Lists()

    def add(n):
        if "leaf_value" in n:
            return lists.leaf(0, n["leaf_value"])
        missing = int(n["default_left"] and n["missing_type"] == "NaN")
        if n["decision_type"] == "==":
            made = lists.test(6, n["split_feature"], 0.0, 0, [float(v) for v in n["threshold"].split("||")])
        else:
            made = lists.test(0, n["split_feature"], n["threshold"], missing)
        lists.tests[made[0]][4] = add(n["left_child"])
        lists.tests[made[0]][5] = add(n["right_child"])
        return made

    lists.roots = [add(t["tree_structure"])[0] for t in described["tree_info"]]
    return lists.model(described["max_feature_idx"] + 1, 1, dtype)


def kinds_of(name, make):
    """Functions that make the other kinds of the forest that `make` makes. ONNX Runtime has no regressors of integers."""
    kinds = {"float64": in_float64}
    if "classes" in name:
        kinds["int64"] = lambda model: with_features(model, TensorProto.INT64)
        kinds["int32"] = lambda model: with_features(model, TensorProto.INT32)
    else:
        kinds["version 5"] = version5
        kinds["version 5, float64"] = lambda model: version5(model, np.float64)
    return {f"{name}, {kind}": lambda convert=convert: convert(make()) for kind, convert in kinds.items()}


def trained_sets(random, trees, leaves, categories, dtype):
    """A model and its features, of which half are categories."""
    import lightgbm

    x = random.standard_normal((20000 if leaves > 31 else 4000, 30)).astype(dtype)
    x[:, :15] = random.integers(0, categories, (len(x), 15))
    effects = random.standard_normal((15, categories))
    y = sum(effects[i][x[:, i].astype(int)] for i in range(15)) + x[:, 20] * x[:, 21]
    model = lightgbm.LGBMRegressor(n_estimators=trees, num_leaves=leaves, verbose=-1, min_child_samples=5, max_cat_to_onehot=1)
    return lightgbm_sets(model.fit(x, y, categorical_feature=list(range(15))).booster_, dtype), x


def with_sets(random):
    made = {}
    for size in ((8, 8, 10), (8, 8, 100), (100, 31, 30), (100, 31, 100), (100, 127, 30), (100, 511, 30)):
        for dtype, end in ((np.float32, ""), (np.float64, ", float64")):
            name = "version 5, %d trees of %d leaves, sets of %d categories" % size + end
            made[name] = lambda size=size, dtype=dtype: trained_sets(random, *size, dtype)
    return made
