/* SPDX-License-Identifier: Apache-2.0 */
/* A command line while it is parsed. */
#ifndef CLI_ARGS_PARSE_H
#define CLI_ARGS_PARSE_H

#include "cli/args/parser.h"

typedef struct spelling {
    span text;
    const pgy_option *row;
    void *settings;
} spelling;

/* A word of the command line after classification. */
typedef struct word {
    const char *text;
    char kind;              /* 'A', 'O' or '-' */
    const spelling *option; /* of an 'O'; NULL = unknown option */
    const char *value;      /* after "=" or stuck to a short option; NULL = none */
} word;

typedef struct positional {
    const pgy_option *row;
    void *settings;
    bool done;
} positional;

typedef struct parse {
    args *a;
    spelling *spellings;
    size_t spelling_count, spelling_capacity;
    positional *positionals;
    size_t positional_count, positional_capacity;
    word *words;
    size_t word_count;
    const spelling **used; /* options seen, for exclusion and required */
    size_t used_count, used_capacity;
    bool stop, help; /* stop: a usage error was written */
    bool out_of_memory;
} parse;

/* A usage error; only the first counts. */
void parse_fail(parse *p, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* "-o/--output", as argparse names an option in messages. */
const char *parse_row_title(parse *p, const pgy_option *row);
/* Says which required options and positionals are missing. */
void parse_check_required(parse *p);

#endif
