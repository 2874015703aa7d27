/* SPDX-License-Identifier: Apache-2.0 */
/* "Did you mean": finds the known names that are most similar to an unknown one. */
#ifndef BASE_SUGGEST_H
#define BASE_SUGGEST_H

#include "base/str.h"

enum { SUGGEST_MOST = 3 };

/* Zero all fields except `wanted`. Names are borrowed until suggest_append. */
typedef struct suggestions {
    const char *wanted;
    const char *names[SUGGEST_MOST]; /* nearest names first; equally near names in the order in
                                        which they were offered */
    size_t distances[SUGGEST_MOST];
    size_t count;
} suggestions;

void suggest_offer(suggestions *s, const char *name);
/* Appends "; did you mean 'a', 'b'?", or nothing if no name is similar. */
void suggest_append(str *out, const suggestions *s);

#endif
