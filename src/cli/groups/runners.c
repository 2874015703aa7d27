/* SPDX-License-Identifier: Apache-2.0 */
/* Option rows are made from the registered backends, so a new backend needs no code here for its
 * flag and options. */
#include "cli/groups/runners.h"

#include <stdio.h>
#include <string.h>

enum { MAX_BACKENDS = 32, NAME_SIZE = 64 };

/* Other names under which a backend's flag is accepted. */
static const struct {
    const char *flag, *backend;
} ALIASES[] = {{"--pluginref", "opref"}};

static char flag_names[MAX_BACKENDS][NAME_SIZE];
static pgy_option rows[MAX_BACKENDS + 1];
static option_group runners_group;
static option_group backend_groups[MAX_BACKENDS];
static size_t backend_group_count;

static void add_backend(const pgy_backend *b, size_t i)
{
    int n = snprintf(flag_names[i], NAME_SIZE, "--%s", b->name);
    for (size_t k = 0; k < sizeof ALIASES / sizeof *ALIASES; k++)
        if (strcmp(ALIASES[k].backend, b->name) == 0)
            snprintf(flag_names[i] + n, NAME_SIZE - (size_t)n, " %s", ALIASES[k].flag);
    rows[i] = (pgy_option)PGY_OPT_RUNNER(flag_names[i], runner_args, names, b->name,
                                         .help = b->description, .hidden = b->description == NULL);
    if (!b->options) return;
    backend_groups[backend_group_count++] =
        (option_group){.title = b->title,
                       .description = "Options related to this runner",
                       .options = b->options,
                       .settings_type = b->name,
                       .settings_size = b->options_size,
                       .defaults = b->defaults};
}

static void fill(void)
{
    if (runners_group.options) return;
    size_t count = pgy_backend_count() < MAX_BACKENDS ? pgy_backend_count() : MAX_BACKENDS;
    for (size_t i = 0; i < count; i++) add_backend(pgy_backend_at(i), i);
    rows[count] = (pgy_option)PGY_OPT_END;
    runners_group = (option_group){
        .title = "Runners",
        .description = "Runners to use, in this order; each one may be given several times",
        .options = rows,
        ARGS_TYPE(runner_args)};
}

const option_group *group_runners(void)
{
    fill();
    return &runners_group;
}

size_t group_backend_count(void)
{
    fill();
    return backend_group_count;
}

const option_group *group_backend_at(size_t i)
{
    fill();
    return &backend_groups[i];
}

const option_group *group_backend_options(const char *backend)
{
    fill();
    for (size_t i = 0; i < backend_group_count; i++)
        if (strcmp(backend_groups[i].settings_type, backend) == 0) return &backend_groups[i];
    return NULL;
}

const void *runner_option(const args *line, const char *backend, const char *option)
{
    const option_group *group = group_backend_options(backend);
    const char *settings = group ? args_find(line, backend) : NULL;
    span name;
    for (const pgy_option *row = settings ? group->options : NULL;
         row && row->kind != PGY_OPTION_END; row++)
        if (option_spelling(&name, row, 0) && span_equals(name, option))
            return settings + row->offset;
    return NULL;
}

bool runner_has(const char *backend, pgy_backend_trait trait)
{
    return pgy_backend_has(pgy_backend_find(backend), trait);
}

size_t runners_with(const args *line, pgy_backend_trait trait)
{
    const runner_args *s = ARGS_OF(line, runner_args);
    size_t count = 0;
    for (size_t i = 0; i < s->names.count; i++) count += runner_has(s->names.items[i], trait);
    return count;
}
