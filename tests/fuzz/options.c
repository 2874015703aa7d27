/* SPDX-License-Identifier: Apache-2.0 */
/* The option parser: the first byte chooses a command, the rest is its line, one word between two
 * NUL bytes. Words that begin with a byte over 0x7F stand for a spelling of that command, so that
 * the search does not have to invent them. */
#include <stdlib.h>
#include <string.h>

#include "cli/program_polygraphy.h"

enum { MAX_WORDS = 64 };

typedef struct spellings {
    span items[512];
    size_t count;
} spellings;

static void collect(const option_group *group, const pgy_option *row, void *user)
{
    spellings *s = user;
    span name;
    (void)group;
    for (size_t i = 0; s->count < 512 && option_spelling(&name, row, i); i++)
        s->items[s->count++] = name;
}

/* The word at p, terminated, in memory of its own, so that reading past its end is found. */
static char *make_word(const char *p, size_t size, const spellings *known)
{
    str text = {0};
    if (size && (unsigned char)p[0] > 0x7F && known->count) {
        span name = known->items[((unsigned char)p[0] & 0x7F) * known->count / 0x80];
        str_append_n(&text, name.data, name.size);
        p++, size--;
    }
    str_append_n(&text, p, size);
    char *word = malloc(text.size + 1);
    if (word) memcpy(word, str_text(&text), text.size + 1);
    str_deinit(&text);
    return word;
}

static void parse(const command *c, int count, const char *const *words)
{
    args line = {0};
    args_outcome outcome = ARGS_OK;
    pgy_error err = {0};
    if (!command_open(&line, &PROGRAM_POLYGRAPHY, c, &err) &&
        !args_parse(&line, &outcome, count, words, &err)) {
        str usage = {0};
        args_print_usage(&usage, &line, 80);
        str_deinit(&usage);
        /* The log is closed here, and a log file would be written. */
        bool writes = false;
        for (int i = 0; i < count; i++) writes = writes || strstr(words[i], "--log") == words[i];
        if (outcome == ARGS_OK && !writes) {
            pgy_status st = args_finish(&line, &err);
            if (st && !err.text[0]) abort(); /* a failure without a word */
        }
    }
    if (line.groups) args_deinit(&line);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static spellings known;
    char *words[MAX_WORDS];
    int count = 0;
    if (size == 0 || size > 4096) return 0;
    size_t commands = 0;
    while (PROGRAM_POLYGRAPHY.commands[commands]) commands++;
    const command *c = PROGRAM_POLYGRAPHY.commands[data[0] % commands];
    known.count = 0;
    args_visit(command_groups(c), collect, &known);
    const char *p = (const char *)data + 1, *end = (const char *)data + size;
    while (p < end && count < MAX_WORDS) {
        const char *stop = memchr(p, 0, (size_t)(end - p));
        if (!stop) stop = end;
        words[count] = make_word(p, (size_t)(stop - p), &known);
        if (!words[count]) break;
        count++;
        p = stop + 1;
    }
    parse(c, count, (const char *const *)words);
    for (int i = 0; i < count; i++) free(words[i]);
    return 0;
}
