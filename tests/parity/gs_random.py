#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Random graphs and random edit scripts against onnx-graphsurgeon: gs_random.py PROGRAM [--cases N] [--seed N] [--keep FOLDER]

A case is a random model (subgraphs, omitted slots, several readers, constants, unsorted lists) and a script of random verbs, chosen by looking
at the graph as it is after the verbs before. `surgeon edit` runs the script, and the interpreter below runs it with the real package. The two
models must be the same text (gs_text.py) once what no node uses is left out, or the difference is one of DEFECTS. Where the package's model
passes onnx.checker ours must, and where ONNX Runtime runs it ours must give the same outputs. Some scripts end in a circle: they must be
refused, naming it.
"""
import argparse
import collections
import concurrent.futures
import os
import random
import shlex
import subprocess
import sys
import tempfile
import warnings

warnings.simplefilter("ignore")
import numpy as np  # noqa: E402
import onnx  # noqa: E402
import onnx_graphsurgeon as gs  # noqa: E402
import onnxruntime  # noqa: E402
from onnx import TensorProto, helper, numpy_helper  # noqa: E402

from gs_text import model_text  # noqa: E402

onnxruntime.set_default_logger_severity(4)
gs.logger.G_LOGGER.severity = 50
UNARY, BINARY = ("Relu", "Neg", "Abs", "Identity"), ("Add", "Sub", "Max", "Min", "Add")

# Defects of the package (by their number in the reference's list) that a comparison may run into, and what is made of both models then.
DEFECTS = {
    6: "an If that is put into its graph leaves nodes of one name",
    12: "an output in the middle that nobody reads is dropped, which moves the others",
    13: "shapes that depend on an input with another shape stay as they were",
    "inputs": "unused inputs of a loop's body are removed, although they are known by their places",
    "imports": "a domain stays imported whose nodes are gone, because folding wrote the graph while they were there",
    "order": "an unchanged model is written with its weights and value infos in another order",
}


# ---- Random models


class Maker:
    def __init__(self, rng):
        self.rng, self.nodes, self.weights, self.floats, self.infos, self.count = rng, [], [], [], [], 0
        self.batch = rng.choice([2, "N"])

    def name(self, prefix):
        self.count += 1
        return f"{prefix}{self.count}"

    def weight(self, array, prefix="w"):
        name = self.name(prefix)
        self.weights.append(numpy_helper.from_array(array, name))
        return name

    def small(self, shape=(2, 3)):
        return np.array([self.rng.randint(-4, 4) / 2 for _ in range(int(np.prod(shape)))], np.float32).reshape(shape)

    def any(self):
        return self.rng.choice(self.floats)

    def operand(self):
        return self.any() if self.rng.random() < 0.7 else self.weight(self.small((1, 3)))

    def node(self, op, inputs, count=1, **attrs):
        outputs = [self.name("t") for _ in range(count)]
        name = self.name("n") if self.rng.random() < 0.85 else ""
        self.nodes.append(helper.make_node(op, inputs, outputs, name, **attrs))
        return outputs

    def keep(self, name):
        self.floats.append(name)
        if self.rng.random() < 0.5:
            self.infos.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, [self.batch, 3]))

    def branch(self, x):
        out = self.name("s")
        if self.rng.random() < 0.5:
            nodes = [helper.make_node(self.rng.choice(UNARY), [x], [out], self.name("n"))]
            weights = []
        else:
            local, middle = self.name("c"), self.name("s")
            weights = [numpy_helper.from_array(self.small((1, 3)), local)]
            nodes = [helper.make_node("Add", [x, local], [middle], self.name("n")), helper.make_node("Neg", [middle], [out], self.name("n"))]
        return helper.make_graph(nodes, self.name("branch"), [], [helper.make_tensor_value_info(out, TensorProto.FLOAT, [self.batch, 3])], weights)

    def body(self, x):
        """Of a loop: the state and a tensor from outside are added."""
        i, cond, state, go_on, out = (self.name("l") for _ in range(5))
        nodes = [helper.make_node("Identity", [cond], [go_on], self.name("n")), helper.make_node("Add", [state, x], [out], self.name("n"))]
        inputs = [helper.make_tensor_value_info(i, TensorProto.INT64, []), helper.make_tensor_value_info(cond, TensorProto.BOOL, []),
                  helper.make_tensor_value_info(state, TensorProto.FLOAT, [self.batch, 3])]
        return helper.make_graph(nodes, self.name("body"), inputs, [helper.make_tensor_value_info(go_on, TensorProto.BOOL, []),
                                                                    helper.make_tensor_value_info(out, TensorProto.FLOAT, [self.batch, 3])])

    def step(self):
        kind = self.rng.choices(("unary", "binary", "clip", "split", "shape", "constant", "if", "loop", "folded"), (5, 6, 2, 1, 1, 2, 1, 0.7, 2))[0]
        if kind == "unary":
            self.keep(self.node(self.rng.choice(UNARY), [self.any()])[0])
        elif kind == "binary":
            self.keep(self.node(self.rng.choice(BINARY), [self.any(), self.operand()])[0])
        elif kind == "clip":
            bound = self.weight(np.array(3, np.float32))
            self.keep(self.node("Clip", [self.any(), "", bound] if self.rng.random() < 0.6 else [self.any(), bound])[0])
        elif kind == "split":
            parts = self.node("Split", [self.any()], 3, axis=1)
            if self.rng.random() < 0.5:
                parts[1] = parts[0]
            self.keep(self.node("Concat", parts, axis=1)[0])
        elif kind == "shape":
            x = self.any()
            shape = self.node("Shape", [x])[0]
            self.keep(self.node("Reshape", [self.any(), shape])[0])
        elif kind == "constant":
            value = numpy_helper.from_array(self.small((1, 3)), "")
            c = self.node("Constant", [], value=value)[0]
            self.keep(self.node(self.rng.choice(BINARY), [self.any(), c])[0])
        elif kind == "folded":
            a = self.node("Add", [self.weight(self.small((1, 3))), self.weight(self.small((1, 3)))])[0]
            b = self.node("Neg", [a])[0] if self.rng.random() < 0.5 else a
            self.keep(self.node("Max", [self.any(), b])[0])
        elif kind == "loop":
            self.keep(self.node("Loop", [self.weight(np.array(2)), "", self.any()], body=self.body(self.any()))[0])
        else:
            cond = self.weight(np.array(self.rng.random() < 0.5)) if self.rng.random() < 0.4 else "cond"
            x = self.any()
            self.keep(self.node("If", [cond], then_branch=self.branch(x), else_branch=self.branch(x))[0])

    def model(self):
        inputs = [helper.make_tensor_value_info(f"x{i}", TensorProto.FLOAT, [self.batch, 3]) for i in range(self.rng.randint(1, 3))]
        self.floats = [i.name for i in inputs]
        for _ in range(self.rng.randint(3, 14)):
            self.step()
        if any("cond" in n.input for n in self.nodes):
            inputs.append(helper.make_tensor_value_info("cond", TensorProto.BOOL, []))
        made = [n for n in self.floats if n.startswith("t")]
        names = set(self.rng.sample(made, min(len(made), self.rng.randint(1, 3)))) | {made[-1]}
        outputs = [helper.make_tensor_value_info(n, TensorProto.FLOAT, [self.batch, 3]) for n in made if n in names]
        infos = [i for i in self.infos if i.name not in names]
        if self.rng.random() < 0.4:
            ifs = [n for n in self.nodes if n.op_type in ("If", "Loop")]
            self.rng.shuffle(self.nodes)
            # Last, and in order: the package does not see that a subgraph reads what is made further down the list.
            self.nodes = [n for n in self.nodes if n.op_type not in ("If", "Loop")] + ifs
        graph = helper.make_graph(self.nodes, "random", inputs, outputs, self.weights, value_info=infos)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)


# ---- The interpreter: verbs of edit scripts with the real package


def place_of(items, item):
    """Equality is by name there."""
    return next(i for i, x in enumerate(items) if x is item)


def has(items, item):
    return any(x is item for x in items)


def read_instead(node, old, new):
    for i, t in enumerate(node.inputs):
        if t is old:
            node.inputs[i] = new


class Interpreter:
    def __init__(self, graph):
        self.top = self.graph = graph
        self.outer, self.declared, self.notes = [], {}, set()

    def tensor(self, name):
        if name in ("", "$none"):
            return gs.Variable.empty()
        for g in [self.graph] + self.outer[::-1]:
            found = g.tensors().get(name)
            if found is not None:
                return found
        return self.declared[name]

    def node(self, name):
        return self.tensor(name[1:]).inputs[0] if name.startswith("@") else next(n for n in self.graph.nodes if n.name == name)

    def item(self, text, anchor):
        if text.startswith("const:"):
            return literal(text[6:])
        if text.startswith("$out"):
            return anchor.outputs[int(text[5:-1] or 0) if len(text) > 4 else 0]
        if text.startswith("$in"):
            return anchor.inputs[int(text[4:-1] or 0) if len(text) > 3 else 0]
        return self.tensor(text)

    def items(self, text, anchor=None):
        return [self.item(t, anchor) for t in split_list(text)]

    def run(self, line):
        words = shlex.split(line)
        verb = "do_" + words[0].replace("-", "_")
        flags = {w for w in words[1:] if w.startswith("--")}
        named = dict(w.split("=", 1) for w in words[1:] if not w.startswith("--") and "=" in w.split("[")[0] and w.split("=")[0].replace(".", "_").isidentifier())
        places = [w for w in words[1:] if not w.startswith("--") and w.split("=")[0] not in named]
        getattr(self, verb)(places, named, flags)

    # Nodes

    def new_node(self, op, named, inputs, outputs):
        attrs = {k[5:]: value_of(v) for k, v in named.items() if k.startswith("attr.")}
        more = {"name": named["name"]} if "name" in named else {}
        self.graph.layer(op=op, inputs=inputs, outputs=outputs, attrs=attrs, **more)
        return self.graph.nodes[-1]

    def do_insert(self, places, named, flags):
        g, slot = self.graph, int(named.get("slot", 0))
        after = self.node(named["after"]) if "after" in named else None
        before = self.node(named["before"]) if "before" in named else None
        met = after.outputs[slot] if after else before.inputs[slot] if before else None
        readers = list(met.outputs) if after else []
        inputs = self.items(named["inputs"], after or before) if "inputs" in named else [met] if met is not None else []
        outputs = [places[0].lower() + "_out"]
        if "outputs" in named:
            outputs = []
            for name in split_list(named["outputs"]):
                try:
                    outputs.append(self.tensor(name))
                except KeyError:
                    outputs.append(gs.Variable(name))
        n = self.new_node(places[0], named, inputs, outputs)
        made = n.outputs[0]
        if "type" in named:
            made.dtype, made.shape = np.float32, shape_of(named["type"]) if "[" in named["type"] else None
        if after:
            for r in readers:
                if r is not n:
                    read_instead(r, met, made)
            if has(g.outputs, met):
                if "outputs" in named:
                    g.outputs[place_of(g.outputs, met)] = made
                else:
                    made.dtype, made.shape = met.dtype, met.shape
                    for r in list(made.outputs):
                        read_instead(r, made, met)
                    read_instead(n, met, made)
                    after.outputs[slot] = made
                    n.outputs[0] = met
        elif before:
            before.inputs[slot] = made
        if after or before:
            g.nodes.pop()
            g.nodes.insert(place_of(g.nodes, after) + 1 if after else place_of(g.nodes, before), n)

    def do_layer(self, places, named, flags):
        self.new_node(places[0], named, self.items(named.get("inputs", "")), split_list(named.get("outputs", "")))

    def drop(self, n):
        n.inputs.clear()
        n.outputs.clear()
        del self.graph.nodes[place_of(self.graph.nodes, n)]

    def do_remove(self, places, named, flags):
        n, g = self.node(places[0]), self.graph
        if "--cut" in flags:
            return self.drop(n)
        old, new = n.outputs[0], n.inputs[int(named.get("slot", 0))]
        is_output = has(g.outputs, old)
        if not old.outputs and not is_output:
            return self.drop(n)
        if named.get("keep", "output" if is_output else "input") == "output":
            maker = new.inputs[0]
            slot = place_of(maker.outputs, new)
            self.drop(n)
            for r in list(new.outputs):
                read_instead(r, new, old)
            maker.outputs[slot] = old
        else:
            if is_output:
                g.outputs[place_of(g.outputs, old)] = new
            self.drop(n)
            for r in list(old.outputs):
                read_instead(r, old, new)

    def do_replace(self, places, named, flags):
        n = self.node(places[0])
        inputs = self.items(named["inputs"], n) if "inputs" in named else None
        n.op, n.name = named.get("op", n.op), named.get("name", n.name)
        if inputs is not None:
            n.inputs = inputs
        if "--clear-attrs" in flags:
            n.attrs.clear()

    def do_replace_region(self, places, named, flags):
        inputs, outputs = self.items(named["inputs"]), self.items(named["outputs"])
        for t in outputs:
            t.inputs.clear()
        self.new_node(named["op"], named, inputs, outputs)

    def do_rename_node(self, places, named, flags):
        self.node(places[0]).name = places[1]

    def do_place(self, places, named, flags):
        n = self.node(places[0])
        del self.graph.nodes[place_of(self.graph.nodes, n)]
        i = int(places[1]) if len(places) > 1 else place_of(self.graph.nodes, self.node(named["after"])) + 1 if "after" in named else \
            place_of(self.graph.nodes, self.node(named["before"]))
        self.graph.nodes.insert(i, n)

    def do_set_attr(self, places, named, flags):
        self.node(places[0]).attrs.update((k, value_of(v)) for k, v in named.items())

    def do_remove_attr(self, places, named, flags):
        del self.node(places[0]).attrs[places[1]]

    # Edges

    def do_set_input(self, places, named, flags):
        n = self.node(places[0])
        t = self.item(places[2], n)
        if int(places[1]) == len(n.inputs):
            n.inputs.append(t)
        else:
            n.inputs[int(places[1])] = t

    def do_insert_input(self, places, named, flags):
        self.node(places[0]).inputs.insert(int(places[1]), self.tensor(places[2]))

    def do_remove_input(self, places, named, flags):
        del self.node(places[0]).inputs[int(places[1])]

    def do_set_inputs(self, places, named, flags):
        n = self.node(places[0])
        n.inputs = self.items(places[1], n)

    def do_replace_uses(self, places, named, flags):
        old, new = self.tensor(places[0]), self.tensor(places[1])
        for r in list(old.outputs):
            read_instead(r, old, new)

    # Tensors

    def do_variable(self, places, named, flags):
        self.declared[places[0]] = gs.Variable(places[0], np.float32, shape_of(places[1]) if "[" in places[1] else None)

    def do_constant(self, places, named, flags):
        self.declared[places[0]] = gs.Constant(places[0], np.asarray(literal(places[1])))

    def do_rename(self, places, named, flags):
        self.tensor(places[0]).name = places[1]

    def do_set_type(self, places, named, flags):
        t = self.tensor(places[0])
        t.dtype = np.float32
        if "[" in places[1]:
            t.shape = shape_of(places[1])

    def do_to_constant(self, places, named, flags):
        self.tensor(places[0]).to_constant(np.asarray(literal(places[1])))

    def do_to_variable(self, places, named, flags):
        t = self.tensor(places[0])
        t.to_variable(np.float32, shape_of(places[1]))
        t.type = "tensor_type"  # which it then lacks, and cannot be written

    # Graphs

    def do_set_io(self, places, named, flags):
        if "inputs" in named:
            self.graph.inputs = self.items(named["inputs"])
        if "outputs" in named:
            self.graph.outputs = self.items(named["outputs"])

    def do_extract(self, places, named, flags):
        self.do_set_io(places, named, flags)
        self.graph.cleanup()

    def do_add_output(self, places, named, flags):
        self.graph.outputs.extend(self.tensor(p) for p in places)

    def do_set_input_shape(self, places, named, flags):
        next(t for t in self.graph.inputs if t.name == places[0]).shape = shape_of(places[1])
        if "--keep-stale" not in flags:
            self.notes.add(13)

    def do_set_opset(self, places, named, flags):
        self.top.opset = int(places[0])
        for o in self.top.import_domains or []:
            if o.domain in ("", "ai.onnx"):
                o.version = int(places[0])

    def do_set_name(self, places, named, flags):
        self.graph.name = places[0]

    def do_fold(self, places, named, flags):
        if any(n.domain == "my" for n in self.graph.nodes):
            self.notes.add("imports")
        threshold = [int(f.split("=")[1]) for f in flags if f.startswith("--threshold=")]
        if any(n.op == "If" for n in self.graph.nodes):
            self.notes.add(6)
        partitioning = [f.split("=")[1] for f in flags if f.startswith("--partition=")]
        excluded = [self.node(n) for n in split_list(named.get("exclude", ""))]
        self.graph.fold_constants(partitioning=partitioning[0] if partitioning else None, should_exclude_node=lambda n: n in excluded, size_threshold=threshold[0] if threshold else None, fold_shapes="--keep-shapes" not in flags,
                                  flatten_subgraphs="--keep-ifs" not in flags)

    def do_cleanup(self, places, named, flags):
        if "--unused-outputs" in flags:
            self.notes.add(12)
        if "--unused-inputs" in flags:
            self.notes.add("inputs")
        self.graph.cleanup(remove_unused_node_outputs="--unused-outputs" in flags, remove_unused_graph_inputs="--unused-inputs" in flags)

    def do_sort(self, places, named, flags):
        # Sorting functions as well never ends there if the graph has a subgraph; these do not call each other.
        self.graph.toposort(mode="nodes" if self.top.functions else "full")

    # Functions and subgraphs

    def interface(self, named):
        inputs = {n: gs.Variable(n) for n in split_list(named.get("inputs", ""))}
        return list(inputs.values()), [inputs.get(n) or gs.Variable(n) for n in split_list(named.get("outputs", ""))]

    def do_new_function(self, places, named, flags):
        inputs, outputs = self.interface(named)
        f = gs.Function(places[0], named.get("domain"), inputs=inputs, outputs=outputs, opset=self.top.opset)
        self.top.functions.append(f)
        self.graph, self.outer = f, []

    def do_add_parameter(self, places, named, flags):
        self.graph.attrs[places[0]] = value_of(places[1]) if len(places) > 1 else None

    def do_call(self, places, named, flags):
        f = next(f for f in self.top.functions if f.name == places[0])
        attrs = {k[5:]: value_of(v) for k, v in named.items() if k.startswith("attr.")}
        more = {"name": named["name"]} if "name" in named else {}
        outputs = None
        if "outputs" in named:
            outputs = [gs.Variable(n, o.dtype, o.shape) for n, o in zip(split_list(named["outputs"]), f.outputs)]
        f(self.graph, inputs=self.items(named.get("inputs", "")), outputs=outputs, attrs=attrs, **more)

    def do_remove_function(self, places, named, flags):
        self.top.functions[:] = [f for f in self.top.functions if f.name != places[0]]

    def do_enter_function(self, places, named, flags):
        self.graph, self.outer = next(f for f in self.top.functions if f.name == places[0]), []

    def do_new_subgraph(self, places, named, flags):
        inputs, outputs = self.interface(named)
        inner = gs.Graph(inputs=inputs, outputs=outputs, name=named.get("name", places[1]), opset=self.top.opset)
        self.node(places[0]).attrs[places[1]] = inner
        self.outer.append(self.graph)
        self.graph = inner

    def do_enter(self, places, named, flags):
        inner = self.node(places[0]).attrs[places[1]]
        self.outer.append(self.graph)
        self.graph = inner

    def do_leave(self, places, named, flags):
        self.graph = self.outer.pop() if self.outer else self.top


def split_list(text):
    parts, depth = [""], 0
    for c in text:
        depth += (c == "[") - (c == "]")
        if c == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += c
    return parts if text else []


def shape_of(text):
    return [int(d) if d.lstrip("-").isdigit() else None if d == "?" else d for d in text[text.index("[") + 1:-1].split(",") if d]


def value_of(text):
    if text.startswith("ref:"):
        return gs.Node.AttributeRef(text.split(":")[1], float)
    if text.startswith("["):
        return [value_of(t) for t in text[1:-1].split(",")]
    try:
        return int(text)
    except ValueError:
        try:
            return float(text)
        except ValueError:
            return text


def literal(text):
    """A constant: numbers and lists are left to layer(), which gives them a type."""
    if text.startswith("ones["):
        return np.ones(shape_of(text), np.float32)
    if text.startswith("FLOAT["):
        head, values = text.split("=")
        return np.broadcast_to(np.array(value_of(values), np.float32), shape_of(head)).copy()
    return value_of(text)


# ---- Random scripts


def depends(t, node):
    """Does tensor t depend on what node makes?"""
    seen, todo = set(), [t]
    while todo:
        for p in todo.pop().inputs:
            if p is node:
                return True
            if id(p) not in seen:
                seen.add(id(p))
                todo += list(p.inputs)
                for g in [v for v in p.attrs.values() if isinstance(v, gs.Graph)]:
                    todo += list(g._foreign_tensors().values())
    return False


class Writer:
    """Chooses verbs that fit the interpreter's graph."""

    def __init__(self, rng, run):
        self.rng, self.run, self.lines, self.count = rng, run, [], 0

    def fresh(self, prefix):
        self.count += 1
        return f"{prefix}_new{self.count}"

    def ref(self, n):
        return n.name or "@" + next(t.name for t in n.outputs if t.name)

    def nodes(self, *ops):
        names = collections.Counter(n.name for n in self.run.graph.nodes if n.name)
        return [n for n in self.run.graph.nodes if (not ops or n.op in ops) and any(t.name for t in n.outputs) and (not n.name or names[n.name] == 1) and
                all(len(t.inputs) == 1 for t in n.outputs if t.name)]

    def pick(self, *ops):
        found = self.nodes(*ops)
        return self.rng.choice(found) if found else None

    def floats(self, node=None):
        """Tensors of the usual shape that do not depend on a node."""
        g = self.run.graph
        made = [t for n in g.nodes if n.op in UNARY + BINARY + ("Clip", "If", "Loop", "Reshape", "Concat") for t in n.outputs if t.name and isinstance(t, gs.Variable)]
        return [t for t in made + [t for t in g.inputs if t.dtype != bool] if node is None or not depends(t, node)]

    def add(self, line):
        self.run.run(line)
        self.lines.append(line)

    def insert(self):
        n = self.pick(*UNARY, *BINARY, "Clip")
        if not n:
            return
        name = f" name={self.fresh('n')}" if self.rng.random() < 0.7 else ""
        out = f" outputs={self.fresh('t')} type=FLOAT" if self.rng.random() < 0.5 else ""
        second = self.rng.choice(["const:ones[1,3]", "const:[1.5]", "const:FLOAT[1,3]=0.5", "const:2.5"])
        if self.rng.random() < 0.6:
            where, met = f"after={self.ref(n)}", "$out"
        else:
            where, met = f"before={self.ref(n)}", "$in"
            if not n.inputs or not n.inputs[0].name:
                return
        self.add(f"insert {self.rng.choice(['Add', 'Sub'])}{name} {where} inputs={met},{second}{out}" if self.rng.random() < 0.6 else
                 f"insert {self.rng.choice(UNARY)}{name} {where}{out}")

    def append(self):
        pool = self.floats()
        if pool:
            self.add(f"insert Add name={self.fresh('n')} inputs={self.rng.choice(pool).name},{self.rng.choice(pool).name} outputs={self.fresh('t')} type=FLOAT[?,3]")

    def layer(self):
        pool = self.floats()
        if pool:
            self.add(f"layer Add inputs={self.rng.choice(pool).name},const:[1.0,2.0,3.0] outputs=sum")

    def remove(self):
        n = self.pick(*UNARY, *BINARY, "Clip")
        if not n or not isinstance(n.inputs[0], gs.Variable):
            return
        new, g = n.inputs[0], self.run.graph
        if has(g.outputs, n.outputs[0]) and (len(new.inputs) != 1 or has(g.inputs, new) or has(g.outputs, new)):
            return
        self.add(f"remove {self.ref(n)}")

    def cut(self):
        n = self.pick(*UNARY)
        if n and not n.outputs[0].outputs and not has(self.run.graph.outputs, n.outputs[0]):
            self.add(f"remove {self.ref(n)} --cut")

    def replace(self):
        n = self.pick(*UNARY)
        if n:
            self.add(f"replace {self.ref(n)} op={self.rng.choice(UNARY)}" + (f" name={self.fresh('n')}" if self.rng.random() < 0.5 else ""))

    def region(self):
        n = self.pick(*UNARY)
        first = n.inputs[0].inputs[0] if n and n.inputs and n.inputs[0].inputs else None
        if first and first.op in UNARY + BINARY and first in self.run.graph.nodes and first.inputs[0].name:
            self.add(f"replace-region inputs={first.inputs[0].name} outputs={n.outputs[0].name} op=Neg" + (f" name={self.fresh('n')}" if self.rng.random() < 0.5 else ""))
            self.add("cleanup")

    def rename(self):
        inside = [t for t in self.run.graph.tensors().values() if t.name]
        if inside:
            self.add(f"rename {self.rng.choice(inside).name} {self.fresh('t')}")

    def rename_node(self):
        n = self.pick()
        if n:
            self.add(f"rename-node {self.ref(n)} {self.fresh('n')}")

    def place(self):
        n, m = self.pick(), self.pick()
        if n and m and n is not m:
            self.add(f"place {self.ref(n)} {self.rng.choice(['after', 'before'])}={self.ref(m)}")

    def attr(self):
        n = self.pick("Concat", "Split")
        if n:
            self.add(f"set-attr {self.ref(n)} axis=-1")

    def attrs(self):
        n = self.pick()
        if n and n.op not in ("Constant", "If", "Loop"):
            self.add(f"set-attr {self.ref(n)} alpha=0.25 mode=abc sizes=[1,2] scales=[0.5,2.0]")
            self.add(f"remove-attr {self.ref(n)} sizes")
            for a in ("alpha", "mode", "scales"):
                self.add(f"remove-attr {self.ref(n)} {a}")

    def set_input(self):
        n = self.pick(*BINARY, *UNARY)
        pool = self.floats(n) if n else []
        if pool:
            self.add(f"set-input {self.ref(n)} 0 {self.rng.choice(pool).name}")

    def slots(self):
        n = self.pick("Add", "Sub")
        pool = self.floats(n) if n else []
        if len(pool) > 1 and len(n.inputs) == 2:
            a, b = (self.rng.choice(pool).name for _ in "ab")
            self.add(f"remove-input {self.ref(n)} 1")
            self.add(f"insert-input {self.ref(n)} {self.rng.choice('01')} {a}")
            self.add(f"set-inputs {self.ref(n)} {a},{b}")

    def uses(self):
        pool = self.floats()
        if len(pool) > 1:
            a, b = self.rng.sample(pool, 2)
            if a is not b and not any(depends(b, r) for r in a.outputs) and all(r in self.run.graph.nodes for r in a.outputs):
                self.add(f"replace-uses {a.name} {b.name}")

    def constant(self):
        pool = self.floats()
        name, sum_name = self.fresh("w"), self.fresh("t")
        if pool:
            self.add(f"constant {name} FLOAT[1,3]=[1,-2,0.5]")
            self.add(f"variable {sum_name} FLOAT[?,3]")
            self.add(f"insert Max inputs={self.rng.choice(pool).name},{name} outputs={sum_name}")

    def values(self):
        found = [t for t in self.run.graph.tensors().values() if isinstance(t, gs.Constant) and list(t.shape) == [1, 3]]
        if found:
            self.add(f"to-constant {self.rng.choice(found).name} FLOAT[1,3]=[0.5,1,1.5]")

    def variable(self):
        found = [t for t in self.run.graph.tensors().values() if isinstance(t, gs.Constant) and list(t.shape) == [1, 3]]
        if found:
            self.add(f"to-variable {self.rng.choice(found).name} FLOAT[1,3]")

    def output(self):
        found = [t for t in self.floats() if t.dtype is not None and t.inputs and not has(self.run.graph.outputs, t)]
        if found and self.run.graph is self.run.top:
            self.add(f"add-output {self.rng.choice(found).name}")

    def extract(self):
        g = self.run.graph
        found = [t for t in self.floats() if t.dtype is not None and t.inputs]
        if found and g is self.run.top:
            self.add(f"extract outputs={self.rng.choice(found).name}")

    def shape(self):
        if self.run.graph is self.run.top and self.run.graph.inputs:
            t = self.rng.choice(self.run.graph.inputs)
            if t.dtype != bool and len(t.shape) == 2:
                self.add(f"set-input-shape {t.name} [2,3]" + (" --keep-stale" if self.rng.random() < 0.5 else ""))

    def fold(self):
        if self.run.graph is not self.run.top:
            return
        self.add("sort")
        n = self.pick(*UNARY, *BINARY)  # Constants become weights in spite of exclude=
        how = self.rng.choice(["", "", " --threshold=12", " --threshold=8", " --keep-shapes", " --keep-ifs", " --partition=basic", " --partition=recursive",
                               f" exclude={self.ref(n)}" if n else ""])
        self.add("fold" + how)
        if "partition" in how:  # by parts, values in the middle are not kept there, and not all is folded at once
            self.add("cleanup")
            self.add("fold")
        if self.rng.random() < 0.7 or "partition" in how:
            self.add("cleanup")

    def cleanup(self):
        self.add("cleanup" + self.rng.choice(["", "", " --unused-inputs", " --unused-outputs"]))

    def sort(self):
        self.add("sort")

    def inside(self):
        n = self.pick("If", "Loop")
        if not n or self.run.outer:
            return
        self.add(f"enter {self.ref(n)} {'body' if n.op == 'Loop' else self.rng.choice(['then_branch', 'else_branch'])}")
        for _ in range(self.rng.randint(1, 3)):
            self.rng.choice([self.insert, self.replace, self.rename_node, self.sort])()
        self.add("leave")

    def function(self):
        """Made, and called once or twice."""
        pool = self.floats()
        if self.run.graph is not self.run.top or not pool:
            return
        f, p, q, c = self.fresh("F"), self.fresh("p"), self.fresh("q"), self.fresh("c")
        scaled, default = self.rng.random() < 0.6, self.rng.random() < 0.5
        self.add(f"new-function {f} domain=my inputs={p} outputs={q}")
        self.add(f"set-type {q} FLOAT[?,3]")
        if scaled:
            self.add(f"add-parameter factor {self.rng.choice(['0.5', '2.0'])}" if default else "add-parameter factor")
            self.add(f"insert Constant name={self.fresh('n')} inputs= outputs={c} attr.value_float=ref:factor:FLOAT")
            self.add(f"insert Mul name={self.fresh('n')} inputs={p},{c} outputs={q}")
        else:
            self.add(f"insert {self.rng.choice(UNARY)} name={self.fresh('n')} inputs={p} outputs={q}")
        self.add("leave")
        for _ in range(self.rng.randint(1, 2)):
            out = f" outputs={self.fresh('t')}" if self.rng.random() < 0.6 else ""
            name = f" name={self.fresh('n')}" if self.rng.random() < 0.6 else ""
            given = " attr.factor=1.5" if scaled and (not default or self.rng.random() < 0.5) else ""
            self.add(f"call {f}{name} inputs={self.rng.choice(pool).name}{out}{given}")
        made = self.run.graph.nodes[-1].outputs[0]
        if self.rng.random() < 0.7:
            self.add(f"insert Add name={self.fresh('n')} inputs={made.name},{self.rng.choice(pool).name} outputs={self.fresh('t')} type=FLOAT[?,3]")
            self.add(f"add-output {self.run.graph.nodes[-1].outputs[0].name}")
        if self.rng.random() < 0.3:
            self.add(f"enter-function {f}")
            self.insert()
            self.add("leave")

    def unused_function(self):
        f = self.fresh("F")
        if self.run.graph is self.run.top:
            self.add(f"new-function {f} inputs={self.fresh('p')}")
            self.add("leave")
            self.add(f"remove-function {f}")

    def branches(self):
        """An If with new graphs."""
        pool, g = self.floats(), self.run.graph
        if g is not self.run.top or not pool or not any(t.name == "cond" for t in g.inputs):
            return
        name, out = self.fresh("n"), self.fresh("t")
        self.add(f"insert If name={name} inputs=cond outputs={out} type=FLOAT[?,3]")
        for attribute in ("then_branch", "else_branch"):
            inner = self.fresh("u")
            self.add(f"new-subgraph {name} {attribute} outputs={inner}")
            self.add(f"set-type {inner} FLOAT[?,3]")
            self.add(f"insert {self.rng.choice(UNARY)} name={self.fresh('n')} inputs={self.rng.choice(pool).name} outputs={inner}")
            self.add("leave")
        self.add(f"add-output {out}")

    def names(self):
        self.add(f"set-name {self.fresh('g')}")

    def circle(self):
        """A verb that must be refused, or None."""
        for n in self.nodes(*UNARY, *BINARY):
            later = [m for m in self.nodes(*UNARY) if m is not n and depends(m.outputs[0], n)]
            if later:
                return f"set-input {self.ref(n)} 0 {self.rng.choice(later).outputs[0].name}"
        return None

    def write(self):
        verbs = {self.insert: 5, self.append: 2, self.layer: 1, self.remove: 3, self.cut: 1, self.replace: 2, self.region: 1, self.rename: 2, self.rename_node: 1, self.place: 1,
                 self.attr: 1, self.attrs: 1, self.set_input: 3, self.slots: 1, self.uses: 1, self.constant: 1, self.values: 1, self.variable: 0.3, self.output: 1,
                 self.extract: 0.3, self.shape: 1, self.fold: 2, self.cleanup: 2, self.sort: 2, self.inside: 1, self.names: 0.3,
                 self.function: 1, self.unused_function: 0.2, self.branches: 0.7}
        for _ in range(self.rng.randint(1, 14)):
            self.rng.choices(list(verbs), list(verbs.values()))[0]()
        if self.rng.random() < 0.5:
            self.add("cleanup")
            self.add("sort")


