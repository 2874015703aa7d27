/* SPDX-License-Identifier: Apache-2.0 */
/* The program around the commands: finding the command, parsing its line, help and version, the
 * RUNNING and PASSED lines, signals, exit status. Nothing of a command is touched before it is
 * chosen, so --help and --version cost a few pages. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/log.h"
#include "base/printable.h"
#include "base/pytext.h"
#include "base/suggest.h"
#include "base/system.h"
#include "cli/args/trtexec.h"
#include "cli/command.h"
#include "cli/complete.h"
#include "cli/interrupt.h"
#include "cli/manual.h"
#include "cli/missing.h"
#include "cli/progress.h"

static const char LOG_PATH[] = "tools/base/tool.py";

static int print_failure; /* errno of a text that could not be written */

/* What the user typed is repeated in messages, so this is text from outside, too. */
static void print(FILE *to, str *text)
{
    str clean = {0};
    str_append_printable(&clean, str_text(text), text->size, "\n\t");
    bool whole = fwrite(str_text(&clean), 1, clean.size, to) == clean.size;
    if ((!whole || fflush(to)) && errno != EPIPE) print_failure = errno;
    str_deinit(&clean);
    str_deinit(text);
}

/* Is the word a long option, or its beginning? */
static bool begins_option(const char *word, const char *option)
{
    return strlen(word) > 2 && str_starts_with(option, word);
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
    str_append(&text,
               "\nhelp for a tool: polygraphy help TOOL [SUBTOOL]; completion for bash: eval "
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

/* "invalid choice: 'rnu'; did you mean 'run'? (choose from 'run', 'convert')" */
static void print_wrong_choice(str *out, const char *argument, const char *word,
                               const char *const *choices, size_t count)
{
    suggestions near = {.wanted = word};
    str list = {0};
    for (size_t i = 0; i < count; i++) {
        suggest_offer(&near, choices[i]);
        str_printf(&list, "%s'%s'", i ? ", " : "", choices[i]);
    }
    str_printf(out, "argument %s: invalid choice: ", argument);
    str_append_py_repr(out, word);
    suggest_append(out, &near);
    str_printf(out, " (choose from %s)", str_text(&list));
    str_deinit(&list);
}

static int program_misuse(const char *format, const char *what)
{
    str text = {0};
    str_append(&text, "usage: polygraphy [-h] [-v] TOOL ...\npolygraphy: error: ");
    str_printf(&text, format, what);
    str_append(&text, "\n'polygraphy -h' shows all tools\n");
    print(stderr, &text);
    return EXIT_USAGE;
}

static int wrong_tool(const char *word)
{
    enum { MAX_TOOLS = 32 };
    const char *names[MAX_TOOLS];
    size_t count, kept = 0;
    const tool_info *tools = command_tools(&count);
    for (size_t i = 0; i < count && kept < MAX_TOOLS; i++) names[kept++] = tools[i].name;
    str text = {0};
    print_wrong_choice(&text, "tools", word, names, kept);
    const int code = program_misuse("%s", str_text(&text));
    str_deinit(&text);
    return code;
}

static int refuse_tool(const missing_tool *tool)
{
    LOG(CRITICAL,
        "'polygraphy %s' is not available in this build (%s); %s%sdocs/parity.md lists all that "
        "is missing",
        tool->name, tool->what, tool->instead ? tool->instead : "", tool->instead ? "; " : "");
    return EXIT_BAD;
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
    enum { MAX_SUBTOOLS = 32 };
    const char *names[MAX_SUBTOOLS];
    size_t count = 0;
    for (size_t i = 0; i < command_count() && count < MAX_SUBTOOLS; i++)
        if (!strcmp(command_at(i)->tool, tool) && command_at(i)->subtool)
            names[count++] = command_at(i)->subtool;
    str text = {0};
    print_tool_usage(&text, tool);
    str_printf(&text, "polygraphy %s: error: ", tool);
    if (word)
        print_wrong_choice(&text, "subtool", word, names, count);
    else
        str_append(&text, "the following arguments are required: subtool");
    str_printf(&text, "\n'polygraphy help %s' tells what each is for\n", tool);
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
    if (interrupt_requested()) { /* results may be incomplete, whatever the status says */
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

/* What else the user may have meant by a word that nobody takes; appends nothing if that is not
 * known. */
static void append_advice(str *out, const args *line, const char *word)
{
    str near = {0};
    if (word[0] != '-' || trtexec_advice(out, word)) return;
    args_suggest(&near, line, word);
    if (near.size) str_printf(out, "'%s'%s", word, str_text(&near));
    str_deinit(&near);
}

static int refuse_unknown(const args *line)
{
    str list = {0};
    str_append_py_list(&list, (const char *const *)line->unknown.items, line->unknown.count);
    LOG(ERROR, "Unrecognized Options: %s", str_text(&list));
    str_deinit(&list);
    for (size_t i = 0; i < line->unknown.count; i++) {
        str advice = {0};
        append_advice(&advice, line, line->unknown.items[i]);
        if (advice.size) LOG(ERROR, "%s", str_text(&advice));
        str_deinit(&advice);
    }
    return EXIT_BAD;
}

static int command_misuse(const args *line)
{
    str text = {0};
    args_print_usage(&text, line, args_help_width());
    str_printf(&text, "%s: error: %s\n", line->program, str_text(&line->message));
    /* A slip in the name of an option is often why another one is missing. */
    for (size_t i = 0; i < line->unknown.count; i++) {
        const size_t before = text.size;
        append_advice(&text, line, line->unknown.items[i]);
        if (text.size > before) str_append_char(&text, '\n');
    }
    str_printf(&text, "'%s -h' shows all options\n", line->program);
    print(stderr, &text);
    return EXIT_USAGE;
}

static int run_command(const command *c, int first, int argc, const char *const *argv,
                       const char *const *all)
{
    pgy_error err = {0};
    args line = {0};
    args_outcome outcome = ARGS_OK;
    str text = {0};
    int code = EXIT_BAD;
    command_text(&text, first + argc, all);
    pgy_status st = text.failed ? pgy_error_set(&err, PGY_E_MEMORY, "out of memory")
                                : command_open(&line, c, &err);
    if (!st) st = args_parse(&line, &outcome, argc, argv, &err);
    if (st) {
        LOG(CRITICAL, "%s", err.text);
    } else if (outcome == ARGS_HELP) {
        str help = {0};
        args_print_help(&help, &line, args_help_width());
        print(stdout, &help);
        code = EXIT_GOOD;
    } else if (outcome == ARGS_USAGE) {
        code = command_misuse(&line);
    } else if (outcome == ARGS_MISSING) {
        LOG(CRITICAL, "%s", str_text(&line.message));
    } else if (outcome == ARGS_UNKNOWN) {
        code = refuse_unknown(&line);
    } else {
        code = run_parsed(c, &line, str_text(&text));
    }
    if (line.groups) args_deinit(&line);
    str_deinit(&text);
    return code;
}

static bool is_help(const char *word)
{
    return !strcmp(word, "-h") || begins_option(word, "--help");
}

/* Is the word a logging option whose value is the next word? */
static bool takes_next_word(const char *word)
{
    static const option_group *const GROUPS[] = {&GROUP_LOGGING, NULL};
    args line = {0};
    args_match match = {0};
    if (strchr(word, '=')) return false;
    const bool known = args_init(&line, "polygraphy", "", GROUPS, NULL) == PGY_OK &&
                       args_match_word(&match, &line, word, NULL) == PGY_OK && match.row;
    const bool takes = known && match.row->nargs != PGY_NONE;
    if (line.groups) args_deinit(&line);
    return takes;
}

/* Logging options may stand before the subtool ("inspect -v model m.onnx"): they are moved behind
 * it. */
static int run_subtool(const char *tool, int argc, const char *const *argv)
{
    int at = 0;
    while (at < argc && argv[at][0] == '-' && !is_help(argv[at]))
        at += takes_next_word(argv[at]) && at + 1 < argc ? 2 : 1;
    if (at < argc && argv[at][0] == '-') return tool_help(tool);
    const command *c = at < argc ? command_find(tool, argv[at]) : NULL;
    const missing_tool *missing = c || at == argc ? NULL : missing_tool_find(tool, argv[at]);
    if (missing) return refuse_tool(missing);
    if (!c) return tool_misuse(tool, at < argc ? argv[at] : NULL);
    const char **words = mem_calloc((size_t)argc + 1, sizeof *words);
    if (!words) return EXIT_BAD;
    if (strcmp(c->tool, tool) || !c->subtool || strcmp(c->subtool, argv[at]))
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

static int run_words(int argc, const char *const *argv);

/* "help", "help run", "help inspect model" */
static int help_words(int argc, const char *const *argv)
{
    const char *words[3] = {0};
    int count = 0;
    while (count < argc && count < 2 && argv[count][0] != '-') words[count] = argv[count], count++;
    if (count == 2 && command_find(words[0], NULL)) count = 1; /* a tool without subtools */
    words[count++] = "--help";
    return run_words(count, words);
}

static int run_words(int argc, const char *const *argv)
{
    if (argc == 0) return program_misuse("the following arguments are required: %s", "tools");
    const char *word = argv[0];
    if (is_help(word)) return print_program_help();
    if (!strcmp(word, "-v") || begins_option(word, "--version")) return print_version();
    if (!strcmp(word, "help")) return help_words(argc - 1, argv + 1);
    if (!strcmp(word, "--completion")) return manual_print(argc > 1 ? argv[1] : "bash");
    if (!strcmp(word, "--complete")) return complete_words(argc - 1, argv + 1);
    if (word[0] == '-') return program_misuse("unrecognized arguments: %s", word);
    const command *whole = command_find(word, NULL);
    if (whole) return run_command(whole, 1, argc - 1, argv + 1, argv);
    if (is_tool(word) || (argc > 1 && command_find(word, argv[1])))
        return run_subtool(word, argc - 1, argv + 1);
    const missing_tool *missing = missing_tool_find(word, argc > 1 ? argv[1] : "");
    if (missing) return refuse_tool(missing);
    if (!missing_tool_find(word, NULL)) return wrong_tool(word);
    LOG(CRITICAL,
        "'polygraphy %s' is not available in this build; docs/parity.md lists all that is missing",
        word);
    return EXIT_BAD;
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
    interrupt_install();
    pgy_log_open_console();
    progress_install();
    int code = run_words(argc, argv);
    int failure = print_failure ? print_failure : log_write_failure();
    fflush(NULL);
    interrupt_finish();
    if (!failure) return code;
    fprintf(stderr, "[!] part of the output could not be written: %s\n", strerror(failure));
    return code ? code : EXIT_BAD;
}
