/* SPDX-License-Identifier: Apache-2.0 */
/* Logging, limits and libraries of operators: what the program sets before it begins. */
#include "cli/c_script/c_script.h"
#include "cli/groups/logging.h"
#include "cli/groups/operators.h"

static const struct {
    int severity;
    const char *name;
} SEVERITIES[] = {{PGY_LOG_ULTRA_VERBOSE, "PGY_LOG_ULTRA_VERBOSE"},
                  {PGY_LOG_SUPER_VERBOSE, "PGY_LOG_SUPER_VERBOSE"},
                  {PGY_LOG_EXTRA_VERBOSE, "PGY_LOG_EXTRA_VERBOSE"},
                  {PGY_LOG_VERBOSE, "PGY_LOG_VERBOSE"},
                  {PGY_LOG_INFO, "PGY_LOG_INFO"},
                  {PGY_LOG_START, "PGY_LOG_START"},
                  {PGY_LOG_FINISH, "PGY_LOG_FINISH"},
                  {PGY_LOG_WARNING, "PGY_LOG_WARNING"},
                  {PGY_LOG_ERROR, "PGY_LOG_ERROR"},
                  {PGY_LOG_CRITICAL, "PGY_LOG_CRITICAL"}};

static pgy_status put_severity(const char *path, int severity, void *user, pgy_error *err)
{
    (void)err;
    str *out = user;
    str_append(out, "    if (!st) st = pgy_log_set_severity(");
    c_text(out, path && *path ? path : NULL);
    for (size_t i = 0; i < sizeof SEVERITIES / sizeof *SEVERITIES; i++)
        if (SEVERITIES[i].severity == severity)
            str_printf(out, ", %s, &err);\n", SEVERITIES[i].name);
    return PGY_OK;
}

static void put_call(str *out, const char *function, const char *text)
{
    str_printf(out, "    if (!st) st = %s(", function);
    c_text(out, text);
    str_append(out, ", &err);\n");
}

static pgy_status put_operators(str *out, const operator_args *s, pgy_error *err)
{
    uint64_t limit = 0;
    const pgy_status st =
        s->max_memory ? value_bytes(&limit, s->max_memory, "--max-memory", err) : PGY_OK;
    if (limit) str_printf(out, "    pgy_set_max_memory(%llu);\n", (unsigned long long)limit);
    for (size_t i = 0; i < s->libraries.count; i++)
        if (s->libraries.items[i]) put_call(out, "pgy_operators_load", s->libraries.items[i]);
    return st;
}

pgy_status c_log(str *out, args *line, pgy_error *err)
{
    const logging_args *s = ARGS_OF(line, logging_args);
    const pgy_log_format format = logging_format(s);
    if (format.timestamp || format.line_info || format.no_colors) {
        const c_struct members = {out, ".", ", "};
        str_append(out, "    pgy_log_set_format((pgy_log_format){");
        c_flag(&members, "timestamp", format.timestamp);
        c_flag(&members, "line_info", format.line_info);
        c_flag(&members, "no_colors", format.no_colors);
        str_append(out, "});\n");
    }
    const pgy_status st = logging_visit(line, put_severity, out, err);
    if (s->file) put_call(out, "pgy_log_set_file", s->file);
    return st ? st : put_operators(out, ARGS_OF(line, operator_args), err);
}
