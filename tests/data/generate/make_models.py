# SPDX-License-Identifier: Apache-2.0
"""Writes the models of this folder and, beside each, its inputs and the outputs of ONNX Runtime 1.31
(NAME.onnx, NAME.in.json, NAME.out.json).
The graphs inside are tiny attention layers with random weights: logits depend on the words, their
positions, the mask and the caches, so a wrong feed gives other words.

    python tests/data/generate/make_models.py
"""
import os, sys
import numpy as np
import onnx
from onnx import TensorProto as T, helper as h, numpy_helper as nh

HERE = os.path.dirname(os.path.abspath(__file__))
WORDS, HEADS, SIZE = 24, 2, 4
WIDTH = HEADS * SIZE


def weights(seed, scale=1.5):
    r = np.random.default_rng(seed)
    f = lambda name, *shape: nh.from_array((r.standard_normal(shape) * scale).astype(np.float32), name)
    i = lambda name, *v: nh.from_array(np.array(v, np.int64), name)
    return [f("words", WORDS, WIDTH), f("places", 64, WIDTH), f("wq", WIDTH, WIDTH), f("wk", WIDTH, WIDTH), f("wv", WIDTH, WIDTH), f("wo", WIDTH, WORDS),
            i("split", 0, 0, HEADS, SIZE), i("join", 0, 0, WIDTH), i("ax0", 0), i("ax12", 1, 2), i("one", 1), i("two", 2),
            nh.from_array(np.float32(1e4), "big"), nh.from_array(np.float32(0.4), "scale")]


def heads(node, x, w, y):
    node("MatMul", [x, w], [y + "_flat"])
    node("Reshape", [y + "_flat", "split"], [y + "_split"])
    node("Transpose", [y + "_split"], [y], perm=[0, 2, 1, 3])


def attend(node, q, k, v, mask, y):
    """softmax(q k' + mask) v; the mask is int32 [rows, keys]"""
    node("Transpose", [k], [y + "_kt"], perm=[0, 1, 3, 2])
    node("MatMul", [q, y + "_kt"], [y + "_qk"])
    node("Mul", [y + "_qk", "scale"], [y + "_s"])
    node("Cast", [mask], [y + "_m"], to=T.FLOAT)
    node("Sub", [y + "_m", "onef"], [y + "_m1"])
    node("Mul", [y + "_m1", "big"], [y + "_m2"])
    node("Unsqueeze", [y + "_m2", "ax12"], [y + "_m3"])
    node("Add", [y + "_s", y + "_m3"], [y + "_sm"])
    node("Softmax", [y + "_sm"], [y + "_p"], axis=-1)
    node("MatMul", [y + "_p", v], [y + "_c"])
    node("Transpose", [y + "_c"], [y + "_ct"], perm=[0, 2, 1, 3])
    node("Reshape", [y + "_ct", "join"], [y])


class Nodes(list):
    def __call__(self, op, i, o, **a):
        self.append(h.make_node(op, i, o, **a))


def value(name, kind, *shape):
    return h.make_tensor_value_info(name, kind, shape)


def gpt(seed=1, pasts=2, words=WORDS, scale=1.5):
    node = Nodes()
    node("Gather", ["words", "input_ids"], ["e"])
    node("Gather", ["places", "position_ids"], ["p"])
    node("Add", ["e", "p"], ["x0"])
    ins = [value("input_ids", T.INT32, "b", "s"), value("position_ids", T.INT32, "b", "s"), value("attention_mask", T.INT32, "b", "t")]
    outs = [value("logits", T.FLOAT, "b", "s", words)]
    for i in range(pasts):
        node("Tanh", [f"x{i}"], [f"h{i}"])
        for w in "qkv":
            heads(node, f"h{i}", "w" + w, f"{w}{i}")
        node("Unsqueeze", [f"k{i}", "ax0"], [f"k{i}u"])
        node("Unsqueeze", [f"v{i}", "ax0"], [f"v{i}u"])
        node("Concat", [f"k{i}u", f"v{i}u"], [f"kv{i}"], axis=0)
        node("Concat", [f"past_{i}", f"kv{i}"], [f"present_{i}"], axis=3)
        node("Split", [f"present_{i}"], [f"K{i}u", f"V{i}u"], axis=0, num_outputs=2)
        node("Squeeze", [f"K{i}u", "ax0"], [f"K{i}"])
        node("Squeeze", [f"V{i}u", "ax0"], [f"V{i}"])
        attend(node, f"q{i}", f"K{i}", f"V{i}", "attention_mask", f"a{i}")
        node("Add", [f"x{i}", f"a{i}"], [f"x{i + 1}"])
        ins.append(value(f"past_{i}", T.FLOAT, 2, "b", HEADS, "past", SIZE))
        outs.append(value(f"present_{i}", T.FLOAT, 2, "b", HEADS, "t", SIZE))
    node("MatMul", [f"x{pasts}", "wo"], ["logits"])
    return h.make_graph(list(node), "gpt", ins, outs, weights(seed, scale) + [nh.from_array(np.float32(1), "onef")])


