/* SPDX-License-Identifier: Apache-2.0 */
/* Reads routes and expressions: "-level=[2|5] -fp16=on". */
#include <ctype.h>
#include <string.h>

#include "base/alloc.h"
#include "base/printable.h"
#include "perf/route.h"

enum { MOST_BYTES = 1 << 16, MOST_KNOBS = 1000, MOST_VALUES = 1000, MOST_WORD = 1000 };

typedef struct reader {
    const char *begin, *at, *end;
    route_expression *out;
    size_t capacity;
    arena *memory;
} reader;

static pgy_status no_memory(pgy_error *err)
{
    return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
}

/* ---- Words ---------------------------------------------------------------------------------- */

static bool is_blank(char c)
{
    return isspace((unsigned char)c);
}

/* Steps over blanks and comments. False: the text ends. */
static bool skip_blanks(reader *r)
{
    while (r->at < r->end && (is_blank(*r->at) || *r->at == '#')) {
        if (*r->at == '#')
            while (r->at < r->end && *r->at != '\n') r->at++;
        else
            r->at++;
    }
    return r->at < r->end;
}

/* The characters up to a blank or one of `stops`. */
static span take_word(reader *r, const char *stops)
{
    span word = {r->at, 0};
    while (r->at < r->end && *r->at && !is_blank(*r->at) && !strchr(stops, *r->at)) r->at++;
    word.size = (size_t)(r->at - word.data);
    return word;
}

/* An error about the word that begins at `from`. */
static pgy_status wrong(const reader *r, const char *from, const char *why, pgy_error *err)
{
    span word = {from, 0};
    str text = {0};
    while (from + word.size < r->end && word.size < 60 && !is_blank(from[word.size])) word.size++;
    str_append_printable(&text, word.data, word.size, "");
    const pgy_status st = pgy_error_set(err, PGY_E_ARGUMENT, "character %zu, '%s': %s",
                                        (size_t)(from - r->begin) + 1, str_text(&text), why);
    str_deinit(&text);
    return st;
}

/* ---- Knobs ---------------------------------------------------------------------------------- */

static pgy_status check_name(const reader *r, const char *from, const char *name, pgy_error *err)
{
    str why = {0};
    pgy_status st = PGY_OK;
    if (!route_knob_is_known(name)) {
        str_append(&why, "there is no such knob");
        route_knob_suggest(&why, name);
        st = wrong(r, from, str_text(&why), err);
    }
    for (size_t i = 0; !st && i < r->out->count; i++)
        if (!strcmp(r->out->items[i].name, name))
            st = wrong(r, from, "the knob is given twice", err);
    str_deinit(&why);
    return st;
}

static pgy_status add(reader *r, const char *from, const route_choice *values, const char *name,
                      pgy_error *err)
{
    const pgy_status st = check_name(r, from, name, err);
    if (st) return st;
    route_choice c = *values;
    c.name = name;
    c.knob = route_knob_find(span_of(name));
    for (size_t i = 0; i < c.count; i++) {
        const pgy_status bad = route_knob_set(c.knob, name, c.values[i], NULL, NULL, NULL, err);
        if (bad) return bad;
    }
    if (r->out->count == MOST_KNOBS) return wrong(r, from, "there are too many knobs", err);
    if (r->out->count == r->capacity) {
        const size_t more = r->capacity ? 2 * r->capacity : 16;
        route_choice *items = arena_alloc_array(r->memory, more, sizeof *items);
        if (!items) return no_memory(err);
        if (r->out->count) memcpy(items, r->out->items, r->out->count * sizeof *items);
        r->out->items = items;
        r->capacity = more;
    }
    r->out->items[r->out->count++] = c;
    return PGY_OK;
}

/* -pass:* stands for all passes. */
static pgy_status add_named(reader *r, const char *from, const route_choice *values, span name,
                            pgy_error *err)
{
    pgy_status st = PGY_OK;
    if (!span_equals(name, ROUTE_PASSES "*")) {
        const char *own = arena_strndup(r->memory, name.data, name.size);
        return own ? add(r, from, values, own, err) : no_memory(err);
    }
    for (size_t i = 0; !st && route_pass_at(i); i++) {
        const char *own = arena_printf(r->memory, ROUTE_PASSES "%s", route_pass_at(i));
        st = own ? add(r, from, values, own, err) : no_memory(err);
    }
    return st;
}

/* ---- Values --------------------------------------------------------------------------------- */

