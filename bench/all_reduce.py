#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Time of an all-reduce between two GPUs, in the engine and in torch.distributed: all_reduce.py PROGRAM; needs two GPUs, NCCL, onnx and torch

PROGRAM is polygraphy. The engine runs a chain of 1 and one of 41 collectives, float32 max, on two ranks; the difference of their mean times, divided by 40, is
a collective. Torch runs 40 in a row between two events, best of five. Both use NCCL without multicast.
"""
import os
import re
import subprocess
import sys
import tempfile

KIB = [64, 1024, 16384, 262144]
MORE, RUNS = 40, 20


def make_chain(path, kib, length):
    import numpy as np
    import onnx
    from onnx import TensorProto, helper, numpy_helper
    numbers = [numpy_helper.from_array(np.array([v], np.int64), n) for n, v in (("size", kib * 256), ("from", 0), ("to", 4))]
    nodes = [helper.make_node("Expand", ["x", "size"], ["v0"])]
    nodes += [helper.make_node("DistCollective", [f"v{i}"], [f"v{i + 1}"], f"c{i}", collective_operation="all_reduce", reduce_op="max") for i in range(length)]
    nodes += [helper.make_node("Slice", [f"v{length}", "from", "to"], ["y"])]
    graph = helper.make_graph(nodes, "chain", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, [4])], numbers)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)


def engine_ms(program, path):
    words = [program, "run", path, "--trt", "--device", os.environ.get("RANKS_DEVICE", "cuda"), "--ranks", "2", "--warm-up", "5", "--iterations", str(RUNS), "-v"]
    done = subprocess.run(words, capture_output=True, text=True)
    found = re.search(r"Average inference time: ([\d.]+) ms", done.stdout)
    if not found:
        raise SystemExit(done.stdout + done.stderr)
    return float(found[1])


def torch_side():
    import torch
    import torch.distributed as dist
    rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(rank)
    dist.init_process_group("nccl", device_id=torch.device("cuda", rank))
    for kib in KIB:
        x = torch.ones(kib * 256, device="cuda")
        best = float("inf")
        for _ in range(6):
            start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            torch.cuda.synchronize()
            start.record()
            for _ in range(MORE):
                dist.all_reduce(x, op=dist.ReduceOp.MAX)
            end.record()
            end.synchronize()
            best = min(best, start.elapsed_time(end) / MORE)
        if rank == 0:
            print(f"{kib} {best * 1000:.1f}", flush=True)
    dist.destroy_process_group()


def torch_times():
    done = subprocess.run([sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2", os.path.abspath(__file__), "--torch"], capture_output=True, text=True)
    return dict(line.split() for line in done.stdout.splitlines() if re.fullmatch(r"\d+ [\d.]+", line))


def main():
    os.environ.setdefault("NCCL_NVLS_ENABLE", "0")
    if sys.argv[1] == "--torch":
        return torch_side()
    theirs = torch_times()
    print("KiB     engine us  torch us")
    with tempfile.TemporaryDirectory() as folder:
        for kib in KIB:
            times = []
            for length in (1, 1 + MORE):
                path = os.path.join(folder, f"{kib}_{length}.onnx")
                make_chain(path, kib, length)
                times.append(engine_ms(sys.argv[1], path))
            print(f"{kib:<7} {(times[1] - times[0]) / MORE * 1000:9.1f}  {theirs.get(str(kib), '-'):>8}", flush=True)
    return None


main()
