#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The checker against onnx.checker: checker.py LIBRARY_FOLDER NODE_TESTS_FOLDER [MODELS PER MUTATION]

Valid models (ONNX's node cases, from node_tests.py) must not be rejected where onnx.checker accepts them. Each is then broken in many ways;
what onnx.checker.check_model(full_check=True) rejects must be rejected, unless checker.expected lists its text: `mutation text pattern -- reason`.
"""
import collections
import fnmatch
import os
import random
import shutil
import subprocess
import sys
import tempfile

import onnx
from onnx import AttributeProto, TensorProto, helper

import half

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
MUTATIONS = {}


def mutation(f):
    MUTATIONS[f.__name__] = f
    return f


def some_node(m, r, wanted=lambda n: True):
    nodes = [n for n in m.graph.node if wanted(n)]
    return r.choice(nodes) if nodes else None


def some_attribute(m, r, wanted=lambda a: True):
    pairs = [(n, a) for n in m.graph.node for a in n.attribute if wanted(a)]
    return r.choice(pairs) if pairs else (None, None)


def tensors(m):
    return list(m.graph.initializer) + [a.t for n in m.graph.node for a in n.attribute if a.type == AttributeProto.TENSOR]


@mutation
def no_ir_version(m, r):
    m.ClearField("ir_version")
    return True


@mutation
def future_ir_version(m, r):
    m.ir_version = 99
    return True


@mutation
def no_opset_import(m, r):
    del m.opset_import[:]
    return True


@mutation
def old_opset(m, r):
    m.opset_import[0].version = r.choice([7, 8, 9, 10, 11, 12, 13])
    return not m.opset_import[0].domain


@mutation
def unknown_operator(m, r):
    some_node(m, r).op_type = "NoSuchOperator"
    return True


@mutation
def unknown_domain(m, r):
    some_node(m, r).domain = "com.example"
    return True


@mutation
def no_operator(m, r):
    some_node(m, r).op_type = ""
    return True


@mutation
def unknown_attribute(m, r):
    some_node(m, r).attribute.append(helper.make_attribute("no_such_attribute", 1))
    return True


@mutation
def drop_attribute(m, r):
    n, a = some_attribute(m, r)
    if n:
        n.attribute.remove(a)
    return bool(n)


@mutation
def attribute_kind(m, r):
    n, a = some_attribute(m, r)
    if n:
        n.attribute.remove(a)
        n.attribute.append(helper.make_attribute(a.name, 1.5 if a.type != AttributeProto.FLOAT else "text"))
    return bool(n)


@mutation
def attribute_without_type(m, r):
    _, a = some_attribute(m, r)
    if a:
        a.ClearField("type")
    return bool(a)


@mutation
def attribute_with_two_values(m, r):
    _, a = some_attribute(m, r)
    if a:
        a.f, a.i = 1.5, 3
    return bool(a)


@mutation
def attribute_of_wrong_type(m, r):
    _, a = some_attribute(m, r)
    if a:
        a.type = AttributeProto.STRINGS if a.type != AttributeProto.STRINGS else AttributeProto.INT
    return bool(a)


@mutation
def attribute_without_name(m, r):
    _, a = some_attribute(m, r)
    if a:
        a.name = ""
    return bool(a)


@mutation
def attribute_reference(m, r):
    _, a = some_attribute(m, r)
    if a:
        kind, name = a.type, a.name
        a.Clear()
        a.type, a.name, a.ref_attr_name = kind, name, "outer"
    return bool(a)


@mutation
def negative_ints(m, r):
    _, a = some_attribute(m, r, lambda a: a.type == AttributeProto.INTS and len(a.ints))
    if a:
        a.ints[r.randrange(len(a.ints))] = r.choice([-1, -7, 0])
    return bool(a)


@mutation
def wrong_count_of_ints(m, r):
    _, a = some_attribute(m, r, lambda a: a.type == AttributeProto.INTS)
    if a:
        a.ints.append(1)
    return bool(a)


@mutation
def far_int(m, r):
    _, a = some_attribute(m, r, lambda a: a.type == AttributeProto.INT)
    if a:
        a.i = r.choice([99, -99, 1 << 40])
    return bool(a)


@mutation
def other_text(m, r):
    _, a = some_attribute(m, r, lambda a: a.type == AttributeProto.STRING)
    if a:
        a.s = b"no_such_mode"
    return bool(a)


@mutation
def output_defined_twice(m, r):
    a, b = some_node(m, r), some_node(m, r)
    if a is b or not a.output or not b.output:
        return False
    b.output[0] = a.output[0]
    return True


@mutation
def node_twice(m, r):
    m.graph.node.add().CopyFrom(some_node(m, r))
    return True


@mutation
def input_twice(m, r):
    if m.graph.input:
        m.graph.input.add().CopyFrom(r.choice(m.graph.input))
    return bool(m.graph.input)


@mutation
def output_is_an_input(m, r):
    n = some_node(m, r)
    if not m.graph.input or not n.output:
        return False
    n.output[0] = r.choice(m.graph.input).name
    return True


@mutation
def undefined_input(m, r):
    n = some_node(m, r, lambda n: n.input)
    if n:
        n.input[r.randrange(len(n.input))] = "no_such_value"
    return bool(n)


@mutation
def undefined_output(m, r):
    m.graph.output[0].name = "no_such_value"
    return True


@mutation
def output_without_type(m, r):
    m.graph.output[0].ClearField("type")
    return True


@mutation
def output_without_shape(m, r):
    if m.graph.output[0].type.HasField("tensor_type"):
        m.graph.output[0].type.tensor_type.ClearField("shape")
    return True


@mutation
def input_without_shape(m, r):
    if m.graph.input and m.graph.input[0].type.HasField("tensor_type"):
        m.graph.input[0].type.tensor_type.ClearField("shape")
    return True


@mutation
def output_of_other_type(m, r):
    t = r.choice(m.graph.output).type.tensor_type
    t.elem_type = r.choice([k for k in (1, 3, 6, 7, 9, 10, 11) if k != t.elem_type])
    return True


@mutation
def output_of_other_rank(m, r):
    t = r.choice(m.graph.output).type.tensor_type
    t.shape.dim.add().dim_value = 3
    return True


@mutation
def output_of_other_size(m, r):
    t = r.choice(m.graph.output).type.tensor_type
    if t.shape.dim:
        r.choice(t.shape.dim).dim_value = 41
    return bool(t.shape.dim)


@mutation
def input_of_other_type(m, r):
    if not m.graph.input:
        return False
    t = r.choice(m.graph.input).type.tensor_type
    t.elem_type = r.choice([k for k in (1, 2, 3, 6, 7, 8, 9, 10, 11, 14, 16) if k != t.elem_type])
    return True


def bodies(g):
    for n in g.node:
        for a in n.attribute:
            for inner in [a.g] if a.type == AttributeProto.GRAPH else []:
                yield inner
                yield from bodies(inner)


def other_type_of(m, r, infos):
    found = [i.type.tensor_type for b in bodies(m.graph) for i in infos(b) if i.type.HasField("tensor_type") and i.type.tensor_type.elem_type]
    if found:
        t = r.choice(found)
        t.elem_type = r.choice([k for k in (1, 6, 7, 10, 11) if k != t.elem_type])
    return bool(found)


@mutation
def body_output_of_other_type(m, r):
    return other_type_of(m, r, lambda b: b.output)


@mutation
def body_input_of_other_type(m, r):
    return other_type_of(m, r, lambda b: b.input)


@mutation
def body_value_of_other_type(m, r):
    return other_type_of(m, r, lambda b: b.value_info)


@mutation
def body_weight_of_other_type(m, r):
    weights = [w for b in bodies(m.graph) for w in b.initializer if w.data_type == TensorProto.FLOAT and w.HasField("raw_data")]
    if weights:
        w = r.choice(weights)
        w.data_type, w.raw_data = TensorProto.FLOAT16, w.raw_data[::2]
    return bool(weights)


@mutation
def input_of_other_size(m, r):
    inputs = [i for i in m.graph.input if i.type.tensor_type.shape.dim]
    if inputs:
        r.choice(r.choice(inputs).type.tensor_type.shape.dim).dim_value = r.choice([1, 2, 5, 17])
    return bool(inputs)


@mutation
def input_of_other_rank(m, r):
    inputs = [i for i in m.graph.input if i.type.HasField("tensor_type")]
    if inputs:
        r.choice(inputs).type.tensor_type.shape.dim.add().dim_value = 2
    return bool(inputs)


@mutation
def element_type_that_is_none(m, r):
    inputs = [i for i in m.graph.input if i.type.HasField("tensor_type")]
    if inputs:
        r.choice(inputs).type.tensor_type.elem_type = 77
    return bool(inputs)


@mutation
def one_input_less(m, r):
    n = some_node(m, r, lambda n: n.input)
    if n:
        del n.input[-1]
    return bool(n)


@mutation
def inputs_too_many(m, r):
    n = some_node(m, r, lambda n: n.input)
    if n:
        n.input.extend([n.input[0]] * 9)
    return bool(n)


@mutation
def outputs_too_many(m, r):
    n = some_node(m, r)
    n.output.extend([f"extra_{i}" for i in range(9)])
    return True


@mutation
def omitted_input(m, r):
    n = some_node(m, r, lambda n: n.input)
    if n:
        n.input[r.randrange(len(n.input))] = ""
    return bool(n)


@mutation
def reversed_nodes(m, r):
    nodes = list(m.graph.node)
    del m.graph.node[:]
    m.graph.node.extend(reversed(nodes))
    return len(nodes) > 1


@mutation
def graph_without_name(m, r):
    m.graph.name = ""
    return True


@mutation
def metadata_twice(m, r):
    for value in "ab":
        m.metadata_props.add(key="author", value=value)
    return True


@mutation
def tensor_in_two_fields(m, r):
    for t in tensors(m):
        if t.HasField("raw_data"):
            t.int32_data.append(1)
            return True
        if t.float_data or t.int64_data or t.int32_data:
            t.raw_data = b"1234"
            return True
    return False


@mutation
def tensor_cut_short(m, r):
    for t in tensors(m):
        if len(t.raw_data) > 1:
            t.raw_data = t.raw_data[:-1]
            return True
        for field in (t.float_data, t.int64_data, t.int32_data, t.double_data):
            if len(field) > 1:
                del field[-1]
                return True
    return False


@mutation
def tensor_without_type(m, r):
    for t in tensors(m):
        t.data_type = TensorProto.UNDEFINED
        return True
    return False


@mutation
def tensor_without_elements(m, r):
    for t in tensors(m):
        for field in ("raw_data", "float_data", "int64_data", "int32_data", "double_data", "string_data", "uint64_data"):
            t.ClearField(field)
        return True
    return False


@mutation
def external_without_location(m, r):
    for t in tensors(m):
        t.ClearField("raw_data")
        t.ClearField("float_data")
        t.data_location = TensorProto.EXTERNAL
        t.external_data.add(key="offset", value="0")
        return True
    return False


@mutation
def shadowed_value(m, r):
    graphs = [a.g for n in m.graph.node for a in n.attribute if a.type == AttributeProto.GRAPH and a.g.node]
    names = [v.name for v in m.graph.input]
    if not graphs or not names:
        return False
    g = r.choice(graphs)
    old, new = g.node[-1].output[0], r.choice(names)
    g.node[-1].output[0] = new
    for v in g.output:
        v.name = new if v.name == old else v.name
    return True


@mutation
def subgraph_of_unknown_operator(m, r):
    graphs = [a.g for n in m.graph.node for a in n.attribute if a.type == AttributeProto.GRAPH and a.g.node]
    if graphs:
        r.choice(graphs).node[0].op_type = "NoSuchOperator"
    return bool(graphs)


@mutation
def unknown_operator_in_function(m, r):
    functions = [f for f in m.functions if f.node]
    if functions:
        r.choice(functions).node[0].op_type = "NoSuchOperator"
    return bool(functions)


@mutation
def function_twice(m, r):
    if m.functions:
        m.functions.add().CopyFrom(m.functions[0])
    return bool(m.functions)


def expected():
    with open(os.path.join(HERE, "checker.expected"), encoding="utf-8") as f:
        rows = [line.strip().partition(" -- ") for line in f if line.strip() and not line.startswith("#")]
    return {pattern: reason for pattern, _, reason in rows}


def refusal(path):
    try:
        onnx.checker.check_model(path, full_check=True)
    except Exception as e:  # whatever it raises is a refusal
        return " ".join(str(e).split()) or type(e).__name__
    return ""


def theirs(folder, names):
    """What onnx.checker says against each file, "" for nothing, None where it ends the process: so another process goes on behind that file."""
    said, left = {}, list(names)
    while left:
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(read)
            os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
            for name in left:
                os.write(write, refusal(os.path.join(folder, name)).encode("utf-8", "replace")[:3000] + b"\n")
            os._exit(0)
        os.close(write)
        with os.fdopen(read, "rb") as f:
            lines = f.read().decode("utf-8", "replace").split("\n")[:-1]
        os.waitpid(child, 0)
        said.update(zip(left, lines))
        left = left[len(lines):]
        if left:
            said[left.pop(0)] = None
    return said


def ours(library, folder, names):
    runner = os.path.join(folder, "check_runner")
    subprocess.run([os.environ.get("CC", "cc"), "-std=c11", "-O1", "-D_GNU_SOURCE", "-I" + os.path.join(ROOT, "include"), os.path.join(HERE, "check_runner.c"), "-o", runner,
                    "-L" + library, "-Wl,-rpath," + library, "-lpolygraphy"], check=True)
    said, left = {}, list(names)
    while left:
        done = subprocess.run([runner, *left[:500]], cwd=folder, capture_output=True, text=True, errors="replace")
        lines = [line.split(" ", 2) for line in done.stdout.splitlines()]
        for verdict, name, why in lines:
            said[name] = why.strip() or "?" if verdict == "rejected" else ""
        if done.returncode:
            said[left[len(lines)]] = f"CRASH {done.returncode}"
        left = left[len(lines) + (done.returncode != 0):]
    return said


def family(folder):
    """Those of half.py, which have bodies of all kinds."""
    for i, (name, m) in enumerate(half.family()):
        path = os.path.join(folder, f"family-{name}.onnx")
        onnx.save(m, path)
        yield f"family-{name}", path, i


def sources(work):
    """Models of operators that the reference knows, with a seed each: those of before opset 7 it does not."""
    for i, name in enumerate(sorted(os.listdir(work))):
        path = os.path.join(work, name, "model.onnx")
        if os.path.exists(path) and all(o.version >= 7 or o.domain not in ("", "ai.onnx") for o in onnx.load(path, load_external_data=False).opset_import):
            yield name, path, i


def broken(work, folder, per_mutation):
    """Writes mutants; (file, mutation) of each."""
    models = [*sources(work), *family(folder)]
    for mutate in MUTATIONS.values():
        r = random.Random(mutate.__name__)
        made, tries = 0, r.sample(models, len(models))
        for name, path, seed in tries:
            if made == per_mutation:
                break
            m = onnx.load(path, load_external_data=False)
            if not m.graph.node or not m.graph.output or not mutate(m, random.Random(seed)):
                continue
            made += 1
            file = f"{mutate.__name__}-{name}.onnx"
            with open(os.path.join(folder, file), "wb") as f:
                f.write(m.SerializeToString())
            yield file, mutate.__name__


def compare_broken(library, work, folder, per_mutation):
    files = dict(broken(work, folder, per_mutation))
    said, others = ours(library, folder, files), theirs(folder, files)
    counts, bad, reasons, used = collections.Counter(), 0, expected(), set()
    for file, kind in files.items():
        other, mine = others[file], said[file]
        if other is None:
            counts["crash"] += 1
            continue
        counts[bool(other), bool(mine)] += 1
        line = f"{kind} {other}"
        pattern = next((p for p in reasons if fnmatch.fnmatchcase(line, p)), None)
        if mine.startswith("CRASH") or (other and not mine and not pattern):
            bad += 1
            print(f"{file}: {mine or 'accepted'}; onnx: {other[:300]}")
        elif other and not mine:
            used.add(pattern)
            counts["listed"] += 1
        elif mine and not other and "PGY_VERBOSE" in os.environ:
            print(f"only this checker: {file}: {mine[:300]}")
    for pattern in sorted(set(reasons) - used):
        print(f"checker.expected lists '{pattern}', of which none is met any more")
    print(f"{len(files)} broken models of {len(MUTATIONS)} kinds: both reject {counts[True, True]}, only onnx {counts[True, False]} ({counts['listed']} with a listed reason), "
          f"only this checker {counts[False, True]}, neither {counts[False, False]}; onnx.checker itself crashed on {counts['crash']}")
    return bad


def compare_valid(library, work, folder):
    names = {}
    for name, path, _ in sources(work):
        file = f"valid-{name}.onnx"
        shutil.copy(path, os.path.join(folder, file))
        names[file] = path
    said, others = ours(library, folder, names), theirs(folder, names)
    bad, counts = 0, collections.Counter()
    for file in names:
        other = others[file]
        counts[bool(other), bool(said[file])] += 1
        if other and not said[file]:
            print(f"{file} is accepted; onnx: {other[:200]}")
        if said[file] and not other:
            bad += 1
            print(f"{file} is valid, but: {said[file][:300]}")
    print(f"{len(names)} node cases: both accept {counts[False, False]}, both reject {counts[True, True]}, only onnx rejects {counts[True, False]}, only this checker {bad}")
    return bad


def main():
    library, work = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
    per_mutation = int(sys.argv[3]) if len(sys.argv) > 3 else 40
    with tempfile.TemporaryDirectory() as folder:
        bad = compare_valid(library, work, folder)
        bad += compare_broken(library, work, folder, per_mutation)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
