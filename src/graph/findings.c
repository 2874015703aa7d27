/* SPDX-License-Identifier: Apache-2.0 */
/* The findings of a check. A finding has the code and severity of its rule, and the path of its
 * node from the top: "If_3/then_branch/Add_2", "MyFunction:body/Relu_0". Repeated findings are
 * dropped, because the body of a loop may be inferred many times. */
#include <stdio.h>
#include <string.h>

#include "graph/graph.h"

static const pgy_check_rule RULES[] = {
#define RULE(id, severity, code, text) {code, PGY_LOG_##severity, text},
#include "graph/check_rules.def"
#undef RULE
};

size_t pgy_check_rule_list(const pgy_check_rule **out)
{
    *out = RULES;
    return sizeof RULES / sizeof RULES[0];
}

/* ---- Paths ---------------------------------------------------------------------------------- */

static void append_step(str *out, const char *step)
{
    if (out->size) str_append(out, "/");
    str_append(out, step);
}

void level_path(str *out, const pgy_graph *g)
{
    const graph_level *level = level_of(g);
    if (level->owner) {
        node_path(out, level->owner);
        append_step(out, level->owner_attribute);
    } else if (level->is_function) {
        str_printf(out, "%s:body", g->name);
    }
}

void node_path(str *out, const pgy_node *n)
{
    level_path(out, n->graph);
    if (n->name && *n->name) {
        append_step(out, n->name);
        return;
    }
    append_step(out, n->op_type);
    str_printf(out, "_%zu", n->index);
}

/* ---- The list ------------------------------------------------------------------------------- */

static bool grow(finding_list *list, graph_state *s)
{
    if (list->count < list->capacity) return true;
    const size_t wanted = list->capacity ? 2 * list->capacity : 16;
    pgy_finding *items = arena_alloc_array(&s->memory, wanted, sizeof *items);
    if (!items) return false;
    if (list->count) memcpy(items, list->items, list->count * sizeof *items);
    list->items = items;
    list->capacity = wanted;
    return true;
}

/* True if the same finding was added before; remembers it otherwise. */
static bool is_repeated(finding_list *list, const char *code, const char *path, const char *text)
{
    str key = {0};
    str_printf(&key, "%s\n%s\n%s", code, path, text);
    const bool known = strmap_has(&list->seen, str_text(&key));
    if (key.failed || (!known && !strmap_put(&list->seen, str_text(&key), list)))
        list->failed = true;
    str_deinit(&key);
    return known;
}

static void add(finding_list *list, graph_state *s, check_code code, const finding_place *at,
                const char *format, va_list args)
{
    const pgy_check_rule *rule = &RULES[code];
    char text[2048];
    vsnprintf(text, sizeof text, format, args);
    if (is_repeated(list, rule->code, at->path, text)) return;
    const char *message = arena_strdup(&s->memory, text);
    const char *kept = arena_strdup(&s->memory, at->path);
    if (!message || !kept || !grow(list, s)) {
        list->failed = true;
        return;
    }
    list->items[list->count++] = (pgy_finding){.severity = rule->severity,
                                               .node = at->node,
                                               .op_type = at->op_type,
                                               .message = message,
                                               .path = kept,
                                               .code = rule->code};
}

void finding_add_at(finding_list *list, graph_state *s, check_code code, const finding_place *at,
                    const char *format, ...)
{
    va_list args;
    va_start(args, format);
    add(list, s, code, at, format, args);
    va_end(args);
}

void finding_add(finding_list *list, graph_state *s, check_code code, const pgy_node *n,
                 const char *format, ...)
{
    str path = {0};
    va_list args;
    if (n) node_path(&path, n);
    const finding_place at = {n ? node_label(n) : "", n ? n->op_type : "", str_text(&path)};
    va_start(args, format);
    add(list, s, code, &at, format, args);
    va_end(args);
    list->failed |= path.failed;
    str_deinit(&path);
}

void finding_add_value(finding_list *list, check_code code, const pgy_graph *g, const char *name,
                       const char *format, ...)
{
    str path = {0};
    va_list args;
    level_path(&path, g);
    if (*name) append_step(&path, name);
    const finding_place at = {"", "", str_text(&path)};
    va_start(args, format);
    add(list, state_of(g), code, &at, format, args);
    va_end(args);
    list->failed |= path.failed;
    str_deinit(&path);
}