def t5_layer(node, x, mask, past, y):
    """One layer: self attention on past and x, then cross attention on the encoder's caches."""
    node("Tanh", [x], [y + "_h"])
    for w in "qkv":
        heads(node, y + "_h", "w" + w, f"{y}_{w}")
    if past:
        node("Concat", ["past_key_self_0", y + "_k"], ["present_key_self_0"], axis=2)
        node("Concat", ["past_value_self_0", y + "_v"], ["present_value_self_0"], axis=2)
    else:
        node("Identity", [y + "_k"], ["present_key_self_0"])
        node("Identity", [y + "_v"], ["present_value_self_0"])
    node("Transpose", ["present_key_self_0"], [y + "_kt"], perm=[0, 1, 3, 2])
    node("MatMul", [y + "_q", y + "_kt"], [y + "_qk"])
    node("Softmax", [y + "_qk"], [y + "_p"], axis=-1)
    node("MatMul", [y + "_p", "present_value_self_0"], [y + "_c"])
    node("Transpose", [y + "_c"], [y + "_ct"], perm=[0, 2, 1, 3])
    node("Reshape", [y + "_ct", "join"], [y + "_a"])
    cross = "past" if past else "present"
    attend(node, y + "_q", f"{cross}_key_cross_0", f"{cross}_value_cross_0", mask, y + "_b")
    node("Sum", [x, y + "_a", y + "_b"], [y])


def cache(name, length):
    return value(name, T.FLOAT, "b", HEADS, length, SIZE)


def encoder(seed=3, decodes=True, scale=0.4):
    node = Nodes()
    node("Gather", ["words", "encoder_input_ids"], ["ee"])
    node("Tanh", ["ee"], ["eh"])
    heads(node, "eh", "wk", "present_key_cross_0")
    heads(node, "eh", "wv", "present_value_cross_0")
    ids = [value("encoder_input_ids", T.INT32, "b", "s"), value("encoder_attention_mask", T.INT32, "b", "s")]
    cross = [cache("present_key_cross_0", "s"), cache("present_value_cross_0", "s")]
    if not decodes:
        return h.make_graph(list(node), "encoder", ids, cross, weights(seed, scale) + [nh.from_array(np.float32(1), "onef")])
    node("Identity", ["ee"], ["encoder_hidden_states"])
    node("Gather", ["words", "decoder_input_ids"], ["x"])
    t5_layer(node, "x", "encoder_attention_mask", False, "y")
    node("MatMul", ["y", "wo"], ["logits"])
    outs = [value("logits", T.FLOAT, "b", 1, WORDS), value("encoder_hidden_states", T.FLOAT, "b", "s", WIDTH), cache("present_key_self_0", 1), cache("present_value_self_0", 1)]
    return h.make_graph(list(node), "encoder", ids + [value("decoder_input_ids", T.INT32, "b", 1)], outs + cross, weights(seed, scale) + [nh.from_array(np.float32(1), "onef")])


def decoder(seed=3, hidden=True, scale=0.4):
    node = Nodes()
    node("Gather", ["words", "input_ids"], ["x"])
    t5_layer(node, "x", "encoder_attention_mask", True, "y")
    last = "y"
    if hidden:
        node("ReduceMean", ["encoder_hidden_states", "one"], ["hm"], keepdims=1)
        node("Add", ["y", "hm"], ["z"])
        last = "z"
    node("MatMul", [last, "wo"], ["logits"])
    ins = [value("input_ids", T.INT32, "b", 1), value("encoder_attention_mask", T.INT32, "b", "s")]
    if hidden:
        ins.append(value("encoder_hidden_states", T.FLOAT, "b", "s", WIDTH))
    ins += [cache("past_key_self_0", "past"), cache("past_value_self_0", "past"), cache("past_key_cross_0", "s"), cache("past_value_cross_0", "s")]
    outs = [value("logits", T.FLOAT, "b", 1, WORDS), cache("present_key_self_0", "t"), cache("present_value_self_0", "t")]
    return h.make_graph(list(node), "decoder", ins, outs, weights(seed, scale) + [nh.from_array(np.float32(1), "onef")])