# ---- Comparing


def used_names(graph, made=True):
    names = {o.name for o in graph.output}
    for n in graph.node:
        names |= set(n.input) | (set(n.output) if made else set())
        for a in n.attribute:
            if a.HasField("g"):
                names |= used_names(a.g, made)
    return names


def prune(graph, inner=False):
    """Without weights and value infos that nothing uses (the package loses them on loading), nor value infos that a subgraph has of tensors
    around it (the package writes them there too)."""
    names = used_names(graph)
    made = {o for n in graph.node for o in n.output} if inner else names
    for field in (graph.initializer, graph.value_info):
        kept = [x for x in field if x.name in (names if field is graph.initializer else made)]
        del field[:]
        field.extend(kept)
    for n in graph.node:
        for a in n.attribute:
            if a.HasField("g"):
                prune(a.g, True)


def normal(model, notes):
    """The text to compare; differences that the notes allow are taken away."""
    m = onnx.ModelProto()
    m.CopyFrom(model)
    prune(m.graph)
    forgive(m.graph, notes)
    if "imports" in notes and not any(n.domain == "my" for n in m.graph.node):
        kept = [o for o in m.opset_import if o.domain != "my"]
        del m.opset_import[:]
        m.opset_import.extend(kept)
    text = model_text(m)
    return "\n".join(sorted(text.split("\n"))) if "order" in notes else text


