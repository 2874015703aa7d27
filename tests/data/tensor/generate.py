# SPDX-License-Identifier: Apache-2.0
"""Writes the files beside it with the real tools (numpy, ml_dtypes, onnx, safetensors):

    text.npz            arrays, print options, and what NumPy prints
    casts.npz           NumPy's casts between all its types, and ml_dtypes' narrow floats
    arrays.npz          deflated members of many types and orders
    *.npy               versions, byte orders, memory orders, strings
    mixed.safetensors   every type the format shares with NumPy
    *.pb                TensorProtos with typed fields and raw data
"""
import os
import warnings

import ml_dtypes
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from safetensors.numpy import save_file

HERE = os.path.dirname(os.path.abspath(__file__))
warnings.simplefilter("ignore")
rng = np.random.RandomState(7)


def here(name):
    return os.path.join(HERE, name)


def text_arrays():
    floats = [
        [0.0, -0.0], [1.0, 2.0], [0.1, 0.25, 100.0], [1e-5, 1.0], [1e-4], [9.9e-5], [1e8], [99999999.0], [1e6], [999999.0],
        [123456.789, 0.001], [1e16, 1.0], [1.0, 1001.0], [1.0, 1000.0], [np.nan], [np.inf], [-np.inf, np.nan, 1.0],
        [np.nan, np.inf], [1e10, np.nan], [1e-7, -np.inf, 3.5], [-1.5, 2.25, -1000.125], [0.123456789, 0.2],
        [1.123456785, 1.5], [1 / 3, 2 / 3], [1e100, 1.0], [1e-100], [-1e-300, 1e300], [3.14159265358979] * 30, [1e3], [999.5],
        [0.5, 65504.0], [6e-8], [33.333333333, 1e-3], [5e-324], [1.7976931348623157e308],
    ]
    for values in floats:
        for t in ("f2", "f4", "f8"):
            yield np.array(values).astype(t), ()
    for t in ("f2", "f4", "f8"):
        for v in (0.0, -0.0, 1.0, 0.1, 1e-4, 9.99e-5, 1e16, 12345678.9, np.nan, np.inf, -np.inf, 1e-7, 1e5, 1e15, 123456.0):
            yield np.array(v).astype(t), ()
        for scale in (1, 1e-3, 1e4, 1e-6):
            yield (rng.randn(4, 5) * scale).astype(t), ()
            yield (rng.randn(2, 3, 4) * scale).astype(t), ()
            yield np.exp(rng.randn(9) * 3 * abs(np.log10(scale)) + 1).astype(t), ()
        yield rng.randn(1001).astype(t), ()
        yield rng.randn(1000).astype(t), ()
        yield rng.randn(40, 50).astype(t), ()
        yield rng.randn(2, 3, 20, 20).astype(t), ()
    for t in ("i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8"):
        info = np.iinfo(t)
        yield np.array([info.min, info.max, 0, 5], dtype=t), ()
        yield np.array(info.max, dtype=t), ()
        yield np.arange(60, dtype=t).reshape(3, 20), ()
    yield np.arange(2000), ()
    yield np.arange(10000).reshape(100, 100), ()
    yield np.arange(2400).reshape(2, 30, 40), ()
    yield np.arange(3000).reshape(5, 5, 4, 30), ()
    for edge, threshold, width in ((1, 10, 40), (2, 5, 20), (5, 100, 200), (3, 1, 10), (3, 1000, 1), (4, 20, 75)):
        yield np.arange(36).reshape(6, 6), (edge, threshold, width)
        yield rng.randn(30), (edge, threshold, width)
        yield rng.randn(12, 11).astype("f4"), (edge, threshold, width)
        yield np.array(["a", "bb", "it's", 'x"y', ""] * 6), (edge, threshold, width)
    yield np.array([True, False]), ()
    yield np.array(True), ()
    yield np.array([[True], [False]]), ()
    yield np.ones((30, 4), dtype=bool), ()
    yield np.ones(1200, dtype=bool), ()
    yield np.array("scalar text"), ()
    yield np.array(["\u00e9t\u00e9", "\u4e2d\u6587", "tab\there", "nl\n", "back\\slash", "\u00a0"] * 5), ()
    for shape in ((0,), (0, 3), (3, 0), (2, 0, 2)):
        yield np.zeros(shape, "f4"), ()
    yield np.zeros((1, 1, 1, 1)), ()
    yield np.array([1 + 2j, -3.5 - 4j, 0]), ()
    yield np.array([1e10 + 2j, -3 - 1e-9j]).astype("c8"), ()
    yield np.array([complex(np.nan, 1), complex(np.inf, -np.inf), 1]), ()
    for v in (1 + 2j, 2j, -1.5 - 0.25j, 3 + 0j, 1e20 + 1e-7j, complex(np.nan, np.nan)):
        yield np.array(v), ()
        yield np.array(v).astype("c8"), ()


