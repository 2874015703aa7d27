# SPDX-License-Identifier: Apache-2.0
"""Cases of contrib.py: what else ONNX Runtime's CPU provider has: texts, hashes of tokens, pictures' positions, and operators of ONNX before opset 10."""
import numpy as np


def old(case, s):
    """Experimental operators of ONNX, which opset 10 removed."""
    x, image = s.f(2, 5), s.f(2, 2, 4, 5)
    case("Affine", "both", [x], domain="", alpha=2.0, beta=0.5)
    case("Affine", "defaults", [x], domain="")
    case("ScaledTanh", "both", [x], domain="", alpha=2.0, beta=0.5)
    case("ParametricSoftplus", "both", [x * 40], domain="", alpha=2.0, beta=0.5)
    case("Scale", "scale", [x], domain="", scale=-3.0)
    case("Scale", "default", [x], domain="")
    case("ImageScaler", "channels", [image], domain="", scale=0.5, bias=[1.0, -2.0])
    case("Crop", "border", [image], domain="", border=[1, 0, 2, 1])
    case("Crop", "size", [image], domain="", border=[1, 2, 0, 0], scale=[2, 3])
    case("DynamicSlice", "first axes", [image, np.array([0, 1]), np.array([1, 2])], domain="")
    case("DynamicSlice", "an axis from the end", [image, np.array([1], np.int32), np.array([-1], np.int32), np.array([-2], np.int32)], domain="")
    case("MemcpyFromHost", "copy", [x], domain="")
    case("MemcpyToHost", "copy", [x], domain="")


def words(*texts):
    return np.array(texts, object)


def tokens(case, s):
    def add(name, x, mark=0, least=1, pad="#", **attrs):
        case("Tokenizer", name, [x], mark=mark, mincharnum=least, pad_value=pad, **attrs)

    add("a separator", words("Hello World", "I love  cs !"), separators=[" "])
    add("marks", words("Hello World", "I love  cs !"), 1, separators=[" "])
    add("long tokens only", words("a bb ccc é éé", ""), least=2, separators=[" "])
    add("characters", words("abé", "c", ""), 1, separators=[""])
    add("characters by an expression", words("abé", "c"), tokenexp=".")
    add("several separators", np.array([[" a,b c", "d"], ["e", "f;g"]], object), separators=[" ", ",", "[;x]+"])
    add("the longest match", words("xabcx abx"), tokenexp="ab|abc")
    add("a short match hides no other", words("abbbb"), least=3, tokenexp="ab|bbbb")
    add("empty matches", words("axxb", "éb"), separators=["x*|b"])
    add("empty tokens", words("bab"), tokenexp="a*")
    add("anchors see the text", words("aaa"), tokenexp="^a")
    add("anchors see the piece", words("baa"), separators=["b", "^a"])
    add("word boundaries", words("x ay"), separators=["\\b"])
    add("no token at all", words("", " "), 1, separators=[" "])
    add("no text", np.zeros((2, 0), object), separators=[" "])
    source = np.array([1, 5, 3, 4, 5, 3])
    for name, current, predicted, attrs in [("a single match", [2, 4], None, {}), ("a longer match", [2, 4, 5], None, {}), ("several matches", [2, 5, 3], None, dict(max_ngram_size=2)),
                                            ("predicted tokens", [2], [5, 3, 9, 4, 4, 4], {}), ("all predicted", [2], [5, 3, 4, 5, 3, 8], {})]:
        case("BifurcationDetector", name, [source, np.array(current), np.array(1), None if predicted is None else np.array(predicted)], 2, **attrs)
    # ONNX Runtime leaves the vector of a word that begins with padding unwritten; tests/ops has such a case by hand.
    letters = np.array([[1, 2, 3, 0], [2, 0, 0, 0], [2, 1, 0, 0], [3, 0, 2, 1], [4, 4, 0, 1]], np.int32)
    case("WordConvEmbedding", "words", [letters, s.f(2, 1, 2, 3, scale=0.25), s.f(2, scale=0.25), s.f(5, 3, scale=0.25)], conv_window_size=2)
    case("WordConvEmbedding", "a wide window", [letters, s.f(3, 1, 4, 2, scale=0.25), s.f(3, scale=0.25), s.f(5, 2, scale=0.25)])


