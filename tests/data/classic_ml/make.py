#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes small exports of classic models, with inputs and the libraries' own results.

    make.py            needs scikit-learn, skl2onnx, xgboost (or xgboost-cpu), lightgbm, onnxmltools

For each pipeline NAME: NAME.onnx, and in results.json its inputs and what the library predicts. Rows of inputs are new to
the model. `tolerance` is larger where the library computes in float64 and the export in float32.
"""
import json
import os
import warnings

import numpy as np
import onnx
import onnxruntime
from sklearn import datasets, ensemble, linear_model, naive_bayes, neighbors, neural_network, preprocessing, svm, tree
from sklearn.calibration import CalibratedClassifierCV
from sklearn.cross_decomposition import PLSRegression
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.feature_extraction import DictVectorizer
from sklearn.feature_selection import SelectKBest, VarianceThreshold
from sklearn.impute import SimpleImputer
from sklearn.cluster import KMeans
from sklearn.multiclass import OneVsRestClassifier
from sklearn.multioutput import MultiOutputRegressor
from sklearn.pipeline import make_pipeline, make_union
from skl2onnx import convert_sklearn, to_onnx, update_registered_converter
from skl2onnx.common.data_types import DictionaryType, FloatTensorType, Int64TensorType, StringTensorType
from skl2onnx.common.shape_calculator import (calculate_linear_classifier_output_shapes,
                                              calculate_linear_regressor_output_shapes)

warnings.filterwarnings("ignore")
HERE = os.path.dirname(os.path.abspath(__file__))
OPSET = {"": 17, "ai.onnx.ml": 3}
MOST_BYTES = 20000
F32 = np.float32
RESULTS, FAILED = {}, []

X3, Y3 = datasets.make_classification(300, 6, n_informative=5, n_redundant=0, n_classes=3, random_state=1)
X2, Y2 = datasets.make_classification(300, 6, n_informative=4, random_state=2)
XR, YR = datasets.make_regression(300, 6, n_informative=4, noise=1.0, random_state=3)
X3, X2, XR = X3.astype(F32), X2.astype(F32), XR.astype(F32)
YR = (YR / np.std(YR)).astype(F32)
YM = np.stack([YR, YR * 0.5 + XR[:, 0]], 1)
TEXT3, TEXT2 = np.array(["ant", "bee", "cat"])[Y3], np.array(["no", "yes"])[Y2]
HOLES = X3.copy()
HOLES[np.random.RandomState(0).rand(*HOLES.shape) < 0.1] = np.nan
WORDS = np.array([["red", "s"], ["blue", "m"], ["red", "l"], ["green", "m"], ["blue", "s"], ["green", "l"]] * 20)
COUNTS = np.random.RandomState(1).randint(0, 5, (120, 3)).astype(np.int64)


def register_boosters():
    from lightgbm import LGBMClassifier, LGBMRegressor
    from onnxmltools.convert.lightgbm.operator_converters.LightGbm import convert_lightgbm
    from onnxmltools.convert.xgboost.operator_converters.XGBoost import convert_xgboost
    from xgboost import XGBClassifier, XGBRegressor
    options = {"nocl": [True, False], "zipmap": [True, False, "columns"]}
    for cls, convert, name in ((LGBMClassifier, convert_lightgbm, "LightGbm"), (XGBClassifier, convert_xgboost, "XGBoost")):
        update_registered_converter(cls, name + cls.__name__, calculate_linear_classifier_output_shapes, convert, options=options)
    for cls, convert, name in ((LGBMRegressor, convert_lightgbm, "LightGbm"), (XGBRegressor, convert_xgboost, "XGBoost")):
        update_registered_converter(cls, name + cls.__name__, calculate_linear_regressor_output_shapes, convert,
                                    options={"split": None} if "LGBM" in cls.__name__ else None)


def plain(array):
    a = np.asarray(array)
    if a.dtype.kind in "OU":
        return {"dtype": "string", "shape": list(a.shape), "data": [str(v) for v in a.ravel()]}
    kind = "int64" if a.dtype.kind in "iub" else "float32"
    data = [int(v) if kind == "int64" else float(F32(v)) for v in a.ravel()]
    return {"dtype": kind, "shape": list(a.shape), "data": [None if isinstance(v, float) and np.isnan(v) else v for v in data]}


def predictions(model, rows):
    """The library's results in the order of the export's outputs: labels and probabilities, or values."""
    if hasattr(model, "predict_proba"):
        return [model.predict(rows), model.predict_proba(rows)]
    if hasattr(model, "decision_function") and hasattr(model, "classes_"):
        return [model.predict(rows), None]
    if hasattr(model, "predict"):
        return [model.predict(rows)]
    found = model.transform(rows)
    return [found.toarray() if hasattr(found, "toarray") else found]


def save(name, onx, feed, wanted, tolerance):
    data = onx.SerializeToString()
    if len(data) > MOST_BYTES:
        raise ValueError("%d bytes" % len(data))
    with open(os.path.join(HERE, name + ".onnx"), "wb") as f:
        f.write(data)
    RESULTS[name] = {"inputs": {k: plain(v) for k, v in feed.items()},
                     "outputs": [None if w is None else plain(w) for w in wanted], "tolerance": tolerance}


def add(name, model, x, y=None, rows=None, zipmap=False, tolerance=1e-4, types=None, feed=None, **options):
    try:
        model.fit(x[:-10], None if y is None else y[:-10])
        rows = x[-7:] if rows is None else rows
        last = model.steps[-1][1] if hasattr(model, "steps") else model
        if hasattr(model, "predict_proba") or (hasattr(model, "classes_") and hasattr(model, "predict")):
            options["zipmap"] = zipmap
        types = types or [("X", FloatTensorType([None, x.shape[1]]))]
        onx = convert_sklearn(model, initial_types=types, options={id(last): options} if options else None, target_opset=OPSET)
        wanted = predictions(model, rows)
        save(name, onx, feed(rows) if feed else {"X": rows}, wanted, tolerance)
    except Exception as e:  # a pipeline that a library of this version cannot export
        FAILED.append("%s: %s" % (name, str(e).split("\n")[0][:120]))


def linear_models():
    for name, labels in (("int", Y3), ("text", TEXT3)):
        add("logistic_3_" + name, linear_model.LogisticRegression(), X3, labels)
    add("logistic_2_text_map", linear_model.LogisticRegression(), X2, TEXT2, zipmap=True)
    add("logistic_3_int_map", linear_model.LogisticRegression(), X3, Y3, zipmap=True)
    add("logistic_ovr", OneVsRestClassifier(linear_model.LogisticRegression()), X3, Y3)
    add("ridge_classifier", linear_model.RidgeClassifier(), X2, Y2)
    add("sgd_classifier", linear_model.SGDClassifier(loss="log_loss", random_state=0), X3, Y3)
    add("perceptron", linear_model.Perceptron(random_state=0), X2, TEXT2)
    add("linear_svc", OneVsRestClassifier(linear_model.SGDClassifier(loss="hinge", random_state=0)), X3, Y3)
    add("lda", LinearDiscriminantAnalysis(), X3, Y3)
    for name, model, y in (("linear_regression", linear_model.LinearRegression(), YR), ("linear_two", linear_model.LinearRegression(), YM),
                           ("ridge", linear_model.Ridge(), YR), ("lasso", linear_model.Lasso(0.01), YR),
                           ("elastic_net", linear_model.ElasticNet(0.01), YR), ("huber", linear_model.HuberRegressor(), YR),
                           ("bayesian_ridge", linear_model.BayesianRidge(), YR), ("pls", PLSRegression(2), YM),
                           ("sgd_regressor", linear_model.SGDRegressor(random_state=0), YR),
                           ("poisson", linear_model.PoissonRegressor(), np.abs(YR))):
        add(name, model, XR, y)


def trees():
    add("tree_3_int", tree.DecisionTreeClassifier(max_depth=4, random_state=0), X3, Y3)
    add("tree_3_text_map", tree.DecisionTreeClassifier(max_depth=4, random_state=0), X3, TEXT3, zipmap=True)
    add("tree_2", tree.DecisionTreeClassifier(max_depth=3, random_state=0), X2, Y2)
    add("tree_regressor", tree.DecisionTreeRegressor(max_depth=5, random_state=0), XR, YR)
    add("tree_two_targets", tree.DecisionTreeRegressor(max_depth=4, random_state=0), XR, YM)
    small = {"n_estimators": 8, "max_depth": 4, "random_state": 0}
    add("forest_3", ensemble.RandomForestClassifier(**{**small, "max_depth": 3}), X3, Y3)
    add("forest_2_text", ensemble.RandomForestClassifier(**small), X2, TEXT2)
    add("forest_regressor", ensemble.RandomForestRegressor(**small), XR, YR)
    add("forest_two_targets", ensemble.RandomForestRegressor(**{**small, "n_estimators": 6}), XR, YM)
    add("extra_trees", ensemble.ExtraTreesClassifier(**{**small, "max_depth": 3}), X3, Y3)
    add("extra_trees_regressor", ensemble.ExtraTreesRegressor(**small), XR, YR)
    add("gradient_2", ensemble.GradientBoostingClassifier(n_estimators=10, max_depth=3, random_state=0), X2, Y2)
    add("gradient_3", ensemble.GradientBoostingClassifier(n_estimators=5, max_depth=3, random_state=0), X3, Y3)
    add("gradient_regressor", ensemble.GradientBoostingRegressor(n_estimators=10, max_depth=3, random_state=0), XR, YR)
    add("ada_boost", ensemble.AdaBoostClassifier(tree.DecisionTreeClassifier(max_depth=2), n_estimators=4, random_state=0), X2, Y2)
    add("bagging", ensemble.BaggingClassifier(tree.DecisionTreeClassifier(max_depth=3), 4, random_state=0), X3, Y3)
    add("isolation_forest", ensemble.IsolationForest(n_estimators=3, max_samples=16, random_state=0), X2)


def boosters():
    from lightgbm import LGBMClassifier, LGBMRegressor
    from xgboost import XGBClassifier, XGBRegressor
    quiet = {"n_estimators": 8, "verbose": -1, "num_leaves": 8, "random_state": 0}
    add("lightgbm_2", LGBMClassifier(**quiet), X2, Y2)
    add("lightgbm_3", LGBMClassifier(**{**quiet, "n_estimators": 4}), X3, Y3)
    add("lightgbm_3_map", LGBMClassifier(**{**quiet, "n_estimators": 4}), X3, Y3, zipmap=True)
    add("lightgbm_regressor", LGBMRegressor(**quiet), XR, YR)
    add("lightgbm_holes", LGBMClassifier(**{**quiet, "n_estimators": 4}), HOLES, Y3)
    add("xgboost_2", XGBClassifier(n_estimators=8, max_depth=3), X2, Y2)
    add("xgboost_3", XGBClassifier(n_estimators=5, max_depth=3), X3, Y3)
    add("xgboost_3_map", XGBClassifier(n_estimators=5, max_depth=3), X3, Y3, zipmap=True)
    add("xgboost_regressor", XGBRegressor(n_estimators=8, max_depth=3), XR, YR)
    add("xgboost_holes", XGBRegressor(n_estimators=8, max_depth=3), HOLES, Y3.astype(F32))
    add("xgboost_scaled", make_pipeline(preprocessing.StandardScaler(), XGBRegressor(n_estimators=6, max_depth=3)), XR, YR)


def vector_machines():
    few2, few3, fewr = slice(0, 60), slice(0, 60), slice(0, 60)
    for kernel in ("linear", "poly", "rbf", "sigmoid"):
        add("svc_2_" + kernel, svm.SVC(kernel=kernel), X2[few2], Y2[few2], rows=X2[100:107])
        add("svr_" + kernel, svm.SVR(kernel=kernel), XR[fewr], YR[fewr], rows=XR[100:107], tolerance=1e-3)
    add("svc_3_rbf_text", svm.SVC(), X3[few3], TEXT3[few3], rows=X3[100:107])
    add("svc_3_proba", svm.SVC(probability=True, random_state=0), X3[few3], Y3[few3], rows=X3[100:107], tolerance=1e-3)
    add("svc_2_proba", svm.SVC(probability=True, random_state=0), X2[few2], TEXT2[few2], rows=X2[100:107], tolerance=1e-3)
    add("nu_svc", svm.NuSVC(kernel="rbf"), X3[few3], Y3[few3], rows=X3[100:107])
    add("nu_svr", svm.NuSVR(), XR[fewr], YR[fewr], rows=XR[100:107], tolerance=1e-3)
    add("one_class_svm", svm.OneClassSVM(), X2[few2], rows=X2[100:107])
    add("calibrated_svc", CalibratedClassifierCV(svm.LinearSVC(random_state=0), cv=2), X2, Y2)


def transformers():
    for name, model in (("standard_scaler", preprocessing.StandardScaler()), ("min_max_scaler", preprocessing.MinMaxScaler()),
                        ("robust_scaler", preprocessing.RobustScaler()), ("max_abs_scaler", preprocessing.MaxAbsScaler()),
                        ("normalizer_l1", preprocessing.Normalizer("l1")), ("normalizer_l2", preprocessing.Normalizer("l2")),
                        ("binarizer", preprocessing.Binarizer(threshold=0.5)), ("polynomial", preprocessing.PolynomialFeatures(2)),
                        ("pca", PCA(3)), ("svd", TruncatedSVD(3, random_state=0)), ("variance", VarianceThreshold(0.1)),
                        ("bins", preprocessing.KBinsDiscretizer(3, encode="onehot-dense")),
                        ("power", preprocessing.PowerTransformer())):
        add(name, model, X3)
    add("imputer_mean", SimpleImputer(), HOLES)
    add("imputer_constant", SimpleImputer(strategy="constant", fill_value=2.5), HOLES)
    add("select_k_best", SelectKBest(k=2), X3, Y3)
    words = [("X", StringTensorType([None, 2]))]
    add("one_hot_text", preprocessing.OneHotEncoder(handle_unknown="ignore"), WORDS, rows=np.array([["red", "m"], ["pink", "s"]]), types=words)
    add("ordinal_text", preprocessing.OrdinalEncoder(), WORDS, types=words)
    add("one_hot_int", preprocessing.OneHotEncoder(handle_unknown="ignore"), COUNTS, types=[("X", Int64TensorType([None, 3]))])
    records = [{"a": 1.0, "b": 2.0}, {"b": 0.5, "c": 3.0}]
    try:
        model = DictVectorizer(sparse=False).fit(records)
        onx = convert_sklearn(model, initial_types=[("X", DictionaryType(StringTensorType([1]), FloatTensorType([1])))],
                              target_opset=OPSET)
        save("dict_vectorizer", onx, {"X[keys]": np.array(["b", "c"]), "X[values]": np.array([0.5, 3.0], F32)},
             [model.transform([records[1]])], 1e-6)
    except Exception as e:
        FAILED.append("dict_vectorizer: %s" % e)


def cast_map():
    """The operator alone, because no converter writes it; ONNX Runtime gives the values."""
    kind = onnx.TypeProto()
    kind.map_type.key_type = onnx.TensorProto.INT64
    kind.map_type.value_type.tensor_type.elem_type = onnx.TensorProto.FLOAT
    feed = {3: 0.5, 0: -2.25, 5: 7.0}
    node = onnx.helper.make_node("CastMap", ["X"], ["Y"], domain="ai.onnx.ml", cast_to="TO_FLOAT", map_form="SPARSE", max_map=7)
    graph = onnx.helper.make_graph([node], "cast_map", [onnx.helper.make_value_info("X", kind)], [onnx.helper.make_tensor_value_info("Y", 1, [1, 7])])
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 21), onnx.helper.make_opsetid("ai.onnx.ml", 1)], ir_version=10)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    save("cast_map", model, {"X[keys]": np.array(list(feed), np.int64), "X[values]": np.array(list(feed.values()), F32)}, session.run(None, {"X": feed}), 1e-6)


def pipelines():
    scaled = preprocessing.StandardScaler
    add("imputed_scaled_logistic_map", make_pipeline(SimpleImputer(), scaled(), linear_model.LogisticRegression()), HOLES, TEXT3, zipmap=True)
    add("scaled_svc", make_pipeline(scaled(), svm.SVC()), X3[:60], Y3[:60], rows=X3[100:107])
    add("scaled_mlp", make_pipeline(scaled(), neural_network.MLPClassifier(hidden_layer_sizes=(8,), max_iter=50, random_state=0)), X3, Y3)
    add("mlp_regressor", neural_network.MLPRegressor(hidden_layer_sizes=(8,), max_iter=50, random_state=0), XR, YR)
    add("union_forest", make_pipeline(make_union(scaled(), PCA(2)), ensemble.RandomForestClassifier(5, max_depth=3, random_state=0)), X3, Y3)
    add("normalized_neighbors", make_pipeline(preprocessing.Normalizer(), neighbors.KNeighborsClassifier(3)), X3[:40], Y3[:40], rows=X3[100:107])
    add("gaussian_bayes", naive_bayes.GaussianNB(), X3, Y3)
    add("bernoulli_bayes", make_pipeline(preprocessing.Binarizer(), naive_bayes.BernoulliNB()), X3, TEXT3)
    add("k_means", KMeans(3, n_init=2, random_state=0), X3)
    add("multi_output", MultiOutputRegressor(linear_model.Ridge()), XR, YM)
    words = [("X", StringTensorType([None, 2]))]
    add("one_hot_logistic", make_pipeline(preprocessing.OneHotEncoder(handle_unknown="ignore"), linear_model.LogisticRegression()),
        WORDS, np.array(["p", "q", "p", "r", "q", "r"] * 20), types=words, zipmap=True)


def main():
    register_boosters()
    for part in (linear_models, trees, boosters, vector_machines, transformers, cast_map, pipelines):
        part()
    with open(os.path.join(HERE, "results.json"), "w") as f:
        f.write("{\n" + ",\n".join('"%s": %s' % (k, json.dumps(v, separators=(",", ":"))) for k, v in sorted(RESULTS.items())) + "\n}\n")
    print("%d pipelines" % len(RESULTS))
    for line in FAILED:
        print("not exported:", line)


if __name__ == "__main__":
    main()
