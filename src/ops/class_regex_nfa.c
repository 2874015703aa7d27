/* SPDX-License-Identifier: Apache-2.0 */
/* A search also keeps where each state's match began; states that began earlier come first in the
 * list, so a state that is reached twice keeps the earlier one. */
#include "ops/class_regex_nfa.h"

#include "base/alloc.h"
#include "base/cancel.h"
#include "base/utf8.h"

void nfa_deinit(nfa *n)
{
    mem_free(n->now.list);
    mem_free(n->now.begins);
}

pgy_status nfa_init(nfa *n, const regex_program *r, pgy_error *err)
{
    uint32_t *lists = mem_calloc(4 * r->count, sizeof *lists);
    size_t *begins = mem_calloc(2 * r->count, sizeof *begins);
    if (!lists || !begins) {
        mem_free(lists);
        mem_free(begins);
        return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    }
    n->now = (nfa_states){lists, lists + r->count, 0, begins};
    n->then = (nfa_states){lists + 2 * r->count, lists + 3 * r->count, 0, begins + r->count};
    return PGY_OK;
}

/* ---- States --------------------------------------------------------------------------------- */

static bool has_state(const nfa_states *s, uint32_t i)
{
    return s->place[i] < s->count && s->list[s->place[i]] == i;
}

static void put_state(nfa_states *s, uint32_t i, size_t begin)
{
    s->begins[i] = begin;
    s->place[i] = (uint32_t)s->count;
    s->list[s->count++] = i;
}

/* Does the assertion (^, $, \\b) hold between these two characters? -1 stands for the start or end
 * of the text. */
static bool holds(const instruction *i, int64_t before, int64_t after)
{
    if (i->op == OP_BEGIN) return before < 0 || (i->x && before == '\n');
    if (i->op == OP_END) return after < 0 || (i->x && after == '\n');
    return (regex_is_word(before) != regex_is_word(after)) != (i->x != 0);
}

/* The list of the set is also the work list. */
void nfa_follow(nfa_states *s, const regex_program *r, uint32_t first, size_t begin, int64_t before,
                int64_t after)
{
    size_t next = s->count;
    if (!has_state(s, first)) put_state(s, first, begin);
    for (; next < s->count; next++) {
        const instruction *i = &r->code[s->list[next]];
        const bool jumps = i->op == OP_JUMP || i->op == OP_SPLIT;
        if (jumps && !has_state(s, i->x)) put_state(s, i->x, begin);
        if (i->op == OP_SPLIT && !has_state(s, i->y)) put_state(s, i->y, begin);
        const bool asserts = i->op == OP_BEGIN || i->op == OP_END || i->op == OP_BOUNDARY;
        const uint32_t behind = s->list[next] + 1;
        if (asserts && holds(i, before, after) && !has_state(s, behind))
            put_state(s, behind, begin);
    }
}

static bool in_ranges(const regex_program *r, const instruction *i, uint32_t c)
{
    for (uint32_t k = i->x; k < i->y; k++)
        if (c >= r->ranges[k].low && c <= r->ranges[k].high) return true;
    return false;
}

bool nfa_accepts(const regex_program *r, const instruction *i, uint32_t c)
{
    bool found = in_ranges(r, i, c);
    if (!found && i->nocase && (c | 32) >= 'a' && (c | 32) <= 'z') found = in_ranges(r, i, c ^ 32);
    return found != i->negated;
}

int64_t nfa_next_char(const char **p, const char *end)
{
    uint32_t c;
    if (*p >= end) return -1;
    const size_t size = utf8_read(*p, end, &c);
    *p += size ? size : 1;
    return size ? (int64_t)c : 0xFFFD;
}

bool nfa_matches(nfa *n, const regex_program *r, span text)
{
    nfa_states *now = &n->now, *then = &n->then;
    const char *p = text.data, *end = text.data + text.size;
    int64_t c = nfa_next_char(&p, end);
    now->count = 0;
    nfa_follow(now, r, 0, 0, -1, c);
    while (c >= 0 && now->count && !cancel_requested()) {
        const int64_t after = nfa_next_char(&p, end);
        then->count = 0;
        for (size_t k = 0; k < now->count; k++) {
            const instruction *i = &r->code[now->list[k]];
            if (i->op == OP_SET && nfa_accepts(r, i, (uint32_t)c))
                nfa_follow(then, r, now->list[k] + 1, 0, c, after);
        }
        nfa_states *swap = now;
        now = then;
        then = swap;
        c = after;
    }
    for (size_t k = 0; k < now->count; k++)
        if (r->code[now->list[k]].op == OP_MATCH) return c < 0;
    return false;
}

/* ---- Search --------------------------------------------------------------------------------- */

int64_t nfa_char_before(span text, size_t at)
{
    enum { LONGEST = 4 };
    for (size_t size = 1; size <= LONGEST && size <= at; size++) {
        uint32_t c;
        if (utf8_read(text.data + at - size, text.data + at, &c) == size) return c;
    }
    return at ? 0xFFFD : -1;
}

typedef struct search_match {
    bool found;
    size_t begin, end;
} search_match;

/* A match at this place is better if it begins earlier, or where the last one began. */
static void note_match(search_match *m, const nfa_states *s, const regex_program *r, size_t at)
{
    for (size_t k = 0; k < s->count; k++) {
        const uint32_t i = s->list[k];
        if (r->code[i].op != OP_MATCH || (m->found && s->begins[i] > m->begin)) continue;
        *m = (search_match){true, s->begins[i], at};
    }
}

bool nfa_search(size_t *begin, size_t *end, nfa *n, const regex_program *r, span text, size_t from)
{
    nfa_states *now = &n->now, *then = &n->then;
    search_match m = {0};
    const char *last = text.data + text.size, *p = text.data + from, *at = p;
    int64_t before = nfa_char_before(text, from), c = nfa_next_char(&p, last);
    now->count = 0;
    for (;;) {
        if (!m.found) nfa_follow(now, r, 0, (size_t)(at - text.data), before, c);
        note_match(&m, now, r, (size_t)(at - text.data));
        if (c < 0 || (m.found && !now->count) || cancel_requested()) break;
        at = p;
        const int64_t after = nfa_next_char(&p, last);
        then->count = 0;
        for (size_t k = 0; k < now->count; k++) {
            const uint32_t i = now->list[k];
            if (r->code[i].op == OP_SET && !(m.found && now->begins[i] > m.begin) &&
                nfa_accepts(r, &r->code[i], (uint32_t)c))
                nfa_follow(then, r, i + 1, now->begins[i], c, after);
        }
        nfa_states *swap = now;
        now = then;
        then = swap;
        before = c;
        c = after;
    }
    *begin = m.begin;
    *end = m.end;
    return m.found && !cancel_requested();
}