def hashes(case, s):
    ids, sizes = np.array([[5, 9, 6, 7, 9, 8], [1, 2, 9, 9, 4, 3]]), np.array([101, 1009, 65537])
    multipliers, past = np.array([1000003, -77777777, 99, 12345]), np.array([[4, 9, 3], [9, 1, 2]])
    segments = np.array([[0, 0, 1, 1, 1, 2], [3, 3, 3, 3, 4, 4]], np.int32)
    attrs = dict(max_ngram_size=4, n_head_per_ngram=1, pad_id=2)
    narrow = [x.astype(np.int32) for x in (ids * 1000003, multipliers, sizes)]
    case("NGramHashMapping", "padded", [ids, multipliers, sizes], 2, **attrs)
    case("NGramHashMapping", "int32 wraps", narrow, 2, **attrs)
    case("NGramHashMapping", "several heads", [ids[:, :3], multipliers, np.array([7, 11, 13, 17])], **{**attrs, "max_ngram_size": 3, "n_head_per_ngram": 2})
    case("NGramHashMapping", "past and offsets", [ids, multipliers, sizes, past, np.array([0, 101, 1110])], 2, **attrs)
    case("NGramHashMapping", "ends reset", [ids, multipliers, sizes, past, None, np.array(9)], 2, reset_on_eos=1, **attrs)
    case("NGramHashMapping", "an end fills", [ids, multipliers, sizes, None, None, np.array(9)], 2, **attrs)
    case("NGramHashMapping", "segments", [ids, multipliers, sizes, past, None, np.array(9), segments], 2, reset_on_eos=1, **attrs)
    case("NGramHashMapping", "segments without an end", [ids, multipliers, sizes, past, None, None, segments], 2, **attrs)
    flat, firsts, marks = ids[0], np.array([0, 2, 6], np.int32), np.array([1, 1, 2, 2, 3, 3], np.int32)
    before = np.array([[1, 1, 1], [1, 2, 2]], np.int32)
    op = "VarlenNGramHashMapping"
    case(op, "padded", [flat, multipliers, sizes, firsts], 2, **attrs)
    case(op, "int32 offsets wrap", [flat.astype(np.int32), *narrow[1:], firsts, None, np.array([2**31 - 1, 5, 0], np.int32)], 2, **attrs)
    case(op, "past", [flat, multipliers, sizes, firsts, past], 2, **attrs)
    case(op, "ends reset", [flat, multipliers, sizes, firsts, past, None, np.array(9)], 2, reset_on_eos=1, **attrs)
    case(op, "segments", [flat, multipliers, sizes, firsts, None, None, None, marks], 3, **attrs)
    case(op, "segments of the past", [flat, multipliers, sizes, firsts, past, None, None, marks, before], 3, **attrs)
    case(op, "captured states", [flat, multipliers, sizes, firsts, past, None, None, marks, before, np.array([5, 2], np.int32)], 4, state_update_capacity=3, **attrs)
    case(op, "nothing captured", [flat, multipliers, sizes, firsts, None, None, np.array(9), marks, None, np.array([1, -2], np.int32)], 4, state_update_capacity=3, **attrs)


def places(case, s):
    cos, sin, ids = s.f(9, 6), s.f(9, 6), np.array([[[0, 3, 8], [1, 1, 2]], [[4, 5, 6], [7, 8, 0]], [[2, 2, 2], [5, 4, 3]]])
    x = s.f(2, 2, 3, 12)
    op = "MRotaryEmbedding"
    case(op, "sections", [x, ids, cos, sin], mrope_section=[1, 2, 3])
    case(op, "every third angle", [x, ids, cos, sin], mrope_section=[1, 2, 3], mrope_layout=1)
    case(op, "every third angle, interleaved", [x, ids, cos, sin], mrope_section=[2, 2, 2], mrope_layout=1, interleaved=1)
    case(op, "flat", [s.f(2, 3, 24), ids, cos, sin], mrope_section=[2, 2, 2], num_heads=2)
    case(op, "part of a head, scale", [s.f(2, 3, 24), ids, cos[:, :3].copy(), sin[:, :3].copy()], mrope_section=[0, 1, 2], num_heads=2, rotary_embedding_dim=6, scale=2.0)
    keys, queries, value, scales = s.f(2, 3, 2, 4), s.f(2, 3, 2, 4), s.f(2, 3, 4), [s.f(2, 4) for _ in range(3)]
    case("EngramGate", "gate", [keys, queries, value, *scales[:2]])
    case("EngramGate", "normed", [keys, queries, value, *scales], 2, epsilon=0.01)
    case("EngramGate", "no similarity", [keys, np.zeros_like(queries), value, *scales], 2)


def windows(case, s):
    x, w, b = s.f(1, 2, 3, 4), s.f(2, 3, 2, 2), s.f(3)
    case("ConvTransposeWithDynamicPads", "pads", [x, w, np.array([1, 0, 0, 1]), b], strides=[2, 1])
    case("ConvTransposeWithDynamicPads", "groups, no bias", [x, s.f(2, 1, 2, 2), np.array([0, 1, 1, 0])], group=2, output_padding=[1, 0], strides=[2, 2])
    image, mask = s.f(2, 2, 4, 5), (s.rng.integers(0, 4, (1, 1, 4, 5)) > 0).astype(np.int32)
    case("MaxpoolWithMask", "image", [image, mask], kernel_shape=[2, 3], strides=[1, 1])
    case("MaxpoolWithMask", "pads, a mask for each plane", [image, (s.rng.integers(0, 4, image.shape) > 0).astype(np.int32)], kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
    case("MaxpoolWithMask", "line, an empty window", [np.array([[[3, 1, 4, 1, 5, 9, 2, 6]]], np.float32), np.array([[[1, 1, 1, 1, 0, 1, 1, 1]]], np.int32)], kernel_shape=[3], strides=[1], pads=[1, 1])


def add(case, source):
    for build in (old, tokens, hashes, places, windows):
        build(case, source("more " + build.__name__))
