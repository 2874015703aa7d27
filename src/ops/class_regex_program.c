/* SPDX-License-Identifier: Apache-2.0 */
/* The pattern is compiled to a program of few instructions (match a set, split, jump, assert). It
 * runs in all its states at once, so no pattern takes exponential time. Only whether the text
 * matches counts, not how, so lazy quantifiers equal greedy ones. A repetition copies the program
 * of its body, up to a limit. */
#include "ops/class_regex_program.h"

#include <string.h>

#include "base/alloc.h"
#include "base/utf8.h"

enum { MAX_PROGRAM = 100000, MAX_REPEAT = 1000, MAX_NESTING = 200 };
enum flags { FLAG_NOCASE = 1, FLAG_MULTILINE = 2, FLAG_DOT_ALL = 4 };

typedef struct parser {
    regex_program *r;
    const char *begin, *at, *end;
    unsigned flags;
    int depth;
    pgy_error *err;
} parser;

/* ---- Building ------------------------------------------------------------------------------- */

static pgy_status fail(const parser *p, pgy_status st, const char *what)
{
    return pgy_error_set(p->err, st, "pattern '%.*s', at %zu: %s",
                         (int)(p->end - p->begin > 200 ? 200 : p->end - p->begin), p->begin,
                         (size_t)(p->at - p->begin), what);
}

static bool grow(void **items, size_t *capacity, size_t count, size_t size)
{
    if (count < *capacity) return true;
    const size_t room = *capacity ? *capacity * 2 : 32;
    void *more = mem_realloc(*items, room * size);
    if (!more) return false;
    *items = more;
    *capacity = room;
    return true;
}

static pgy_status emit(parser *p, instruction i)
{
    regex_program *r = p->r;
    if (r->count >= MAX_PROGRAM) return fail(p, PGY_E_ARGUMENT, "the pattern is too large");
    if (!grow((void **)&r->code, &r->capacity, r->count, sizeof *r->code))
        return pgy_error_set(p->err, PGY_E_MEMORY, "out of memory");
    r->code[r->count++] = i;
    return PGY_OK;
}

static pgy_status add_range(parser *p, uint32_t low, uint32_t high)
{
    regex_program *r = p->r;
    if (!grow((void **)&r->ranges, &r->range_capacity, r->range_count, sizeof *r->ranges))
        return pgy_error_set(p->err, PGY_E_MEMORY, "out of memory");
    r->ranges[r->range_count++] = (range){low, high};
    return PGY_OK;
}

static pgy_status emit_set(parser *p, size_t first, bool negated)
{
    return emit(p, (instruction){OP_SET, negated, p->flags & FLAG_NOCASE, (uint32_t)first,
                                 (uint32_t)p->r->range_count});
}

static pgy_status emit_one(parser *p, uint32_t low, uint32_t high)
{
    const size_t first = p->r->range_count;
    const pgy_status st = add_range(p, low, high);
    return st ? st : emit_set(p, first, false);
}

/* Inserts an instruction before `at` and adjusts all jumps to instructions after it. */
static pgy_status insert(parser *p, size_t at, instruction i)
{
    pgy_status st = emit(p, i);
    if (st) return st;
    regex_program *r = p->r;
    memmove(&r->code[at + 1], &r->code[at], (r->count - 1 - at) * sizeof *r->code);
    r->code[at] = i;
    for (size_t k = at + 1; k < r->count; k++) {
        instruction *c = &r->code[k];
        if (c->op != OP_SPLIT && c->op != OP_JUMP) continue;
        c->x += c->x >= at;
        if (c->op == OP_SPLIT) c->y += c->y >= at;
    }
    return PGY_OK;
}

/* ---- Characters and classes ----------------------------------------------------------------- */

static pgy_status read_char(parser *p, uint32_t *c)
{
    const size_t size = p->at < p->end ? utf8_read(p->at, p->end, c) : 0;
    if (!size) return fail(p, PGY_E_ARGUMENT, "a character is missing, or is not UTF-8");
    p->at += size;
    return PGY_OK;
}

static bool take(parser *p, const char *text)
{
    const size_t size = strlen(text);
    if ((size_t)(p->end - p->at) < size || memcmp(p->at, text, size) != 0) return false;
    p->at += size;
    return true;
}