FEATURES, START, TIMES = 6, 3, 13


def whisper_encoder(seed=7, scale=0.5):
    """Features [b, FEATURES, s] are projected to the words' width; the decoder's first words attend to them."""
    node = Nodes()
    node("Transpose", ["encoder_input_ids"], ["f"], perm=[0, 2, 1])
    node("MatMul", ["f", "wf"], ["encoder_hidden_states"])
    node("Tanh", ["encoder_hidden_states"], ["eh"])
    heads(node, "eh", "wk", "present_key_cross_0")
    heads(node, "eh", "wv", "present_value_cross_0")
    node("ReduceSum", ["f", "one"], ["f0"], keepdims=0)
    node("ReduceMax", ["encoder_input_ids", "one"], ["f1"], keepdims=0)
    node("Cast", ["f1"], ["f2"], to=T.BOOL)
    node("Not", ["f2"], ["f3"])
    node("Or", ["f2", "f3"], ["f4"])
    node("Cast", ["f4"], ["seen"], to=T.INT32)
    node("Gather", ["words", "decoder_input_ids"], ["x"])
    t5_layer(node, "x", "seen", False, "y")
    node("MatMul", ["y", "wo"], ["logits"])
    ins = [value("encoder_input_ids", T.FLOAT, "b", FEATURES, "s"), value("decoder_input_ids", T.INT32, "b", "l")]
    outs = [value("logits", T.FLOAT, "b", "l", WORDS), value("encoder_hidden_states", T.FLOAT, "b", "s", WIDTH)]
    outs += [cache("present_key_self_0", "l"), cache("present_value_self_0", "l"), cache("present_key_cross_0", "s"), cache("present_value_cross_0", "s")]
    r = np.random.default_rng(99)
    more = [nh.from_array(np.float32(1), "onef"), nh.from_array(r.standard_normal((FEATURES, WIDTH)).astype(np.float32), "wf")]
    return h.make_graph(list(node), "encoder", ins, outs, weights(seed, scale) + more)


def whisper_decoder(seed=7, hidden=False, scale=0.5):
    node = Nodes()
    node("ReduceMax", ["past_key_cross_0", "ax13"], ["f1"], keepdims=0)
    node("Cast", ["f1"], ["f2"], to=T.BOOL)
    node("Not", ["f2"], ["f3"])
    node("Or", ["f2", "f3"], ["f4"])
    node("Cast", ["f4"], ["seen"], to=T.INT32)
    node("Gather", ["words", "input_ids"], ["x"])
    t5_layer(node, "x", "seen", True, "y")
    last = "y"
    if hidden:
        # ONNX Runtime gives the decoder the shape of the hidden states, but not their values
        node("Shape", ["encoder_hidden_states"], ["hs"])
        node("Cast", ["hs"], ["hf"], to=T.FLOAT)
        node("ReduceMean", ["hf"], ["hm"], keepdims=0)
        node("Mul", ["y", "hm"], ["z"])
        last = "z"
    node("MatMul", [last, "wo"], ["logits"])
    ins = [value("input_ids", T.INT32, "b", 1)]
    if hidden:
        ins.append(value("encoder_hidden_states", T.FLOAT, "b", "s", WIDTH))
    ins += [cache("past_key_self_0", "past"), cache("past_value_self_0", "past"), cache("past_key_cross_0", "s"), cache("past_value_cross_0", "s")]
    outs = [value("logits", T.FLOAT, "b", 1, WORDS), cache("present_key_self_0", "t"), cache("present_value_self_0", "t")]
    more = [nh.from_array(np.float32(1), "onef"), nh.from_array(np.array([1, 3], np.int64), "ax13")]
    return h.make_graph(list(node), "decoder", ins, outs, weights(seed, scale) + more)


def model(op, inputs, outputs, **attributes):
    """inputs: {name: array or None}; an omitted input has an empty name"""
    kinds = {np.dtype("int32"): T.INT32, np.dtype("float32"): T.FLOAT}
    node = h.make_node(op, [k if v is not None else "" for k, v in inputs.items()], list(outputs), domain="com.microsoft", **attributes)
    graph = h.make_graph([node], "g", [value(k, kinds[v.dtype], *[None] * v.ndim) for k, v in inputs.items() if v is not None],
                         [value(k, kind, *[None] * rank) for k, (kind, rank) in outputs.items()])
    return h.make_model(graph, opset_imports=[h.make_opsetid("", 18), h.make_opsetid("com.microsoft", 1)], ir_version=9)


