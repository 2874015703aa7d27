/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of tools and commands. */
#include "cli/command.h"

#include <string.h>

#include "cli/missing.h"

#define COMMAND(name) extern const command COMMAND_##name;
#include "cli/commands.def"
#undef COMMAND

static const command *const COMMANDS[] = {
#define COMMAND(name) &COMMAND_##name,
#include "cli/commands.def"
#undef COMMAND
};

static const tool_info TOOLS[] = {
    {"run", "Run inference with one or more runners and compare their outputs."},
    {"convert", "Save a model after changes, or for another opset."},
    {"inspect", "Show what is in a model, in saved data, or in saved results."},
    {"surgeon",
     "Edit a model: take parts out, insert nodes, fold, clean up, prune, strip weights."},
    {"check", "Check a model for problems, or judge saved comparison results again."},
    {"data", "Combine files of saved inputs and outputs."},
    {"template", "Write starting points: scripts and files of hints."},
    {"plugin", "Find and replace parts of a model that plugins can do."},
    {"multi-device", "Divide a model among several devices."},
};

const option_group *const *command_groups(const command *c)
{
    return c->make_groups ? c->make_groups() : c->groups;
}

pgy_status command_open(args *line, const command *c, pgy_error *err)
{
    pgy_status st = args_init(line, "polygraphy", c->description, command_groups(c), err);
    str name = {0};
    str_printf(&name, "polygraphy %s%s%s", c->tool, c->subtool ? " " : "",
               c->subtool ? c->subtool : "");
    const char *kept = st || name.failed ? NULL : arena_strdup(&line->memory, str_text(&name));
    str_deinit(&name);
    if (!st && !kept) {
        args_deinit(line);
        st = pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    }
    if (st) return st;
    line->program = kept;
    line->common = c->common;
    line->examples = c->examples;
    line->no_abbreviation = c->no_abbreviation;
    line->missing = missing_options(&line->missing_count);
    return PGY_OK;
}

size_t command_count(void)
{
    return sizeof COMMANDS / sizeof *COMMANDS;
}

const command *command_at(size_t i)
{
    return COMMANDS[i];
}

static bool same(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

static bool alias_matches(const char *alias, const char *tool, const char *subtool)
{
    size_t size = alias ? strlen(tool) : 0;
    return alias && subtool && strncmp(alias, tool, size) == 0 && alias[size] == ' ' &&
           strcmp(alias + size + 1, subtool) == 0;
}

const command *command_find(const char *tool, const char *subtool)
{
    for (size_t i = 0; i < command_count(); i++)
        if (same(COMMANDS[i]->tool, tool) && same(COMMANDS[i]->subtool, subtool))
            return COMMANDS[i];
    for (size_t i = 0; i < command_count(); i++)
        if (alias_matches(COMMANDS[i]->alias, tool, subtool)) return COMMANDS[i];
    return NULL;
}

const tool_info *command_tools(size_t *count)
{
    *count = sizeof TOOLS / sizeof *TOOLS;
    return TOOLS;
}
