#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Classic machine learning beside ONNX Runtime: classic.py PROGRAM [SECONDS] [NAME...]

Each model runs with batches of 1 and 1000 rows; `PROGRAM bench` measures both sides in slices of random order, on one processor, for SECONDS
(default 0.4). Models: the exports of tests/data/classic_ml that have trees or support vectors, and larger ones that are trained here if
scikit-learn, XGBoost, LightGBM and their converters can be imported, also as kinds of forests that these do not write (tree_variants.py). Medians in microseconds; the factor is ONNX Runtime's time over ours."""
import glob
import json
import math
import os
import subprocess
import tempfile

import onnx

import tree_variants
from words import words

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tests", "data", "classic_ml")
GIVEN = words(__doc__, 1)
PROGRAM, SECONDS, NAMES = GIVEN[0], GIVEN[1] if len(GIVEN) > 1 else "0.4", GIVEN[2:]
FEATURES = 30
ROWS = (1, 1000)


def operators(model):
    return {n.op_type for n in model.graph.node}


def exports():
    for path in sorted(glob.glob(os.path.join(FOLDER, "*.onnx"))):
        model = onnx.load(path)
        if any(op.startswith(("TreeEnsemble", "SVM")) for op in operators(model)) and len(model.graph.input) == 1:
            yield os.path.basename(path)[:-5], path


def trained(folder):
    """Ensembles of 100 trees, and of 8, on 30 features."""
    import lightgbm
    import numpy as np
    import xgboost
    from onnxmltools.convert import convert_lightgbm, convert_xgboost
    from onnxmltools.convert.common.data_types import FloatTensorType
    from skl2onnx import to_onnx
    from sklearn import ensemble, svm

    random = np.random.default_rng(3)
    x = random.standard_normal((2000, FEATURES)).astype(np.float32)
    y = (x[:, 0] * x[:, 1] + x[:, 2] + 0.1 * random.standard_normal(2000)).astype(np.float32)
    classes = np.digitize(y, [-0.7, 0.7])
    kind = [("X", FloatTensorType([None, FEATURES]))]
    plain = {"zipmap": False}
    makers = {
        "forest of 100, 3 classes, depth 10": lambda: to_onnx(ensemble.RandomForestClassifier(100, max_depth=10, random_state=0).fit(x, classes), x[:1], options=plain),
        "forest of 100, text labels, depth 10": lambda: to_onnx(ensemble.RandomForestClassifier(100, max_depth=10, random_state=0).fit(x, np.array(["a", "b", "c"])[classes]), x[:1], options=plain),
        "forest regressor of 100, depth 12": lambda: to_onnx(ensemble.RandomForestRegressor(100, max_depth=12, random_state=0).fit(x, y), x[:1]),
        "gradient boosting of 100, depth 4": lambda: to_onnx(ensemble.GradientBoostingRegressor(n_estimators=100, max_depth=4, random_state=0).fit(x, y), x[:1]),
        "XGBoost of 100, 3 classes, depth 6": lambda: convert_xgboost(xgboost.XGBClassifier(n_estimators=100, max_depth=6).fit(x, classes), initial_types=kind),
        "XGBoost regressor of 100, depth 6": lambda: convert_xgboost(xgboost.XGBRegressor(n_estimators=100, max_depth=6).fit(x, y), initial_types=kind),
        "LightGBM of 100, 3 classes, 31 leaves": lambda: convert_lightgbm(lightgbm.LGBMClassifier(n_estimators=100, verbose=-1).fit(x, classes), initial_types=kind, zipmap=False),
        "LightGBM regressor of 100, 31 leaves": lambda: convert_lightgbm(lightgbm.LGBMRegressor(n_estimators=100, verbose=-1).fit(x, y), initial_types=kind),
        "SVC, radial, 3 classes": lambda: to_onnx(svm.SVC().fit(x[:1000], classes[:1000]), x[:1], options=plain),
        "SVR, radial": lambda: to_onnx(svm.SVR().fit(x[:1000], y[:1000]), x[:1]),
    }

    def few(model, **more):
        return to_onnx(model(8, max_depth=4, random_state=0, **more).fit(x, classes if "Classifier" in model.__name__ else y), x[:1], options=plain if "Classifier" in model.__name__ else None)

    bases = {
        "forest of 8, 3 classes": lambda: few(ensemble.RandomForestClassifier),
        "forest regressor of 8": lambda: few(ensemble.RandomForestRegressor),
        "gradient boosting of 100, depth 4": makers["gradient boosting of 100, depth 4"],
        "forest of 100, 3 classes, depth 10": makers["forest of 100, 3 classes, depth 10"],
        "forest regressor of 100, depth 12": makers["forest regressor of 100, depth 12"],
    }
    for name, make in bases.items():
        makers.update(tree_variants.kinds_of(name, make))
    makers.update(tree_variants.with_sets(random))
    for i, (name, make) in enumerate(makers.items()):
        if not NAMES or any(n in name for n in NAMES):
            path = os.path.join(folder, f"{i}.onnx")
            made = make()
            model, features = made if isinstance(made, tuple) else (made, None)
            onnx.save(model, path)
            if features is not None:
                for rows in ROWS:
                    np.savez(inputs_of(path, rows), **{model.graph.input[0].name: features[:rows]})
            yield name, path


def inputs_of(path, rows):
    """The file of inputs of a model that has some."""
    return f"{path[:-5]}_{rows}.npz"


def measure(path, rows, folder):
    """Medians of both sides in microseconds; None: the program refused."""
    port = onnx.load(path).graph.input[0]
    dims = port.type.tensor_type.shape.dim
    shape = f"{port.name}:[{rows},{dims[1].dim_value}]"
    saved, given = os.path.join(folder, "times.json"), inputs_of(path, rows)
    inputs = ["--load-inputs", given] if os.path.exists(given) else ["--input-shapes", shape]
    command = [PROGRAM, "bench", path + "@onnxrt", path, "--onnxrt-threads", "1", "--duration", SECONDS, "--slices", "8", "--warm-up", "20", *inputs, "-o", saved]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        print(next((line for line in (done.stdout + done.stderr).splitlines() if "[!]" in line), f"exit code {done.returncode}"))
        return None
    with open(saved) as f:
        return [side["figures"]["median_ms"] * 1e3 for side in json.load(f)["sides"]]


def models(folder):
    yield from ((n, p) for n, p in exports() if not NAMES or any(w in n for w in NAMES))
    try:
        yield from trained(folder)
    except ImportError as missing:
        print(f"models of the tests alone: {missing}")


def main():
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})  # the engine takes as many threads as it may use processors
    logs = {rows: [] for rows in ROWS}
    with tempfile.TemporaryDirectory() as folder:
        for name, path in models(folder):
            line = f"{name:40}"
            for rows in logs:
                times = measure(path, rows, folder)
                if times:
                    factor = times[0] / times[1]
                    logs[rows].append(math.log(factor))
                    line += f" | {rows:4} rows: onnxruntime {times[0]:9.2f} ours {times[1]:9.2f} factor {factor:5.2f}"
            print(line, flush=True)
    for rows, values in logs.items():
        if values:
            print(f"{rows} rows: geometric mean {math.exp(sum(values) / len(values)):.2f}, least {math.exp(min(values)):.2f}, of {len(values)} models")


if __name__ == "__main__":
    main()
