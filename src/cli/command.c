/* SPDX-License-Identifier: Apache-2.0 */
/* Finding a program's commands and opening their lines. */
#include "cli/command.h"

#include <string.h>

#include "cli/program.h"

const option_group *const *command_groups(const command *c)
{
    return c->make_groups ? c->make_groups() : c->groups;
}

pgy_status command_open(args *line, const program *p, const command *c, pgy_error *err)
{
    const char *program_name = p->dialect.program;
    pgy_status st = args_init(line, program_name, c->description, command_groups(c), err);
    str name = {0};
    str_append(&name, program_name);
    if (c->tool) str_printf(&name, " %s", c->tool);
    if (c->subtool) str_printf(&name, " %s", c->subtool);
    const char *kept = st || name.failed ? NULL : arena_strdup(&line->memory, str_text(&name));
    str_deinit(&name);
    if (!st && !kept) {
        args_deinit(line);
        st = pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    }
    if (st) return st;
    line->name = kept;
    line->common = c->common;
    line->examples = c->examples;
    line->no_abbreviation = c->no_abbreviation;
    line->dialect = &p->dialect;
    return PGY_OK;
}

static bool same(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

static bool alias_matches(const char *alias, const char *tool, const char *subtool)
{
    const size_t size = strlen(tool);
    return subtool && strncmp(alias, tool, size) == 0 && alias[size] == ' ' &&
           strcmp(alias + size + 1, subtool) == 0;
}

const command *command_find(const program *p, const char *tool, const char *subtool)
{
    for (const command *const *c = p->commands; *c; c++)
        if (same((*c)->tool, tool) && same((*c)->subtool, subtool)) return *c;
    return NULL;
}

const command *command_find_older(const command_alias **alias, const program *p, const char *tool,
                                  const char *subtool)
{
    for (const command *const *c = p->commands; *c; c++)
        for (const command_alias *a = (*c)->aliases; a && a->name; a++) {
            if (!alias_matches(a->name, tool, subtool)) continue;
            *alias = a;
            return *c;
        }
    return NULL;
}
