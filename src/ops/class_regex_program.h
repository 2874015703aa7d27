/* SPDX-License-Identifier: Apache-2.0 */
/* The program to which a regular expression is compiled: instructions that class_regex_nfa.c
 * runs. */
#ifndef OPS_CLASS_REGEX_PROGRAM_H
#define OPS_CLASS_REGEX_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <polygraphy/base.h>

#include "base/str.h"

typedef enum opcode {
    OP_SET,   /* matches one character that is in one of regex_program.ranges [x, y), or in none if
               * `negated`
               */
    OP_SPLIT, /* continues at both x and y */
    OP_JUMP,  /* continues at x */
    OP_BEGIN, /* start of the text, or of a line if x */
    OP_END,
    OP_BOUNDARY, /* a word boundary (\b); if x is set, any other position (\B) */
    OP_MATCH
} opcode;

typedef struct instruction {
    opcode op;
    bool negated, nocase;
    uint32_t x, y;
} instruction;

typedef struct range {
    uint32_t low, high;
} range;

typedef struct regex_program {
    instruction *code;
    size_t count, capacity;
    range *ranges;
    size_t range_count, range_capacity;
} regex_program;

/* The errors are those of regex_compile (class_regex.h). */
pgy_status regex_program_init(regex_program *r, span pattern, pgy_error *err) PGY_MUST_CHECK;
void regex_program_deinit(regex_program *r); /* zeroed memory is fine */

static inline bool regex_is_word(int64_t c)
{
    return c == '_' || (c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'z');
}

#endif
