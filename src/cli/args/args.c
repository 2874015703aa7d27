/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the settings of a command line's option groups, and reads the entries of option tables. */
#include <string.h>

#include "cli/args/parser.h"

bool option_word(span *out, const char *words, size_t i)
{
    const char *p = words;
    for (;;) {
        while (*p == ' ') p++;
        if (!*p) return false;
        const char *end = strchr(p, ' ');
        size_t size = end ? (size_t)(end - p) : strlen(p);
        if (i-- == 0) {
            *out = (span){p, size};
            return true;
        }
        p += size;
    }
}

bool option_spelling(span *out, const pgy_option *row, size_t i)
{
    return option_word(out, row->names, i);
}

bool option_is_listed(const char *commands, const char *command)
{
    for (const char *at = commands; *at;) {
        const size_t size = strcspn(at, ",");
        if (span_equals((span){at, size}, command)) return true;
        at += size;
        while (*at == ',' || *at == ' ') at++;
    }
    return false;
}

bool original_has(const original *o, span name, const char *command)
{
    span one;
    for (size_t i = 0; o && i < o->command_count; i++)
        for (size_t k = 0;
             !strcmp(o->commands[i].command, command) && option_word(&one, o->commands[i].names, k);
             k++)
            if (span_equal(one, name)) return true;
    return false;
}

const args_dialect ARGS_PLAIN = {.program = "program", .values = &VALUES_BRACKETS};

void args_expand(str *out, const args_dialect *dialect, const char *text)
{
    const struct {
        const char *name, *text;
    } words[] = {{"{program}", dialect->program}, {"{shape}", dialect->values->shape}};
    while (*text) {
        const char *found = NULL;
        for (size_t i = 0; i < 2 && !found; i++) {
            if (!str_starts_with(text, words[i].name)) continue;
            found = words[i].text;
            text += strlen(words[i].name);
        }
        if (found)
            str_append(out, found);
        else
            str_append_char(out, *text++);
    }
}

void args_visit(const option_group *const *groups, args_visitor visit, void *user)
{
    for (; *groups; groups++)
        for (const pgy_option *row = (*groups)->options; row && row->kind != PGY_OPTION_END; row++)
            visit(*groups, row, user);
}

pgy_status args_init(args *a, const char *name, const char *description,
                     const option_group *const *groups, pgy_error *err)
{
    *a = (args){.name = name, .description = description, .dialect = &ARGS_PLAIN, .groups = groups};
    size_t count = 0;
    while (groups[count]) count++;
    a->settings = arena_alloc_array(&a->memory, count + 1, sizeof *a->settings);
    if (!a->settings) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    for (size_t i = 0; i < count; i++) {
        a->settings[i] = arena_alloc(&a->memory, groups[i]->settings_size + 1);
        if (!a->settings[i]) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
        if (groups[i]->defaults) groups[i]->defaults(a->settings[i]);
    }
    return PGY_OK;
}

void args_deinit(args *a)
{
    for (size_t i = 0; a->settings && a->groups[i]; i++)
        if (a->groups[i]->release && a->settings[i]) a->groups[i]->release(a->settings[i]);
    arena_deinit(&a->memory);
    str_deinit(&a->message);
    strvec_deinit(&a->unknown);
    strvec_deinit(&a->deprecations);
    *a = (args){0};
}

void *args_find(const args *a, const char *settings_type)
{
    for (size_t i = 0; a->groups[i]; i++)
        if (a->groups[i]->settings_type && !strcmp(a->groups[i]->settings_type, settings_type))
            return a->settings[i];
    return NULL;
}

void *args_get(const args *a, const option_group *group)
{
    for (size_t i = 0; a->groups[i]; i++)
        if (a->groups[i] == group) return a->settings[i];
    return NULL;
}

pgy_status args_finish(args *a, pgy_error *err)
{
    for (size_t i = 0; a->groups[i]; i++) {
        if (!a->groups[i]->finish) continue;
        pgy_status st = a->groups[i]->finish(a->settings[i], a, err);
        if (st) return st;
    }
    return PGY_OK;
}