def forgive(graph, notes, inner=False):
    read = used_names(graph, False)
    for n in graph.node:
        if 6 in notes:
            n.name = ""
        if 12 in notes:
            kept = [o for o in n.output if o in read]
            del n.output[:]
            n.output.extend(kept)
        for a in n.attribute:
            if a.HasField("g"):
                forgive(a.g, notes, True)
    if inner and "inputs" in notes:
        kept = [i for i in graph.input if i.name in read]
        del graph.input[:]
        graph.input.extend(kept)
    if 13 in notes:
        for v in list(graph.output) + list(graph.value_info) + (list(graph.input) if inner else []):
            v.type.tensor_type.ClearField("shape")


def complaint(model):
    try:
        onnx.checker.check_model(model)
    except Exception as e:
        return str(e).split("\n")[0]
    return ""


def compute(model):
    """Outputs on fixed inputs, or None if ONNX Runtime does not run it."""
    feed = {}
    for i in model.graph.input:
        t = i.type.tensor_type
        shape = [d.dim_value or 2 for d in t.shape.dim]
        feed[i.name] = np.array(True) if t.elem_type == TensorProto.BOOL else (np.arange(int(np.prod(shape))) % 5 / 2 - 1).astype(np.float32).reshape(shape)
    try:
        return onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"]).run(None, feed)
    except Exception:
        return None