typedef struct named_class {
    const char *name;
    uint32_t count;
    range ranges[5];
} named_class;

static const named_class CLASSES[] = {
    {"d", 1, {{'0', '9'}}},
    {"s", 3, {{'\t', '\n'}, {'\f', '\r'}, {' ', ' '}}},
    {"w", 4, {{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}}},
    {"alnum", 3, {{'0', '9'}, {'A', 'Z'}, {'a', 'z'}}},
    {"alpha", 2, {{'A', 'Z'}, {'a', 'z'}}},
    {"ascii", 1, {{0, 127}}},
    {"blank", 2, {{'\t', '\t'}, {' ', ' '}}},
    {"cntrl", 2, {{0, 31}, {127, 127}}},
    {"digit", 1, {{'0', '9'}}},
    {"graph", 1, {{'!', '~'}}},
    {"lower", 1, {{'a', 'z'}}},
    {"print", 1, {{' ', '~'}}},
    {"punct", 4, {{'!', '/'}, {':', '@'}, {'[', '`'}, {'{', '~'}}},
    {"space", 2, {{'\t', '\r'}, {' ', ' '}}},
    {"upper", 1, {{'A', 'Z'}}},
    {"word", 4, {{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}}},
    {"xdigit", 3, {{'0', '9'}, {'A', 'F'}, {'a', 'f'}}},
};

static const named_class *find_class(const char *name, size_t size)
{
    for (size_t i = 0; i < sizeof CLASSES / sizeof *CLASSES; i++)
        if (strlen(CLASSES[i].name) == size && memcmp(CLASSES[i].name, name, size) == 0)
            return &CLASSES[i];
    return NULL;
}

static pgy_status add_class(parser *p, const named_class *c, bool negated)
{
    uint32_t next = 0;
    pgy_status st = PGY_OK;
    for (uint32_t i = 0; !st && i < c->count; i++) {
        if (!negated)
            st = add_range(p, c->ranges[i].low, c->ranges[i].high);
        else if (c->ranges[i].low > next)
            st = add_range(p, next, c->ranges[i].low - 1);
        next = c->ranges[i].high + 1;
    }
    return !st && negated ? add_range(p, next, 0x10FFFF) : st;
}

/* The class of an escape like \d, at the position after the backslash; NULL for an escaped
 * character. */
static const named_class *perl_class(parser *p, bool *negated)
{
    if (p->at >= p->end) return NULL;
    const char lower = (char)(*p->at | 32);
    if (lower != 'd' && lower != 's' && lower != 'w') return NULL;
    *negated = *p->at != lower;
    p->at++;
    return find_class(&lower, 1);
}

static int digit_of(char c)
{
    if (c >= '0' && c <= '9') return c - '0';
    c |= 32;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : 99;
}

static pgy_status read_number(parser *p, uint32_t *c, int base, size_t least, size_t most)
{
    size_t count = 0;
    for (*c = 0; count < most && p->at < p->end && digit_of(*p->at) < base; count++, p->at++)
        *c = *c * (uint32_t)base + (uint32_t)digit_of(*p->at);
    if (count < least || *c > 0x10FFFF)
        return fail(p, PGY_E_ARGUMENT, "the code of a character is not valid");
    return PGY_OK;
}

/* Reads one escaped character; `at` is the position after the backslash. */
static pgy_status read_escape(parser *p, uint32_t *c)
{
    static const char LETTERS[] = "afnrtv", MEANT[] = "\a\f\n\r\t\v";
    if (p->at < p->end && (*p->at == 'p' || *p->at == 'P' || *p->at == 'C'))
        return fail(p, PGY_E_UNSUPPORTED, "Unicode classes and \\C are not supported");
    if (take(p, "x{")) {
        const pgy_status st = read_number(p, c, 16, 1, 6);
        return st || take(p, "}") ? st : fail(p, PGY_E_ARGUMENT, "'}' is missing");
    }
    if (take(p, "x")) return read_number(p, c, 16, 2, 2);
    if (p->at < p->end && *p->at >= '0' && *p->at <= '7') {
        if (*p->at != '0' && (p->end - p->at < 2 || digit_of(p->at[1]) > 7))
            return fail(p, PGY_E_ARGUMENT, "references to groups are not supported");
        return read_number(p, c, 8, 1, 3);
    }
    pgy_status st = read_char(p, c);
    const char *letter = !st && *c && *c < 128 ? strchr(LETTERS, (int)*c) : NULL;
    if (letter)
        *c = (unsigned char)MEANT[letter - LETTERS];
    else if (!st && (*c > 127 || regex_is_word(*c)))
        st = fail(p, PGY_E_ARGUMENT, "the escape is unknown");
    return st;
}

