/* SPDX-License-Identifier: Apache-2.0 */
/* Finds options that were given but mean nothing in the original's package. A script that left them
 * out would do something else than the command. */
#include <string.h>

#include "base/alloc.h"
#include "cli/groups/runners.h"
#include "cli/script/script.h"

typedef struct search {
    const args *line;
    const char *command;
    const pgy_option *found; /* the first option that the original does not have */
    bool failed;
} search;

/* Options that change neither results nor verdict. */
static const char *const HARMLESS[] = {"--gen", "--max-memory", "--onnxrt-threads", NULL};

static size_t member_size(const pgy_option *row)
{
    switch (row->kind) {
    case PGY_OPTION_FLAG: return sizeof(bool);
    case PGY_OPTION_COUNT: return sizeof(int);
    case PGY_OPTION_INT: return sizeof(int64_t);
    case PGY_OPTION_TEXT: return sizeof(const char *);
    case PGY_OPTION_LIST:
    case PGY_OPTION_APPEND: return sizeof(pgy_text_list);
    default: return 0; /* runners and positionals are the original's */
    }
}

/* Does the member differ from its default? */
static bool is_given(search *s, const option_group *group, const pgy_option *row)
{
    const size_t size = member_size(row);
    const char *settings = args_get(s->line, group);
    if (!size || !settings) return false;
    char *defaults = mem_calloc(1, group->settings_size);
    if (!defaults) {
        s->failed = true;
        return false;
    }
    if (group->defaults) group->defaults(defaults);
    const bool given = memcmp(settings + row->offset, defaults + row->offset, size) != 0;
    mem_free(defaults);
    return given;
}

static bool original_knows(const search *s, const pgy_option *row)
{
    span name;
    for (size_t i = 0; option_spelling(&name, row, i); i++) {
        if (original_has(s->line->dialect->original, name, s->command)) return true;
        for (size_t k = 0; HARMLESS[k]; k++)
            if (span_equals(name, HARMLESS[k])) return true;
    }
    return false;
}

static bool has_runner(const args *line, const char *name)
{
    const runner_args *r = ARGS_OF(line, runner_args);
    for (size_t i = 0; r && i < r->names.count; i++)
        if (!strcmp(r->names.items[i], name)) return true;
    return false;
}

/* The package's extension for trtexec has the options of that runner, which trtexec.c checks, and
 * --device. */
static bool extension_knows(const args *line, const option_group *group, const pgy_option *row)
{
    if (!has_runner(line, "trtexec")) return false;
    return (group->settings_type && !strcmp(group->settings_type, "trtexec")) ||
           (!strcmp(row->names, "--device") && !has_runner(line, "trt"));
}

static void look(const option_group *group, const pgy_option *row, void *user)
{
    search *s = user;
    if (extension_knows(s->line, group, row)) return;
    if (s->found || row->deprecated || original_knows(s, row)) return;
    if (is_given(s, group, row)) s->found = row;
}

pgy_status script_check_options(args *line, const char *name, pgy_error *err)
{
    search s = {.line = line, .command = name};
    span spelling = {0};
    args_visit(line->groups, look, &s);
    if (s.failed) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    if (!s.found) return PGY_OK;
    option_spelling(&spelling, s.found, 0);
    return pgy_error_set(
        err, PGY_E_UNSUPPORTED,
        "%.*s has no counterpart in the Python package, so a script cannot do what "
        "this command does; leave the option out",
        (int)spelling.size, spelling.data);
}
