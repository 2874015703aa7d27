/* SPDX-License-Identifier: Apache-2.0 */
/* Option rows are made from the registered backends, so a backend adds its flag and its options by
 * existing. */
#include "cli/groups/runners.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"

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
    backend_groups[backend_group_count++] = (option_group){.title = b->title,
                                                           .description = "Options of this runtime",
                                                           .options = b->options,
                                                           .settings_type = b->name,
                                                           .settings_size = b->options_size};
}

static void fill(void)
{
    if (runners_group.options) return;
    size_t count = pgy_backend_count() < MAX_BACKENDS ? pgy_backend_count() : MAX_BACKENDS;
    for (size_t i = 0; i < count; i++) add_backend(pgy_backend_at(i), i);
    rows[count] = (pgy_option)PGY_OPT_END;
    runners_group = (option_group){
        .title = "Runners",
        .description = "Runners to use, in this order; each may be given more than once",
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

bool runners_include(const args *line, const char *backend)
{
    const runner_args *s = ARGS_OF(line, runner_args);
    for (size_t i = 0; i < s->names.count; i++)
        if (strcmp(s->names.items[i], backend) == 0) return true;
    return false;
}

pgy_status runners_create(pgy_runner ***out, size_t *count, const args *line,
                          pgy_status (*make_source)(pgy_model_source *out, const char *backend,
                                                    void *user, pgy_error *err),
                          void *user, pgy_error *err)
{
    const runner_args *s = ARGS_OF(line, runner_args);
    pgy_runner **runners = mem_calloc(s->names.count + 1, sizeof *runners);
    if (!runners) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < s->names.count; i++) {
        const pgy_backend *b = pgy_backend_find(s->names.items[i]);
        pgy_model_source source;
        st = make_source(&source, b->name, user, err);
        if (!st)
            st = pgy_runner_create(&runners[i], b, &source, args_find(line, b->name), NULL, err);
    }
    if (!st) {
        *out = runners;
        *count = s->names.count;
        runners = NULL;
    }
    runners_destroy(runners, s->names.count);
    return st;
}

void runners_destroy(pgy_runner **runners, size_t count)
{
    for (size_t i = 0; runners && i < count; i++) pgy_runner_destroy(runners[i]);
    mem_free(runners);
}
