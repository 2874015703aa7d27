/* SPDX-License-Identifier: Apache-2.0 */
/* String functions for a selection's names: paths, patterns and module names. */
#include <string.h>

#include "base/str.h"
#include "gs/cut/calls.h"

const char *cut_after(const char *path, const char *name)
{
    const size_t size = strlen(name);
    if (!size || strncmp(path, name, size)) return NULL;
    return path[size] == '/' ? path + size + 1 : path[size] ? NULL : path + size;
}

bool cut_is_pattern(const char *name)
{
    return strpbrk(name, "*?[") != NULL;
}

static bool is_separator(char c)
{
    return c == '/' || c == '.';
}

char *cut_normalise(arena *a, const char *name)
{
    char *text = arena_strdup(a, name);
    size_t size = 0;
    for (const char *p = name; text && *p; p++) {
        const bool parts = is_separator(*p);
        if (!parts || (size && text[size - 1] != '.')) text[size++] = parts ? '.' : *p;
    }
    while (size && text[size - 1] == '.') size--;
    if (text) text[size] = '\0';
    return text;
}

bool cut_is_under(const char *name, const char *module)
{
    if (!*module) return false;
    while (is_separator(*name)) name++;
    for (; *module; module++) {
        if (*module == '.' ? !is_separator(*name) : *module != *name) return false;
        do name++;
        while (*module == '.' && is_separator(*name));
    }
    return !*name || is_separator(*name);
}

/* PyTorch stores a node's list of modules as one string: "['', 'encoder', 'encoder.layer.0']". */
bool cut_has_scope(const pgy_onnx_node *n, const char *module)
{
    str quoted = {0};
    bool found = false;
    str_printf(&quoted, "'%s'", module);
    for (size_t i = 0; n && !found && i < n->metadata_prop_count; i++)
        found = !strcmp(n->metadata_props[i]->key, CUT_SCOPES) &&
                strstr(n->metadata_props[i]->value, str_text(&quoted));
    str_deinit(&quoted);
    return found;
}
