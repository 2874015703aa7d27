/* SPDX-License-Identifier: Apache-2.0 */
/* A pattern, a zero byte and a text: the automaton of the expression must give the answers of its
 * program, for the whole text and for searches from everywhere, as it learns and once it has. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "ops/class_regex.h"
#include "ops/class_regex_nfa.h"

enum { LARGE_PROGRAM = 500, SHORT_TEXT = 40, LONG_TEXT = 400 };

static void compare(regex *r, nfa *n, const regex_program *program, span text)
{
    if (regex_matches(r, text) != nfa_matches(n, program, text)) abort();
    for (size_t from = 0; from <= text.size; from++) {
        size_t begin = 0, end = 0, wanted_begin = 0, wanted_end = 0;
        const bool found = regex_search(&begin, &end, r, text, from);
        const bool wanted = nfa_search(&wanted_begin, &wanted_end, n, program, text, from);
        if (found != wanted) abort();
        if (found && (begin != wanted_begin || end != wanted_end)) abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *zero = size ? memchr(data, 0, size) : NULL;
    const size_t length = zero ? (size_t)(zero - data) : size;
    const span pattern = {(const char *)data, length};
    span text = {zero ? (const char *)zero + 1 : "", zero ? size - length - 1 : 0};
    regex_program program = {0};
    nfa n = {0};
    regex *r = NULL;
    if (!regex_program_init(&program, pattern, NULL) && !nfa_init(&n, &program, NULL) &&
        !regex_compile(&r, pattern, NULL)) {
        const size_t most = program.count > LARGE_PROGRAM ? SHORT_TEXT : LONG_TEXT;
        if (text.size > most) text.size = most;
        compare(r, &n, &program, text);
        compare(r, &n, &program, text);
    }
    regex_destroy(r);
    nfa_deinit(&n);
    regex_program_deinit(&program);
    return 0;
}
