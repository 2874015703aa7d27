/* SPDX-License-Identifier: Apache-2.0 */
/* Shapes of a run beside those of the graph. */
#include <stdio.h>
#include <string.h>

#include "viewer/sources/output_pair.h"

enum { LONGEST_SHAPE = 255 };

void output_append_shape(str *out, const pgy_tensor *t)
{
    for (size_t i = 0; i < pgy_tensor_rank(t); i++)
        str_printf(out, "%s%lld", i ? "x" : "", (long long)pgy_tensor_shape(t)[i]);
}

/* Marks where the text of one size may end. A number must be the size; the name of an unknown size
 * may contain any character, also the 'x' between sizes. */
static void mark_ends(bool *ends, const char *text, size_t start, int64_t size)
{
    char number[24];
    const size_t digits = strspn(text + start, "0123456789");
    const bool is_number = digits && (text[start + digits] == 'x' || !text[start + digits]);
    const int length = snprintf(number, sizeof number, "%lld", (long long)size);
    if (is_number) {
        if (digits == (size_t)length && !memcmp(text + start, number, digits))
            ends[start + digits] = true;
        return;
    }
    if (!text[start]) return;
    for (size_t end = start + 1; end == start + 1 || text[end - 1]; end++)
        if (text[end] == 'x' || !text[end]) ends[end] = true;
}

bool shape_may_be(const char *inferred, const pgy_tensor *t)
{
    const size_t rank = pgy_tensor_rank(t), size = strlen(inferred);
    bool starts[LONGEST_SHAPE + 2] = {true};
    if (!rank || !size) return !rank && !size;
    if (size > LONGEST_SHAPE) return true;
    for (size_t d = 0; d < rank; d++) {
        bool ends[LONGEST_SHAPE + 2] = {false}, next[LONGEST_SHAPE + 2] = {false};
        for (size_t i = 0; i < size; i++)
            if (starts[i]) mark_ends(ends, inferred, i, pgy_tensor_shape(t)[d]);
        if (d + 1 == rank) return ends[size];
        for (size_t i = 1; i < size; i++) next[i + 1] = ends[i] && inferred[i] == 'x';
        memcpy(starts, next, sizeof starts);
    }
    return false;
}
