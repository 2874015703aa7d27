# SPDX-License-Identifier: Apache-2.0
"""More problems of bench/operators.py: features and labels (ai.onnx.ml), texts, random numbers, and operators of com.microsoft that few models have.
Texts come out by value on our side. Random numbers of the two sides are different ones."""
import numpy as np

from operator_problems import OPSETS, RANDOM, const, graph, ints, node, normal, problem, uniform

ML, CONTRIB, NCHWC = ({"domain": d} for d in ("ai.onnx.ml", "com.microsoft", "com.microsoft.nchwc"))
OPSETS["com.microsoft.nchwc"] = 1
WORDS = [f"word{i * 7919 % 1000}" for i in range(1000)]


def texts(*shape, of=WORDS):
    return np.array([of[i] for i in RANDOM.integers(0, len(of), int(np.prod(shape)))], object).reshape(shape)


def i32(low, high, *shape):
    return ints(low, high, *shape, dtype=np.int32)


# ---- Features and labels ----
KEYS, VALUES = [int(k) for k in RANDOM.permutation(10**6)[:1000]], list(range(1000))
for rows in (1, 1000):
    some = np.array(KEYS, np.int64)[ints(0, 1000, rows)]
    problem(f"LabelEncoder: int64 to int64, {rows} of 1000 keys", "LabelEncoder", {"x": some}, keys_int64s=KEYS, values_int64s=VALUES, **ML)
    problem(f"LabelEncoder: int64 to float, {rows} of 1000 keys", "LabelEncoder", {"x": some}, keys_int64s=KEYS, values_floats=[float(v) for v in VALUES], **ML)
    problem(f"LabelEncoder: float to float, {rows} of 1000 keys", "LabelEncoder", {"x": some.astype(np.float32)}, keys_floats=[float(k) for k in KEYS],
            values_floats=[float(v) for v in VALUES], **ML)
    problem(f"LabelEncoder: text to int64, {rows} of 1000 keys", "LabelEncoder", {"x": texts(rows)}, keys_strings=WORDS, values_int64s=VALUES, **ML)
    problem(f"LabelEncoder: text to text, {rows} of 1000 keys", "LabelEncoder", {"x": texts(rows)}, keys_strings=WORDS, values_strings=WORDS[::-1], **ML)
    problem(f"LabelEncoder: int64 to text, {rows} of 1000 keys", "LabelEncoder", {"x": some}, keys_int64s=KEYS, values_strings=WORDS, **ML)
    problem(f"LabelEncoder: text to int64, {rows} of 3 keys", "LabelEncoder", {"x": texts(rows, of=WORDS[:3])}, keys_strings=WORDS[:3], values_int64s=VALUES[:3], **ML)
    problem(f"CategoryMapper: text to int64, {rows} of 100", "CategoryMapper", {"x": texts(rows, of=WORDS[:100])}, cats_int64s=VALUES[:100], cats_strings=WORDS[:100], **ML)
    problem(f"CategoryMapper: int64 to text, {rows} of 100", "CategoryMapper", {"x": ints(0, 100, rows)}, cats_int64s=VALUES[:100], cats_strings=WORDS[:100], **ML)
    problem(f"OneHotEncoder: int64, {rows}x4 of 20", "OneHotEncoder", {"x": ints(0, 22, rows, 4)}, cats_int64s=list(range(20)), zeros=1, **ML)
    problem(f"OneHotEncoder: float, {rows}x4 of 20", "OneHotEncoder", {"x": ints(0, 22, rows, 4).astype(np.float32)}, cats_int64s=list(range(20)), zeros=1, **ML)
    problem(f"OneHotEncoder: text, {rows}x4 of 20", "OneHotEncoder", {"x": texts(rows, 4, of=WORDS[:22])}, cats_strings=WORDS[:20], zeros=1, **ML)
    x = normal(rows, 30)
    x[x > 1] = np.nan
    problem(f"Imputer: {rows}x30", "Imputer", {"x": x}, imputed_value_floats=[float(v) for v in normal(30)], replaced_value_float=float("nan"), **ML)
    problem(f"Imputer: int64 {rows}x30", "Imputer", {"x": ints(0, 5, rows, 30)}, imputed_value_int64s=[7], replaced_value_int64=0, **ML)
    problem(f"Binarizer: {rows}x30", "Binarizer", {"x": normal(rows, 30)}, threshold=0.5, **ML)
    problem(f"FeatureVectorizer: {rows} rows of 10, 5 and 20", "FeatureVectorizer", {"x": normal(rows, 10), "y": normal(rows, 5), "z": normal(rows, 20)}, inputdimensions=[10, 5, 20], **ML)
    problem(f"FeatureVectorizer: int64, {rows} rows of 10 and 20", "FeatureVectorizer", {"x": ints(0, 9, rows, 10), "y": ints(0, 9, rows, 20)}, inputdimensions=[10, 20], **ML)

