/* SPDX-License-Identifier: Apache-2.0 */
/* The program of `run`: collects the parts, then puts them into their order. */
#include <string.h>

#include "cli/c_script/c_script.h"
#include "cli/groups/runners.h"
#include "cli/groups/trt.h"

/* Compiles the file where it was written; the program's name is the file's without ".c". */
static void put_compile_command(str *out, const char *path)
{
    const char *dash = path[0] == '-' ? "./" : "";
    str source = {0}, made = {0}, line = {0};
    str_printf(&source, "%s%s", dash, path);
    str_append_n(&made, str_text(&source), source.size - strlen(".c"));
    if (!made.size || str_ends_with(str_text(&made), "/")) str_append(&made, "a.out");
    str_append(&line, "cc -std=c11 -Wall -Wextra ");
    str_append_word(&line, str_text(&source));
    str_append(&line, " -o ");
    str_append_word(&line, str_text(&made));
    c_comment(out, str_text(&line));
    str_append(out, " $(pkg-config --cflags --libs " PGY_PACKAGE ")");
    if (source.failed || made.failed || line.failed) out->failed = true;
    str_deinit(&source);
    str_deinit(&made);
    str_deinit(&line);
}

static void put_head(str *out, const c_script *s, const char *path)
{
    const char *typed = s->line->command ? s->line->command : s->line->name;
    str_printf(out, "/* Written by %s " PGY_VERSION ". Does what this command does:\n *     ",
               s->line->dialect->program);
    c_comment(out, typed);
    str_append(out, "\n * Compile it with\n *     ");
    put_compile_command(out, path);
    str_append(out, "\n * It ends with status 0 if all outputs agree, and with 1 if some do not or "
                    "cannot be compared. */\n");
}

static void put_includes(str *out, const c_script *s, const str *log)
{
    const char *text = str_text(&s->functions);
    const bool hooks = strstr(text, "dlopen(") != NULL;
    const bool math = strstr(text, "INFINITY") || strstr(text, "NAN");
    if (hooks) str_append(out, "#include <dlfcn.h>\n");
    if (math) str_append(out, "#include <math.h>\n");
    str_append(out, "#include <signal.h>\n\n#include <polygraphy/compare.h>\n");
    if (s->plan->config) str_append(out, "#include <polygraphy/engine_runner.h>\n");
    if (s->plan->edits_onnx || s->plan->edits_trt)
        str_append(out, "#include <polygraphy/loader.h>\n");
    const bool operators = strstr(str_text(log), "pgy_operators_load") != NULL;
    if (operators) str_append(out, "#include <polygraphy/operator.h>\n");
    str_append_char(out, '\n');
}

static const char MAIN_BEGIN[] =
    "/* The first signal ends the run in order, the second one at once. */\n"
    "static volatile sig_atomic_t stopped;\n\n"
    "static void stop(int number)\n{\n    stopped = number;\n    signal(number, SIG_DFL);\n"
    "    pgy_cancel();\n}\n\n"
    "int main(void)\n{\n    pgy_error err = {0};\n    bool passed = false;\n"
    "    signal(SIGINT, stop);\n    signal(SIGTERM, stop);\n    pgy_log_open_console();\n"
    "    pgy_status st = PGY_OK;\n";
static const char MAIN_END[] =
    "    if (!st) st = run(&passed, &err);\n"
    "    if (stopped) raise(stopped);\n"
    "    if (st)\n"
    "        pgy_log_write(PGY_LOG_CRITICAL, __FILE__, __LINE__, \"%s\", err.text);\n"
    "    else if (passed)\n"
    "        pgy_log_write(PGY_LOG_FINISH, __FILE__, __LINE__, \"PASSED\");\n"
    "    else\n"
    "        pgy_log_write(PGY_LOG_ERROR, __FILE__, __LINE__, \"FAILED\");\n"
    "    return !st && passed ? 0 : 1;\n}\n";

static void put_program(str *out, const c_script *s, const str *log, const char *path)
{
    put_head(out, s, path);
    put_includes(out, s, log);
    str_append(out, str_text(&s->functions));
    str_append(out, "static pgy_status run(bool *passed, pgy_error *err)\n{\n");
    str_append(out, str_text(&s->variables));
    str_append(out, str_text(&s->steps));
    str_append(out, str_text(&s->release));
    str_append(out, "    return st;\n}\n\n");
    str_append(out, MAIN_BEGIN);
    str_append(out, str_text(log));
    str_append(out, MAIN_END);
    if (s->functions.failed || s->variables.failed || s->steps.failed || s->release.failed ||
        log->failed)
        out->failed = true;
}

pgy_status c_script_run(str *out, args *line, const c_plan *plan, const char *path, pgy_error *err)
{
    c_script s = {.line = line, .plan = plan};
    str log = {0};
    pgy_status st = c_log(&log, line, err);
    c_functions(&s);
    if (ARGS_OF(line, runner_args)->names.count) c_data(&s);
    c_calibration(&s);
    if (!st) st = c_config(&s, err);
    if (!st) st = c_models(&s, err);
    if (!st) st = c_runners(&s, err);
    c_options(&s);
    if (!st) put_program(out, &s, &log, path);
    str_deinit(&s.functions);
    str_deinit(&s.variables);
    str_deinit(&s.steps);
    str_deinit(&s.release);
    str_deinit(&log);
    return st;
}