static pgy_status class_end(parser *p, uint32_t *c)
{
    return take(p, "\\") ? read_escape(p, c) : read_char(p, c);
}

/* Reads one entry of [...]: a class, a character or a range. */
static pgy_status class_entry(parser *p)
{
    uint32_t low, high;
    bool negated = false;
    if (p->end - p->at > 1 && p->at[0] == '[' && p->at[1] == ':') {
        const char *name = p->at + 2;
        negated = name < p->end && *name == '^';
        name += negated;
        const char *stop = name;
        while (stop < p->end && *stop >= 'a' && *stop <= 'z') stop++;
        const named_class *c = find_class(name, (size_t)(stop - name));
        if (!c || p->end - stop < 2 || stop[0] != ':' || stop[1] != ']')
            return fail(p, PGY_E_ARGUMENT, "the named class is unknown");
        p->at = stop + 2;
        return add_class(p, c, negated);
    }
    if (p->end - p->at > 1 && *p->at == '\\') {
        p->at++;
        const named_class *c = perl_class(p, &negated);
        if (c) return add_class(p, c, negated);
        p->at--;
    }
    pgy_status st = class_end(p, &low);
    high = low;
    if (!st && p->end - p->at > 1 && p->at[0] == '-' && p->at[1] != ']') {
        p->at++;
        st = class_end(p, &high);
    }
    if (!st && high < low) st = fail(p, PGY_E_ARGUMENT, "a range ends before it begins");
    return st ? st : add_range(p, low, high);
}

static pgy_status parse_class(parser *p)
{
    const size_t first = p->r->range_count;
    const bool negated = take(p, "^");
    pgy_status st = PGY_OK;
    bool any = false;
    while (!st && (!any || !take(p, "]"))) {
        if (p->at >= p->end) return fail(p, PGY_E_ARGUMENT, "']' is missing");
        st = class_entry(p);
        any = true;
    }
    return st ? st : emit_set(p, first, negated);
}

/* ---- Pieces --------------------------------------------------------------------------------- */

static pgy_status parse_choice(parser *p);

/* Reads flags like (?i) or (?i-s:...); *group becomes true if they open a group, as (?i:...) does.
 */
static pgy_status parse_flags(parser *p, bool *group)
{
    static const char LETTERS[] = "imsU";
    static const unsigned MEANT[] = {FLAG_NOCASE, FLAG_MULTILINE, FLAG_DOT_ALL, 0};
    bool off = false;
    for (; p->at < p->end && *p->at != ')' && *p->at != ':'; p->at++) {
        const char *letter = strchr(LETTERS, *p->at);
        if (*p->at == '-' && !off)
            off = true;
        else if (!*p->at || !letter)
            return fail(p, PGY_E_ARGUMENT, "the flag is unknown");
        else if (off)
            p->flags &= ~MEANT[letter - LETTERS];
        else
            p->flags |= MEANT[letter - LETTERS];
    }
    *group = take(p, ":");
    return *group || take(p, ")") ? PGY_OK : fail(p, PGY_E_ARGUMENT, "')' is missing");
}

static pgy_status parse_group(parser *p)
{
    const unsigned flags = p->flags;
    bool group = true;
    pgy_status st = PGY_OK;
    if (take(p, "?P<") || take(p, "?<")) {
        while (p->at < p->end && *p->at != '>') p->at++;
        if (!take(p, ">")) return fail(p, PGY_E_ARGUMENT, "'>' is missing");
    } else if (take(p, "?")) {
        st = parse_flags(p, &group);
    }
    if (st || !group) return st;
    if (++p->depth > MAX_NESTING) return fail(p, PGY_E_ARGUMENT, "groups are nested too deep");
    st = parse_choice(p);
    p->depth--;
    p->flags = flags;
    return st || take(p, ")") ? st : fail(p, PGY_E_ARGUMENT, "')' is missing");
}