def write_text():
    members, expected, options = {}, [], []
    for i, (array, print_options) in enumerate(text_arrays()):
        edge, threshold, width = print_options or (0, 0, 0)
        with np.printoptions():
            if print_options:
                np.set_printoptions(edgeitems=edge, threshold=threshold, linewidth=width)
            expected.append(str(array))
        options.append([edge, threshold, width])
        members["a%04d" % i] = array
    np.savez_compressed(here("text.npz"), expected=np.array(expected), options=np.array(options, "i8"), **members)


NARROW = {
    "bfloat16": ml_dtypes.bfloat16, "float8e4m3fn": ml_dtypes.float8_e4m3fn, "float8e4m3fnuz": ml_dtypes.float8_e4m3fnuz,
    "float8e5m2": ml_dtypes.float8_e5m2, "float8e5m2fnuz": ml_dtypes.float8_e5m2fnuz, "float8e8m0": ml_dtypes.float8_e8m0fnu,
    "float4": ml_dtypes.float4_e2m1fn, "float6e2m3": ml_dtypes.float6_e2m3fn, "float6e3m2": ml_dtypes.float6_e3m2fn,
}


def write_casts():
    special = [np.nan, np.inf, -np.inf, 0.0, -0.0, 0.5, -0.5, 1.5, 300, -1, -300.7, 3e9, -3e9, 5e9, 1e19, 1.5e19, 2e19, -1e19,
               70000.0, -70000.0, 2.0**31, 2.0**31 - 1, -2.0**31, 2.0**32, 2.0**63, -2.0**63, 65504, 65519.99, 65520, 6e-8, 2.9e-8]
    f64 = np.concatenate([special, rng.randn(200) * 100, np.exp(rng.randn(200) * 8)])
    i64 = np.concatenate([[0, 1, -1, 2**63 - 1, -(2**63), 2**53 + 1, 2**40 + 3, -(2**31), 255, 256, 65535, 65537],
                          rng.randint(-(2**62), 2**62, 60)]).astype("i8")
    sources = {"float64": f64, "float32": f64.astype("f4"), "float16": f64.astype("f2"), "int64": i64, "uint64": i64.astype("u8"),
               "int32": i64.astype("i4"), "uint32": i64.astype("u4"), "int16": i64.astype("i2"), "uint16": i64.astype("u2"),
               "int8": i64.astype("i1"), "uint8": i64.astype("u1"), "bool": i64.astype("?"),
               "complex64": (f64 + 1j * f64[::-1]).astype("c8"), "complex128": f64 + 1j * f64[::-1]}
    members = {}
    for name, source in sources.items():
        members["from." + name] = source
        for target in sources:
            if np.dtype(source.dtype).kind in "fc" and target == "uint32":
                continue  # NumPy's answers out of range differ between its own loops
            members["%s.%s" % (name, target)] = source.astype(target)
    for name, t in NARROW.items():
        codes = np.arange(16 if name == "float4" else 64 if name.startswith("float6") else 256, dtype="u1")
        if name != "bfloat16":
            members["codes." + name] = codes.view(t).astype("f8")
    members["bfloat16"] = f64.astype("f4").astype(ml_dtypes.bfloat16).view("u2")
    np.savez_compressed(here("casts.npz"), **members)