# ---- Texts ----
problem("StringNormalizer: lower, 1000 words", "StringNormalizer", {"x": texts(1000)}, case_change_action="LOWER", locale="C.UTF-8", is_case_sensitive=1)
problem("StringNormalizer: 1000 words, 3 stop words", "StringNormalizer", {"x": texts(1000)}, case_change_action="NONE", is_case_sensitive=1, stopwords=WORDS[:3])
problem("StringNormalizer: lower, 1000 words, 3 stop words", "StringNormalizer", {"x": texts(1000)}, case_change_action="LOWER", locale="C.UTF-8", is_case_sensitive=0, stopwords=WORDS[:3])
LINES = [" ".join(WORDS[i:i + 8]) for i in range(0, 800, 8)]
problem("StringSplit: 100 lines of 8 words", "StringSplit", {"x": texts(100, of=LINES)}, 2)
problem("StringSplit: 100 lines at commas", "StringSplit", {"x": texts(100, of=[s.replace(" ", ",") for s in LINES])}, 2, delimiter=",")
problem("StringConcat: 1000 and 1000", "StringConcat", {"x": texts(1000), "y": texts(1000)})
problem("StringConcat: 1000 and 1", "StringConcat", {"x": texts(1000), "y": texts(1)})
problem("RegexFullMatch: 1000 words", "RegexFullMatch", {"x": texts(1000)}, pattern="[a-z]+[0-9]{2,3}")
problem("RegexFullMatch: 100 mail addresses", "RegexFullMatch", {"x": texts(100, of=[f"{w}@example.com" for w in WORDS])}, pattern=r"[A-Za-z0-9._]+@[A-Za-z0-9.]+\.[a-z]{2,3}")
problem("Tokenizer: 32 lines at blanks", "Tokenizer", {"x": texts(32, of=LINES)}, mark=0, mincharnum=1, pad_value="#", separators=[" "], **CONTRIB)
problem("Tokenizer: 32 lines, expression", "Tokenizer", {"x": texts(32, of=LINES)}, mark=0, mincharnum=1, pad_value="#", tokenexp="[a-z0-9]+", **CONTRIB)
problem("TfIdfVectorizer: 32x20 words", "TfIdfVectorizer", {"x": texts(32, 20)}, mode="TFIDF", min_gram_length=1, max_gram_length=2, max_skip_count=0, ngram_counts=[0, 500],
        ngram_indexes=list(range(700)), weights=[float(v) for v in uniform(0, 1, 700)], pool_strings=WORDS[:500] + [WORDS[i] for i in ints(0, 1000, 400)])
problem("TfIdfVectorizer: 1x30 words", "TfIdfVectorizer", {"x": texts(1, 30)}, mode="TFIDF", min_gram_length=1, max_gram_length=1, max_skip_count=0, ngram_counts=[0],
        ngram_indexes=list(range(1000)), weights=[float(v) for v in uniform(0, 1, 1000)], pool_strings=WORDS)
problem("MurmurHash3: 1000 words", "MurmurHash3", {"x": texts(1000)}, **CONTRIB)
problem("Gather: 1000 of 1000 words", "Gather", {"x": texts(1000), "i": ints(0, 1000, 1000)})
problem("Concat: 500 and 500 words", "Concat", {"x": texts(500), "y": texts(500)}, axis=0)
problem("Transpose: 50x20 words", "Transpose", {"x": texts(50, 20)}, perm=[1, 0])
problem("Where: 1000 words", "Where", {"c": ints(0, 2, 1000).astype(bool), "x": texts(1000), "y": texts(1000)})
problem("Equal: 1000 words", "Equal", {"x": texts(1000, of=WORDS[:3]), "y": texts(1000, of=WORDS[:3])})
problem("Unique: 1000 of 100 words", "Unique", {"x": texts(1000, of=WORDS[:100])}, 4)
problem("Cast: 1000 int64 to texts", "Cast", {"x": ints(0, 10**5, 1000)}, to=8)
problem("Cast: 1000 floats to texts", "Cast", {"x": normal(1000)}, to=8)
problem("Cast: 1000 texts to int64", "Cast", {"x": texts(1000, of=[str(i) for i in range(1000)])}, to=7)
problem("Cast: 1000 texts to float", "Cast", {"x": texts(1000, of=[str(i / 8) for i in range(1000)])}, to=1)