static pgy_status parse_escape(parser *p)
{
    uint32_t c;
    bool negated = false;
    const size_t first = p->r->range_count;
    const named_class *class = perl_class(p, &negated);
    if (class) {
        const pgy_status st = add_class(p, class, negated);
        return st ? st : emit_set(p, first, false);
    }
    if (take(p, "A")) return emit(p, (instruction){.op = OP_BEGIN});
    if (take(p, "z")) return emit(p, (instruction){.op = OP_END});
    if (take(p, "b")) return emit(p, (instruction){.op = OP_BOUNDARY});
    if (take(p, "B")) return emit(p, (instruction){.op = OP_BOUNDARY, .x = 1});
    const pgy_status st = read_escape(p, &c);
    return st ? st : emit_one(p, c, c);
}

/* Reads an atom, to which a quantifier may apply. */
static pgy_status parse_atom(parser *p)
{
    uint32_t c;
    const uint32_t lines = (p->flags & FLAG_MULTILINE) != 0;
    if (take(p, "(")) return parse_group(p);
    if (take(p, "[")) return parse_class(p);
    if (take(p, "\\")) return parse_escape(p);
    if (take(p, "^")) return emit(p, (instruction){.op = OP_BEGIN, .x = lines});
    if (take(p, "$")) return emit(p, (instruction){.op = OP_END, .x = lines});
    if (take(p, ".")) {
        if (p->flags & FLAG_DOT_ALL) return emit_one(p, 0, 0x10FFFF);
        const size_t first = p->r->range_count;
        const pgy_status st = add_range(p, '\n', '\n');
        return st ? st : emit_set(p, first, true);
    }
    if (p->at < p->end && strchr("*+?", *p->at))
        return fail(p, PGY_E_ARGUMENT, "a repetition follows nothing that it could repeat");
    const pgy_status st = read_char(p, &c);
    return st ? st : emit_one(p, c, c);
}

/* ---- Repetition ----------------------------------------------------------------------------- */

static pgy_status copy_block(parser *p, const instruction *block, size_t size, size_t base)
{
    const size_t to = p->r->count;
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < size; i++) {
        instruction c = block[i];
        if (c.op == OP_SPLIT || c.op == OP_JUMP) c.x = (uint32_t)(c.x - base + to);
        if (c.op == OP_SPLIT) c.y = (uint32_t)(c.y - base + to);
        st = emit(p, c);
    }
    return st;
}

static pgy_status repeat_any(parser *p, size_t begin)
{
    const uint32_t end = (uint32_t)p->r->count;
    pgy_status st =
        insert(p, begin, (instruction){.op = OP_SPLIT, .x = (uint32_t)begin + 1, .y = end + 2});
    return st ? st : emit(p, (instruction){.op = OP_JUMP, .x = (uint32_t)begin});
}

static pgy_status repeat_optional(parser *p, size_t begin)
{
    const uint32_t end = (uint32_t)p->r->count;
    return insert(p, begin, (instruction){.op = OP_SPLIT, .x = (uint32_t)begin + 1, .y = end + 1});
}

/* Repeats the code from `begin` on at least `least` and at most `most` times (SIZE_MAX: no limit).
 */
static pgy_status repeat_counted(parser *p, size_t begin, size_t least, size_t most)
{
    regex_program *r = p->r;
    const size_t size = r->count - begin;
    instruction *block = mem_alloc((size + 1) * sizeof *block);
    pgy_status st = PGY_OK;
    if (!block) return pgy_error_set(p->err, PGY_E_MEMORY, "out of memory");
    if (size) memcpy(block, r->code + begin, size * sizeof *block);
    r->count = begin;
    for (size_t i = 0; !st && i < least; i++) st = copy_block(p, block, size, begin);
    const size_t rest = r->count;
    if (!st && most == SIZE_MAX) {
        st = copy_block(p, block, size, begin);
        if (!st) st = repeat_any(p, rest);
    }
    for (size_t i = least; !st && most != SIZE_MAX && i < most; i++) {
        const size_t from = r->count;
        st = copy_block(p, block, size, begin);
        if (!st) st = repeat_optional(p, from);
    }
    mem_free(block);
    return st;
}