def i32(*v):
    return np.array(v, np.int32)


PROMPT = i32([3, 7, 1], [23, 5, 9])
IDS = dict(eos_token_id=2, pad_token_id=23)


def greedy(prompt=PROMPT, length=10, least=None, penalty=None, mask=None, prefix=None, attention=None, op="GreedySearch", **attributes):
    feed = {"input_ids": prompt, "max_length": i32(length),
            "min_length": None if least is None else i32(least),
            "repetition_penalty": None if penalty is None else np.array([penalty], np.float32),
            "vocab_mask": mask, "prefix_vocab_mask": prefix, "attention_mask": attention}
    attributes = {"decoder": gpt(), **IDS, **attributes}
    return model(op, feed, {"sequences": (T.INT32, 2)}, **attributes), {k: v for k, v in feed.items() if v is not None}


def beams(prompt=PROMPT, length=10, least=None, beams=3, returned=2, length_penalty=None, penalty=None, mask=None, prefix=None, attention=None, outputs=3, **attributes):
    feed = {"input_ids": prompt, "max_length": i32(length), "min_length": i32(least or 0), "num_beams": i32(beams),
            "num_return_sequences": i32(returned), "length_penalty": np.array([length_penalty or 1], np.float32),
            "repetition_penalty": None if penalty is None else np.array([penalty], np.float32),
            "vocab_mask": mask, "prefix_vocab_mask": prefix, "attention_mask": attention}
    attributes = {"decoder": gpt(), **IDS, **attributes}
    names = {"sequences": (T.INT32, 3), "sequences_scores": (T.FLOAT, 2), "scores": (T.FLOAT, 4)}
    return model("BeamSearch", feed, dict(list(names.items())[:outputs]), **attributes), {k: v for k, v in feed.items() if v is not None}


# Words 0 to TIMES - 1 are text or marks, the others times.
MARKS = dict(eos_token_id=8, pad_token_id=8, decoder_start_token_id=START, translate_token_id=10, transcribe_token_id=9, start_of_lm_token_id=11,
             no_timestamps_token_id=TIMES - 1, beginning_timestamp_token_id=TIMES, no_speech_token_id=1)


def whisper(op="WhisperBeamSearch", length=14, least=None, beams=3, returned=2, length_penalty=None, penalty=None, mask=None, prefix=None, first=None, processor=None,
            extra=None, temperature=None, hidden=False, scale=0.5, seed=7, outputs=("sequences", "sequences_scores", "scores", "", "non_speech_probs"), **attributes):
    one = lambda v: None if v is None else np.array([v], np.float32)
    features = np.random.default_rng(5).standard_normal((2, FEATURES, 5)).astype(np.float32)
    feed = {"input_ids": features, "max_length": i32(length), "min_length": i32(least or 0), "num_beams": i32(beams),
            "num_return_sequences": i32(returned), "length_penalty": one(length_penalty or 1), "repetition_penalty": one(penalty), "vocab_mask": mask,
            "prefix_vocab_mask": prefix, "attention_mask": None, "decoder_input_ids": first, "logits_processor": None if processor is None else i32(processor)}
    if op == "WhisperBeamSearch":
        feed.update({"cross_qk_layer_head": None, "extra_decoding_ids": extra, "temperature": one(temperature)})
    graphs = {"encoder": whisper_encoder(seed, scale), "decoder": whisper_decoder(seed, hidden, scale), "model_type": 2}
    kinds = {"sequences": (T.INT32, 3), "sequences_scores": (T.FLOAT, 2), "scores": (T.FLOAT, 4), "non_speech_probs": (T.FLOAT, 1), "cross_qk": (T.FLOAT, 5)}
    if op == "BeamSearch":
        attributes = {**{k: v for k, v in MARKS.items() if k in ("eos_token_id", "pad_token_id", "decoder_start_token_id")}, **attributes}
    else:
        attributes = {**MARKS, **attributes}
    outputs = [o or " " * i for i, o in enumerate(outputs)]  # distinct keys for outputs without a name
    m = model(op, feed, {k: kinds.get(k.strip(), (T.FLOAT, 1)) for k in outputs}, **{**graphs, **attributes})
    for i, o in reversed(list(enumerate(m.graph.output))):
        if not o.name.strip():
            del m.graph.output[i]
            m.graph.node[-1].output[i] = ""
    return m, {k: v for k, v in feed.items() if v is not None}


