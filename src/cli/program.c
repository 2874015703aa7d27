/* SPDX-License-Identifier: Apache-2.0 */
/* The program around the commands: finding the command, parsing its line, help and version, the
 * RUNNING and PASSED lines, signals, exit status. Nothing of a command is touched before it is
 * chosen, so --help and --version cost a few pages. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/log.h"
#include "base/pytext.h"
#include "base/system.h"
#include "cli/command.h"
#include "cli/complete.h"
#include "cli/interrupt.h"

static const char LOG_PATH[] = "tools/base/tool.py";

static int print_failure; /* errno of a text that could not be written */

static void print(FILE *to, str *text)
{
    bool whole = fwrite(str_text(text), 1, text->size, to) == text->size;
    if ((!whole || fflush(to)) && errno != EPIPE) print_failure = errno;
    str_deinit(text);
}

/* ---- Program level -------------------------------------------------------------------------- */

static void program_folder(char *out, size_t size)
{
    ssize_t n = readlink("/proc/self/exe", out, size - 1);
    out[n > 0 ? n : 0] = 0;
    char *slash = strrchr(out, '/');
    if (slash) *slash = 0;
}

static int print_version(void)
{
    char folder[4096];
    program_folder(folder, sizeof folder);
    str text = {0};
    str_printf(&text,
               "Polygraphy | Version: %s | Path: ['%s']\nlibpolygraphy %s: an independent "
               "implementation in C\n",
               PGY_PARITY_VERSION, folder, pgy_version());
    print(stdout, &text);
    return EXIT_GOOD;
}

static void print_tools(str *out)
{
    size_t count;
    const tool_info *tools = command_tools(&count);
    for (size_t i = 0; i < count; i++)
        str_printf(out, "  %-22s%s\n", tools[i].name, tools[i].summary);
}

static void print_program_usage(str *out)
{
    size_t count;
    const tool_info *tools = command_tools(&count);
    str_append(out, "usage: polygraphy [-h] [-v] {");
    for (size_t i = 0; i < count; i++) str_printf(out, "%s%s", i ? "," : "", tools[i].name);
    str_append(out, "} ...\n");
}

static int print_program_help(void)
{
    str text = {0};
    print_program_usage(&text);
    str_append(
        &text,
        "\nPolygraphy: find out where and why a neural network behaves differently\n\noptions:\n"
        "  -h, --help            show this help message and exit\n"
        "  -v, --version         show the version and exit\n\nTools:\n");
    print_tools(&text);
    str_append(&text, "\nhelp for a tool: polygraphy TOOL -h; completion for bash: eval "
                      "\"$(polygraphy --completion bash)\"\n");
    print(stdout, &text);
    return EXIT_GOOD;
}

static bool is_tool(const char *name)
{
    size_t count;
    const tool_info *tools = command_tools(&count);
    for (size_t i = 0; i < count; i++)
        if (strcmp(tools[i].name, name) == 0) return true;
    return false;
}

static int program_misuse(const char *format, const char *what)
{
    str text = {0};
    print_program_usage(&text);
    str_append(&text, "polygraphy: error: ");
    str_printf(&text, format, what);
    str_append_char(&text, '\n');
    print(stderr, &text);
    return EXIT_USAGE;
}

/* ---- Tools with subtools -------------------------------------------------------------------- */

static void print_tool_usage(str *out, const char *tool)
{
    str_printf(out, "usage: polygraphy %s [-h] {", tool);
    bool first = true;
    for (size_t i = 0; i < command_count(); i++) {
        if (strcmp(command_at(i)->tool, tool) || !command_at(i)->subtool) continue;
        str_printf(out, "%s%s", first ? "" : ",", command_at(i)->subtool);
        first = false;
    }
    str_append(out, "} ...\n");
}

static int tool_help(const char *tool)
{
    str text = {0};
    print_tool_usage(&text, tool);
    str_append(&text, "\nSubtools:\n");
    for (size_t i = 0; i < command_count(); i++)
        if (strcmp(command_at(i)->tool, tool) == 0 && command_at(i)->subtool)
            str_printf(&text, "  %-22s%s\n", command_at(i)->subtool, command_at(i)->summary);
    str_append(&text, "\noptions:\n  -h, --help            show this help message and exit\n");
    print(stdout, &text);
    return EXIT_GOOD;
}

static int tool_misuse(const char *tool, const char *word)
{
    str text = {0};
    print_tool_usage(&text, tool);
    if (word)
        str_printf(&text, "polygraphy %s: error: argument subtool: invalid choice: '%s'\n", tool,
                   word);
    else
        str_printf(&text, "polygraphy %s: error: the following arguments are required: subtool\n",
                   tool);
    print(stderr, &text);
    return EXIT_USAGE;
}

/* ---- Running a command ---------------------------------------------------------------------- */

static void command_text(str *out, int argc, const char *const *argv)
{
    str_append(out, "polygraphy");
    for (int i = 0; i < argc; i++) {
        str_append_char(out, ' ');
        str_append_word(out, argv[i]);
    }
}

