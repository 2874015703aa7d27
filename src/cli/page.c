/* SPDX-License-Identifier: Apache-2.0 */
/* What the commands that make pages share. */
#include "cli/page.h"

#include <string.h>

const char *page_command(args *line)
{
    if (!line->command) return NULL;
    char *text = arena_strdup(&line->memory, line->command);
    if (!text) return NULL;
    char *to = text, *word = text;
    bool quoted = false;
    for (const char *p = line->command; *p; p++) {
        if (*p == '\'') quoted = !quoted;
        if (*p == '/') { /* drop what the word has so far, but for its quote */
            to = word;
            continue;
        }
        *to++ = *p;
        if (*p == ' ' && !quoted) word = to;
        if (*p == '\'' && quoted) word = to;
    }
    *to = 0;
    return text;
}
