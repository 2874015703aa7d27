/* SPDX-License-Identifier: Apache-2.0 */
/* The program around the commands: finds the command, parses its line, and handles help and
 * version, the RUNNING and PASSED lines, signals, and the exit status. It touches no command's data
 * before one is chosen, so --help and --version load only a few pages. */
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
#include "cli/complete.h"
#include "cli/fields.h"
#include "cli/interrupt.h"
#include "cli/manual.h"
#include "cli/missing.h"
#include "cli/program.h"
#include "cli/progress.h"

static const char LOG_PATH[] = "tools/base/tool.py";

static int print_failure; /* errno of a text that could not be written */

/* Messages repeat what the user typed, so the text needs cleaning like any external text. */
static void print(FILE *to, str *text)
{
    str clean = {0};
    str_append_printable(&clean, str_text(text), text->size, "\n\t");
    bool whole = fwrite(str_text(&clean), 1, clean.size, to) == clean.size;
    if ((!whole || fflush(to)) && errno != EPIPE) print_failure = errno;
    str_deinit(&clean);
    str_deinit(text);
}

/* Is the word a long option or a prefix of one? */
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

static int print_version(const program *p)
{
    char folder[4096];
    program_folder(folder, sizeof folder);
    str text = {0};
    p->print_version(&text, folder);
    print(stdout, &text);
    return EXIT_GOOD;
}

static void print_program_usage(str *out, const program *p)
{
    str_printf(out, "usage: %s [-h] [-v] {", p->dialect.program);
    for (const tool_info *t = p->tools; t->name; t++)
        str_printf(out, "%s%s", t == p->tools ? "" : ",", t->name);
    str_append(out, "} ...\n");
}

static int print_program_help(const program *p)
{
    const char *name = p->dialect.program;
    str text = {0};
    print_program_usage(&text, p);
    str_printf(&text, "\n%s: %s\n\noptions:\n", p->title, p->summary);
    str_append(&text, "  -h, --help            show this help message and exit\n"
                      "  -v, --version         show the version and exit\n\nTools:\n");
    for (const tool_info *t = p->tools; t->name; t++)
        str_printf(&text, "  %-22s%s\n", t->name, t->summary);
    str_printf(&text,
               "\nhelp for a tool: %s help TOOL [SUBTOOL]; completion for bash: eval "
               "\"$(%s --completion bash)\"\n",
               name, name);
    print(stdout, &text);
    return EXIT_GOOD;
}

