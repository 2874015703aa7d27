/* SPDX-License-Identifier: Apache-2.0 */
/* Runs edit scripts: reads line by line, finds the verb, binds its arguments and runs it. */
#include <polygraphy/gs_script.h>

#include <string.h>

#include "base/alloc.h"
#include "base/utf8.h"
#include "gs/script/script.h"

enum { CHECKED_NODES = 20000000 };

pgy_status pgy_gs_script_create(pgy_gs_script **out, pgy_gs_graph *g, pgy_error *err)
{
    pgy_gs_script *s = mem_calloc(1, sizeof *s);
    if (!s) return gs_no_memory(err);
    s->top = s->current = g;
    s->checks_left = CHECKED_NODES;
    *out = s;
    return PGY_OK;
}

void pgy_gs_script_destroy(pgy_gs_script *s)
{
    if (!s) return;
    pgy_gs_tensor_list_free(&s->declared);
    mem_free(s);
}

static pgy_status unknown_verb(const char *name, pgy_error *err)
{
    const char *names[64];
    size_t count = 0;
    str near = {0};
    for (const verb *v; count < 64 && (v = verb_at(count)); count++) names[count] = v->text.name;
    gs_suggest(&near, name, names, count);
    const pgy_status st =
        pgy_error_set(err, PGY_E_ARGUMENT, "there is no verb '%s'%s", name, str_text(&near));
    str_deinit(&near);
    return st;
}

/* Fails if the nodes form a cycle. Stops checking when the script has used up checks_left. */
static pgy_status check_cycles(pgy_gs_script *s, pgy_error *err)
{
    pgy_gs_node **order = NULL;
    if (s->checks_left < s->current->node_count) return PGY_OK;
    s->checks_left -= s->current->node_count;
    const pgy_status st = gs_order(&order, s->current, true, err);
    if (!st) mem_free(order);
    return st;
}

static pgy_status run_line(pgy_gs_script *s, const piece_list *words, arena *a, size_t *column,
                           pgy_error *err)
{
    call c;
    const verb *v = verb_find(words->items[0].text);
    *column = words->items[0].column;
    if (!v) return unknown_verb(words->items[0].text, err);
    pgy_status st = call_bind(&c, v, words, a, err);
    *column = c.column;
    if (!st) {
        *column = words->items[0].column;
        st = v->run(s, &c, err);
    }
    if (!st && v->adds_edges) st = check_cycles(s, err);
    return st ? pgy_error_prefix(err, st, "%s: ", v->text.name) : PGY_OK;
}

/* Fails if the script is not UTF-8, because strings in a model must be. */
static pgy_status check_text(const char *source, const char *text, pgy_error *err)
{
    const char *end = text + strlen(text);
    uint32_t c;
    size_t size;
    for (const char *p = text; p < end; p += size)
        if (!(size = utf8_read(p, end, &c)))
            return pgy_error_set(err, PGY_E_FORMAT, "%s:1: the text is not UTF-8 at byte %zu",
                                 source, (size_t)(p - text));
    return PGY_OK;
}

pgy_status pgy_gs_script_run(pgy_gs_script *s, const char *source, const char *text, pgy_error *err)
{
    size_t line = 1;
    pgy_status st = check_text(source, text, err);
    while (!st && *text) {
        arena a = {0};
        piece_list words;
        const char *next;
        size_t lines, column = 0;
        st = line_read(&words, &next, &lines, text, &a, err);
        if (st)
            pgy_error_prefix(err, st, "%s:%zu: ", source, line);
        else if (words.count) {
            st = run_line(s, &words, &a, &column, err);
            if (st) pgy_error_prefix(err, st, "%s:%zu:%zu: ", source, line, column);
        }
        arena_deinit(&a);
        if (st) break;
        text = next;
        line += lines;
    }
    return st;
}
