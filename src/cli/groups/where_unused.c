/* SPDX-License-Identifier: Apache-2.0 */
/* An option was given if its member differs from the default. */
#include "cli/groups/where_unused.h"

#include <string.h>

#include "base/alloc.h"
#include "cli/groups/runners.h"
#include "cli/groups/trt.h"

static const size_t SIZES[] = {
    [PGY_OPTION_FLAG] = sizeof(bool),
    [PGY_OPTION_COUNT] = sizeof(int),
    [PGY_OPTION_INT] = sizeof(int64_t),
    [PGY_OPTION_TEXT] = sizeof(const char *),
};

static bool is_given(const pgy_option *row, const char *settings, const char *defaults)
{
    const char *at = settings + row->offset;
    if (row->kind == PGY_OPTION_LIST || row->kind == PGY_OPTION_APPEND)
        return ((const pgy_text_list *)at)->given;
    if ((size_t)row->kind >= sizeof SIZES / sizeof *SIZES) return false;
    return memcmp(at, defaults + row->offset, SIZES[row->kind]) != 0;
}

static bool is_listed(const pgy_option *row, const char *names)
{
    span word, name;
    if (!names) return true;
    for (size_t i = 0; option_spelling(&name, row, 0) && option_word(&word, names, i); i++)
        if (word.size == name.size && !memcmp(word.data, name.data, name.size)) return true;
    return false;
}

const pgy_option *where_given(const args *line, const option_group *group, const char *names)
{
    const char *settings = args_get(line, group);
    char *defaults = settings ? mem_calloc(1, group->settings_size + 1) : NULL;
    const pgy_option *found = NULL;
    if (!defaults) return NULL;
    if (group->defaults) group->defaults(defaults);
    for (const pgy_option *row = group->options; !found && row->kind != PGY_OPTION_END; row++)
        if (is_listed(row, names) && is_given(row, settings, defaults)) found = row;
    mem_free(defaults);
    return found;
}

static bool is_used(const char *backend, const char *const *runners, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (runners[i] && !strcmp(runners[i], backend)) return true;
    return false;
}

static pgy_status check(const args *line, const option_group *group, const char *backend,
                        pgy_error *err)
{
    const pgy_option *row = where_given(line, group, NULL);
    span name;
    if (!row || !option_spelling(&name, row, 0)) return PGY_OK;
    return pgy_error_set(err, PGY_E_ARGUMENT,
                         "argument %.*s: it is for the runner '%s', but no side is this "
                         "runner; leave it out",
                         (int)name.size, name.data, backend);
}

pgy_status where_check_unused(const args *line, const char *const *runners, size_t count,
                              pgy_error *err)
{
    const option_group *const engine[] = {&GROUP_TRT_CONFIG_CONVERT, &GROUP_TRT_ENGINE_CONVERT};
    const char *builder = pgy_backend_find_trait(PGY_BACKEND_BUILDS_PLANS)->name;
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && !is_used(builder, runners, count) && i < 2; i++)
        st = check(line, engine[i], builder, err);
    for (size_t i = 0; !st && i < group_backend_count(); i++) {
        const option_group *g = group_backend_at(i);
        if (!is_used(g->settings_type, runners, count)) st = check(line, g, g->settings_type, err);
    }
    return st;
}