def write_arrays():
    a = np.arange(24).reshape(2, 3, 4)
    members = {"c": a.astype("f4"), "f": np.asfortranarray(a.astype("i8")), "big": a.astype(">f8"), "bigf": np.asfortranarray(a.astype(">i2")),
               "scalar": np.float32(1.5), "empty": np.zeros((0, 4), "i4"), "bool": np.array([True, False]), "half": np.array([1.5, -2], "f2"),
               "text": np.array([["a", "\u4e2d"], ["", "long one"]]), "complex": np.array([1 + 2j], "c8")}
    np.savez_compressed(here("arrays.npz"), **members)
    np.savez(here("stored.npz"), **members)
    np.save(here("c.npy"), members["c"])
    np.save(here("fortran.npy"), members["f"])
    np.save(here("big_endian.npy"), members["big"])
    np.save(here("text.npy"), members["text"])
    np.save(here("bytes.npy"), np.array([b"ab", b"", b"xyz"]))
    np.save(here("big_text.npy"), members["text"].astype(">U8"))
    for version in ((2, 0), (3, 0)):
        with open(here("version%d.npy" % version[0]), "wb") as f:
            np.lib.format.write_array(f, members["c"], version=version)
    np.save(here("object.npy"), np.array([{}], dtype=object), allow_pickle=True)
    np.save(here("struct.npy"), np.zeros(2, dtype=[("x", "f4")]))


def write_safetensors():
    tensors = {t: np.arange(6).reshape(2, 3).astype(t) for t in
               ("float64", "float32", "float16", "int64", "int32", "int16", "int8", "uint64", "uint32", "uint16", "uint8", "bool", "complex64")}
    tensors["bfloat16"] = np.arange(6).reshape(2, 3).astype(ml_dtypes.bfloat16)
    tensors["scalar"] = np.array(2.5, "f4")
    tensors["empty"] = np.zeros((0, 2), "f4")
    tensors['quote"\u4e2d\\'] = np.array([7], "i2")
    save_file(tensors, here("mixed.safetensors"), metadata={"format": "np"})


def write_pb():
    def save(name, tensor):
        with open(here(name + ".pb"), "wb") as f:
            f.write(tensor.SerializeToString())

    for t in ("FLOAT", "DOUBLE", "INT8", "INT16", "INT32", "INT64", "UINT8", "UINT16", "UINT32", "UINT64", "BOOL", "FLOAT16", "BFLOAT16",
              "FLOAT8E4M3FN", "FLOAT8E5M2", "COMPLEX64", "COMPLEX128", "INT4", "UINT4", "FLOAT4E2M1", "FLOAT6E2M3", "FLOAT6E3M2"):
        save("typed_" + t.lower(), helper.make_tensor("x", getattr(TensorProto, t), [3], [0, 1, 1 if t == "BOOL" else 3]))
    save("typed_string", helper.make_tensor("s", TensorProto.STRING, [2], [b"one", "zw\u00f6lf".encode()]))
    for name, t in (("e2m3", ml_dtypes.float6_e2m3fn), ("e3m2", ml_dtypes.float6_e3m2fn)):
        save("raw_float6" + name, numpy_helper.from_array(np.arange(-7, 8).astype("f4").astype(t), "w"))
    save("raw_f32", numpy_helper.from_array(np.arange(6, dtype="f4").reshape(2, 3), "weights"))
    external = numpy_helper.from_array(np.arange(6, dtype="f4"), "far")
    external.ClearField("raw_data")
    external.data_location = TensorProto.EXTERNAL
    entry = external.external_data.add()
    entry.key, entry.value = "location", "weights.bin"
    save("external", external)


write_text()
write_casts()
write_arrays()
write_safetensors()
write_pb()
