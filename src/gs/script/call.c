/* SPDX-License-Identifier: Apache-2.0 */
/* Binds the words of a line to the arguments of its verb. The verb's usage text is the grammar:
 * CAPITALS are positional (or written name=value), name=WHAT is given by name, --flags may be
 * anywhere, [brackets] are optional, and "..." takes all remaining words. */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "gs/script/script.h"

enum { PARAMS = 24 };

typedef enum param_kind {
    PLACE,   /* NODE */
    KEY,     /* name=NAME */
    FLAG,    /* --stable */
    SETTING, /* --threshold=N */
    ATTRS,   /* attr.NAME=VALUE */
    PAIRS    /* NAME=VALUE... */
} param_kind;

typedef struct param {
    const char *name; /* name of the argument */
    param_kind kind;
    bool optional, repeated, given;
} param;

typedef struct grammar {
    param params[PARAMS];
    size_t count;
    arena *memory;
} grammar;

/* Adds the argument that one word of the usage text declares; `word` has no brackets and dots. */
static bool add_param(grammar *g, const char *word, size_t size, bool optional, bool repeated)
{
    char *name = arena_strndup(g->memory, word, size);
    if (!name || g->count == PARAMS) return false;
    char *equals = strchr(name, '=');
    param p = {.optional = optional, .repeated = repeated};
    if (equals) *equals = '\0';
    if (strncmp(name, "--", 2) == 0)
        p.kind = equals ? SETTING : FLAG;
    else if (strncmp(name, "attr.", 5) == 0)
        p.kind = ATTRS;
    else if (equals && isupper((unsigned char)name[0]))
        p.kind = PAIRS;
    else
        p.kind = equals ? KEY : PLACE;
    for (char *c = name; p.kind == PLACE && *c; c++) *c = (char)tolower((unsigned char)*c);
    p.name = name;
    if (p.kind == FLAG || p.kind == SETTING || p.kind == ATTRS) p.optional = true;
    g->params[g->count++] = p;
    return true;
}

static bool read_grammar(grammar *g, const char *usage)
{
    while (*usage) {
        size_t size = strcspn(usage, " ");
        const char *word = usage;
        usage += size + strspn(usage + size, " ");
        const bool repeated = size > 3 && memcmp(word + size - 3, "...", 3) == 0;
        if (repeated) size -= 3;
        const bool optional = word[0] == '[';
        if (optional) {
            word++;
            size -= 2;
        }
        if (!add_param(g, word, size, optional, repeated)) return false;
    }
    return true;
}

static param *find_param(grammar *g, const char *name, size_t size)
{
    for (size_t i = 0; i < g->count; i++) {
        param *p = &g->params[i];
        if (p->kind != ATTRS && p->kind != PAIRS && strlen(p->name) == size &&
            memcmp(p->name, name, size) == 0)
            return p;
    }
    return NULL;
}

static param *find_kind(grammar *g, param_kind kind)
{
    for (size_t i = 0; i < g->count; i++)
        if (g->params[i].kind == kind) return &g->params[i];
    return NULL;
}

static param *next_place(grammar *g)
{
    for (size_t i = 0; i < g->count; i++)
        if (g->params[i].kind == PLACE && (!g->params[i].given || g->params[i].repeated))
            return &g->params[i];
    return NULL;
}

static pgy_status give(call *c, param *p, piece value, pgy_error *err)
{
    if (p->repeated) {
        p->given = true;
        if (!piece_push(&c->rest, value, c->memory)) return gs_no_memory(err);
        return PGY_OK;
    }
    if (p->given) return pgy_error_set(err, PGY_E_ARGUMENT, "%s is given twice", p->name);
    p->given = true;
    c->args[c->arg_count++] = (call_arg){p->name, value};
    return PGY_OK;
}

static pgy_status give_attr(call *c, piece key, piece value, pgy_error *err)
{
    if (!key.text[0]) return pgy_error_set(err, PGY_E_ARGUMENT, "an attribute needs a name");
    if (!piece_push(&c->attr_keys, key, c->memory) || !piece_push(&c->attrs, value, c->memory))
        return gs_no_memory(err);
    return PGY_OK;
}