# ---- Random numbers ----
problem("RandomNormal: 1x4x64x64", "RandomNormal", {}, shape=[1, 4, 64, 64])
problem("RandomUniform: 1x4x64x64", "RandomUniform", {}, shape=[1, 4, 64, 64])
problem("RandomNormalLike: 1x192x400", "RandomNormalLike", {"x": normal(1, 192, 400)})
problem("RandomUniformLike: 1x192x400", "RandomUniformLike", {"x": normal(1, 192, 400)})
problem("RandomNormalLike: 16", "RandomNormalLike", {"x": normal(16)})
problem("Multinomial: 1 of 32000", "Multinomial", {"x": normal(1, 32000)}, sample_size=1)
problem("Multinomial: 64 of 100, batch 32", "Multinomial", {"x": normal(32, 100)}, sample_size=64)

# ---- Sequences ----
graph("SplitToSequence, SequenceAt: 1 of 8 of 8x64x256", [node("SplitToSequence", ["x"], ["s"], axis=0, keepdims=1), node("SequenceAt", ["s", "i"], ["y"])],
      {"x": normal(8, 64, 256), "i": np.array(3, np.int64)}, ["y"])
graph("SplitToSequence, SequenceAt: two of 16 columns", [node("SplitToSequence", ["x", "n"], ["s"], axis=1), node("SequenceAt", ["s", "i"], ["a"]), node("SequenceAt", ["s", "j"], ["b"]),
                                                        node("Add", ["a", "b"], ["y"])],
      {"x": normal(64, 32), "n": const([16, 16]), "i": const(0), "j": const(1)}, ["y"])
graph("SequenceConstruct, ConcatFromSequence: two of 64x256", [node("SequenceConstruct", ["x", "y"], ["s"]), node("ConcatFromSequence", ["s"], ["z"], axis=0, new_axis=0)],
      {"x": normal(64, 256), "y": normal(64, 256)}, ["z"])
graph("Relu, Reshape: 1x64x112x112", [node("Relu", ["x"], ["r"]), node("Reshape", ["r", "s"], ["y"])], {"x": normal(1, 64, 112, 112), "s": const([1, 64, -1])}, ["y"])

# ---- Others of com.microsoft ----
q8 = {n: const(ints(0, 256, *s, dtype=np.uint8)) for n, s in (("w", (30522, 768)), ("p", (512, 768)), ("t", (2, 768)), ("g", (768,)), ("b", (768,)))}
steps = {f"{n}s": const(0.02, np.float32) for n in q8} | {f"{n}z": const(128, np.uint8) for n in q8}
for rows in (8, 128):
    problem(f"QEmbedLayerNormalization: 1x{rows}x768", "QEmbedLayerNormalization", {"i": i32(0, 30522, 1, rows), "s": i32(0, 2, 1, rows), **q8, "m": np.ones((1, rows), np.int32), **steps},
            outputs=2, **CONTRIB)
problem("ConvTransposeWithDynamicPads: 64x28x28 to 32x56x56", "ConvTransposeWithDynamicPads", {"x": normal(1, 64, 28, 28), "w": const(normal(64, 32, 4, 4) / 32), "p": const([1, 1, 1, 1])},
        kernel_shape=[4, 4], strides=[2, 2], **CONTRIB)
problem("DynamicTimeWarping: 1x100x750", "DynamicTimeWarping", {"x": normal(1, 100, 750)}, **CONTRIB)
problem("WordConvEmbedding: 64 words of 20, 256 filters", "WordConvEmbedding", {"s": i32(1, 100, 64, 20), "w": const(normal(256, 1, 3, 16)), "b": const(normal(256)), "c": const(normal(100, 16))},
        **CONTRIB)
problem("MurmurHash3: 10000 int32", "MurmurHash3", {"x": i32(0, 1 << 30, 10000)}, **CONTRIB)
problem("MurmurHash3: 10000 int64", "MurmurHash3", {"x": ints(0, 1 << 60, 10000)}, **CONTRIB)
problem("ReorderInput: 1x64x56x56", "ReorderInput", {"x": normal(1, 64, 56, 56)}, **NCHWC)
problem("ReorderOutput: 1x64x56x56", "ReorderOutput", {"x": normal(1, 64, 56, 56)}, channels=64, **NCHWC)
problem("CDist: 100 by 100 points of 3, euclidean", "CDist", {"a": normal(100, 3), "b": normal(100, 3)}, metric="euclidean", **CONTRIB)
problem("Inverse: 1000x4x4", "Inverse", {"x": normal(1000, 4, 4)}, **CONTRIB)
problem("Inverse: 1x128x128", "Inverse", {"x": normal(1, 128, 128)}, **CONTRIB)
