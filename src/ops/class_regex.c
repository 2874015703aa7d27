/* SPDX-License-Identifier: Apache-2.0 */
/* A regular expression: the automaton (DFA) matches and searches, and the program (NFA) takes over
 * where the automaton has no answer. */
#include "ops/class_regex.h"

#include "base/alloc.h"
#include "ops/class_regex_dfa.h"

struct regex {
    regex_program program;
    nfa room;
    regex_dfa *automaton; /* NULL: the expression has none */
};

void regex_destroy(regex *r)
{
    if (!r) return;
    regex_dfa_destroy(r->automaton);
    nfa_deinit(&r->room);
    regex_program_deinit(&r->program);
    mem_free(r);
}

pgy_status regex_compile(regex **out, span pattern, pgy_error *err)
{
    regex *r = mem_calloc(1, sizeof *r);
    if (!r) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    pgy_status st = regex_program_init(&r->program, pattern, err);
    if (!st) st = nfa_init(&r->room, &r->program, err);
    if (st) {
        regex_destroy(r);
        return st;
    }
    r->automaton = regex_dfa_create(&r->program, &r->room);
    *out = r;
    return PGY_OK;
}

bool regex_matches(regex *r, span text)
{
    bool matches;
    if (r->automaton && regex_dfa_matches(&matches, r->automaton, text)) return matches;
    return nfa_matches(&r->room, &r->program, text);
}

bool regex_search(size_t *begin, size_t *end, regex *r, span text, size_t from)
{
    bool found;
    if (r->automaton && regex_dfa_search(&found, begin, end, r->automaton, text, &from))
        return found;
    return nfa_search(begin, end, &r->room, &r->program, text, from);
}