static pgy_status unknown(grammar *g, const char *name, const verb *v, pgy_error *err)
{
    const char *names[PARAMS];
    size_t count = 0;
    str near = {0};
    for (size_t i = 0; i < g->count; i++)
        if (g->params[i].kind != ATTRS && g->params[i].kind != PAIRS)
            names[count++] = g->params[i].name;
    gs_suggest(&near, name, names, count);
    const pgy_status st =
        pgy_error_set(err, PGY_E_ARGUMENT, "unknown argument '%s'%s; usage: %s %s", name,
                      str_text(&near), v->text.name, v->text.arguments);
    str_deinit(&near);
    return st;
}

static pgy_status bind_flag(call *c, grammar *g, const piece_list *words, size_t *i, pgy_error *err)
{
    const piece w = words->items[*i];
    const char *equals = piece_find(w, '=');
    const size_t size = equals ? (size_t)(equals - w.text) : strlen(w.text);
    param *p = find_param(g, w.text, size);
    if (!p || (equals && p->kind == FLAG)) return unknown(g, w.text, c->verb, err);
    if (p->kind == FLAG || equals) return give(c, p, equals ? piece_from(w, size + 1) : w, err);
    if (*i + 1 == words->count)
        return pgy_error_set(err, PGY_E_ARGUMENT, "%s needs a value", p->name);
    return give(c, p, words->items[++*i], err);
}

static pgy_status bind_word(call *c, grammar *g, piece w, pgy_error *err)
{
    const char *equals = piece_find(w, '=');
    if (equals) {
        const size_t size = (size_t)(equals - w.text);
        param *p = find_param(g, w.text, size);
        if (p) return give(c, p, piece_from(w, size + 1), err);
        const bool is_attr = piece_starts(w, "attr.") && find_kind(g, ATTRS);
        const param *place = next_place(g);
        param *pairs = find_kind(g, PAIRS);
        if (is_attr || (pairs && !place)) {
            piece key = w;
            const size_t prefix = is_attr ? 5 : 0;
            if (pairs) pairs->given = true;
            key.text = arena_strndup(c->memory, w.text + prefix, size - prefix);
            if (!key.text) return gs_no_memory(err);
            return give_attr(c, key, piece_from(w, size + 1), err);
        }
    }
    param *place = next_place(g);
    return place ? give(c, place, w, err) : unknown(g, w.text, c->verb, err);
}

pgy_status call_bind(call *out, const verb *v, const piece_list *words, arena *a, pgy_error *err)
{
    grammar g = {.memory = a};
    *out = (call){.verb = v, .memory = a, .column = words->items[0].column};
    if (!read_grammar(&g, v->text.arguments)) return gs_no_memory(err);
    for (size_t i = 1; i < words->count; i++) {
        const piece w = words->items[i];
        out->column = w.column;
        const pgy_status st =
            piece_starts(w, "--") ? bind_flag(out, &g, words, &i, err) : bind_word(out, &g, w, err);
        if (st) return st;
    }
    for (size_t i = 0; i < g.count; i++)
        if (!g.params[i].optional && !g.params[i].given) {
            out->column = words->items[0].column;
            return pgy_error_set(err, PGY_E_ARGUMENT, "%s is missing; usage: %s %s",
                                 g.params[i].name, v->text.name, v->text.arguments);
        }
    return PGY_OK;
}

const piece *call_get(const call *c, const char *name)
{
    for (size_t i = 0; i < c->arg_count; i++)
        if (strcmp(c->args[i].name, name) == 0) return &c->args[i].value;
    return NULL;
}

bool call_has(const call *c, const char *name)
{
    return call_get(c, name) != NULL;
}

const char *call_text(const call *c, const char *name)
{
    const piece *p = call_get(c, name);
    return p ? p->text : NULL;
}

bool piece_int(int64_t *out, const char *text)
{
    char *end;
    errno = 0;
    const long long value = strtoll(text, &end, 10);
    if (end == text || *end || errno || isspace((unsigned char)text[0])) return false;
    *out = value;
    return true;
}

pgy_status call_int(int64_t *out, const call *c, const char *name, int64_t low, int64_t high,
                    int64_t fallback, pgy_error *err)
{
    const char *text = call_text(c, name);
    int64_t value = fallback;
    if (text && (!piece_int(&value, text) || value < low || value > high))
        return pgy_error_set(err, PGY_E_ARGUMENT,
                             "%s: '%s' is not a whole number from %lld to %lld", name, text,
                             (long long)low, (long long)high);
    *out = value;
    return PGY_OK;
}