def edit(program, folder, case, model, lines):
    paths = [os.path.join(folder, f"{case}.{end}") for end in ("before.onnx", "script.txt", "after.onnx")]
    onnx.save(model, paths[0])
    with open(paths[1], "w", encoding="utf-8") as f:
        f.write("\n".join(lines) + "\n")
    done = subprocess.run([program, "surgeon", "edit", paths[0], "--script", paths[1], "-o", paths[2], "-qqqq"], capture_output=True, text=True)
    return done, paths[2]


def outcome(program, folder, case, seed):
    """(what is wrong or "", defects met)"""
    rng = random.Random(seed * 100003 + case)
    model = Maker(rng).model()
    run = Interpreter(gs.import_onnx(onnx.load_from_string(model.SerializeToString())))  # it renames weights in place
    writer = Writer(rng, run)
    writer.write()
    circle = writer.circle() if rng.random() < 0.15 else None
    if circle:
        done, _ = edit(program, folder, case, model, writer.lines + [circle])
        said = done.stdout + done.stderr
        good = done.returncode == 1 and "cycle: " in said and "set-input" in said
        return ("" if good else f"a circle was not refused: {circle}: {said}"), set()
    try:
        theirs = gs.export_onnx(run.top)
    except Exception as e:
        return f"the package cannot write this: {e}", set()
    done, path = edit(program, folder, case, model, writer.lines)
    if done.returncode:
        return f"failed: {done.stdout}{done.stderr}", set()
    ours, notes = onnx.load(path), set()
    if normal(ours, notes) != normal(theirs, notes):
        notes = run.notes | ({"order"} if ours == model else set())
    if normal(ours, notes) != normal(theirs, notes):
        return f"differs; ours is\n{normal(ours, notes)}the package's is\n{normal(theirs, notes)}", notes
    if not complaint(theirs) and complaint(ours):
        return f"onnx.checker: {complaint(ours)}", notes
    wanted = compute(theirs)
    if wanted is not None:
        got = compute(ours)
        if got is None or not all(np.array_equal(a, b) for a, b in zip(wanted, got)):
            return "ONNX Runtime gives other outputs", notes
    return "", notes | ({"ran"} if wanted is not None else set())


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("program")
    arguments.add_argument("--cases", type=int, default=200)
    arguments.add_argument("--first", type=int, default=0)
    arguments.add_argument("--seed", type=int, default=6)
    arguments.add_argument("--keep", help="a folder for the models and scripts")
    a = arguments.parse_args()
    bad, met = [], collections.Counter()
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(2) as pool:
        jobs = [(c, pool.submit(outcome, os.path.abspath(a.program), a.keep or folder, c, a.seed)) for c in range(a.first, a.first + a.cases)]
        for case, job in jobs:
            wrong, notes = job.result()
            met.update(notes)
            if wrong:
                bad.append(f"case {case}: {wrong}")
    for line in bad[:20]:
        print(line)
    for note in [n for n in DEFECTS if n in met]:
        print(f"{met[note]} differ by defect {note} of the package: {DEFECTS[note]}")
    print(f"gs_random: {a.cases} scripts, {met['ran']} results run by ONNX Runtime, {len(bad)} differ")
    return bool(bad)


if __name__ == "__main__":
    sys.exit(main())