/* Reads {n}, {n,} or {n,m}; false: the brace is ordinary text. */
static bool take_counts(parser *p, size_t *least, size_t *most)
{
    const char *start = p->at;
    size_t *number = least;
    *least = *most = 0;
    if (!take(p, "{")) return false;
    for (bool any = false; p->at < p->end; p->at++) {
        if (*p->at >= '0' && *p->at <= '9') {
            *number = *number > MAX_REPEAT ? *number : *number * 10 + (size_t)(*p->at - '0');
            any = true;
        } else if (*p->at == ',' && number == least && any) {
            number = most;
            any = false;
        } else {
            if (*p->at != '}' || (number == least && !any)) break;
            if (number == least) *most = *least;
            if (number == most && !any) *most = SIZE_MAX;
            p->at++;
            return true;
        }
    }
    p->at = start;
    return false;
}

static pgy_status parse_quantifier(parser *p, size_t begin, bool *found)
{
    size_t least, most;
    pgy_status st = PGY_OK;
    *found = true;
    if (take(p, "*"))
        st = repeat_any(p, begin);
    else if (take(p, "+"))
        st = repeat_counted(p, begin, 1, SIZE_MAX);
    else if (take(p, "?"))
        st = repeat_optional(p, begin);
    else if (!take_counts(p, &least, &most))
        *found = false;
    else if (least > MAX_REPEAT || (most != SIZE_MAX && (most > MAX_REPEAT || most < least)))
        st = fail(p, PGY_E_ARGUMENT,
                  "the number of repetitions is too large, or its range ends before it begins");
    else
        st = repeat_counted(p, begin, least, most);
    if (!st && *found) take(p, "?");
    return st;
}

static pgy_status parse_sequence(parser *p)
{
    pgy_status st = PGY_OK;
    while (!st && p->at < p->end && *p->at != '|' && *p->at != ')') {
        const size_t begin = p->r->count;
        bool found = false;
        st = parse_atom(p);
        if (!st) st = parse_quantifier(p, begin, &found);
    }
    return st;
}

/* Parses a|b|c. Each alternative but the last becomes: split, alternative, jump to the end. Until
 * the end is known, these jumps form a list that is linked through their targets. */
static pgy_status parse_choice(parser *p)
{
    uint32_t waiting = UINT32_MAX;
    for (;;) {
        const size_t begin = p->r->count;
        pgy_status st = parse_sequence(p);
        if (st) return st;
        if (!take(p, "|")) break;
        const uint32_t end = (uint32_t)p->r->count;
        st =
            insert(p, begin, (instruction){.op = OP_SPLIT, .x = (uint32_t)begin + 1, .y = end + 2});
        if (!st) st = emit(p, (instruction){.op = OP_JUMP, .x = waiting});
        if (st) return st;
        waiting = (uint32_t)p->r->count - 1;
    }
    while (waiting != UINT32_MAX) {
        const uint32_t next = p->r->code[waiting].x;
        p->r->code[waiting].x = (uint32_t)p->r->count;
        waiting = next;
    }
    return PGY_OK;
}

void regex_program_deinit(regex_program *r)
{
    mem_free(r->code);
    mem_free(r->ranges);
    *r = (regex_program){0};
}

pgy_status regex_program_init(regex_program *r, span pattern, pgy_error *err)
{
    const char *text = pattern.data ? pattern.data : "";
    *r = (regex_program){0};
    parser p = {.r = r, .begin = text, .at = text, .end = text + pattern.size, .err = err};
    pgy_status st = parse_choice(&p);
    if (!st && p.at < p.end) st = fail(&p, PGY_E_ARGUMENT, "')' has no '(' before it");
    if (!st) st = emit(&p, (instruction){.op = OP_MATCH});
    if (st) regex_program_deinit(r);
    return st;
}
