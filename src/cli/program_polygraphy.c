/* SPDX-License-Identifier: Apache-2.0 */
/* The definition of the polygraphy program: besides main.c, the only file of src/cli that names it.
 */
#include "cli/program_polygraphy.h"

#include "cli/args/trtexec.h"

/* ---- Tools and commands --------------------------------------------------------------------- */

static const tool_info TOOLS[] = {
    {"run", "Run inference with one or more runners and compare their outputs."},
    {"convert", "Convert a model: other outputs, types or opset, or a plan."},
    {"inspect", "Show models, saved data and saved results."},
    {"surgeon", "Edit a model: extract parts, insert nodes, fold, clean up, prune, strip weights."},
    {"check", "Check a model for errors, or judge saved accuracy results again."},
    {"where", "Find the first tensor that differs between two runners."},
    {"bench", "Measure models in runners side by side, and tell which is faster."},
    {"debug", "Find what makes a model fail, by repeated trials."},
    {"precision", "Find the layers that may compute in 16 bits, and write them into the model."},
    {"data", "Combine files of saved inputs and outputs."},
    {"template", "Write templates: scripts and files of hints."},
    {"plugin", "Find and replace subgraphs of a model that plugins can compute."},
    {"multi-device", "Divide a model among several devices."},
    {"trace", "Show where the time of recorded timelines goes, and compare them."},
    {"view", "Show a model, and what is known about it, as a page."},
    {NULL},
};

#define COMMAND(name) extern const command COMMAND_##name;
#include "cli/commands.def"
#undef COMMAND

static const command *const COMMANDS[] = {
#define COMMAND(name) &COMMAND_##name,
#include "cli/commands.def"
#undef COMMAND
    NULL,
};

/* ---- The original --------------------------------------------------------------------------- */

static const original_command ORIGINAL_COMMANDS[] = {
#define OPTIONS(command, names) {command, names},
#include "cli/args/original.inc"
#undef OPTIONS
};

static const missing_option MISSING_OPTIONS[] = {
#define TOOL(name_, what_, instead_)
#define OLDER_TOOL(name_, what_, instead_)
#define OPTION(commands_, names_, what_, instead_) \
    {.commands = commands_, .names = names_, .what = what_, .instead = instead_},
#define OLDER(commands_, names_, what_, instead_) \
    {.commands = commands_, .names = names_, .older = true, .what = what_, .instead = instead_},
#define VALUES(commands_, name_, values_, what_, instead_) \
    {.commands = commands_, .names = name_, .values = values_, .what = what_, .instead = instead_},
#include "cli/missing.def"
#undef TOOL
#undef OLDER_TOOL
#undef OPTION
#undef OLDER
#undef VALUES
};

static const missing_tool MISSING_TOOLS[] = {
#define TOOL(name_, what_, instead_) {.name = name_, .what = what_, .instead = instead_},
#define OLDER_TOOL(name_, what_, instead_) \
    {.name = name_, .older = true, .what = what_, .instead = instead_},
#define OPTION(commands_, names_, what_, instead_)
#define OLDER(commands_, names_, what_, instead_)
#define VALUES(commands_, name_, values_, what_, instead_)
#include "cli/missing.def"
};

#define COUNT(array) (sizeof(array) / sizeof *(array))

static const original ORIGINAL = {
    .name = "Polygraphy",
    .release = PGY_PARITY_VERSION,
    .package = "polygraphy",
    .page = "docs/parity.md",
    .commands = ORIGINAL_COMMANDS,
    .command_count = COUNT(ORIGINAL_COMMANDS),
    .options = MISSING_OPTIONS,
    .option_count = COUNT(MISSING_OPTIONS),
    .tools = MISSING_TOOLS,
    .tool_count = COUNT(MISSING_TOOLS),
};

/* ---- Texts ---------------------------------------------------------------------------------- */

static const manual_entry FILES[] = {
    {"*.onnx", "ONNX models; weights may be in separate files beside them."},
    {"*.plan, *.engine", "Plans of the built-in engine, which convert writes."},
    {"*.json, *.npz, *.npy, *.safetensors, *.pb",
     "Saved inputs and outputs. The JSON files have the format of NVIDIA's Polygraphy."},
    {"/usr/share/doc/polygraphy",
     "Documentation and examples, if the package is installed under /usr."},
    {NULL},
};

static const manual_entry EXAMPLES[] = {
    {"{program} run model.onnx --trt --onnxrt",
     "Compare the outputs of the built-in engine with those of ONNX Runtime on random data."},
    {"{program} run model.onnx --onnxrt --opref --onnx-outputs mark all",
     "Compare every tensor with the float64 reference."},
    {"{program} run model.onnx --onnxrt --save-inputs in.json --save-outputs out.json",
     "Save inputs and outputs for a later comparison."},
    {"{program} run other.onnx --onnxrt --load-inputs in.json --load-outputs out.json",
     "Compare another model with the saved results."},
    {"{program} convert model.onnx --fp16 -o model.plan", "Build a plan with 16-bit floats."},
    {"{program} inspect model model.onnx --show layers weights", "Show layers and weights."},
    {"{program} surgeon sanitize model.onnx --fold-constants -o folded.onnx",
     "Fold constants and remove unused nodes."},
    {"{program} check lint model.onnx", "List the errors in a model, node by node."},
    {NULL},
};

static void print_version(str *out, const char *folder)
{
    str_printf(out,
               "Polygraphy | Version: %s | Path: ['%s']\nlibpolygraphy %s: an independent "
               "implementation in C\n",
               PGY_PARITY_VERSION, folder, pgy_version());
}

const program PROGRAM_POLYGRAPHY = {
    .dialect = {.program = "polygraphy",
                .values = &VALUES_BRACKETS,
                .original = &ORIGINAL,
                .advise = trtexec_advice},
    .title = "Polygraphy",
    .summary = "find out where and why the results of a neural network differ",
    .about = "Runs one model in several runtimes on the same data, compares their outputs, and "
             "reports a verdict, also as the exit status. Other tools inspect, convert, check and "
             "edit models. The options follow those of NVIDIA's Polygraphy.",
    .library = "libpolygraphy",
    .environment = "POLYGRAPHY_",
    .print_version = print_version,
    .tools = TOOLS,
    .commands = COMMANDS,
    .examples = EXAMPLES,
    .files = FILES,
};
