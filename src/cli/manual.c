/* SPDX-License-Identifier: Apache-2.0 */
/* The manual page is troff source: the texts below are plain and are escaped when they are
 * printed, so that no backslash, leading dot or quote is taken for a request. */
#include "cli/manual.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "cli/complete.h"
#include "cli/missing.h"

/* ---- Texts ---------------------------------------------------------------------------------- */

static const manual_entry EXIT_CODES[] = {
    {"0", "Success: the comparison passed, or the command did its work."},
    {"1", "A comparison, a validation or a check failed, a file could not be read or written, a "
          "runtime could not start, or an option is unknown."},
    {"2", "The command line is wrong: a value is missing or malformed, or the tool is unknown."},
    {"signal", "A signal ended the program (Ctrl-C: 130 in a shell)."},
    {NULL},
};

/* Variables that the library reads; program.environment is the prefix of their names. */
static const manual_entry LIBRARY_ENVIRONMENT[] = {
    {"ONNXRUNTIME",
     "Path of the ONNX Runtime library, or of its folder. By default the program searches the "
     "loader's path, its own folder and the Python installation on PATH."},
    {"PYTHON", "Python interpreter that runs scripts; it needs NumPy. Default: python3."},
    {"CUDA_PATH", "Folders that are searched for CUDA's libraries, separated by colons; 'default' "
                  "stands for the usual places."},
    {"CUDA_CACHE",
     "Folder for compiled CUDA kernels, or 'off'. Default: a folder in XDG_CACHE_HOME or "
     "~/.cache."},
    {"THREADS", "Number of threads of the engine and the reference."},
    {"CPU", "Highest kernel level to use: portable, avx2 or avx512."},
    {"TRT", "Engine that --trt uses: auto or native, both of which are the built-in engine."},
    {"PASSES", "Passes of the engine to skip, for debugging."},
    {"RANGES", "'0': the engine makes a program of its own for each new shape of the inputs."},
    {"SAVE_PASSES", "Folder in which the engine saves the model after each pass."},
    {"NVTX",
     "'1', or the path of NVIDIA's libnvToolsExt: phases and layers become ranges of Nsight "
     "Systems. '0': never. Default: if Nsight Systems started the program."},
    {"ARRAY_SWAP_THRESHOLD_MB",
     "Size in MB above which outputs are kept in temporary files instead of memory."},
    {NULL},
};

static const manual_entry ENVIRONMENT[] = {
    {"TMPDIR", "Folder for temporary files. Default: /tmp."},
    {"COLUMNS", "Width of help texts."},
    {"NO_COLOR, FORCE_COLOR", "Never, or always, colour the log."},
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

static void print_expanded(const program *p, const char *text)
{
    str out = {0};
    args_expand(&out, &p->dialect, text);
    print_troff(str_text(&out));
    str_deinit(&out);
}

static void print_entries(const program *p, const char *prefix, const manual_entry *entries)
{
    for (; entries && entries->name; entries++) {
        fputs(".TP\n.B ", stdout);
        print_troff(prefix);
        print_expanded(p, entries->name);
        putchar('\n');
        print_expanded(p, entries->text);
        putchar('\n');
    }
}

static void print_section(const program *p, const char *title, const manual_entry *entries)
{
    if (!entries) return;
    printf(".SH %s\n", title);
    print_entries(p, "", entries);
}

static void print_tools(const program *p)
{
    if (!p->tools) return;
    puts(".SH TOOLS");
    for (const tool_info *t = p->tools; t->name; t++) {
        printf(".TP\n.B %s\n", t->name);
        print_troff(t->summary);
        putchar('\n');
    }
}

/* The help of one command, as `PROGRAM TOOL -h` prints it; name: "PROGRAM run". */
static void print_command_help(str *name, str *help, const program *p, const command *c,
                               size_t width)
{
    args line = {0};
    if (command_open(&line, p, c, NULL) != PGY_OK) return;
    str_append(name, line.name);
    args_print_help(help, &line, width);
    args_deinit(&line);
}

static void print_heading(const program *p)
{
    const char *name = p->dialect.program;
    fputs(".TH ", stdout);
    for (const char *c = name; *c; c++) putchar(toupper((unsigned char)*c));
    printf(" 1 \"\" \"%s %s\" \"User Commands\"\n.SH NAME\n%s \\- %s\n", p->library, pgy_version(),
           name, p->summary);
    printf(".SH SYNOPSIS\n.B %s\n%s[\n.I OPTIONS\n]\n.SH DESCRIPTION\n", name,
           p->tools ? ".I TOOL\n[\n.I SUBTOOL\n]\n" : "");
    puts(p->about);
}

static int print_manual(const program *p)
{
    print_heading(p);
    print_tools(p);
    print_section(p, "EXAMPLES", p->examples);
    print_section(p, "EXIT STATUS", EXIT_CODES);
    puts(".SH ENVIRONMENT");
    print_entries(p, p->environment, LIBRARY_ENVIRONMENT);
    print_entries(p, "", ENVIRONMENT);
    print_section(p, "FILES", p->files);
    puts(".SH COMMANDS");
    for (const command *const *c = p->commands; *c; c++) {
        str name = {0}, help = {0};
        print_command_help(&name, &help, p, *c, 90);
        printf(".SS %s\n.nf\n", str_text(&name));
        print_troff(str_text(&help));
        puts(".fi");
        str_deinit(&name);
        str_deinit(&help);
    }
    return EXIT_GOOD;
}

/* ---- The option reference ------------------------------------------------------------------- */

static int print_markdown(const program *p)
{
    printf("# Options of the %s program\n\nMade by `%s --completion markdown`; a test fails when "
           "this page is stale.\n\n",
           p->dialect.program, p->dialect.program);
    for (const command *const *c = p->commands; *c; c++) {
        str name = {0}, help = {0};
        print_command_help(&name, &help, p, *c, 100);
        printf("## %s\n\n```text\n%s```\n\n", str_text(&name), str_text(&help));
        str_deinit(&name);
        str_deinit(&help);
    }
    return EXIT_GOOD;
}

static int print_missing(const original *o)
{
    str page = {0};
    missing_print_page(&page, o);
    fputs(str_text(&page), stdout);
    str_deinit(&page);
    return EXIT_GOOD;
}

int manual_print(const program *p, const char *what)
{
    const original *o = p->dialect.original;
    if (strcmp(what, "man") == 0) return print_manual(p);
    if (strcmp(what, "markdown") == 0) return print_markdown(p);
    if (o && strcmp(what, "parity") == 0) return print_missing(o);
    if (complete_script(p, what)) return EXIT_GOOD;
    fprintf(stderr, "%s: error: --completion: '%s' is not one of bash, zsh, fish, man%s\n",
            p->dialect.program, what, o ? ", markdown or parity" : " or markdown");
    return EXIT_USAGE;
}
