/* SPDX-License-Identifier: Apache-2.0 */
/* The manual page is troff source: the texts below are plain and are escaped when they are
 * printed, so that no backslash, leading dot or quote is taken for a request. */
#include "cli/manual.h"

#include <stdio.h>
#include <string.h>

#include "cli/command.h"
#include "cli/complete.h"
#include "cli/missing.h"

/* ---- Texts ---------------------------------------------------------------------------------- */

typedef struct manual_entry {
    const char *name, *text; /* a NULL name ends a table */
} manual_entry;

static const manual_entry EXIT_CODES[] = {
    {"0", "Success: the verdict is good, or the work is done."},
    {"1",
     "A comparison, a validation or a check failed, a file could not be read or written, a runtime "
     "could not start, or an option is not known."},
    {"2", "The command line is wrong: a missing or malformed value, or no such tool."},
    {"signal", "The program ends by the signal that interrupted it (Ctrl-C: 130 in a shell)."},
    {NULL},
};

static const manual_entry ENVIRONMENT[] = {
    {"POLYGRAPHY_ONNXRUNTIME",
     "Library of ONNX Runtime, or the folder that holds it. Without it the loader's path, the "
     "folder of the program and the Python on PATH are tried."},
    {"POLYGRAPHY_PYTHON",
     "Python interpreter that runs scripts; it needs NumPy. Default: python3."},
    {"POLYGRAPHY_THREADS", "Number of threads of the engine and the reference."},
    {"POLYGRAPHY_CPU", "Highest kernel level to use: portable, avx2 or avx512."},
    {"POLYGRAPHY_TRT",
     "Engine that --trt means: auto or native, the built-in engine. Other values are errors."},
    {"POLYGRAPHY_PASSES", "Passes of the engine to leave out, for finding faults."},
    {"POLYGRAPHY_SAVE_PASSES", "Folder that gets the model after each pass of the engine."},
    {"POLYGRAPHY_ARRAY_SWAP_THRESHOLD_MB",
     "Outputs beyond this size are kept in temporary files instead of memory."},
    {"TMPDIR", "Folder for temporary files. Default: /tmp."},
    {"COLUMNS", "Width of help texts."},
    {"NO_COLOR, FORCE_COLOR", "Never, or always, colour the log."},
    {NULL},
};

static const manual_entry FILES[] = {
    {"*.onnx", "ONNX models; weights may lie in files beside them."},
    {"*.plan, *.engine", "Plans of the built-in engine, made by convert."},
    {"*.json, *.npz, *.npy, *.safetensors, *.pb",
     "Inputs and outputs. JSON files are those of Polygraphy."},
    {"/usr/share/doc/polygraphy",
     "Documentation and examples, where the package was installed under /usr."},
    {NULL},
};

static const manual_entry EXAMPLES[] = {
    {"polygraphy run model.onnx --trt --onnxrt",
     "Compare the outputs of the built-in engine with those of ONNX Runtime on random data."},
    {"polygraphy run model.onnx --onnxrt --opref --onnx-outputs mark all",
     "Compare every tensor with the float64 reference."},
    {"polygraphy run model.onnx --onnxrt --save-inputs in.json --save-outputs out.json",
     "Save inputs and outputs for a later comparison."},
    {"polygraphy run other.onnx --onnxrt --load-inputs in.json --load-outputs out.json",
     "Compare another model with the saved results."},
    {"polygraphy convert model.onnx --fp16 -o model.plan", "Build a plan with 16-bit floats."},
    {"polygraphy inspect model model.onnx --show layers weights", "Show layers and weights."},
    {"polygraphy surgeon sanitize model.onnx --fold-constants -o folded.onnx",
     "Fold constants and remove what no output needs."},
    {"polygraphy check lint model.onnx", "List what is wrong with a model, node by node."},
    {NULL},
};

/* ---- The manual page ------------------------------------------------------------------------ */