def with_steering(made, first):
    """decoder_input_ids and logits_processor, which models without an encoder ignore"""
    m, feed = made
    node = m.graph.node[-1]
    node.input.extend([""] * (10 - len(node.input)) + ["decoder_input_ids", "logits_processor"])
    m.graph.input.extend([value("decoder_input_ids", T.INT32, None, None), value("logits_processor", T.INT32, None)])
    return m, {**feed, "decoder_input_ids": first, "logits_processor": i32(1)}


def silence(m, feed):
    """Probability of no_speech_token_id, which ONNX Runtime computes on GPUs only: a softmax of its encoder's logits."""
    import onnxruntime as ort

    a = {a.name: a for a in m.graph.node[-1].attribute}
    inner = h.make_model(a["encoder"].g, opset_imports=m.opset_import, ir_version=9)
    first = feed.get("decoder_input_ids", i32(*[[a["decoder_start_token_id"].i]] * 2))
    s = ort.InferenceSession(inner.SerializeToString(), providers=["CPUExecutionProvider"])
    logits = s.run(["logits"], {"encoder_input_ids": feed["input_ids"], "decoder_input_ids": first})[0][:, -1].astype(np.float64)
    odds = np.exp(logits - logits.max(-1, keepdims=True))
    return (odds / odds.sum(-1, keepdims=True))[:, a["no_speech_token_id"].i].astype(np.float32)


def sampling(seed=5, presence=None, length=12, **attributes):
    feed = {"input_ids": PROMPT, "max_length": i32(length), "min_length": None, "repetition_penalty": None, "vocab_mask": None, "prefix_vocab_mask": None, "attention_mask": None,
            "presence_mask": presence, "seed": None if seed is None else i32(seed)}
    attributes = {"decoder": gpt(scale=0.4), **IDS, **attributes}
    return model("Sampling", feed, {"sequences": (T.INT32, 2)}, **attributes), {k: v for k, v in feed.items() if v is not None}


def cases():
    yield "greedy", greedy()
    mask = np.ones(WORDS, np.int32)
    mask[::3] = 0
    yield "greedy_masks", greedy(mask=mask, prefix=np.stack([1 - mask, mask]).astype(np.int32) | (np.arange(WORDS) % 5 == 0).astype(np.int32))
    yield "greedy_penalties", greedy(penalty=1.7, least=8, no_repeat_ngram_size=2, length=14)
    yield "greedy_mask", greedy(attention=i32([1, 0, 1], [1, 1, 1]))
    yield "greedy_init", greedy(init_decoder=gpt(seed=5))
    soft = gpt(scale=0.4)
    yield "beams", beams(decoder=soft)
    yield "beams_end", beams(decoder=soft, eos_token_id=12, length=16, outputs=2)
    yield "beams_early", beams(decoder=soft, eos_token_id=12, length=16, early_stopping=1, outputs=2)
    yield "beams_length", beams(decoder=soft, eos_token_id=12, length=16, length_penalty=-2.0, least=9, outputs=2)
    yield "beams_four", beams(decoder=soft, eos_token_id=12, length=16, beams=4, returned=4, prompt=i32([3, 7, 1], [23, 5, 9], [23, 23, 4]), outputs=2)
    yield "beams_penalties", beams(decoder=soft, penalty=1.7, no_repeat_ngram_size=2, length=12, mask=mask, prefix=np.stack([1 - mask, mask]) | (np.arange(WORDS) % 5 == 0).astype(np.int32))
    yield "beams_init", beams(decoder=soft, init_decoder=gpt(seed=5), beams=1, returned=1)
    t5 = dict(encoder=encoder(), decoder=decoder(), model_type=1, decoder_start_token_id=0)
    padded = i32([23, 23, 3, 7], [5, 9, 23, 11])
    yield "t5", beams(prompt=padded, **t5)
    yield "t5_end", beams(prompt=padded, length=14, outputs=2, attention=i32([1, 0, 1, 1], [1, 1, 1, 0]), **{**t5, "eos_token_id": 17})
    t5 = dict(encoder=encoder(decodes=False), decoder=decoder(hidden=False), model_type=1, decoder_start_token_id=0)
    yield "t5_caches", beams(prompt=padded, **t5)
    first = i32([3, 9], [3, 10])
    yield "whisper", whisper(hidden=True)
    yield "whisper_times", whisper(first=first, processor=1, length=20, outputs=("sequences", "sequences_scores", "", "", "non_speech_probs"))
    yield "whisper_seed", whisper(first=i32([3, 14, 2, 20], [3, 9, 12, 5]), processor=1, length=20, seed=13, scale=0.4, beams=4, returned=4, temperature=2.0, penalty=1.5, least=9,
                                  no_repeat_ngram_size=2, early_stopping=1, length_penalty=0.5, outputs=("sequences", "sequences_scores"))
    yield "whisper_marks", whisper(first=first, processor=1, beams=2, seed=31, scale=0.3, eos_token_id=3, decoder_start_token_id=8, length=22, outputs=("sequences", "sequences_scores"))
    yield "whisper_masks", whisper(first=first, processor=2, mask=mask, prefix=np.stack([1 - mask, mask]) | (np.arange(WORDS) % 5 == 0).astype(np.int32), length=10)
    yield "whisper_beams", whisper(op="BeamSearch", first=first, processor=0, outputs=("sequences", "sequences_scores", "scores"))
    yield "beams_ids", with_steering(beams(decoder=soft), first)
    yield "sampling", sampling(top_p=1.0, length=30)
    yield "sampling_no_seed", sampling(seed=None, top_p=0.95)
    yield "sampling_top_p", sampling(top_p=0.7, temperature=1.5, min_tokens_to_keep=2, length=28)
    yield "sampling_custom", sampling(top_p=0.8, custom=1, filter_value=-30.0, length=30)
    yield "sampling_seed", sampling(seed=2147483647, top_p=0.9, length=20)


