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

/* One spelling of something that is missing in this command. */
typedef struct missing_spelling {
    span text;
    const missing_option *option;
} missing_spelling;

/* A word of the command line after classification. */
typedef struct word {
    const char *text;
    char kind;                       /* 'A', 'O' or '-' */
    const spelling *option;          /* of an 'O'; NULL = unknown option */
    const missing_spelling *missing; /* of an 'O' without option, or NULL */
    bool ambiguous;
    const char *value; /* after "=" or stuck to a short option; NULL = none */
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
    missing_spelling *missing;
    size_t missing_count, missing_capacity;
    positional *positionals;
    size_t positional_count, positional_capacity;
    word *words;
    size_t word_count;
    const spelling **used; /* options seen, for exclusion and required */
    size_t used_count, used_capacity;
    bool stop, help, lacks; /* stop: a usage error was written; lacks: it is of a missing option */
    bool out_of_memory;
} parse;

/* A usage error; only the first counts. */
void parse_fail(parse *p, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The row of -h, which every command has. */
extern const pgy_option PARSE_HELP_ROW;
/* Fills the spellings from the tables of the command line; false: out of memory. */
bool parse_collect(parse *p);
/* Decides what a word is: its kind, option and value. `names`: what an ambiguous one may be. */
void parse_classify(const parse *p, word *w, str *names);
void parse_release(parse *p);
/* The option of this whole name, or NULL. */
const spelling *parse_find(const parse *p, span name);
/* Says that an option, or this value of it (or NULL), is not available here. */
void parse_fail_missing(parse *p, span name, const missing_option *option, const char *value);
/* A value that is missing, not wrong; NULL if it is wrong. */
const missing_option *parse_missing_value(const parse *p, const pgy_option *row, const char *value);
/* "-o/--output", as argparse names an option in messages. */
const char *parse_row_title(parse *p, const pgy_option *row);
/* Says which required options and positionals are missing. */
void parse_check_required(parse *p);

#endif
