/* SPDX-License-Identifier: Apache-2.0 */
#include "debug/check.h"

#include <string.h>

#include "base/alloc.h"
#include "base/cancel.h"
#include "base/command.h"
#include "base/log.h"

static const char LOG_PATH[] = "tools/debug/subtool/iterative_debug_args.py";

/* Compiles an expression that matches a whole text if `pattern` matches some of it. */
static pgy_status compile(regex **out, const char *pattern, pgy_error *err)
{
    regex *alone = NULL; /* "a)(b" is wrong alone, not inside parentheses */
    str whole = {0};
    str_printf(&whole, "(?s:.*)(?:%s)(?s:.*)", pattern);
    pgy_status st = whole.failed ? pgy_error_set(err, PGY_E_MEMORY, "out of memory for a pattern")
                                 : regex_compile(&alone, span_of(pattern), err);
    if (!st) st = regex_compile(out, span_of(str_text(&whole)), err);
    regex_destroy(alone);
    str_deinit(&whole);
    return st;
}

pgy_status debug_check_init(debug_check *c, const pgy_debug_check *options, pgy_error *err)
{
    const size_t count = options->fail_pattern_count;
    *c = (debug_check){.options = *options};
    if (!options->command && !options->judge)
        return pgy_error_set(err, PGY_E_ARGUMENT,
                             "debug.check: neither a command nor a judge is given");
    if (options->command && (!options->command_count || !*options->command[0]))
        return pgy_error_set(err, PGY_E_ARGUMENT, "debug.check_command: the command is empty");
    c->patterns = mem_calloc(count + 1, sizeof *c->patterns);
    if (!c->patterns) return pgy_error_set(err, PGY_E_MEMORY, "out of memory for a check");
    for (size_t i = 0; i < count; i++) {
        pgy_status st = compile(&c->patterns[i], options->fail_patterns[i], err);
        if (!st) continue;
        st = pgy_error_prefix(err, st, "debug.fail_patterns: ");
        debug_check_deinit(c);
        return st;
    }
    return PGY_OK;
}

void debug_check_deinit(debug_check *c)
{
    for (size_t i = 0; c->patterns && i < c->options.fail_pattern_count; i++)
        regex_destroy(c->patterns[i]);
    mem_free(c->patterns);
    *c = (debug_check){0};
}

/* ---- The verdict of a command --------------------------------------------------------------- */

static bool is_listed(int code, const int64_t *codes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (codes[i] == code) return true;
    return false;
}

/* "$" also matches in front of the newline that ends the text, as in Python. */
static bool search(regex *r, span text)
{
    const bool ends_line = text.size && text.data[text.size - 1] == '\n';
    return regex_matches(r, text) ||
           (ends_line && regex_matches(r, (span){text.data, text.size - 1}));
}

static bool match_any(const debug_check *c, const command_result *r)
{
    const span texts[] = {{str_text(&r->out), r->out.size}, {str_text(&r->err), r->err.size}};
    bool found = false;
    for (size_t i = 0; i < 2 * c->options.fail_pattern_count && !found; i++)
        found = search(c->patterns[i / 2], texts[i % 2]);
    return found;
}

static pgy_status judge_result(bool *passed, const debug_check *c, const command_result *r,
                               pgy_error *err)
{
    const pgy_debug_check *o = &c->options;
    *passed = true;
    if (is_listed(r->code, o->pass_codes, o->pass_code_count)) return PGY_OK;
    const bool matched = match_any(c, r);
    const pgy_status st = cancel_check(err);
    if (st) return st;
    if (o->fail_code_count)
        *passed = !is_listed(r->code, o->fail_codes, o->fail_code_count) ||
                  (o->fail_pattern_count && !matched);
    else if (o->fail_pattern_count)
        *passed = !matched;
    else
        *passed = r->code == 0;
    return PGY_OK;
}

/* ---- Running -------------------------------------------------------------------------------- */

static void show(pgy_severity severity, const char *title, str *text)
{
    while (text->size && text->data[text->size - 1] == '\n') text->data[--text->size] = '\0';
    pgy_log_write(severity, LOG_PATH, __LINE__, "========== CAPTURED %s ==========%s%s", title,
                  text->size ? "\n" : "", str_text(text));
}

static void show_output(command_result *r, bool passed, pgy_debug_show when)
{
    if (when == PGY_DEBUG_SHOW_NONE || (passed && when != PGY_DEBUG_SHOW_ALL)) return;
    show(PGY_LOG_INFO, "STDOUT", &r->out);
    show(passed ? PGY_LOG_WARNING : PGY_LOG_ERROR, "STDERR", &r->err);
}

static void log_command(const pgy_debug_check *o)
{
    str line = {0};
    for (size_t i = 0; i < o->command_count; i++) {
        if (i) str_append_char(&line, ' ');
        str_append_word(&line, o->command[i]);
    }
    LOG(INFO, "Running check command: %s", str_text(&line));
    str_deinit(&line);
}

/* Otherwise a check that never ran would look like one that fails always. */
static void warn_of_end(const command_result *r)
{
    enum { NOT_EXECUTABLE = 126, NOT_FOUND = 127 }; /* of shells and env */
    if (r->code < 0)
        LOG(WARNING, "The check command was ended by signal %d (%s)", -r->code,
            strsignal(-r->code));
    else if (r->code == NOT_FOUND || r->code == NOT_EXECUTABLE)
        LOG(WARNING, "The check command exited with code %d, by which shells say that a program %s",
            r->code, r->code == NOT_FOUND ? "was not found" : "is not executable");
}

pgy_status debug_check_run(bool *passed, const debug_check *c, const char *candidate,
                           pgy_error *err)
{
    const pgy_debug_check *o = &c->options;
    command_result r = {0};
    if (!o->command) return o->judge(passed, candidate, o->user, err);
    log_command(o);
    pgy_status st = command_run(&r, o->command, o->command_count, o->timeout_s, err);
    if (st) return status_ends_all(st) ? st : pgy_error_prefix(err, st, "debug.check_command: ");
    warn_of_end(&r);
    st = judge_result(passed, c, &r, err);
    if (!st) show_output(&r, *passed, o->show);
    command_result_deinit(&r);
    return st;
}