def bad_models():
    """Models that must be refused; ONNX Runtime gives no results for them."""
    less, nan, caches = gpt(), gpt(), gpt()
    less.input.append(value("extra", T.INT32, "b"))
    i = [w.name for w in nan.initializer].index("wo")
    nan.initializer[i].CopyFrom(nh.from_array(np.full((WIDTH, WORDS), np.nan, np.float32), "wo"))
    caches.input[3].type.tensor_type.shape.dim[2].dim_param = "heads"
    ids = gpt(pasts=1)
    for n in ids.node:
        if n.input[0] == "words":
            n.input[1] = "no_ids"
    ids.node.insert(0, h.make_node("Sub", ["input_ids", "input_ids"], ["no_ids"]))
    yield "bad_inputs", greedy(decoder=less)[0]
    yield "bad_nan", beams(decoder=nan)[0]
    yield "bad_caches", greedy(decoder=caches)[0]
    yield "bad_ids", greedy(decoder=ids)[0]
    yield "bad_top_p", sampling(top_p=0.0)[0]
    yield "bad_presence", sampling(top_p=0.5, presence=np.ones((2, WORDS), np.int32), presence_penalty=1.5)[0]
    yield "bad_type", greedy(model_type=1)[0]
    yield "bad_layout", whisper(decoder=decoder())[0]
    yield "bad_times", whisper(first=i32([3, 9], [3, 10]), processor=1, beginning_timestamp_token_id=99)[0]
    yield "bad_silence", whisper(no_speech_token_id=24)[0]
    yield "bad_cross", whisper(outputs=("sequences", "sequences_scores", "scores", "cross_qk"))[0]
    yield "bad_extra", whisper(first=i32([3, 9], [3, 10]), extra=i32([3, 9], [3, 10]))[0]


def main():
    import onnxruntime as ort
    from polygraphy.comparator import IterationResult, RunResults
    from polygraphy.json import save_json

    ort.set_default_logger_severity(4)
    for name, m in bad_models():
        onnx.save(m, os.path.join(HERE, name + ".onnx"))
    for name, (m, feed) in cases():
        if sys.argv[1:] and not any(w in name for w in sys.argv[1:]):
            continue
        s = ort.InferenceSession(m.SerializeToString(), providers=["CPUExecutionProvider"])
        got = s.run(None, feed)
        outputs = {o.name: v for o, v in zip(s.get_outputs(), got)}
        if "non_speech_probs" in outputs:
            outputs["non_speech_probs"] = silence(m, feed)
        onnx.save(m, os.path.join(HERE, name + ".onnx"))
        save_json([feed], os.path.join(HERE, name + ".in.json"))
        results = RunResults()
        results["onnxruntime"] = [IterationResult(outputs, runtime=0)]
        results.save(os.path.join(HERE, name + ".out.json"))
        print(name, m.ByteSize(), {k: v.tolist() if v.size < 100 else v.shape for k, v in outputs.items()})


if __name__ == "__main__":
    main()
