/* SPDX-License-Identifier: Apache-2.0 */
/* Runs the program of a regular expression in all its states at once, one character at a time. */
#ifndef OPS_CLASS_REGEX_NFA_H
#define OPS_CLASS_REGEX_NFA_H

#include "ops/class_regex_program.h"

/* A sparse set of instruction indices: place[i] is the index of i in the list. */
typedef struct nfa_states {
    uint32_t *list, *place;
    size_t count;
    size_t *begins; /* per instruction: where its match began */
} nfa_states;

/* Memory for runs of one program. */
typedef struct nfa {
    nfa_states now, then;
} nfa;

pgy_status nfa_init(nfa *n, const regex_program *r, pgy_error *err) PGY_MUST_CHECK;
void nfa_deinit(nfa *n); /* zeroed memory is fine */

/* The meaning of regex_matches and regex_search (class_regex.h), for every expression. */
bool nfa_matches(nfa *n, const regex_program *r, span text);
bool nfa_search(size_t *begin, size_t *end, nfa *n, const regex_program *r, span text, size_t from);

/* Adds state `first` and all states that are reached from it without reading a character, between
 * the characters `before` and `after`; -1 is the start or end of the text. */
void nfa_follow(nfa_states *s, const regex_program *r, uint32_t first, size_t begin, int64_t before,
                int64_t after);
/* Does this OP_SET match the character? */
bool nfa_accepts(const regex_program *r, const instruction *i, uint32_t c);
/* Reads the next character; -1 at the end. An invalid UTF-8 byte is read as U+FFFD, the replacement
 * character. */
int64_t nfa_next_char(const char **p, const char *end);
/* The character before a position; -1 at the start. */
int64_t nfa_char_before(span text, size_t at);

#endif
