/* SPDX-License-Identifier: Apache-2.0 */
/* Writes a Python script that loads a model with onnx-graphsurgeon, leaves room for edits, and
 * saves it. The script needs only the packages onnx and onnx-graphsurgeon. */
#include <polygraphy/gs_script.h>

#include <string.h>

#include "base/file.h"
#include "base/pytext.h"
#include "base/sized.h"

static void append_list(str *out, const char *name, const char *const *items, size_t count)
{
    str_printf(out, "%s = ", name);
    str_append_py_list(out, items, count);
    str_append_char(out, '\n');
}

static void append_path(str *out, const char *name, const char *path)
{
    str_printf(out, "%s = ", name);
    str_append_py_repr(out, path);
    str_append_char(out, '\n');
}

/* Appends the path of the script's result: "net_updated.onnx" for "net.onnx". */
static void append_updated(str *out, const char *path)
{
    const char *extension = path_extension(path);
    str text = {0};
    str_append_n(&text, path, strlen(path) - strlen(extension));
    str_printf(&text, "_updated%s", extension);
    append_path(out, "OUTPUT", str_text(&text));
    str_deinit(&text);
}

static void append_load(str *out, const pgy_gs_template_options *o)
{
    const bool structure = o->ignore_external_data || o->external_data_dir;
    str_printf(out, "model = onnx.load(MODEL%s)\n", structure ? ", load_external_data=False" : "");
    if (o->external_data_dir && !o->ignore_external_data) {
        str_append(out, "onnx.external_data_helper.load_external_data_for_model(model, ");
        str_append_py_repr(out, o->external_data_dir);
        str_append(out, ")\n");
    }
    if (o->infer_shapes) str_append(out, "model = onnx.shape_inference.infer_shapes(model)\n");
    if (o->half)
        str_append(out, "model = float16.convert_float_to_float16(model, keep_io_types=True, "
                        "disable_shape_infer=True)\n");
    str_append(out, "graph = gs.import_onnx(model)\n");
}

static bool selects_outputs(const pgy_gs_template_options *o)
{
    return o->output_count || o->type_count || o->exclude_count;
}

static void append_outputs(str *out, const pgy_gs_template_options *o)
{
    if (!selects_outputs(o)) return;
    str_append(out, "\n# Other outputs.\n");
    append_list(out, "NAMES", o->outputs, o->output_count);
    append_list(out, "TYPES", o->types, o->type_count);
    append_list(out, "EXCLUDED", o->excludes, o->exclude_count);
    str_append(
        out,
        "\n\ndef fits(name, patterns):\n"
        "    return any(name == p or fnmatch.fnmatchcase(name, p) for p in patterns)\n"
        "\n\nmade = [t for n in graph.nodes if n.op != \"Constant\" for t in n.outputs if t.name]\n"
        "tensors = graph.tensors()\n"
        "chosen = []\n"
        "for p in NAMES:\n"
        "    found = [tensors[p]] if p in tensors else [t for t in made if fits(t.name, [p])]\n"
        "    if not found:\n"
        "        raise SystemExit(f\"The model has no tensor {p!r}\")\n"
        "    chosen += [t for t in found if t not in chosen]\n"
        "for p in TYPES:\n"
        "    chosen += [t for n in graph.nodes if n.op.lower() == p.lower() for t in n.outputs\n"
        "               if t.name and t not in chosen]\n"
        "if not NAMES and not TYPES:\n"
        "    chosen = graph.outputs\n"
        "graph.outputs = [t for t in chosen if not fits(t.name, EXCLUDED)]\n");
}

static void append_hints(str *out)
{
    str_append(
        out,
        "\n# ---- Your edits go here ----------------------------------------------------------\n"
        "#\n"
        "# tensors = graph.tensors()                 # every tensor by its name\n"
        "# node = next(n for n in graph.nodes if n.name == \"...\")\n"
        "# node.inputs, node.outputs, node.attrs     # what a node is made of; all can be changed\n"
        "# node.i(0), node.o(0)                      # the node in front of it, the node behind "
        "it\n"
        "#\n"
        "# graph.inputs = [tensors[\"...\"]]          # other ends of the graph; they need a "
        "dtype\n"
        "# graph.outputs = [tensors[\"...\"]]\n"
        "#\n"
        "# y = gs.Variable(\"y\", dtype=np.float32)\n"
        "# graph.nodes.append(gs.Node(\"Relu\", \"new\", inputs=[tensors[\"...\"]], outputs=[y]))\n"
        "#\n"
        "# for node in graph.nodes:\n"
        "#     print(node.op, node.name, [t.name for t in node.inputs], [t.name for t in "
        "node.outputs])\n"
        "# ----------------------------------------------------------------------------------\n"
        "\n# Without what no output needs, and with the nodes in an order in which they can run:\n"
        "# graph.cleanup().toposort()\n\n");
}

static void append_save(str *out, bool large)
{
    str_printf(out, "onnx.save(gs.export_onnx(graph, do_type_check=False), OUTPUT%s)\n",
               large ? ", save_as_external_data=True, location=os.path.basename(OUTPUT) + \".data\""
                     : "");
    str_append(out, "print(f\"Saved {OUTPUT}\")\n");
}

static void append_script(str *out, const char *path, const pgy_gs_template_options *o)
{
    const bool large = o->external_data;
    str_append(out, "#!/usr/bin/env python3\n# Edits an ONNX model with onnx-graphsurgeon; written "
                    "by ");
    str_append(out, o->writer ? o->writer : "libpolygraphy " PGY_VERSION);
    str_append(out, ".\n");
    if (selects_outputs(o)) str_append(out, "import fnmatch\n");
    if (large) str_append(out, "import os\n");
    str_append(out, selects_outputs(o) || large ? "\n" : "");
    str_append(out, "import numpy as np\nimport onnx\nimport onnx_graphsurgeon as gs\n");
    if (o->half) str_append(out, "from onnxconverter_common import float16\n");
    str_append_char(out, '\n');
    append_path(out, "MODEL", path);
    append_updated(out, path);
    str_append_char(out, '\n');
    append_load(out, o);
    append_outputs(out, o);
    append_hints(out);
    append_save(out, large);
}

pgy_status pgy_gs_template_text(char **out, const char *path,
                                const pgy_gs_template_options *options, pgy_error *err)
{
    pgy_gs_template_options o = {0};
    str text = {0};
    const pgy_status st = SIZED_TAKE(pgy_gs_template_options, &o, options, err);
    if (st) return st;
    append_script(&text, path, &o);
    return str_give(out, &text, err);
}
