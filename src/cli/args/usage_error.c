/* SPDX-License-Identifier: Apache-2.0 */
/* Usage errors: the message that ends the parsing of a command line. */
#include "base/arena.h"
#include "cli/args/parse.h"

void parse_fail(parse *p, const char *format, ...)
{
    if (p->stop) return;
    va_list list;
    va_start(list, format);
    str_vprintf(&p->a->message, format, list);
    va_end(list);
    p->stop = true;
}

const char *parse_row_title(parse *p, const pgy_option *row)
{
    char *text = arena_strdup(&p->a->memory, row->names);
    if (!text) return row->names;
    for (char *c = text; *c; c++)
        if (*c == ' ') *c = '/';
    return text;
}

void parse_fail_missing(parse *p, span name, const missing_option *option, const char *value)
{
    if (p->stop) return;
    p->lacks = true;
    parse_fail(p, "%.*s%s%s is not available in this build (%s); %s%s%s lists all that is missing",
               (int)name.size, name.data, value ? " " : "", value ? value : "", option->what,
               option->instead ? option->instead : "", option->instead ? "; " : "",
               p->a->dialect->original->page);
}
