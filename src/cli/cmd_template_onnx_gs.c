/* SPDX-License-Identifier: Apache-2.0 */
/* template onnx-gs: a Python script that loads a model with onnx-graphsurgeon, leaves
 * room for edits, and saves it again. It needs nothing but the packages onnx and
 * onnx-graphsurgeon. */
#include <polygraphy/onnx.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/log.h"
#include "base/pytext.h"
#include "base/str.h"
#include "cli/groups/model.h"

static const char LOG_PATH[] = "tools/script.py";

/* What protobuf can hold in one file. */
static const uint64_t ONE_FILE_LIMIT = 2000000000;

typedef struct template_args {
    const char *output;
} template_args;

static const pgy_option OPTIONS[] = {
    PGY_OPT_TEXT("-o --output", template_args, output, .required = true, .meta = "PATH",
                 .help = "where to save the script; - is the standard output"),
    PGY_OPT_END,
};

static const option_group OWN = {.options = OPTIONS, ARGS_TYPE(template_args)};
static const option_group *const GROUPS[] = {
    &OWN, &GROUP_LOGGING, &GROUP_MODEL_DATA, &GROUP_ONNX_SHAPE, &GROUP_ONNX_LOAD, NULL};

/* ---- The script ----------------------------------------------------------------------------- */

static void append_list(str *out, const char *name, const pgy_text_list *list)
{
    str_printf(out, "%s = ", name);
    str_append_py_list(out, list->items, list->count);
    str_append_char(out, '\n');
}

static void append_path(str *out, const char *name, const char *path)
{
    str_printf(out, "%s = ", name);
    str_append_py_repr(out, path);
    str_append_char(out, '\n');
}

/* "net.onnx" -> "net_updated.onnx" */
static void append_updated(str *out, const char *path)
{
    const char *extension = path_extension(path);
    str text = {0};
    str_append_n(&text, path, strlen(path) - strlen(extension));
    str_printf(&text, "_updated%s", extension);
    append_path(out, "OUTPUT", str_text(&text));
    str_deinit(&text);
}

static void append_load(str *out, const onnx_load_args *load, const onnx_shape_args *shape)
{
    const bool structure = load->ignore_external_data || load->external_data_dir;
    str_printf(out, "model = onnx.load(MODEL%s)\n", structure ? ", load_external_data=False" : "");
    if (load->external_data_dir && !load->ignore_external_data) {
        str_append(out, "onnx.external_data_helper.load_external_data_for_model(model, ");
        str_append_py_repr(out, load->external_data_dir);
        str_append(out, ")\n");
    }
    if (shape->infer) str_append(out, "model = onnx.shape_inference.infer_shapes(model)\n");
    if (load->fp16)
        str_append(out, "model = float16.convert_float_to_float16(model, keep_io_types=True, "
                        "disable_shape_infer=True)\n");
    str_append(out, "graph = gs.import_onnx(model)\n");
}

static bool selects_outputs(const onnx_load_args *load)
{
    return load->outputs.given || load->by_type.given || load->exclude.given;
}

/* The choice of outputs as --onnx-outputs and the options beside it make it. */
static void append_outputs(str *out, const onnx_load_args *load)
{
    static const char *const ALL[] = {"*"};
    const pgy_text_list all = {ALL, 1, true};
    if (!selects_outputs(load)) return;
    str_append(out, "\n# Other outputs.\n");
    append_list(out, "NAMES", load->mark_all ? &all : &load->outputs);
    append_list(out, "TYPES", &load->by_type);
    append_list(out, "EXCLUDED", &load->exclude);
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

static void make_script(str *out, const args *line, bool large)
{
    const onnx_load_args *load = ARGS_OF(line, onnx_load_args);
    const onnx_shape_args *shape = ARGS_OF(line, onnx_shape_args);
    const char *path = model_path(line);
    str_printf(out,
               "#!/usr/bin/env python3\n# Edits an ONNX model with onnx-graphsurgeon; written "
               "by %s " PGY_VERSION ".\n",
               line->dialect->program);
    if (selects_outputs(load)) str_append(out, "import fnmatch\n");
    if (large) str_append(out, "import os\n");
    str_append(out, selects_outputs(load) || large ? "\n" : "");
    str_append(out, "import numpy as np\nimport onnx\nimport onnx_graphsurgeon as gs\n");
    if (load->fp16) str_append(out, "from onnxconverter_common import float16\n");
    str_append_char(out, '\n');
    append_path(out, "MODEL", path);
    append_updated(out, path);
    str_append_char(out, '\n');
    append_load(out, load, shape);
    append_outputs(out, load);
    append_hints(out);
    append_save(out, large);
}

/* ---- The command ---------------------------------------------------------------------------- */

static bool is_large(const char *path)
{
    const pgy_model_load_options o = {.size = sizeof o, .allow_outside = true};
    pgy_model *model = NULL;
    if (!file_exists(path) || pgy_model_load(&model, path, &o, NULL)) return false;
    const bool large = pgy_model_size_bytes(model) >= ONE_FILE_LIMIT;
    pgy_model_destroy(model);
    return large;
}

static pgy_status make_executable(const char *path, pgy_error *err)
{
    struct stat info;
    if (stat(path, &info) == 0 && S_ISREG(info.st_mode) &&
        chmod(path, info.st_mode | S_IXUSR | S_IXGRP | S_IXOTH))
        return pgy_error_set(err, PGY_E_IO, "cannot make '%s' executable: %s", path,
                             strerror(errno));
    return PGY_OK;
}

static pgy_status write_script(const char *path, const str *text, pgy_error *err)
{
    if (strcmp(path, "-") == 0) {
        const bool whole = fwrite(str_text(text), 1, text->size, stdout) == text->size;
        return whole && !fflush(stdout)
                   ? PGY_OK
                   : pgy_error_set(err, PGY_E_IO, "cannot write to the standard output: %s",
                                   strerror(errno));
    }
    LOG(INFO, "Writing script to: %s", path);
    pgy_status st = file_write_all(path, str_text(text), text->size, err);
    return st ? st : make_executable(path, err);
}

static pgy_status run(args *line, bool *passed, pgy_error *err)
{
    const template_args *s = args_get(line, &OWN);
    const onnx_load_args *load = ARGS_OF(line, onnx_load_args);
    str text = {0};
    (void)passed;
    if (load->bf16 || load->keep.given)
        return pgy_error_set(err, PGY_E_UNSUPPORTED,
                             "a script cannot do what --fp-to-bf16 and --keep-fp32 ask for: use "
                             "'%s convert' first",
                             line->dialect->program);
    make_script(&text, line, is_large(model_path(line)));
    pgy_status st = text.failed ? pgy_error_set(err, PGY_E_MEMORY, "out of memory")
                                : write_script(s->output, &text, err);
    str_deinit(&text);
    return st;
}

const command COMMAND_template_onnx_gs = {
    .tool = "template",
    .subtool = "onnx-gs",
    .summary = "Write a Python script that edits a model.",
    .description = "Write a script that loads a model with onnx-graphsurgeon, has a place for "
                   "edits with examples of the most common ones, and saves the result beside the "
                   "model as <model>_updated.onnx. It is Python and needs the packages onnx and "
                   "onnx-graphsurgeon; 'surgeon edit' takes scripts that need neither.",
    .groups = GROUPS,
    .run = run,
};
