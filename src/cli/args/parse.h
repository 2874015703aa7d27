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
    char kind;              /* 'A': argument, 'O': option, '-': the first "--" */
    const spelling *option; /* for kind 'O': the option; NULL: this program does not have it */
    /* for an unknown option: the original's option of this name, or NULL */
    const missing_spelling *missing;
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
    const spelling **used; /* options that were given: to check exclusions and required options */
    size_t used_count, used_capacity;
    bool stop, help, lacks; /* stop: a usage error was written; lacks: that error names an option of
                               the original that this program does not have */
    bool out_of_memory;
} parse;

/* Sets a usage error. Only the first call has an effect. */
void parse_fail(parse *p, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The option -h, which every command has. */
extern const pgy_option PARSE_HELP_ROW;
/* Collects all spellings from the command's option tables. False: out of memory. */
bool parse_collect(parse *p);
/* Finds a word's kind, option and value. For an ambiguous prefix, `names` gets the options that it
 * could mean. */
void parse_classify(const parse *p, word *w, str *names);
void parse_release(parse *p);
/* The option with exactly this name, or NULL. */
const spelling *parse_find(const parse *p, span name);
/* Reports that this program lacks an option, or, if `value` is not NULL, only that value of the
 * option. */
void parse_fail_missing(parse *p, span name, const missing_option *option, const char *value);
/* The table entry for an option's value that only the original accepts; NULL: it does not accept it
 * either. */
const missing_option *parse_missing_value(const parse *p, const pgy_option *row, const char *value);
/* "-o/--output", as argparse names an option in messages. */
const char *parse_row_title(parse *p, const pgy_option *row);
/* Reports the required options and positionals that are missing. */
void parse_check_required(parse *p);

#endif
