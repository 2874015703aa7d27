#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the cases of the operators of ai.onnx.ml, values from ONNX Runtime.

    ml_cases.py [FILE...]              all files by default
    ml_cases.py --random N FOLDER      N random nodes of each kind instead, for a comparison that is not kept

A row is (title, operator, attributes, inputs, outputs). ERRORS are texts: what must be refused.
"""
import os
import sys

import numpy as np
import onnx
import onnxruntime
from onnx import helper, numpy_helper

from make_cases import CODES, attribute_lines, tensor_lines, type_of

HERE = os.path.dirname(os.path.abspath(__file__))
F32, F64, I32, I64 = np.float32, np.float64, np.int32, np.int64
NAN = float("nan")
TRANSFORMS = ["NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT"]
VERSIONS = {"TreeEnsembleClassifier": 3, "TreeEnsembleRegressor": 3, "TreeEnsemble": 5}
ROWS, ERRORS = {}, {}


def add(file, title, op, attrs, inputs, outputs=1):
    ROWS.setdefault(file, []).append((title, op, attrs, [np.asarray(x) for x in inputs], outputs))


def error(file, title, op, attrs, inputs, text, outputs=1):
    ERRORS.setdefault(file, []).append((title, op, attrs, [np.asarray(x) for x in inputs], outputs, text))


# ---- Features to features -----------------------------------------------------------------------
X = np.array([[1, 2], [-3, 0.5], [0, 0]], F32)
WHOLE = np.array([[1, -2], [-3, 7], [0, 0]], I64)
add("scaler", "a number per feature", "Scaler", {"offset": [1.0, 2.5], "scale": [2.0, -3.0]}, [X])
add("scaler", "one number", "Scaler", {"offset": [1.0], "scale": [2.0]}, [X])
for dtype in (F64, I64, I32):
    add("scaler", np.dtype(dtype).name, "Scaler", {"offset": [1.0, 2.5], "scale": [2.0, 0.5]}, [WHOLE.astype(dtype)])
add("scaler", "a vector", "Scaler", {"offset": [1.0, 2.5], "scale": [2.0, -3.0]}, [X[0]])
add("scaler", "three dimensions count from the front", "Scaler", {"offset": [1.0, 2.0], "scale": [2.0, 3.0]},
    [np.arange(6).reshape(1, 2, 3).astype(F32)])
error("scaler", "offset and scale differ", "Scaler", {"offset": [1.0], "scale": [2.0, 3.0]}, [X], "1 and 2 numbers")
error("scaler", "no numbers", "Scaler", {}, [X], "0 and 0 numbers")
error("scaler", "too many features", "Scaler", {"offset": [1.0] * 3, "scale": [2.0] * 3}, [X], "but the length of scale is 3")
ODD = np.array([[1, -5], [-1, -2], [0, 0], [NAN, 2], [3, 4]], F32)
for norm in ("MAX", "L1", "L2"):
    add("normalizer", norm, "Normalizer", {"norm": norm}, [ODD])
    add("normalizer", norm + ", int64", "Normalizer", {"norm": norm}, [WHOLE])
add("normalizer", "a vector", "Normalizer", {}, [X[0]])
add("normalizer", "float64", "Normalizer", {"norm": "L2"}, [X.astype(F64)])
add("normalizer", "int32", "Normalizer", {"norm": "L1"}, [WHOLE.astype(I32)])
error("normalizer", "unknown norm", "Normalizer", {"norm": "L3"}, [X], "must be one of: MAX L1 L2")
error("normalizer", "three dimensions", "Normalizer", {}, [X.reshape(3, 2, 1)], "input 0")
HOLES = np.array([[NAN, 1], [2, NAN], [1, 1]], F32)
add("imputer", "NaN, a number per column", "Imputer", {"imputed_value_floats": [7.0, 8.0], "replaced_value_float": NAN}, [HOLES])
add("imputer", "NaN, one number", "Imputer", {"imputed_value_floats": [7.0], "replaced_value_float": NAN}, [HOLES])
add("imputer", "a number", "Imputer", {"imputed_value_floats": [7.0, 8.0], "replaced_value_float": 1.0}, [HOLES])
add("imputer", "int64", "Imputer", {"imputed_value_int64s": [7, 8], "replaced_value_int64": -3}, [WHOLE])
add("imputer", "a vector", "Imputer", {"imputed_value_int64s": [7, 8], "replaced_value_int64": 1}, [WHOLE[0]])
error("imputer", "floats for integers", "Imputer", {"imputed_value_floats": [7.0]}, [WHOLE], "imputed_value_int64s must have")
error("imputer", "wrong length", "Imputer", {"imputed_value_floats": [7.0] * 3}, [X], "the number of imputed values is 3")
error("imputer", "nothing to put", "Imputer", {}, [X], "imputed_value_floats must have")
WORDS = np.array([["a", "b"], ["c", "a"]])
add("one_hot_encoder", "texts", "OneHotEncoder", {"cats_strings": ["b", "a"]}, [WORDS])
add("one_hot_encoder", "integers", "OneHotEncoder", {"cats_int64s": [7, -3, 1]}, [WHOLE])
add("one_hot_encoder", "floats are truncated", "OneHotEncoder", {"cats_int64s": [1, 2, 2, -1]},
    [np.array([1.7, 2, NAN, -1.5], F32)])
add("one_hot_encoder", "float64", "OneHotEncoder", {"cats_int64s": [1, 2], "zeros": 0}, [np.array([1.7, 2], F64)])
add("one_hot_encoder", "texts but integer categories", "OneHotEncoder", {"cats_int64s": [1, 2]}, [WORDS])
error("one_hot_encoder", "unknown category", "OneHotEncoder", {"cats_int64s": [1], "zeros": 0}, [WHOLE], "element 1 of input 0")
error("one_hot_encoder", "two kinds of categories", "OneHotEncoder", {"cats_int64s": [1], "cats_strings": ["a"]}, [WHOLE],
      "exactly one must have some")
error("one_hot_encoder", "no categories", "OneHotEncoder", {}, [WHOLE], "exactly one must have some")
CATS = {"cats_int64s": [1, 2, 1], "cats_strings": ["a", "b", "c"]}
add("category_mapper", "texts", "CategoryMapper", CATS, [np.array(["b", "c", "d"])])
add("category_mapper", "integers", "CategoryMapper", CATS, [np.array([[1, 2, 3]], I64)])
add("category_mapper", "defaults", "CategoryMapper", {**CATS, "default_string": "none", "default_int64": 9}, [np.array([3, 2], I64)])
add("category_mapper", "default integer", "CategoryMapper", {**CATS, "default_int64": 9}, [np.array(["x", ""])])
error("category_mapper", "lists of different lengths", "CategoryMapper", {**CATS, "cats_int64s": [1]}, [WORDS], "1 and 3 entries")
add("feature_vectorizer", "filled and cut", "FeatureVectorizer", {"inputdimensions": [3, 1]}, [X, X])
add("feature_vectorizer", "vectors", "FeatureVectorizer", {"inputdimensions": [2, 2]}, [X[0], X[1]])
add("feature_vectorizer", "integers", "FeatureVectorizer", {"inputdimensions": [2, 2, 2]}, [WHOLE, WHOLE, WHOLE])
error("feature_vectorizer", "rows differ", "FeatureVectorizer", {"inputdimensions": [2, 2]}, [X, X[:1]], "different numbers of rows")
error("feature_vectorizer", "a number is missing", "FeatureVectorizer", {"inputdimensions": [2]}, [X, X], "the node has 2 inputs")

# ---- Linear models ------------------------------------------------------------------------------
for transform in TRANSFORMS:
    post = {"post_transform": transform}
    add("linear_regressor", "one target, " + transform, "LinearRegressor",
        {"coefficients": [0.1, 0.2], "intercepts": [0.25], **post}, [X])
    add("linear_regressor", "two targets, " + transform, "LinearRegressor",
        {"coefficients": [0.125, 0.25, 0.375, 0.125], "intercepts": [0.25, 0.5], "targets": 2, **post}, [X])
    if transform != "PROBIT":
        add("linear_classifier", "one score, two labels, " + transform, "LinearClassifier",
            {"coefficients": [0.1, 0.2], "intercepts": [0.25], "classlabels_ints": [5, 6], **post}, [X], 2)
    add("linear_classifier", "one score, no labels, " + transform, "LinearClassifier",
        {"coefficients": [0.1, 0.2], "intercepts": [0.25], **post}, [X], 2)
    add("linear_classifier", "three scores, " + transform, "LinearClassifier",
        {"coefficients": [0.1, 0.2, 0.3, 0.1, -1.0, 0.5], "intercepts": [0.25, 0.0, 0.5],
         "classlabels_strings": ["a", "b", "c"], **post}, [X], 2)
add("linear_regressor", "a vector, no intercept", "LinearRegressor", {"coefficients": [0.1, 0.2]}, [X[0]])
LINEAR = {"coefficients": [0.1, 0.2], "intercepts": [0.25]}
add("linear_classifier", "a vector, texts", "LinearClassifier", {**LINEAR, "classlabels_strings": ["no", "yes"]}, [X[1]], 2)
for dtype in (F64, I64, I32):
    add("linear_classifier", np.dtype(dtype).name, "LinearClassifier", {**LINEAR, "classlabels_ints": [5, 6]}, [WHOLE.astype(dtype)], 2)
error("linear_classifier", "labels do not fit", "LinearClassifier", {**LINEAR, "classlabels_ints": [5, 6, 7]}, [X], "3 class labels", 2)
error("linear_classifier", "one label", "LinearClassifier", {**LINEAR, "classlabels_ints": [5]}, [X], "1 class labels", 2)
error("linear_classifier", "coefficients", "LinearClassifier", {**LINEAR, "coefficients": [1.0]}, [X], "another length", 2)
error("linear_regressor", "targets", "LinearRegressor", {**LINEAR, "targets": 3}, [X], "cannot share equally")
error("linear_regressor", "very many targets", "LinearRegressor", {**LINEAR, "targets": 1 << 62}, [X], "cannot share equally")
error("linear_regressor", "no targets", "LinearRegressor", {**LINEAR, "targets": 0}, [X], "must be at least 1")
error("linear_regressor", "features", "LinearRegressor", LINEAR, [np.zeros((2, 3), F32)], "another length")
error("linear_regressor", "intercepts", "LinearRegressor", {**LINEAR, "intercepts": [1.0, 2.0]}, [X], "2 numbers, but there are 1")

# ---- Trees --------------------------------------------------------------------------------------
T = np.array([[1, 2], [-3, 0.5], [NAN, 3]], F32)


def nodes(**more):
    """Two trees of one test and two leaves each."""
    return {**dict(
        nodes_treeids=[0, 0, 0, 1, 1, 1], nodes_nodeids=[0, 1, 2, 0, 1, 2], nodes_featureids=[0, 0, 0, 1, 0, 0],
        nodes_modes=["BRANCH_LEQ", "LEAF", "LEAF"] * 2, nodes_values=[0.0, 0.0, 0.0, 1.0, 0.0, 0.0],
        nodes_truenodeids=[1, 0, 0, 1, 0, 0], nodes_falsenodeids=[2, 0, 0, 2, 0, 0]), **more}


def regressor(targets=1, **more):
    return {**nodes(n_targets=targets, target_treeids=[0, 0, 1, 1], target_nodeids=[1, 2, 1, 2],
                    target_ids=[0, 0, targets - 1, targets - 1], target_weights=[0.25, -0.5, 0.125, 0.75]), **more}


def classifier(ids, labels, weights, **more):
    names = "classlabels_strings" if isinstance(labels[0], str) else "classlabels_int64s"
    return {**nodes(class_treeids=[0, 0, 1, 1], class_nodeids=[1, 2, 1, 2], class_ids=ids, class_weights=weights),
            names: labels, **more}


def doubles(attrs, *names):
    """The attributes with these lists as float64 tensors."""
    out = {k: v for k, v in attrs.items() if k not in names}
    return {**out, **{n + "_as_tensor": numpy_helper.from_array(np.array(attrs[n], F64)) for n in names}}


R, C = "TreeEnsembleRegressor", "TreeEnsembleClassifier"
MIXED, POSITIVE = [0.25, -0.5, 0.125, 0.75], [0.25, 0.5, 0.125, 0.75]
for transform in TRANSFORMS:
    add("tree_ensemble_regressor", "one target, " + transform, R, regressor(post_transform=transform), [T])
    add("tree_ensemble_regressor", "two targets, " + transform, R, regressor(2, post_transform=transform), [T])
    add("tree_ensemble_classifier", "three classes, " + transform, C,
        classifier([0, 1, 2, 1], ["x", "y", "z"], MIXED, post_transform=transform), [T], 2)
    add("tree_ensemble_classifier", "one class, " + transform, C, classifier([0] * 4, [5], MIXED, post_transform=transform), [T], 2)
    for ids in ([0] * 4, [1] * 4, [0, 1, 0, 1]):
        for weights in (MIXED, POSITIVE):
            for base in ([], [0.125], [0.125, 0.25]):
                single = ids[1] == 0 and len(base) < 2  # else ONNX Runtime leaves the second score as it was
                if (transform == "PROBIT" and len(base) < 2) or (ids == [0, 1, 0, 1] and len(base) == 1) or (
                        single and transform == "PROBIT"):
                    continue
                more = {"base_values": base} if base else {}
                add("tree_ensemble_classifier", "%s, ids %s, %s weights, base %s" % (
                    transform, ids, "mixed" if weights is MIXED else "positive", base), C,
                    classifier(ids, [5, 6], weights, post_transform=transform, **more), [T], 2)
for join in ("SUM", "AVERAGE", "MIN", "MAX"):
    for targets in (1, 2):
        for base in ([], [1.0, 2.0][:targets]):
            add("tree_ensemble_regressor", "%s, %d targets, base %s" % (join, targets, base), R,
                regressor(targets, aggregate_function=join, **({"base_values": base} if base else {})), [T])
for mode in ("LEQ", "LT", "GTE", "GT", "EQ", "NEQ"):
    for missing in (0, 1):
        add("tree_ensemble_regressor", "%s, missing values pass: %d" % (mode, missing), R,
            regressor(nodes_modes=["BRANCH_" + mode, "LEAF", "LEAF"] * 2, nodes_values=[1.0, 0.0, 0.0, 3.0, 0.0, 0.0],
                      nodes_missing_value_tracks_true=[missing, 0, 0, missing, 0, 0]), [T])
add("tree_ensemble_regressor", "several tests", R, regressor(nodes_modes=["BRANCH_LT", "LEAF", "LEAF", "BRANCH_GTE", "LEAF", "LEAF"]), [T])
add("tree_ensemble_regressor", "a threshold of NaN", R, regressor(nodes_values=[NAN, 0, 0, 1.0, 0, 0]), [T])
add("tree_ensemble_regressor", "a leaf without weight", R,
    regressor(target_nodeids=[1] * 4, nodes_values=[0.0, 3.0, 4.0, 1.0, 5.0, 6.0]), [T])
add("tree_ensemble_regressor", "two weights of a leaf", R, regressor(target_nodeids=[1, 2, 1, 1]), [T])
add("tree_ensemble_regressor", "two weights of a leaf, two targets", R, regressor(2, target_nodeids=[1, 2, 1, 1]), [T])
add("tree_ensemble_regressor", "a weight of an inner node", R, regressor(target_nodeids=[1, 2, 1, 0]), [T])
add("tree_ensemble_regressor", "a node that nothing leads to", R, regressor(nodes_truenodeids=[2, 0, 0, 1, 0, 0]), [T])
add("tree_ensemble_regressor", "trees in turns", R,
    regressor(nodes_treeids=[0, 1, 0, 0, 1, 1], nodes_nodeids=[0, 0, 1, 2, 1, 2], nodes_modes=["BRANCH_LEQ"] * 2 + ["LEAF"] * 4,
              nodes_truenodeids=[1, 1, 0, 0, 0, 0], nodes_falsenodeids=[2, 2, 0, 0, 0, 0]), [T])
add("tree_ensemble_regressor", "targets without weight ignore their base values", R,
    regressor(3, base_values=[1.0, 2.0, 3.0]), [T])
add("tree_ensemble_regressor", "float64", R, doubles(regressor(), "nodes_values", "target_weights"), [T.astype(F64)])
add("tree_ensemble_regressor", "float64 with base", R,
    doubles(regressor(base_values=[0.1]), "nodes_values", "target_weights", "base_values"), [T.astype(F64)])
BIG = np.array([[16777217, 2]], I64)
for dtype in (I64, I32):
    add("tree_ensemble_classifier", np.dtype(dtype).name, C, classifier([0] * 4, [5, 6], MIXED, nodes_values=[16777216.0, 0, 0, 1, 0, 0]),
        [BIG.astype(dtype)], 2)
add("tree_ensemble_classifier", "base of three classes", C, classifier([0, 1, 0, 1], [5, 6, 7], MIXED, base_values=[1.0, 2.0, 3.0]), [T], 2)
E1 = lambda title, text, **more: error("tree_ensemble_regressor", title, R, regressor(**more), [T], text)
E1("a cycle", "is part of a cycle", nodes_modes=["BRANCH_LEQ", "BRANCH_LEQ", "LEAF"] * 2, nodes_falsenodeids=[2, 2, 0] * 2)
E1("a node that leads to itself", "is part of a cycle", nodes_truenodeids=[0, 0, 0, 1, 0, 0])
E1("an absent node", "leads to node 9, which the tree does not have", nodes_truenodeids=[9, 0, 0, 1, 0, 0])
E1("a node of another tree", "tree 0 leads to node 3", nodes_nodeids=[0, 1, 2, 3, 4, 5], nodes_truenodeids=[3, 0, 0, 4, 0, 0],
   nodes_falsenodeids=[2, 0, 0, 5, 0, 0])
E1("a node twice", "has two nodes with id 1", nodes_nodeids=[0, 1, 1, 0, 1, 2])
E1("a feature that is not there", "tests feature 5, but input 0 has only 2", nodes_featureids=[0, 0, 0, 5, 0, 0])
E1("a negative feature", "which is no feature", nodes_featureids=[0, 0, 0, -1, 0, 0])
E1("a weight of an absent node", "target_nodeids[3] is 7, but tree 1 has no such node", target_nodeids=[1, 2, 1, 7])
E1("a target that is not there", "target_ids[3] is 4, which is not in [0, 1)", target_ids=[0, 0, 0, 4])
E1("a huge target", "which is not in [0, 1)", target_ids=[0, 0, 0, 1 << 62])
E1("lists of different lengths", "nodes_falsenodeids has 1 entries", nodes_falsenodeids=[1])
E1("values of another length", "nodes_values has 1 entries", nodes_values=[1.0])
E1("weights of another length", "target_weights has 1 entries", target_weights=[1.0])
E1("missing values of another length", "nodes_missing_value_tracks_true has 1", nodes_missing_value_tracks_true=[1])
E1("unknown test", "must be one of: BRANCH_LEQ", nodes_modes=["BRANCH_NEAR", "LEAF", "LEAF"] * 2)
E1("no targets", "must be at least 1", n_targets=0)
E1("very many targets", "", n_targets=1 << 62)
E1("no nodes", "must have 1 to", nodes_modes=[])
E1("base values", "must have none or 1", base_values=[1.0, 2.0])
error("tree_ensemble_regressor", "values twice", R, {**doubles(regressor(), "nodes_values"), "nodes_values": [0.0] * 6}, [T], "both given")
error("tree_ensemble_classifier", "no labels", C, nodes(), [T], "must have labels", 2)
error("tree_ensemble_classifier", "no class wins", C, classifier([0, 1, 0, 1], [5, 6, 7], MIXED, class_nodeids=[1, 1, 1, 1]), [T],
      "no leaf that row 0 reaches has a weight", 2)
error("tree_ensemble_classifier", "base values", C, classifier([0] * 4, [5, 6], MIXED, base_values=[1.0] * 3), [T], "at most 2", 2)

E = "TreeEnsemble"
V5_MODES = ["LEQ", "LT", "GTE", "GT", "EQ", "NEQ", "MEMBER"]


def tensor(values, dtype):
    return numpy_helper.from_array(np.array(values, dtype))


def ensemble(dtype=F32, modes=(0, 0), splits=(0.0, 1.0), targets=1, members=(), **more):
    """Two trees of one test and two leaves each."""
    sets = {"membership_values": tensor(members, dtype)} if members else {}
    return {**dict(
        nodes_featureids=[0, 1], nodes_modes=tensor(modes, np.uint8), nodes_splits=tensor(splits, dtype),
        nodes_truenodeids=[0, 2], nodes_falsenodeids=[1, 3], nodes_trueleafs=[1, 1], nodes_falseleafs=[1, 1], tree_roots=[0, 1],
        n_targets=targets, leaf_targetids=[0, 0, targets - 1, targets - 1], leaf_weights=tensor([0.25, -0.5, 0.125, 0.75], dtype)),
        **sets, **more}


FILE5 = "tree_ensemble_runtime"
for i, transform in ((0, "NONE"), (3, "SOFTMAX_ZERO"), (4, "PROBIT")):  # ONNX Runtime takes 1 and 2 for each other
    add(FILE5, "two targets, " + transform, E, ensemble(targets=2, post_transform=i), [T])
for i, join in enumerate(("AVERAGE", "SUM", "MIN", "MAX")):
    for targets in (1, 2):
        add(FILE5, "%s, %d targets" % (join, targets), E, ensemble(targets=targets, aggregate_function=i), [T])
TIES = np.array([[1, 3], [2, 2], [NAN, NAN], [0, 7], [0.5, 4]], F32)
for i, mode in enumerate(V5_MODES):
    sets = {"members": [1.0, 2.0, 0.5, NAN, 3.0, NAN]} if mode == "MEMBER" else {}
    for missing in ([], [0, 0], [1, 1], [0, 1]):
        for dtype in (F32, F64):
            tracks = {"nodes_missing_value_tracks_true": missing} if missing else {}
            add(FILE5, "%s, missing values pass: %s, %s" % (mode, missing, np.dtype(dtype).name), E,
                ensemble(dtype, (i, i), (1.0, 3.0), **sets, **tracks), [TIES.astype(dtype)])
add(FILE5, "float64 thresholds next to the features", E, ensemble(F64, (0, 1), (1 / 3, 2 / 3)),
    [np.array([[1 / 3, 2 / 3], [np.nextafter(1 / 3, 1), np.nextafter(2 / 3, 0)], [np.nextafter(1 / 3, 0), np.nextafter(2 / 3, 1)]])])
add(FILE5, "large and negative members", E, ensemble(modes=(6, 6), members=[-7.0, 1000.0, NAN, 0.0, 64.0, 31.0, NAN]),
    [np.array([[-7, 64], [1000, 31], [7, 0], [0, -1]], F32)])

# ---- Support vector machines --------------------------------------------------------------------
random = np.random.RandomState(5)


def rand(n):
    return [float(F32(x)) for x in np.round(random.standard_normal(n) * 8) / 8]


def svm(kernel, classes, per_class, proba=False, **more):
    vectors, pairs = sum(per_class), classes * (classes - 1) // 2
    out = {"kernel_type": kernel, "kernel_params": [0.25, 0.5, 3.0], "support_vectors": rand(2 * vectors), "rho": rand(pairs),
           "coefficients": rand((classes - 1) * vectors), "vectors_per_class": per_class,
           "classlabels_ints": list(range(3, 3 + classes))}
    if proba:
        out.update(prob_a=[-abs(x) - 0.5 for x in rand(pairs)], prob_b=rand(pairs))
    return {**out, **more}


S = np.array([[1, 2], [-3, 0.5], [0, 0], [0.25, -1]], F32)
for kernel in ("LINEAR", "POLY", "RBF", "SIGMOID"):
    add("svm_regressor", kernel, "SVMRegressor", {"kernel_type": kernel, "kernel_params": [0.25, 0.5, 3.0], "support_vectors": rand(6),
        "coefficients": rand(3), "rho": [0.5], "n_supports": 3}, [S])
    for proba in (False, True):
        for classes, per_class in ((2, [2, 1]), (3, [2, 1, 3]), (4, [1, 0, 2, 2])):
            add("svm_classifier", "%s, %d classes%s" % (kernel, classes, ", probabilities" if proba else ""), "SVMClassifier",
                svm(kernel, classes, per_class, proba), [S], 2)
for transform in TRANSFORMS:
    if transform != "PROBIT":
        add("svm_classifier", "two classes, " + transform, "SVMClassifier", svm("RBF", 2, [2, 1], post_transform=transform), [S], 2)
    add("svm_classifier", "three classes, " + transform, "SVMClassifier", svm("RBF", 3, [2, 1, 1], post_transform=transform), [S], 2)
    add("svm_classifier", "linear, three classes, " + transform, "SVMClassifier",
        {"coefficients": rand(6), "rho": [0.25], "kernel_params": [], "classlabels_strings": ["a", "b", "c"], "post_transform": transform}, [S], 2)
for coefficients in ([0.5, 0.25, 0.125, 0.5], [-0.5, 0.25, 0.125, 0.5]):
    add("svm_classifier", "linear, two classes, %s" % coefficients, "SVMClassifier",
        {"coefficients": coefficients, "rho": [0.25], "kernel_params": [0.0, 0.0, 0.0], "classlabels_ints": [5, 6]}, [S], 2)
for dtype in (F64, I64, I32):
    add("svm_classifier", np.dtype(dtype).name, "SVMClassifier", svm("RBF", 2, [2, 1]), [WHOLE.astype(dtype)], 2)
add("svm_regressor", "linear", "SVMRegressor", {"coefficients": [0.5, -0.25], "rho": [0.5], "kernel_params": []}, [S])
add("svm_regressor", "one class", "SVMRegressor", {"kernel_type": "RBF", "kernel_params": [0.5, 0.0, 3.0], "support_vectors": rand(6),
    "coefficients": [0.5, 0.5, 0.25], "rho": [-0.25], "n_supports": 3, "one_class": 1}, [S])
add("svm_regressor", "a vector", "SVMRegressor", {"coefficients": [0.5, -0.25], "rho": [0.5], "kernel_params": []}, [S[0]])
GOOD = {"support_vectors": [1.0] * 6, "coefficients": [1.0] * 3, "rho": [0.5], "n_supports": 3, "kernel_type": "RBF",
        "kernel_params": [0.5, 0.0, 3.0]}
error("svm_regressor", "huge count", "SVMRegressor", {**GOOD, "n_supports": 1 << 62}, [S], "4611686018427387904 support vectors")
error("svm_regressor", "coefficients", "SVMRegressor", {**GOOD, "coefficients": [1.0]}, [S], "1 numbers, but there are 3")
error("svm_regressor", "vectors", "SVMRegressor", {**GOOD, "n_supports": 4, "coefficients": [1.0] * 4}, [S], "cannot share equally")
error("svm_regressor", "parameters", "SVMRegressor", {**GOOD, "kernel_params": [0.5]}, [S], "must have gamma, coef0 and degree")
error("svm_regressor", "features", "SVMRegressor", GOOD, [np.zeros((2, 3), F32)], "another length")
error("svm_regressor", "rho", "SVMRegressor", {**GOOD, "rho": []}, [S], "at least one number")
error("svm_classifier", "rho", "SVMClassifier", svm("RBF", 3, [1, 1, 1], rho=[0.5]), [S], "3 pairs of classes", 2)
error("svm_classifier", "coefficients", "SVMClassifier", svm("RBF", 3, [1, 1, 1], coefficients=[0.5]), [S], "need more", 2)
error("svm_classifier", "probabilities", "SVMClassifier", svm("RBF", 3, [1, 1, 1], prob_a=[0.5], prob_b=[0.5]), [S], "3 pairs", 2)
error("svm_classifier", "vectors", "SVMClassifier", svm("RBF", 3, [1, 1, 1], vectors_per_class=[1, 1]), [S], "3 class labels", 2)
error("svm_classifier", "a negative count", "SVMClassifier", svm("RBF", 3, [1, 1, 1], vectors_per_class=[1, -1, 3]), [S],
      "is no number of vectors", 2)
error("svm_classifier", "huge counts", "SVMClassifier", svm("RBF", 3, [1, 1, 1], vectors_per_class=[1 << 62, 1 << 62, 0]), [S],
      "is no number of vectors", 2)
error("svm_classifier", "no labels", "SVMClassifier", svm("RBF", 2, [1, 1], classlabels_ints=[]), [S], "there are 0 class labels", 2)


# ---- Writing ------------------------------------------------------------------------------------
def make_node(op, attrs, inputs, outputs):
    names = ["x%d" % i for i in range(len(inputs))]
    made = helper.make_node(op, names, ["y%d" % i for i in range(outputs)], domain="ai.onnx.ml")
    for name, value in attrs.items():
        if value == []:
            kind = onnx.AttributeProto.FLOATS if name in ("kernel_params", "rho") else onnx.AttributeProto.INTS
            made.attribute.append(onnx.AttributeProto(name=name, type=kind))
        else:
            made.attribute.append(helper.make_attribute(name, value))
    return made


def runtime(node, op, inputs, outputs):
    given = [helper.make_tensor_value_info(n, CODES[type_of(x)], x.shape) for n, x in zip(node.input, inputs)]
    graph = helper.make_graph([node], "g", given, [onnx.ValueInfoProto(name=n) for n in node.output])
    model = helper.make_model(graph, ir_version=9, opset_imports=[
        helper.make_opsetid("", 20), helper.make_opsetid("ai.onnx.ml", VERSIONS.get(op, 1))])
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    feed = {n: x.astype(object) if x.dtype.kind == "U" else x for n, x in zip(node.input, inputs)}
    return [np.asarray(x) for x in session.run(None, feed)]


def head(title, op, node, inputs):
    lines = ["case: " + title, "op: ai.onnx.ml:%s %d" % (op, VERSIONS.get(op, 1))]
    for a in node.attribute:
        lines += attribute_lines(a)
    for x in inputs:
        lines += tensor_lines("in:", x, type_of(x))
    return lines


def write(folder, file, rows, errors):
    lines = ["# Written by ml_cases.py; values of ONNX Runtime."]
    for title, op, attrs, inputs, outputs in rows:
        node = make_node(op, attrs, inputs, outputs)
        try:
            results = runtime(node, op, inputs, outputs)
        except Exception as e:
            print("%s, %s: %s" % (file, title, str(e).split("\n")[0][:160]))
            continue
        lines += head(title, op, node, inputs)
        for y in results:
            lines += tensor_lines("out:", y, type_of(y))
        lines += ["tolerance: 1e-5", ""]
    for title, op, attrs, inputs, outputs, text in errors:
        lines += head(title, op, make_node(op, attrs, inputs, outputs), inputs)
        lines += ["error: " + text, "outputs: %d" % outputs, ""]
    with open(os.path.join(folder, file + ".txt"), "w") as f:
        f.write("\n".join(lines).rstrip() + "\n")


def random_tree(r, tree, count, first):
    """The lists of one tree with `count` tests over three features; node ids are shuffled."""
    open_leaves, rows = [0], {0: None}
    while len(rows) < 2 * count + 1:
        at = open_leaves.pop(r.randint(len(open_leaves)))
        children = (len(rows), len(rows) + 1)
        rows[at] = children
        rows.update({c: None for c in children})
        open_leaves += children
    ids = [0] + [int(i) + 1 for i in r.permutation(2 * count)]
    return [(tree, ids[i], rows[i] and [ids[c] for c in rows[i]]) for i in range(2 * count + 1)]


def random_forest(r, op):
    classes = op == C
    targets = int(r.randint(1, 5))
    if classes and targets == 1:
        targets = 2
    modes = ["LEQ", "LT", "GTE", "GT", "EQ", "NEQ"]
    one = modes[r.randint(6)] if r.rand() < 0.7 else None
    trees = [n for t in range(r.randint(1, 6)) for n in random_tree(r, t, r.randint(0, 8), 0)]
    leaves = [(t, i) for t, i, children in trees if not children]
    key = "class" if classes else "target"
    weights = [(t, i, int(k)) for t, i in leaves for k in (range(targets) if r.rand() < 0.5 else [r.randint(targets)])]
    values = np.round(r.standard_normal(len(trees)) * 2) / 2
    signs = np.abs if r.rand() < 0.5 else (lambda x: x)
    attrs = dict(
        nodes_treeids=[n[0] for n in trees], nodes_nodeids=[n[1] for n in trees],
        nodes_featureids=[int(r.randint(3)) if n[2] else 0 for n in trees], nodes_values=[float(v) for v in values],
        nodes_modes=["BRANCH_" + (one or modes[r.randint(6)]) if n[2] else "LEAF" for n in trees],
        nodes_truenodeids=[n[2][0] if n[2] else 0 for n in trees], nodes_falsenodeids=[n[2][1] if n[2] else 0 for n in trees],
        post_transform=TRANSFORMS[r.randint(4)])
    attrs.update({key + "_treeids": [w[0] for w in weights], key + "_nodeids": [w[1] for w in weights],
                  key + "_ids": [w[2] for w in weights],
                  key + "_weights": [float(F32(v)) for v in signs(np.round(r.standard_normal(len(weights)) * 32) / 32)]})
    if r.rand() < 0.5:
        attrs["nodes_missing_value_tracks_true"] = [int(r.randint(2)) if n[2] else 0 for n in trees]
    if r.rand() < 0.4:
        attrs["base_values"] = [float(F32(x)) for x in r.standard_normal(targets)]
    if classes:
        attrs["classlabels_int64s"] = [int(x) for x in r.randint(-50, 50, targets)]
    else:
        attrs.update(n_targets=targets, aggregate_function=["SUM", "AVERAGE", "MIN", "MAX"][r.randint(4)])
    x = np.round(r.standard_normal((r.randint(1, 9), 3)) * 2).astype(F32) / 2
    x[r.rand(*x.shape) < 0.1] = np.nan
    return attrs, [x], 2 if classes else 1


def random_ensemble(r, op):
    """TreeEnsemble with tests of all modes, and sets."""
    dtype, targets = (F32, F64)[r.randint(2)], int(r.randint(1, 4))
    one = int(r.randint(7)) if r.rand() < 0.5 else None
    tests, leaves, members = [], [], {}

    def grow(depth):
        at = len(tests)
        mode = one if one is not None else int(r.randint(7))
        tests.append([mode, int(r.randint(3)), float(np.round(r.standard_normal() * 2) / 2), None, None])
        if mode == 6:
            members[at] = [float(v) for v in 1 + r.permutation(5)[:r.randint(1, 5)]]  # more than ONNX Runtime takes are few
        for side in (3, 4):
            if depth < 5 and r.rand() < 0.7:
                tests[at][side] = (grow(depth + 1), 0)
            else:
                leaves.append((int(r.randint(targets)), float(F32(np.round(r.standard_normal() * 32) / 32))))
                tests[at][side] = (len(leaves) - 1, 1)
        return at

    roots = [grow(0) for _ in range(r.randint(1, 6))]
    sets = [v for i in sorted(members) for v in members[i] + [NAN]]
    attrs = dict(
        nodes_modes=tensor([t[0] for t in tests], np.uint8), nodes_featureids=[t[1] for t in tests],
        nodes_splits=tensor([t[2] for t in tests], dtype), tree_roots=roots,
        nodes_truenodeids=[t[3][0] for t in tests], nodes_trueleafs=[t[3][1] for t in tests],
        nodes_falsenodeids=[t[4][0] for t in tests], nodes_falseleafs=[t[4][1] for t in tests], n_targets=targets,
        leaf_targetids=[leaf[0] for leaf in leaves], leaf_weights=tensor([leaf[1] for leaf in leaves], dtype),
        aggregate_function=int(r.randint(4)), post_transform=[0, 3][r.randint(2)] if targets > 1 else 0)
    if sets:
        attrs["membership_values"] = tensor(sets, dtype)
    if r.rand() < 0.5:
        attrs["nodes_missing_value_tracks_true"] = [int(r.randint(2)) for _ in tests]
    x = np.round(r.standard_normal((r.randint(1, 12), 3)) * 2).astype(dtype) / 2
    if members:
        x = np.abs(np.round(x * 2))
    x[r.rand(*x.shape) < 0.1] = np.nan
    return attrs, [x], 1


def random_svm(r, op):
    global random
    random = r
    x = [np.round(r.standard_normal((r.randint(1, 5), 2)) * 8).astype(F32) / 8]
    classes = int(r.randint(2, 6))
    per_class = [int(v) for v in r.randint(1, 4, classes)]
    kernel = ["LINEAR", "POLY", "RBF", "SIGMOID"][r.randint(4)]
    return svm(kernel, classes, per_class, r.rand() < 0.5, post_transform=TRANSFORMS[r.randint(4)]), x, 2


def random_cases(count, folder):
    for file, op, make in (("tree_ensemble_regressor", R, random_forest), ("tree_ensemble_classifier", C, random_forest),
                           ("tree_ensemble_runtime", E, random_ensemble),
                           ("svm_classifier", "SVMClassifier", random_svm)):
        rows = []
        for seed in range(count):
            attrs, inputs, outputs = make(np.random.RandomState(seed), op)
            rows.append(("seed %d" % seed, op, attrs, inputs, outputs))
        write(folder, file, rows, [])


def main():
    onnxruntime.set_default_logger_severity(4)
    if sys.argv[1:2] == ["--random"]:
        return random_cases(int(sys.argv[2]), sys.argv[3])
    for file in sys.argv[1:] or sorted(set(ROWS) | set(ERRORS)):
        write(HERE, file, ROWS.get(file, []), ERRORS.get(file, []))


if __name__ == "__main__":
    main()