static pgy_status take_value(reader *r, const char *from, route_choice *c, pgy_error *err)
{
    const span word = take_word(r, "[]|");
    if (!word.size) return wrong(r, from, "a value is missing", err);
    if (word.size > MOST_WORD) return wrong(r, from, "a value is too long", err);
    if (c->count == MOST_VALUES) return wrong(r, from, "there are too many values", err);
    const char *value = arena_strndup(r->memory, word.data, word.size);
    if (!value) return no_memory(err);
    for (size_t i = 0; i < c->count; i++)
        if (!strcmp(c->values[i], value)) return wrong(r, from, "a value is given twice", err);
    c->values[c->count++] = value;
    return PGY_OK;
}

static void skip_spaces(reader *r)
{
    while (r->at < r->end && is_blank(*r->at)) r->at++;
}

/* Room for as many values as there are bars, and one more. */
static pgy_status make_room(reader *r, route_choice *c, pgy_error *err)
{
    size_t most = 1;
    for (const char *p = r->at; p < r->end && *p != ']'; p++) most += *p == '|';
    c->values = arena_alloc_array(r->memory, most, sizeof *c->values);
    return c->values ? PGY_OK : no_memory(err);
}

/* "[a|b|c]", in which blanks around values do not count. */
static pgy_status take_list(reader *r, const char *from, route_choice *c, pgy_error *err)
{
    pgy_status st = make_room(r, c, err);
    c->is_list = true;
    for (bool more = true; !st && more;) {
        r->at++; /* over [ or | */
        skip_spaces(r);
        st = take_value(r, from, c, err);
        if (st) break;
        skip_spaces(r);
        more = r->at < r->end && *r->at == '|';
        if (!more && (r->at == r->end || *r->at != ']'))
            st = wrong(r, from, "the list of values has no ']'", err);
    }
    if (!st) r->at++;
    return st;
}

static pgy_status take_knob(reader *r, pgy_error *err)
{
    const char *from = r->at;
    route_choice c = {0};
    if (*r->at != '-') return wrong(r, from, "a knob begins with '-', as in -level=5", err);
    r->at++;
    const span name = take_word(r, "=[]|");
    if (!name.size || name.size > MOST_WORD)
        return wrong(r, from, "a name of a knob must follow '-'", err);
    if (r->at == r->end || *r->at != '=')
        return wrong(r, from, "'=' and a value must follow the name, as in -level=5", err);
    r->at++;
    pgy_status st = PGY_OK;
    if (r->at < r->end && *r->at == '[') {
        st = take_list(r, from, &c, err);
    } else {
        st = make_room(r, &c, err);
        if (!st) st = take_value(r, from, &c, err);
    }
    if (!st && r->at < r->end && !is_blank(*r->at))
        st = wrong(r, from, "a blank must follow the value", err);
    return st ? st : add_named(r, from, &c, name, err);
}

pgy_status route_expression_parse(route_expression *out, span text, arena *a, pgy_error *err)
{
    reader r = {text.data, text.data, text.data + text.size, out, 0, a};
    pgy_status st = PGY_OK;
    *out = (route_expression){0};
    if (text.size > MOST_BYTES)
        return pgy_error_set(err, PGY_E_ARGUMENT, "%zu bytes are too long; at most %d", text.size,
                             MOST_BYTES);
    while (!st && skip_blanks(&r)) st = take_knob(&r, err);
    if (!st && !out->count)
        st = pgy_error_set(err, PGY_E_ARGUMENT, "it names no knob; expected text such as -level=5");
    return st;
}

/* ---- Routes --------------------------------------------------------------------------------- */

struct pgy_route {
    arena memory;
    route_expression expression;
};

pgy_status pgy_route_parse(pgy_route **out, const char *text, pgy_error *err)
{
    pgy_route *r = mem_calloc(1, sizeof *r);
    if (!r) return no_memory(err);
    pgy_status st = route_expression_parse(&r->expression, span_of(text), &r->memory, err);
    for (size_t i = 0; !st && i < r->expression.count; i++)
        if (r->expression.items[i].is_list)
            st = pgy_error_set(err, PGY_E_ARGUMENT,
                               "'-%s' has a list of values; in a route every knob has one",
                               printable_name(r->expression.items[i].name));
    if (st) {
        pgy_error_prefix(err, st, "build route: ");
        pgy_route_destroy(r);
        return st;
    }
    *out = r;
    return PGY_OK;
}

void pgy_route_destroy(pgy_route *r)
{
    if (!r) return;
    arena_deinit(&r->memory);
    mem_free(r);
}

pgy_status pgy_route_apply(pgy_route *r, pgy_build_config *config, pgy_calibration *calibration,
                           pgy_error *err)
{
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < r->expression.count; i++) {
        const route_choice *c = &r->expression.items[i];
        st = route_knob_set(c->knob, c->name, c->values[0], config, calibration, &r->memory, err);
    }
    return st;
}
