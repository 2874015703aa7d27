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

/* One spelling of an option that this program lacks. */
typedef struct missing_spelling {
    span text;
    const missing_option *option;
} missing_spelling;

/* A classified word of the command line. */
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
    bool stop, help,
        lacks; /* stop: a usage error was written; lacks: it is about a missing option */
    bool out_of_memory;
} parse;

/* Sets a usage error. Only the first call has an effect. */
void parse_fail(parse *p, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The row of -h, which is part of every command. */
extern const pgy_option PARSE_HELP_ROW;
/* Fills the spellings from the tables of the command line; false: out of memory. */
bool parse_collect(parse *p);
/* Finds a word's kind, option and value. `names` gets the candidates of an ambiguous word. */
void parse_classify(const parse *p, word *w, str *names);
void parse_release(parse *p);
/* The option with exactly this name, or NULL. */
const spelling *parse_find(const parse *p, span name);
/* Reports that this program lacks an option, or this value of it if `value` is not NULL. */
void parse_fail_missing(parse *p, span name, const missing_option *option, const char *value);
/* The entry for a value that only the original has; NULL if the original lacks it, too. */
const missing_option *parse_missing_value(const parse *p, const pgy_option *row, const char *value);
/* "-o/--output", as argparse names an option in messages. */
const char *parse_row_title(parse *p, const pgy_option *row);
/* Reports the required options and positionals that are missing. */
void parse_check_required(parse *p);

#endif