static int run_parsed(const command *c, args *line, const char *text)
{
    pgy_error err = {0};
    bool passed = true;
    int64_t start = clock_ns();
    pgy_status st = args_finish(line, &err);
    for (size_t i = 0; i < line->deprecations.count; i++)
        LOG(WARNING, "%s", line->deprecations.items[i]);
    bool framed = !st && c->frames;
    if (framed) LOG(START, "RUNNING | Command: %s", text);
    if (!st) st = c->run(line, &passed, &err);
    if (st && interrupt_requested()) { /* what Ctrl-C ends in may also be a helper that it ended */
        LOG(CRITICAL, "Interrupted.");
        passed = false;
    } else if (st) {
        LOG(CRITICAL, "%s", err.text);
        passed = false;
    }
    double seconds = (double)(clock_ns() - start) * 1e-9;
    if (framed && passed) LOG(FINISH, "PASSED | Runtime: %.3fs | Command: %s", seconds, text);
    if (framed && !passed) LOG(ERROR, "FAILED | Runtime: %.3fs | Command: %s", seconds, text);
    return passed ? EXIT_GOOD : EXIT_BAD;
}

static int refuse_unknown(const args *line)
{
    str list = {0};
    str_append_py_list(&list, (const char *const *)line->unknown.items, line->unknown.count);
    LOG(ERROR, "Unrecognized Options: %s", str_text(&list));
    str_deinit(&list);
    return EXIT_BAD;
}

static int run_command(const command *c, int first, int argc, const char *const *argv,
                       const char *const *all)
{
    pgy_error err = {0};
    args line = {0};
    args_outcome outcome = ARGS_OK;
    str name = {0}, text = {0};
    int code = EXIT_BAD;
    str_printf(&name, "polygraphy %s%s%s", c->tool, c->subtool ? " " : "",
               c->subtool ? c->subtool : "");
    command_text(&text, first + argc, all);
    pgy_status st = name.failed || text.failed ? pgy_error_set(&err, PGY_E_MEMORY, "out of memory")
                                               : args_init(&line, str_text(&name), c->description,
                                                           command_groups(c), &err);
    line.no_abbreviation = c->no_abbreviation;
    if (!st) st = args_parse(&line, &outcome, argc, argv, &err);
    if (st) {
        LOG(CRITICAL, "%s", err.text);
    } else if (outcome == ARGS_HELP) {
        str help = {0};
        args_print_help(&help, &line, args_help_width());
        print(stdout, &help);
        code = EXIT_GOOD;
    } else if (outcome == ARGS_USAGE) {
        str usage = {0};
        args_print_usage(&usage, &line, args_help_width());
        str_printf(&usage, "%s: error: %s\n", str_text(&name), str_text(&line.message));
        print(stderr, &usage);
        code = EXIT_USAGE;
    } else if (outcome == ARGS_UNKNOWN) {
        code = refuse_unknown(&line);
    } else {
        code = run_parsed(c, &line, str_text(&text));
    }
    if (line.groups) args_deinit(&line);
    str_deinit(&name);
    str_deinit(&text);
    return code;
}

/* Logging options may stand before the subtool ("inspect -v model m.onnx"): they are moved behind
 * it. */
static int run_subtool(const char *tool, int argc, const char *const *argv)
{
    int at = 0;
    while (at < argc && argv[at][0] == '-' && strcmp(argv[at], "-h") && strcmp(argv[at], "--help"))
        at++;
    if (at < argc && argv[at][0] == '-') return tool_help(tool);
    const command *c = at < argc ? command_find(tool, argv[at]) : NULL;
    if (!c) return tool_misuse(tool, at < argc ? argv[at] : NULL);
    const char **words = mem_calloc((size_t)argc + 1, sizeof *words);
    if (!words) return EXIT_BAD;
    if (!c->subtool || strcmp(c->subtool, argv[at]))
        LOG(WARNING, "'%s %s' is an older name; use '%s %s'", tool, argv[at], c->tool,
            c->subtool ? c->subtool : "");
    size_t n = 0;
    words[n++] = tool;
    words[n++] = argv[at];
    for (int i = 0; i < argc; i++)
        if (i != at) words[n++] = argv[i];
    int code = run_command(c, 2, (int)n - 2, words + 2, words);
    mem_free(words);
    return code;
}

static int run_words(int argc, const char *const *argv)
{
    if (argc == 0) return program_misuse("the following arguments are required: %s", "tools");
    const char *word = argv[0];
    if (!strcmp(word, "-h") || !strcmp(word, "--help")) return print_program_help();
    if (!strcmp(word, "-v") || !strcmp(word, "--version")) return print_version();
    if (!strcmp(word, "--completion")) return complete_print(argc > 1 ? argv[1] : "bash");
    if (!strcmp(word, "--complete")) return complete_words(argc - 1, argv + 1);
    if (word[0] == '-') return program_misuse("unrecognized arguments: %s", word);
    const command *whole = command_find(word, NULL);
    if (whole) return run_command(whole, 1, argc - 1, argv + 1, argv);
    if (is_tool(word) || (argc > 1 && command_find(word, argv[1])))
        return run_subtool(word, argc - 1, argv + 1);
    return program_misuse("argument tools: invalid choice: '%s'", word);
}

/* ---- The process ---------------------------------------------------------------------------- */

/* A file opened in place of a standard one that the caller closed would take what is printed. */
static void open_standard_files(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", fd ? O_WRONLY : O_RDONLY) < 0) return;
}

int program_run(int argc, const char *const *argv)
{
    open_standard_files();
    signal(SIGPIPE, SIG_IGN);
    file_install_signal_cleanup();
    interrupt_install();
    pgy_log_open_console();
    int code = run_words(argc, argv);
    int failure = print_failure ? print_failure : log_write_failure();
    if (!failure) return code;
    fprintf(stderr, "[!] part of the output could not be written: %s\n", strerror(failure));
    return code ? code : EXIT_BAD;
}