static bool is_tool(const program *p, const char *name)
{
    for (const tool_info *t = p->tools; t->name; t++)
        if (strcmp(t->name, name) == 0) return true;
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

static int program_misuse(const program *p, const char *format, const char *what)
{
    const char *name = p->dialect.program;
    str text = {0};
    str_printf(&text, "usage: %s [-h] [-v] TOOL ...\n%s: error: ", name, name);
    str_printf(&text, format, what);
    str_printf(&text, "\n'%s -h' shows all tools\n", name);
    print(stderr, &text);
    return EXIT_USAGE;
}

static int wrong_tool(const program *p, const char *word)
{
    enum { MAX_TOOLS = 32 };
    const char *names[MAX_TOOLS];
    size_t kept = 0;
    for (const tool_info *t = p->tools; t->name && kept < MAX_TOOLS; t++) names[kept++] = t->name;
    str text = {0};
    print_wrong_choice(&text, "tools", word, names, kept);
    const int code = program_misuse(p, "%s", str_text(&text));
    str_deinit(&text);
    return code;
}

static int refuse_tool(const program *p, const missing_tool *tool)
{
    LOG(CRITICAL, "'%s %s' is not available in this build (%s); %s%s%s lists all that is missing",
        p->dialect.program, tool->name, tool->what, tool->instead ? tool->instead : "",
        tool->instead ? "; " : "", p->dialect.original->page);
    return EXIT_BAD;
}

/* ---- Tools with subtools -------------------------------------------------------------------- */

static bool is_subtool(const command *c, const char *tool)
{
    return c->subtool && strcmp(c->tool, tool) == 0;
}

static void print_tool_usage(str *out, const program *p, const char *tool)
{
    str_printf(out, "usage: %s %s [-h] {", p->dialect.program, tool);
    bool first = true;
    for (const command *const *c = p->commands; *c; c++) {
        if (!is_subtool(*c, tool)) continue;
        str_printf(out, "%s%s", first ? "" : ",", (*c)->subtool);
        first = false;
    }
    str_append(out, "} ...\n");
}

static int tool_help(const program *p, const char *tool)
{
    str text = {0};
    print_tool_usage(&text, p, tool);
    str_append(&text, "\nSubtools:\n");
    for (const command *const *c = p->commands; *c; c++)
        if (is_subtool(*c, tool)) str_printf(&text, "  %-22s%s\n", (*c)->subtool, (*c)->summary);
    str_append(&text, "\noptions:\n  -h, --help            show this help message and exit\n");
    print(stdout, &text);
    return EXIT_GOOD;
}

static int tool_misuse(const program *p, const char *tool, const char *word)
{
    enum { MAX_SUBTOOLS = 32 };
    const char *names[MAX_SUBTOOLS];
    size_t count = 0;
    for (const command *const *c = p->commands; *c && count < MAX_SUBTOOLS; c++)
        if (is_subtool(*c, tool)) names[count++] = (*c)->subtool;
    str text = {0};
    print_tool_usage(&text, p, tool);
    str_printf(&text, "%s %s: error: ", p->dialect.program, tool);
    if (word)
        print_wrong_choice(&text, "subtool", word, names, count);
    else
        str_append(&text, "the following arguments are required: subtool");
    str_printf(&text, "\n'%s help %s' describes each subtool\n", p->dialect.program, tool);
    print(stderr, &text);
    return EXIT_USAGE;
}

/* ---- Running a command ---------------------------------------------------------------------- */

static void command_text(str *out, const program *p, int argc, const char *const *argv)
{
    str_append(out, p->dialect.program);
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
    line->command = text;
    pgy_status st = args_finish(line, &err);
    for (size_t i = 0; i < line->deprecations.count; i++)
        LOG(WARNING, "%s", line->deprecations.items[i]);
    bool framed = !st && c->frames && !line->writes_script;
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
    const bool judged = !st && !interrupt_requested() && line->exit_status;
    return passed ? EXIT_GOOD : judged ? line->exit_status : EXIT_BAD;
}

/* Appends what the user may have meant by an unrecognized word; nothing if that is unknown. */
static void append_advice(str *out, const args *line, const char *word)
{
    str near = {0};
    if (word[0] != '-' || args_advise(out, line, word)) return;
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
    str_printf(&text, "%s: error: %s\n", line->name, str_text(&line->message));
    /* A required option is often missing because its name is misspelled. */
    for (size_t i = 0; i < line->unknown.count; i++) {
        const size_t before = text.size;
        append_advice(&text, line, line->unknown.items[i]);
        if (text.size > before) str_append_char(&text, '\n');
    }
    str_printf(&text, "'%s -h' shows all options\n", line->name);
    print(stderr, &text);
    return EXIT_USAGE;
}

/* `first`: how many of `words` name the command. */
static int run_command(const program *p, const command *c, int first, int argc,
                       const char *const *words)
{
    pgy_error err = {0};
    args line = {0};
    args_outcome outcome = ARGS_OK;
    str text = {0};
    int code = EXIT_BAD;
    command_text(&text, p, argc, words);
    pgy_status st = text.failed ? pgy_error_set(&err, PGY_E_MEMORY, "out of memory")
                                : command_open(&line, p, c, &err);
    if (!st) st = args_parse(&line, &outcome, argc - first, words + first, &err);
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
    const bool known = args_init(&line, "", "", GROUPS, NULL) == PGY_OK &&
                       args_match_word(&match, &line, word, NULL) == PGY_OK && match.row;
    const bool takes = known && match.row->nargs != PGY_NONE;
    if (line.groups) args_deinit(&line);
    return takes;
}

/* Puts the words that an older tool stands for in front of the user's, which may change them. */
static bool expand_alias(strvec *out, const command *c, const command_alias *alias)
{
    span word;
    bool good = true;
    LOG(WARNING, "'%s' is an older name; use '%s %s%s%s'", alias->name, c->tool,
        c->subtool ? c->subtool : "", alias->words ? " " : "", alias->words ? alias->words : "");
    for (size_t i = 0; alias->words && option_word(&word, alias->words, i); i++)
        good &= strvec_push_n(out, word.data, word.size);
    return good;
}

/* Logging options may precede the subtool ("inspect -v model m.onnx"): this moves them behind it.
 */
static int run_subtool(const program *p, const char *tool, int argc, const char *const *argv)
{
    int at = 0;
    while (at < argc && argv[at][0] == '-' && !is_help(argv[at]))
        at += takes_next_word(argv[at]) && at + 1 < argc ? 2 : 1;
    if (at < argc && argv[at][0] == '-') return tool_help(p, tool);
    const command_alias *alias = NULL;
    const command *c = at < argc ? command_find(p, tool, argv[at]) : NULL;
    if (!c && at < argc) c = command_find_older(&alias, p, tool, argv[at]);
    const missing_tool *missing =
        c || at == argc ? NULL : missing_tool_find(p->dialect.original, tool, argv[at]);
    if (missing) return refuse_tool(p, missing);
    if (!c) return tool_misuse(p, tool, at < argc ? argv[at] : NULL);
    strvec words = {0};
    bool good = strvec_push(&words, tool) && strvec_push(&words, argv[at]);
    if (good && alias) good = expand_alias(&words, c, alias);
    for (int i = 0; good && i < argc; i++)
        if (i != at) good = strvec_push(&words, argv[i]);
    const int code =
        good ? run_command(p, c, 2, (int)words.count, (const char *const *)words.items) : EXIT_BAD;
    strvec_deinit(&words);
    return code;
}

static int run_tool_words(const program *p, int argc, const char *const *argv);

/* "help", "help run", "help inspect model" */
static int help_words(const program *p, int argc, const char *const *argv)
{
    const char *words[3] = {0};
    int count = 0;
    while (count < argc && count < 2 && argv[count][0] != '-') words[count] = argv[count], count++;
    if (count == 2 && command_find(p, words[0], NULL)) count = 1; /* a tool without subtools */
    words[count++] = "--help";
    return run_tool_words(p, count, words);
}

static int unknown_tool(const program *p, const char *word, const char *next)
{
    const original *o = p->dialect.original;
    const missing_tool *missing = missing_tool_find(o, word, next);
    if (missing) return refuse_tool(p, missing);
    if (!missing_tool_find(o, word, NULL)) return wrong_tool(p, word);
    LOG(CRITICAL, "'%s %s' is not available in this build; %s lists all that is missing",
        p->dialect.program, word, o->page);
    return EXIT_BAD;
}

static int run_tool_words(const program *p, int argc, const char *const *argv)
{
    if (argc == 0) return program_misuse(p, "the following arguments are required: %s", "tools");
    const char *word = argv[0];
    if (is_help(word)) return print_program_help(p);
    if (!strcmp(word, "-v") || begins_option(word, "--version")) return print_version(p);
    if (!strcmp(word, "help")) return help_words(p, argc - 1, argv + 1);
    if (word[0] == '-') return program_misuse(p, "unrecognized arguments: %s", word);
    const command *whole = command_find(p, word, NULL);
    const command_alias *alias;
    const bool older = argc > 1 && command_find_older(&alias, p, word, argv[1]);
    const missing_tool *gone =
        argc > 1 && !older ? missing_tool_find(p->dialect.original, word, argv[1]) : NULL;
    if (whole && gone) return refuse_tool(p, gone);
    if (whole && !older) return run_command(p, whole, 1, argc, argv);
    if (older || is_tool(p, word)) return run_subtool(p, word, argc - 1, argv + 1);
    return unknown_tool(p, word, argc > 1 ? argv[1] : "");
}

static int run_words(const program *p, int argc, const char *const *argv)
{
    const char *word = argc ? argv[0] : "";
    if (!strcmp(word, "--completion")) return manual_print(p, argc > 1 ? argv[1] : "bash");
    if (!strcmp(word, "--complete")) return complete_words(p, argc - 1, argv + 1);
    if (p->tools) return run_tool_words(p, argc, argv);
    if (!strcmp(word, "--version")) return print_version(p);
    return run_command(p, command_find(p, NULL, NULL), 0, argc, argv);
}

/* ---- The process ---------------------------------------------------------------------------- */

/* If the caller closed a standard file, the next opened file would get its number and receive the
 * output. So this opens /dev/null in its place. */
static void open_standard_files(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", fd ? O_WRONLY : O_RDONLY) < 0) return;
}

int program_run(const program *p, int argc, const char *const *argv)
{
    open_standard_files();
    interrupt_install();
    pgy_log_open_console();
    log_set_rewriter(fields_to_options);
    progress_install();
    int code = run_words(p, argc, argv);
    int failure = print_failure ? print_failure : log_write_failure();
    fflush(NULL);
    interrupt_finish();
    if (!failure) return code;
    fprintf(stderr, "[!] part of the output could not be written: %s\n", strerror(failure));
    return code ? code : EXIT_BAD;
}
