# SPDX-License-Identifier: Apache-2.0
"""The two peers of random_ops.py, in processes of their own: a Workers object hands cases to one, and starts another when it dies or hangs."""
import multiprocessing
import os
import warnings

TIMEOUT = 20


def to_onnxrt(model, feed):
    """A model that ONNX Runtime's Python can feed and read: inputs of types that NumPy lacks become initializers, such outputs are cast to float."""
    import onnx
    from onnx import helper, numpy_helper

    from op_generators import NAMES

    plain = {"bool", "string", "float16", "float", "double"} | {f"{u}int{n}" for u in ("", "u") for n in (8, 16, 32, 64)}
    model = onnx.ModelProto.FromString(model)
    kept = {}
    for name, value in feed.items():
        if NAMES[value.dtype] in plain:
            kept[name] = value
            continue
        at = next(i for i, v in enumerate(model.graph.input) if v.name == name)
        model.graph.initializer.append(numpy_helper.from_array(value, name))
        if NAMES[value.dtype].startswith("complex"):
            raise NotImplementedError("complex")
        del model.graph.input[at]
    try:
        inferred = onnx.shape_inference.infer_shapes(model).graph.output
    except Exception:
        inferred = model.graph.output
    casts = {}
    for out, known in zip(model.graph.output, inferred):
        kind = known.type.tensor_type.elem_type
        if kind in (16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26):
            casts[out.name] = kind
            model.graph.node.append(helper.make_node("Cast", [out.name], [out.name + "_f"], to=1))
            out.name += "_f"
            out.ClearField("type")
    return model.SerializeToString(), kept, list(casts.values())


def onnxrt(model, feed):
    import numpy as np
    import onnxruntime as ort

    from op_generators import DTYPES, ONNX_TYPES

    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4
    model, feed, _ = to_onnxrt(model, feed)
    session = ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    got = [np.asarray(a) for a in session.run(None, feed)]
    kinds = {v: DTYPES[k] for k, v in ONNX_TYPES.items()}
    import onnx

    graph = onnx.ModelProto.FromString(model).graph
    try:
        types = {v.name: v.type.tensor_type.elem_type for v in onnx.shape_inference.infer_shapes(onnx.ModelProto.FromString(model)).graph.value_info}
    except Exception:
        types = {}
    for i, out in enumerate(graph.output):
        if out.name.endswith("_f") and out.name[:-2] in types:
            got[i] = got[i].astype(kinds[types[out.name[:-2]]])
    return got


def evaluator(model, feed):
    import numpy as np
    import onnx
    from onnx.reference import ReferenceEvaluator

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with np.errstate(all="ignore"):
            return [np.asarray(a) for a in ReferenceEvaluator(onnx.ModelProto.FromString(model)).run(None, feed)]


def inferred(model):
    import onnx

    got = onnx.shape_inference.infer_shapes(onnx.ModelProto.FromString(model), strict_mode=True, data_prop=True)
    rows = []
    for out in got.graph.output:
        t = out.type.tensor_type
        dims = [d.dim_value if d.HasField("dim_value") else None for d in t.shape.dim] if t.HasField("shape") else None
        rows.append((t.elem_type, dims))
    return rows


def guarded(work, *arguments):
    """("ok", result), ("absent", why) where the peer has no implementation, or ("refused", why)."""
    try:
        return "ok", work(*arguments)
    except BaseException as e:  # a peer raises what it likes
        why = f"{type(e).__name__}: {e}"
        absent = any(s in why for s in ("NOT_IMPLEMENTED", "NotImplemented", "No schema registered", "Opset ", "RuntimeImplementationError", "is under development", "is not currently registered", "data type is not supported with", "Unsupported type", "Failed to construct locale"))
        return "absent" if absent else "refused", why[:600]


def serve(pipe):
    silence = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silence, 1)
    os.dup2(silence, 2)
    import resource

    import onnxruntime

    resource.setrlimit(resource.RLIMIT_AS, (16 << 30, 16 << 30))
    onnxruntime.set_default_logger_severity(4)
    while True:
        cases = pipe.recv()
        for model, symbolic, feed, without in cases:
            for part, work in (("onnxrt", lambda: onnxrt(model, feed)), ("evaluator", lambda: evaluator(model, feed)), ("inferred", lambda: inferred(model)),
                               ("symbolic", lambda: inferred(symbolic))):
                skipped = part in without or (part == "symbolic" and not symbolic)
                pipe.send((part, ("absent", "opset") if skipped else guarded(work)))


PARTS = ("onnxrt", "evaluator", "inferred", "symbolic")


class Peers:
    def __init__(self):
        self.context = multiprocessing.get_context("spawn")
        self.process = None

    def start(self):
        self.pipe, other = self.context.Pipe()
        self.process = self.context.Process(target=serve, args=(other,), daemon=True)
        self.process.start()
        other.close()

    def stop(self):
        if self.process:
            self.process.kill()
            self.process.join()
        self.process = None

    def send(self, cases):
        if not self.process:
            self.start()
        self.cases = cases
        self.pipe.send(cases)

    def receive(self):
        """A dictionary of parts for every case that was sent. A crash is an outcome of the part at which it happened."""
        left, results, first = list(self.cases), [{}], True
        while left:
            part = PARTS[len(results[-1])]
            try:
                if not self.pipe.poll(TIMEOUT + (60 if first else 0)):
                    raise EOFError("hang")
                name, outcome = self.pipe.recv()
                first = False
                assert name == part
            except (EOFError, ConnectionResetError) as e:
                outcome = ("refused", "hangs" if str(e) == "hang" else f"crashed with {self.process.exitcode}")
                self.stop()
                results[-1].update({p: ("absent", "after a crash") for p in PARTS})
                results[-1][part] = ("crashed", outcome[1])
                left.pop(0)
                if left:
                    self.start()
                    self.pipe.send(left)
                    results.append({})
                first = True
                continue
            results[-1][name] = outcome
            if len(results[-1]) == len(PARTS):
                left.pop(0)
                if left:
                    results.append({})
        return results