static void print_troff(const char *text)
{
    for (const char *p = text; *p; p++) {
        if ((*p == '.' || *p == '\'') && (p == text || p[-1] == '\n')) fputs("\\&", stdout);
        if (*p == '\\')
            fputs("\\e", stdout);
        else if (*p == '-')
            fputs("\\-", stdout);
        else
            putchar(*p);
    }
}

static void print_entries(const char *title, const manual_entry *entries)
{
    printf(".SH %s\n", title);
    for (; entries->name; entries++) {
        fputs(".TP\n.B ", stdout);
        print_troff(entries->name);
        putchar('\n');
        print_troff(entries->text);
        putchar('\n');
    }
}

static void print_tools(void)
{
    size_t count;
    const tool_info *tools = command_tools(&count);
    puts(".SH TOOLS");
    for (size_t i = 0; i < count; i++) {
        printf(".TP\n.B %s\n", tools[i].name);
        print_troff(tools[i].summary);
        putchar('\n');
    }
}

/* The help of one command, as `polygraphy TOOL -h` prints it; name: "polygraphy run". */
static void print_command_help(str *name, str *help, const command *c, size_t width)
{
    args line = {0};
    if (command_open(&line, c, NULL) != PGY_OK) return;
    str_append(name, line.program);
    args_print_help(help, &line, width);
    args_deinit(&line);
}

static int print_manual(void)
{
    printf(".TH POLYGRAPHY 1 \"\" \"libpolygraphy %s\" \"User Commands\"\n.SH NAME\npolygraphy \\- "
           "find out where and why a neural network behaves differently\n.SH SYNOPSIS\n.B "
           "polygraphy\n.I TOOL\n[\n.I SUBTOOL\n]\n[\n.I OPTIONS\n]\n.SH DESCRIPTION\n"
           "Runs one model in several runtimes on the same data, compares what comes out, and ends "
           "in a verdict and an exit status. Other tools inspect, convert, check and edit models. "
           "The options follow those of NVIDIA's Polygraphy.\n",
           pgy_version());
    print_tools();
    print_entries("EXAMPLES", EXAMPLES);
    print_entries("EXIT STATUS", EXIT_CODES);
    print_entries("ENVIRONMENT", ENVIRONMENT);
    print_entries("FILES", FILES);
    puts(".SH COMMANDS");
    for (size_t i = 0; i < command_count(); i++) {
        str name = {0}, help = {0};
        print_command_help(&name, &help, command_at(i), 90);
        printf(".SS %s\n.nf\n", str_text(&name));
        print_troff(str_text(&help));
        puts(".fi");
        str_deinit(&name);
        str_deinit(&help);
    }
    return EXIT_GOOD;
}

/* ---- The option reference ------------------------------------------------------------------- */

static int print_markdown(void)
{
    printf("# Options of the polygraphy program\n\nMade by `polygraphy --completion markdown`; a "
           "test fails when this page is stale.\n\n");
    for (size_t i = 0; i < command_count(); i++) {
        str name = {0}, help = {0};
        print_command_help(&name, &help, command_at(i), 100);
        printf("## %s\n\n```text\n%s```\n\n", str_text(&name), str_text(&help));
        str_deinit(&name);
        str_deinit(&help);
    }
    return EXIT_GOOD;
}

static int print_missing(void)
{
    str page = {0};
    missing_print_page(&page);
    fputs(str_text(&page), stdout);
    str_deinit(&page);
    return EXIT_GOOD;
}

int manual_print(const char *what)
{
    if (strcmp(what, "man") == 0) return print_manual();
    if (strcmp(what, "markdown") == 0) return print_markdown();
    if (strcmp(what, "parity") == 0) return print_missing();
    if (complete_script(what)) return EXIT_GOOD;
    fprintf(stderr,
            "polygraphy: error: --completion: '%s' is not bash, zsh, fish, man, markdown or "
            "parity\n",
            what);
    return EXIT_USAGE;
}
