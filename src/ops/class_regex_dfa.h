/* SPDX-License-Identifier: Apache-2.0 */
/* A deterministic automaton of a regular expression, made while texts are read: its states are sets
 * of states of the program, and a table gives the next one for each class of characters. What the
 * table knows takes one look-up for a character. It stops growing at a limit, and then has no
 * answer where its states are unknown. */
#ifndef OPS_CLASS_REGEX_DFA_H
#define OPS_CLASS_REGEX_DFA_H

#include "ops/class_regex_nfa.h"

typedef struct regex_dfa regex_dfa;
/* Borrows both; `room` is used while the automaton grows. NULL: the expression has too many classes
 * of characters, or memory is short. */
regex_dfa *regex_dfa_create(const regex_program *r, nfa *room);
void regex_dfa_destroy(regex_dfa *d); /* NULL is fine */

/* regex_matches and regex_search (class_regex.h). False: no answer; then a search must go on at
 * *from, before which no match begins. */
bool regex_dfa_matches(bool *matches, regex_dfa *d, span text);
bool regex_dfa_search(bool *found, size_t *begin, size_t *end, regex_dfa *d, span text,
                      size_t *from);

#endif
