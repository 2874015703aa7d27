/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps a short sorted list. Names whose length differs too much are not measured, so that a model
 * with many names costs little. */
#include "base/suggest.h"

#include <string.h>

enum { LONGEST = 200 }; /* longer names get no suggestions, because nobody types them by hand */

void suggest_offer(suggestions *s, const char *name)
{
    const size_t size = strlen(s->wanted), limit = size / 3 + 1, other = strlen(name);
    if (size > LONGEST || !other || other > size + limit || size > other + limit) return;
    const size_t distance = str_distance(s->wanted, name);
    size_t at = s->count;
    if (distance > limit) return;
    for (size_t i = 0; i < s->count; i++)
        if (strcmp(s->names[i], name) == 0) return;
    while (at > 0 && s->distances[at - 1] > distance) at--;
    if (at == SUGGEST_MOST) return;
    if (s->count < SUGGEST_MOST) s->count++;
    for (size_t k = s->count - 1; k > at; k--) {
        s->names[k] = s->names[k - 1];
        s->distances[k] = s->distances[k - 1];
    }
    s->names[at] = name;
    s->distances[at] = distance;
}

void suggest_append(str *out, const suggestions *s)
{
    for (size_t i = 0; i < s->count; i++)
        str_printf(out, "%s'%.200s'", i ? ", " : "; did you mean ", s->names[i]);
    if (s->count) str_append(out, "?");
}
