#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Other opset versions of ONNX's own node tests: opset.py LIBRARY_FOLDER WORK_FOLDER

WORK_FOLDER holds the cases that node_tests.py made. opset_runner.c converts each to the newest version and downward until something
cannot be expressed, and runs what it makes with the reference against the case's own outputs. Cases that fail at their own version are
left out. Many operators can go down only with constant inputs, so cases with more than one input are tried again with all but the first
as weights. What was made must pass onnx.checker; and where onnx.version_converter makes a valid model that computes the same, there must
be one of ours, too, except for the operators listed in opset.expected: `operator from to: reason`.
"""
import collections
import concurrent.futures
import glob
import os
import shutil
import subprocess
import sys

import onnx
from onnx import checker, numpy_helper, version_converter

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
NEWEST = 28


def operator_of(model):
    return next((n.op_type for n in model.graph.node if n.op_type != "Constant"), "")


def freeze(folder, target):
    """The same case with all inputs but the first as weights, if its data are one set of tensors."""
    model = onnx.load(f"{folder}/model.onnx")
    data = f"{folder}/test_data_set_0"
    if len(model.graph.input) < 2 or os.path.exists(f"{folder}/test_data_set_1") or any(not i.type.HasField("tensor_type") for i in model.graph.input):
        return False
    for i, info in list(enumerate(model.graph.input))[1:]:
        with open(f"{data}/input_{i}.pb", "rb") as f:
            tensor = onnx.TensorProto.FromString(f.read())
        tensor.name = info.name
        model.graph.initializer.append(tensor)
    del model.graph.input[1:]
    model.ir_version = max(model.ir_version, 4)
    os.makedirs(f"{target}/test_data_set_0")
    with open(f"{target}/model.onnx", "wb") as f:
        f.write(model.SerializeToString())
    shutil.copy(f"{folder}/tolerance", target)
    for path in [f"{data}/input_0.pb", *glob.glob(f"{data}/output_*.pb")]:
        shutil.copy(path, f"{target}/test_data_set_0")
    return True


def build(source, library, target):
    subprocess.run([os.environ.get("CC", "cc"), "-std=c11", "-O1", "-D_GNU_SOURCE", "-I" + os.path.join(ROOT, "include"), os.path.join(HERE, source), "-o", target,
                    "-L" + library, "-Wl,-rpath," + library, "-lpolygraphy", "-lm"], check=True)


def run(command, folders):
    """Lines of the runner, split in five; a crash ends it: it is counted, and the rest is run by another."""
    lines = []
    while folders:
        done = subprocess.run([*command, *folders], capture_output=True, text=True, errors="replace")
        mine = [(line.split(" ", 4) + [""])[:5] for line in done.stdout.splitlines()]
        lines += mine
        if not done.returncode:
            break
        at = folders.index(next(f for f in folders if os.path.basename(f) == mine[-1][1])) if mine else 0
        crashed = folders[at if not mine else min(at + 1, len(folders) - 1)]
        lines.append(["failed", os.path.basename(crashed), "0", "0", f"the process ended with {done.returncode}"])
        folders = folders[folders.index(crashed) + 1:]
    return lines


def invalid(path):
    try:
        checker.check_model(path)
    except Exception as e:  # noqa: BLE001  (its errors have no common class)
        return str(e).splitlines()[0]
    return ""


def peer_models(job):
    """What onnx.version_converter makes of a case: (name, version, path) of each valid model."""
    folder, versions, out = job
    name, made = os.path.basename(folder), []
    model = onnx.load(f"{folder}/model.onnx")
    for version in versions:
        try:
            other = version_converter.convert_version(model, version)
            checker.check_model(other)
        except Exception:  # noqa: BLE001
            continue
        target = f"{out}/{name}.{version}"
        os.makedirs(target)
        with open(f"{target}/model.onnx", "wb") as f:
            f.write(other.SerializeToString())
        shutil.copy(f"{folder}/tolerance", target)
        for data in glob.glob(f"{folder}/test_data_set_*"):
            os.symlink(os.path.abspath(data), f"{target}/{os.path.basename(data)}")
        made.append((name, version, target))
    return made


def expected():
    with open(os.path.join(HERE, "opset.expected"), encoding="utf-8") as f:
        rows = [line.strip().partition(": ") for line in f if line.strip() and not line.startswith("#")]
    return {key: reason for key, _, reason in rows}


def main():
    library, work = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
    scratch = work + "-opset"
    shutil.rmtree(scratch, ignore_errors=True)
    for part in ("cases", "out", "peer"):
        os.makedirs(os.path.join(scratch, part))
    build("opset_runner.c", library, os.path.join(scratch, "opset_runner"))
    build("node_runner.c", library, os.path.join(scratch, "node_runner"))
    cases = sorted(e.path for e in os.scandir(work) if e.is_dir() and not e.name.endswith("_expanded"))
    own = {line.split(" ")[1] for line in subprocess.run([os.path.join(scratch, "node_runner"), *cases], capture_output=True, text=True, errors="replace").stdout.splitlines()
           if line.startswith("passed ")}
    cases = [c for c in cases if os.path.basename(c) in own]
    frozen = []
    for case in cases:
        target = os.path.join(scratch, "cases", os.path.basename(case) + "_fixed")
        if freeze(case, target):
            frozen.append(target)
    folders = {os.path.basename(f): f for f in cases + frozen}
    half = sorted(folders.values())
    command = [os.path.join(scratch, "opset_runner"), os.path.join(scratch, "out")]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        lines = [line for part in pool.map(lambda part: run(command, part), (half[0::2], half[1::2])) for line in part]

    operators = {name: operator_of(onnx.load(f"{folder}/model.onnx")) for name, folder in folders.items()}
    bad = []
    counts = collections.defaultdict(collections.Counter)
    for outcome, name, start, to, why in lines:
        counts[operators[name]][outcome] += 1
        if outcome == "failed":
            bad.append(f"failed {name} from {start} to {to}: {why}")
    made = sorted(glob.glob(f"{scratch}/out/*.onnx"))
    with concurrent.futures.ProcessPoolExecutor(2) as pool:
        bad += [f"onnx.checker refuses {os.path.basename(p)}: {why}" for p, why in zip(made, pool.map(invalid, made, chunksize=200)) if why]
        stopped = collections.defaultdict(list)  # versions at which a case ended, and the next ones on the way down
        for outcome, name, start, to, _ in lines:
            if outcome == "impossible":
                stopped[name] += [int(to)] if int(to) > int(start) else [v for v in (int(to), int(to) - 2, int(to) - 4) if v >= 7]
        jobs = [(folders[name], versions, os.path.join(scratch, "peer")) for name, versions in stopped.items()]
        peers = [m for part in pool.map(peer_models, jobs, chunksize=50) for m in part]
    works = {line.split(" ")[1] for line in subprocess.run([os.path.join(scratch, "node_runner"), *(p for _, _, p in peers)], capture_output=True, text=True,
                                                           errors="replace").stdout.splitlines() if line.startswith("passed ")} if peers else set()
    reasons, used, fewer = expected(), set(), collections.Counter()
    for name, version, path in peers:
        key = f"{operators[name]} {version}"
        if os.path.basename(path) not in works:
            continue
        if key in reasons:
            used.add(key)
        else:
            fewer[f"{key} ({name})"] += 1
    bad += [f"onnx.version_converter can, this library cannot: {key}" for key in sorted(fewer)]
    for op in sorted(counts):
        c = counts[op]
        print(f"{op}: {c['passed']} conversions pass, {c['failed']} fail; {c['impossible']} cases reach a version that cannot express them")
    for line in bad:
        print(line)
    for key in sorted(set(reasons) - used):
        print(f"opset.expected lists {key}, which is not needed any more")
    total = sum(counts.values(), collections.Counter())
    print(f"opset conversions of {len(folders)} cases: {total['passed']} pass, {total['failed']} fail, {total['impossible']} cases reach a version that cannot "
          f"express them; {len(made)} models checked by onnx.checker; onnx.version_converter makes {len(works)} models that are not among them")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
