/* SPDX-License-Identifier: Apache-2.0 */
/* The logger's settings as Python. */
#include "cli/args/values.h"
#include "cli/groups/logging.h"
#include "cli/script/script.h"

#include <string.h>

static const char *step_name(int steps)
{
    static const char *const UP[] = {"INFO", "VERBOSE", "EXTRA_VERBOSE", "SUPER_VERBOSE",
                                     "ULTRA_VERBOSE"};
    static const char *const DOWN[] = {"INFO", "START", "FINISH", "WARNING", "ERROR", "CRITICAL"};
    return steps >= 0 ? UP[steps > 4 ? 4 : steps] : DOWN[steps < -5 ? 5 : -steps];
}

static void put_severity(py_script *s, bool *any, const char *path, const char *name)
{
    str_append(&s->logger, *any ? ", " : "{");
    *any = true;
    py_text(&s->logger, path);
    str_append(&s->logger, ": G_LOGGER.");
    for (; *name; name++)
        str_append_char(&s->logger, *name >= 'a' && *name <= 'z' ? (char)(*name - 32) : *name);
}

static void put_severities(py_script *s, const logging_args *l)
{
    const key_value *pairs = NULL;
    size_t count = 0;
    bool any = false, all = false;
    const bool stepped = l->verbose || l->quiet;
    if (!l->verbosity.given && !stepped) return;
    if (values_split(&pairs, &count, &l->verbosity, s->memory, NULL)) s->failed = true;
    str_append(&s->logger, "G_LOGGER.module_severity = ");
    for (size_t i = 0; i < count; i++) {
        const bool takes_step = stepped && !*pairs[i].key;
        all |= takes_step;
        put_severity(s, &any, pairs[i].key,
                     takes_step ? step_name(l->verbose - l->quiet) : pairs[i].value);
    }
    if (stepped && !all) put_severity(s, &any, "", step_name(l->verbose - l->quiet));
    str_append(&s->logger, "}\n");
}

static bool has_word(const pgy_text_list *list, const char *word)
{
    for (size_t i = 0; i < list->count; i++)
        if (!strcmp(list->items[i], word)) return true;
    return false;
}

void script_logger(py_script *s)
{
    const logging_args *l = ARGS_OF(s->line, logging_args);
    if (l->silent)
        str_append(&s->logger, "G_LOGGER.module_severity = G_LOGGER.CRITICAL\n");
    else
        put_severities(s, l);
    if (l->old_timestamp || has_word(&l->format, "timestamp"))
        str_append(&s->logger, "G_LOGGER.timestamp = True\n");
    if (l->old_line_info || has_word(&l->format, "line-info"))
        str_append(&s->logger, "G_LOGGER.line_info = True\n");
    if (l->old_no_color || has_word(&l->format, "no-colors"))
        str_append(&s->logger, "G_LOGGER.colors = False\n");
    if (!l->file) return;
    str_append(&s->logger, "G_LOGGER.log_file = ");
    py_text(&s->logger, l->file);
    str_append_char(&s->logger, '\n');
}
