#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A program in another language, with its standard library only: loads, builds, runs, compares, saves, lints and edits a model through
libpolygraphy.so: ctypes_program.py LIBRARY INCLUDE_FOLDER MODEL

The structs below are what a binding would write by hand. Before anything is called, a C program made from them prints the sizes and
offsets that the headers give, so a struct that changes shows here first.
"""
import ctypes as c
import json
import os
import struct
import subprocess
import sys
import tempfile


class Error(c.Structure):
    _fields_ = [("text", c.c_char * 2048)]


class ModelSource(c.Structure):
    _fields_ = [("open", c.c_void_p), ("close", c.c_void_p), ("destroy", c.c_void_p), ("user", c.c_void_p)]


class NameList(c.Structure):
    _fields_ = [("items", c.c_void_p), ("count", c.c_size_t), ("given", c.c_bool)]


class BuildConfig(c.Structure):
    _fields_ = [("size", c.c_size_t), ("profiles", c.c_void_p), ("profile_count", c.c_size_t), ("threads", c.c_size_t), ("has_workspace_limit", c.c_bool),
                ("workspace_bytes", c.c_uint64), ("has_optimization_level", c.c_bool), ("optimization_level", c.c_int64), ("save_tactics", c.c_char_p),
                ("load_tactics", c.c_char_p), ("timing_cache", c.c_void_p), ("load_timing_cache", c.c_char_p), ("save_timing_cache", c.c_char_p),
                ("error_on_timing_cache_miss", c.c_bool), ("fp16", c.c_bool)]  # an older caller's: the rest has its defaults


class TopK(c.Structure):
    _fields_ = [("output", c.c_char_p), ("k", c.c_int64), ("has_axis", c.c_bool), ("axis", c.c_int64)]


class Postprocess(c.Structure):
    _fields_ = [("size", c.c_size_t), ("top_k", c.POINTER(TopK)), ("top_k_count", c.c_size_t), ("callback", c.c_void_p), ("user", c.c_void_p), ("name", c.c_char_p)]


class JudgeOptions(c.Structure):
    _fields_ = [("size", c.c_size_t), ("comparisons", c.c_void_p), ("comparison_count", c.c_size_t), ("fail_fast", c.c_bool), ("check_average", c.c_bool),
                ("validate", c.c_bool), ("compat", c.c_bool)]


class RunOptions(c.Structure):
    _fields_ = [("size", c.c_size_t), ("loader", c.c_void_p), ("sequential", c.c_bool), ("warm_up", c.c_size_t), ("use_subprocess", c.c_bool),
                ("subprocess_timeout_s", c.c_double), ("save_inputs", c.c_char_p), ("save_outputs", c.c_char_p), ("save_input_blob", c.c_char_p),
                ("save_accuracy", c.c_char_p), ("load_outputs", c.c_void_p), ("load_output_count", c.c_size_t), ("postprocess", c.POINTER(Postprocess)),
                ("judge", c.POINTER(JudgeOptions)), ("reports", c.POINTER(c.c_char_p)), ("report_count", c.c_size_t), ("model_path", c.c_char_p),
                ("cancelled", c.c_void_p), ("user", c.c_void_p), ("keep_verdicts", c.c_bool)]


class LintOptions(c.Structure):
    _fields_ = [("size", c.c_size_t), ("static_only", c.c_bool), ("strict", c.c_bool)]


LAYER = c.CFUNCTYPE(None, c.c_void_p, c.c_char_p, c.c_double)


class Profiler(c.Structure):
    _fields_ = [("size", c.c_size_t), ("user", c.c_void_p), ("layer", LAYER)]  # an older caller's, without `run`


ALLOCATE = c.CFUNCTYPE(c.c_void_p, c.c_void_p, c.c_char_p, c.c_size_t)


class OutputAllocator(c.Structure):
    _fields_ = [("size", c.c_size_t), ("user", c.c_void_p), ("allocate", ALLOCATE)]  # an older caller's, without `filled`


NEXT = c.CFUNCTYPE(c.c_int, c.POINTER(c.c_void_p), c.c_void_p, c.POINTER(Error))


class LoaderFunctions(c.Structure):
    _fields_ = [("size", c.c_size_t), ("next", NEXT), ("rewind", c.c_void_p), ("set_metadata", c.c_void_p), ("destroy", c.c_void_p)]


# The C struct of each, and whether it is all of it.
STRUCTS = {Error: ("pgy_error", True), ModelSource: ("pgy_model_source", True), NameList: ("pgy_name_list", True), BuildConfig: ("pgy_build_config", False),
           TopK: ("pgy_top_k", True), Postprocess: ("pgy_postprocess", True), Profiler: ("pgy_profiler", False),
           OutputAllocator: ("pgy_output_allocator", False), JudgeOptions: ("pgy_judge_options", True), RunOptions: ("pgy_run_options", True),
           LintOptions: ("pgy_lint_options", False), LoaderFunctions: ("pgy_data_loader_functions", True)}
OK, ARGUMENT, NOT_FOUND = 0, 1, 4
CONSTANTS = ("PGY_OK", "PGY_E_ARGUMENT", "PGY_E_NOT_FOUND", "PGY_F32")


def read_layouts(include, folder):
    """{"pgy_x": size, "pgy_x.member": (offset, size), "PGY_Y": value} as the headers have them."""
    lines = ["#include <polygraphy/polygraphy.h>", "#include <stdio.h>", "int main(void)", "{"]
    for struct_type, (name, _) in STRUCTS.items():
        lines.append(f'    printf("{name} %zu 0\\n", sizeof({name}));')
        lines += [f'    printf("{name}.{field[0]} %zu %zu\\n", offsetof({name}, {field[0]}), sizeof((({name} *)0)->{field[0]}));' for field in struct_type._fields_]
    lines += [f'    printf("{name} %lld 0\\n", (long long){name});' for name in CONSTANTS] + ["    return 0;", "}"]
    source, program = os.path.join(folder, "layouts.c"), os.path.join(folder, "layouts")
    with open(source, "w", encoding="utf-8") as out:
        out.write("\n".join(lines) + "\n")
    subprocess.run(["cc", "-std=c11", f"-I{include}", source, "-o", program], check=True)
    rows = [line.split() for line in subprocess.run([program], capture_output=True, text=True, check=True).stdout.splitlines()]
    return {name: (int(first), int(second)) for name, first, second in rows}


def check_layouts(found):
    for struct_type, (name, whole) in STRUCTS.items():
        size = found[name][0]
        assert c.sizeof(struct_type) == size if whole else c.sizeof(struct_type) <= size, f"{name} has {size} bytes in the headers, {c.sizeof(struct_type)} here"
        for field in struct_type._fields_:
            member = getattr(struct_type, field[0])
            assert found[f"{name}.{field[0]}"] == (member.offset, member.size), f"{name}.{field[0]} lies elsewhere: {found[f'{name}.{field[0]}']}"
    assert (found["PGY_OK"][0], found["PGY_E_ARGUMENT"][0], found["PGY_E_NOT_FOUND"][0]) == (OK, ARGUMENT, NOT_FOUND)


class Library:
    """Calls by name. What ends in an error raises; pointers are c_void_p."""

    POINTERS = ("pgy_backend_find", "pgy_tensor_data", "pgy_tensor_map_find", "pgy_tensor_map_at", "pgy_gs_find_node")
    TEXTS = ("pgy_version", "pgy_run_report_reason", "pgy_backend_name")
    COUNTS = ("pgy_tensor_count", "pgy_lint_count", "pgy_run_report_iteration_count", "pgy_tensor_map_count")
    FLAGS = ("pgy_lint_passed", "pgy_run_report_passed", "pgy_plan_is_plan")

    def __init__(self, path):
        self.library = c.CDLL(path)
        for names, kind in ((self.POINTERS, c.c_void_p), (self.TEXTS, c.c_char_p), (self.COUNTS, c.c_size_t), (self.FLAGS, c.c_bool)):
            for name in names:
                if hasattr(self.library, name):
                    getattr(self.library, name).restype = kind

    def __getattr__(self, name):
        return getattr(self.library, "pgy_" + name)

    def status(self, name, *args):
        """(status, text) of a call that ends in a pgy_error *."""
        err = Error()
        status = getattr(self.library, "pgy_" + name)(*args, c.byref(err))
        return status, err.text.decode()

    def call(self, name, *args):
        status, text = self.status(name, *args)
        if status != OK:
            raise RuntimeError(f"pgy_{name}: {text}")

    def make(self, name, *args):
        """What the first parameter of a call receives."""
        made = c.c_void_p()
        self.call(name, c.byref(made), *args)
        return made

    def text(self, name, *args):
        made = self.make(name, *args)
        text = c.cast(made, c.c_char_p).value.decode()
        self.text_free(made)
        return text

    def default(self, kind, name):
        function = getattr(self.library, "pgy_" + name)
        function.restype = kind
        return function()


class Program:
    def __init__(self, library, folder, float32):
        self.p, self.folder, self.float32 = library, folder, float32
        self.feeds = 3

    def path(self, name):
        return os.path.join(self.folder, name).encode()

    def feed(self, values):
        """A map with the input x, a float32 tensor of one row."""
        shape = (c.c_int64 * 2)(1, len(values))
        tensor = self.p.make("tensor_create", self.float32, c.c_size_t(2), shape)
        c.memmove(self.p.tensor_data(tensor), struct.pack(f"{len(values)}f", *values), 4 * len(values))
        made = self.p.make("tensor_map_create")
        self.p.call("tensor_map_adopt", made, b"x", tensor)
        return made

    def runner(self, backend, path, options=(), config=None):
        found = c.c_void_p(self.p.backend_find(backend))
        named = self.p.make("backend_options_create", found)
        for name, value in options:
            self.p.call("backend_options_set", named, name, value)
        if config:
            self.p.call("engine_runner_configure", named, c.byref(config))
        source = ModelSource()
        self.p.call("source_from_path", c.byref(source), path)
        made = self.p.make("runner_create", found, c.byref(source), named, backend)
        self.p.backend_options_destroy(named)
        return made

    def load_and_build(self, path):
        model = self.p.make("model_load", path, None)
        config = BuildConfig(size=c.sizeof(BuildConfig), threads=1, has_workspace_limit=True, workspace_bytes=1 << 24)
        assert json.loads(self.p.text("build_config_json", c.byref(config))) == {"threads": 1, "workspace_bytes": 1 << 24, "has_workspace_limit": True}
        engine = self.p.make("engine_build", model, c.byref(config))
        self.p.call("engine_save", engine, self.path("built.plan"))
        self.p.engine_release(engine)
        assert self.p.plan_is_plan(self.path("built.plan"))
        return model

    def infer(self, path):
        runner = self.runner(b"opref", path, [(b"opref_precision", b"model")])
        self.p.call("runner_activate", runner)
        feed = self.feed([i / 4 - 2 for i in range(16)])
        outputs = self.p.make("runner_infer", runner, feed)
        y = c.c_void_p(self.p.tensor_map_find(outputs, b"y"))
        count = self.p.tensor_count(y)
        values = struct.unpack(f"{count}f", c.string_at(self.p.tensor_data(y), 4 * count))
        for one in (outputs, feed):
            self.p.tensor_map_destroy(one)
        self.p.runner_destroy(runner)
        return values

    def watch(self, model, values):
        """Runs a context with a profiler and an allocator, both in Python; the output and the layers."""
        x, y, layers = (c.c_float * 16)(*values), (c.c_float * 4)(), []
        engine = self.p.make("engine_build", model, None)
        context = self.p.make("context_create", engine, None)
        profiler = Profiler(size=c.sizeof(Profiler), layer=LAYER(lambda user, name, ms: layers.append(name.decode())))
        room = OutputAllocator(size=c.sizeof(OutputAllocator), allocate=ALLOCATE(lambda user, name, size: c.addressof(y) if size == c.sizeof(y) else None))
        self.p.call("context_set_profiler", context, c.byref(profiler), c.c_bool(True))
        self.p.call("context_set_output_allocator", context, b"y", c.byref(room))
        self.p.call("context_set_input_shape", context, b"x", c.c_size_t(2), (c.c_int64 * 2)(1, 16))
        self.p.call("context_set_input", context, b"x", x, c.c_size_t(c.sizeof(x)))
        self.p.call("context_execute", context)
        self.p.context_destroy(context)
        self.p.engine_release(engine)
        return list(y), layers

    def next_feed(self, out, user, err):
        """The data loader: three feeds, in Python."""
        self.feeds -= 1
        out[0] = self.feed([i / 8 - 1 + self.feeds for i in range(16)]).value if self.feeds >= 0 else None
        return OK

    def compare(self, paths, saved=None, top=None):
        """Runs the first model in the reference and the second in the engine, and compares the outputs, or the places of their `top` largest values;
        whether they agree, and in how many iterations."""
        self.feeds = 3
        functions = LoaderFunctions(size=c.sizeof(LoaderFunctions), next=NEXT(self.next_feed))
        loader = self.p.make("data_loader_create", c.byref(functions), None)
        config = BuildConfig(size=c.sizeof(BuildConfig), threads=1)
        plan = [(b"save_engine", self.path("run.plan"))]
        runners = (c.c_void_p * 2)(self.runner(b"opref", paths[0]), self.runner(b"trt", paths[1], plan, config))
        judge = JudgeOptions(size=c.sizeof(JudgeOptions), validate=True)
        options = self.p.default(RunOptions, "run_options_default")
        options.loader, options.judge, options.save_outputs = loader.value, c.pointer(judge), saved
        post = Postprocess(size=c.sizeof(Postprocess), top_k=c.pointer(TopK(k=top)), top_k_count=1) if top else None
        options.postprocess = c.pointer(post) if post else None
        report = self.p.make("run", runners, c.c_size_t(2), c.byref(options))
        verdict = self.p.run_report_passed(report), self.p.run_report_iteration_count(report)
        self.p.run_report_destroy(report)
        for runner in runners:
            self.p.runner_destroy(c.c_void_p(runner))
        self.p.data_loader_destroy(loader)
        return verdict

    def lint(self, model):
        loader = self.p.make("loader_from_model", model)
        options = LintOptions(size=c.sizeof(LintOptions), static_only=True)
        lint = self.p.make("lint_create", loader, c.byref(options))
        report, passed = json.loads(self.p.text("lint_json", lint)), self.p.lint_passed(lint)
        self.p.lint_destroy(lint)
        self.p.loader_destroy(loader)
        return passed, report

    def edit(self, model, script):
        graph = self.p.make("gs_import", model)
        verbs = self.p.make("gs_script_create", graph)
        self.p.call("gs_script_run", verbs, b"edit", script)
        edited = self.p.make("gs_export", graph, None)
        self.p.gs_script_destroy(verbs)
        self.p.gs_destroy(graph)
        self.p.call("model_save", edited, self.path("edited.onnx"), None)
        self.p.model_destroy(edited)

    def refusals(self):
        backend = c.c_void_p(self.p.backend_find(b"trt"))
        options = self.p.make("backend_options_create", backend)
        assert self.p.status("backend_options_set", options, b"optimization_profile", b"two") == (ARGUMENT, "trt.optimization_profile: invalid int value: 'two'")
        status, text = self.p.status("backend_options_set", options, b"profile", b"2")
        assert status == NOT_FOUND and text.startswith("backend trt has no option 'profile'; its options are save_engine, optimization_profile"), text
        self.p.backend_options_destroy(options)
        made = c.c_void_p()
        status, text = self.p.status("engine_build", c.byref(made), None, None)
        assert status == ARGUMENT and not made and text


def main():
    library, include, path = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        layouts = read_layouts(include, folder)
        check_layouts(layouts)
        program = Program(Library(library), folder, c.c_int(layouts["PGY_F32"][0]))
        model = program.load_and_build(path.encode())
        y = program.infer(path.encode())
        assert len(y) == 4 and all(abs(v) > 1e-3 for v in y), y
        assert program.compare([path.encode()] * 2, program.path("results.json")) == (True, 3)
        with open(os.path.join(folder, "results.json"), encoding="utf-8") as saved:
            assert [name for name, _ in json.load(saved)["lst"]] == ["opref", "trt"]
        assert program.p.plan_is_plan(program.path("run.plan"))
        watched, layers = program.watch(model, [i / 4 - 2 for i in range(16)])
        assert max(abs(a - b) for a, b in zip(watched, y)) < 1e-5 and layers, (watched, y, layers)
        passed, report = program.lint(model)
        assert passed and report["summary"]["passing"], report
        program.edit(model, b"replace node=activation op=Relu --clear-attrs\ncleanup\n")
        assert program.infer(program.path("edited.onnx")) != y
        assert program.compare([path.encode(), program.path("edited.onnx")]) == (False, 3)
        assert program.compare([path.encode(), program.path("edited.onnx")], top=1) == (True, 3)  # the largest is the same one
        program.refusals()
        program.p.model_destroy(model)
    print("bindings: all passed")


if __name__ == "__main__":
    main()
