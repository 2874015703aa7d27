/* SPDX-License-Identifier: Apache-2.0 */
/* Runs the program of a regular expression in all its states at once, one character at a time. A
 * search also keeps where each state's match began; states that began earlier come first in the
 * list, so a state that is reached twice keeps the earlier one. */
#include "base/alloc.h"
#include "base/cancel.h"
#include "base/utf8.h"
#include "ops/class_regex_program.h"

typedef struct states {
    /* a sparse set of instruction indices: place[i] is the index of i in the list */
    uint32_t *list, *place;
    size_t count;
    size_t *begins; /* per instruction: where its match began; NULL: not kept */
} states;

struct regex_room {
    states now, then;
};

static bool has_state(const states *s, uint32_t i)
{
    return s->place[i] < s->count && s->list[s->place[i]] == i;
}

static void put_state(states *s, uint32_t i, size_t begin)
{
    if (s->begins) s->begins[i] = begin;
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

/* Adds state `first` and all states that are reached from it without reading a character. The list
 * of the set is also the work list. */
static void follow(states *s, const regex *r, uint32_t first, size_t begin, int64_t before,
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

static bool in_ranges(const regex *r, const instruction *i, uint32_t c)
{
    for (uint32_t k = i->x; k < i->y; k++)
        if (c >= r->ranges[k].low && c <= r->ranges[k].high) return true;
    return false;
}

static bool accepts(const regex *r, const instruction *i, uint32_t c)
{
    bool found = in_ranges(r, i, c);
    if (!found && i->nocase && (c | 32) >= 'a' && (c | 32) <= 'z') found = in_ranges(r, i, c ^ 32);
    return found != i->negated;
}

/* The next character; -1 at the end. An invalid UTF-8 byte is read as U+FFFD, the replacement
 * character. */
static int64_t next_char(const char **p, const char *end)
{
    uint32_t c;
    if (*p >= end) return -1;
    const size_t size = utf8_read(*p, end, &c);
    *p += size ? size : 1;
    return size ? (int64_t)c : 0xFFFD;
}

static bool run(states *now, states *then, const regex *r, span text)
{
    const char *p = text.data, *end = text.size ? text.data + text.size : text.data;
    int64_t c = next_char(&p, end);
    follow(now, r, 0, 0, -1, c);
    while (c >= 0 && now->count) {
        const int64_t after = next_char(&p, end);
        then->count = 0;
        for (size_t k = 0; k < now->count; k++) {
            const instruction *i = &r->code[now->list[k]];
            if (i->op == OP_SET && accepts(r, i, (uint32_t)c))
                follow(then, r, now->list[k] + 1, 0, c, after);
        }
        states *swap = now;
        now = then;
        then = swap;
        c = after;
    }
    for (size_t k = 0; k < now->count; k++)
        if (r->code[now->list[k]].op == OP_MATCH) return c < 0;
    return false;
}

pgy_status regex_matches(bool *out, const regex *r, span text, pgy_error *err)
{
    uint32_t *room = mem_calloc(4 * r->count, sizeof *room);
    if (!room) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    states now = {room, room + r->count, 0, NULL};
    states then = {room + 2 * r->count, room + 3 * r->count, 0, NULL};
    *out = run(&now, &then, r, text);
    mem_free(room);
    return PGY_OK;
}

/* ---- Search --------------------------------------------------------------------------------- */

void regex_room_destroy(regex_room *room)
{
    if (!room) return;
    mem_free(room->now.list);
    mem_free(room->now.begins);
    mem_free(room);
}

pgy_status regex_room_create(regex_room **out, const regex *r, pgy_error *err)
{
    regex_room *room = mem_calloc(1, sizeof *room);
    if (!room) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    uint32_t *lists = room->now.list = mem_calloc(4 * r->count, sizeof *lists);
    size_t *begins = room->now.begins = mem_calloc(2 * r->count, sizeof *begins);
    if (!lists || !begins) {
        regex_room_destroy(room);
        return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    }
    room->now.place = lists + r->count;
    room->then = (states){lists + 2 * r->count, lists + 3 * r->count, 0, begins + r->count};
    *out = room;
    return PGY_OK;
}

/* The character before a position; -1 at the start. */
static int64_t char_before(span text, size_t at)
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
static void note_match(search_match *m, const states *s, const regex *r, size_t at)
{
    for (size_t k = 0; k < s->count; k++) {
        const uint32_t i = s->list[k];
        if (r->code[i].op != OP_MATCH || (m->found && s->begins[i] > m->begin)) continue;
        *m = (search_match){true, s->begins[i], at};
    }
}

bool regex_search(size_t *begin, size_t *end, const regex *r, regex_room *room, span text,
                  size_t from)
{
    states *now = &room->now, *then = &room->then;
    search_match m = {0};
    const char *last = text.data + text.size, *p = text.data + from, *at = p;
    int64_t before = char_before(text, from), c = next_char(&p, last);
    now->count = 0;
    for (;;) {
        if (!m.found) follow(now, r, 0, (size_t)(at - text.data), before, c);
        note_match(&m, now, r, (size_t)(at - text.data));
        if (c < 0 || (m.found && !now->count) || cancel_requested()) break;
        at = p;
        const int64_t after = next_char(&p, last);
        then->count = 0;
        for (size_t k = 0; k < now->count; k++) {
            const uint32_t i = now->list[k];
            if (r->code[i].op == OP_SET && !(m.found && now->begins[i] > m.begin) &&
                accepts(r, &r->code[i], (uint32_t)c))
                follow(then, r, i + 1, now->begins[i], c, after);
        }
        states *swap = now;
        now = then;
        then = swap;
        before = c;
        c = after;
    }
    *begin = m.begin;
    *end = m.end;
    return m.found && !cancel_requested();
}
