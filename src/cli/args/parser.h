/* SPDX-License-Identifier: Apache-2.0 */
/* The option parser: argparse's rules over tables of pgy_option, independent of any command. A
 * command line is a list of groups, each with its own settings struct that the parser fills.
 * Settings are looked up by type, so commands share groups and variants of a group. */
#ifndef CLI_ARGS_PARSER_H
#define CLI_ARGS_PARSER_H

#include <polygraphy/base.h>
#include <polygraphy/option.h>

#include "base/arena.h"
#include "base/str.h"
#include "cli/args/original.h"
#include "cli/args/values.h"

typedef struct args args;

/* Options that belong together: one block of the help, stored in one struct. Variants of a group
 * have other options or checks but the same settings struct. A command has at most one variant, and
 * code that uses the settings need not know which. */
typedef struct option_group {
    const char *title;       /* "Data Loader"; NULL = the command's own options */
    const char *description; /* "Options related to ..." */
    const pgy_option *options;
    const char *settings_type; /* name of the settings struct, by which args_find finds it; set by
                                  ARGS_TYPE */
    size_t settings_size;
    void (*defaults)(void *settings); /* NULL: all settings start as zero */
    /* Checks and converts the settings after parsing. Runs in the order of the groups and may read
     * other groups' settings. NULL: nothing to do. */
    pgy_status (*finish)(void *settings, args *line, pgy_error *err);
    void (*release)(void *settings); /* NULL: the settings own no memory */
} option_group;
#define ARGS_TYPE(type) .settings_type = #type, .settings_size = sizeof(type)

/* The parts of a command line's syntax that differ between programs. */
typedef struct args_dialect {
    const char *program;             /* its name, {program} in texts */
    const value_syntax *values;      /* syntax of lists and shapes */
    const struct original *original; /* the program that this one follows, or NULL */
    /* Appends advice if the word is an option of a similar program (trtexec); false: it is not.
     * NULL: there is no advice. */
    bool (*advise)(str *out, const char *word);
} args_dialect;
extern const args_dialect ARGS_PLAIN; /* for command lines outside a program */
/* Appends a text. {program} becomes the name of the program, and {shape} an image's shape in the
 * program's syntax. */
void args_expand(str *out, const args_dialect *dialect, const char *text);

/* The outcome of parsing. */
typedef enum args_outcome {
    ARGS_OK,
    ARGS_HELP,    /* -h was given */
    ARGS_USAGE,   /* misuse: message holds the text after "error: ", exit 2 */
    ARGS_MISSING, /* a missing_option was given: in `message`, exit 1 */
    ARGS_UNKNOWN  /* unrecognized words: in `unknown`, exit 1 */
} args_outcome;

struct args {
    const char *name;    /* "PROGRAM inspect model" */
    const char *command; /* the whole command line, quoted for the shell; NULL: unknown */
    bool writes_script;  /* set by a finish: the command runs nothing, it writes a script */
    int exit_status;     /* set by a command that ran and did not pass; 0: the usual one */
    const char *description;
    const char *common;   /* blank-separated spellings that help shows first, or NULL */
    const char *examples; /* lines for the help, or NULL */
    const args_dialect *dialect;
    const option_group *const *groups; /* NULL-ended */
    void **settings;                   /* indexed like `groups`: the group's settings struct */
    bool no_abbreviation; /* no prefixes of options: for commands where one option takes all
                             following words */
    arena memory;         /* words and converted values live here */
    str message;
    strvec unknown;
    strvec deprecations; /* warnings about old spellings, logged once logging is set up */
};

/* groups must outlive the args. @return PGY_E_MEMORY */
pgy_status args_init(args *a, const char *name, const char *description,
                     const option_group *const *groups, pgy_error *err) PGY_MUST_CHECK;
void args_deinit(args *a);
/* The settings of this type; NULL if no group of the command has them. */
void *args_find(const args *a, const char *settings_type);
#define ARGS_OF(line, type) ((type *)args_find(line, #type))
/* The settings of exactly this group; NULL if the command does not have it. */
void *args_get(const args *a, const option_group *group);
/* Fills the settings from argv[0..argc) (program name not included; argv[argc] need not be NULL).
 * On PGY_E_MEMORY nothing is usable. */
pgy_status args_parse(args *a, args_outcome *outcome, int argc, const char *const *argv,
                      pgy_error *err) PGY_MUST_CHECK;
/* Runs every group's finish, in order. */
pgy_status args_finish(args *a, pgy_error *err) PGY_MUST_CHECK;

/* How the parser understands a word. */
typedef struct args_match {
    const pgy_option *row;         /* NULL = no option of this program */
    const missing_option *missing; /* the original's option that it names; NULL: none */
    span name;                     /* the full spelling */
    bool ambiguous;                /* it is a prefix of several options */
} args_match;
pgy_status args_match_word(args_match *out, args *a, const char *word,
                           pgy_error *err) PGY_MUST_CHECK;
/* Appends the dialect's advice for an unrecognized word. False: it has none. */
bool args_advise(str *out, const args *a, const char *word);
/* Appends "did you mean" for an unrecognized word; nothing if no option has a similar name. */
void args_suggest(str *out, const args *a, const char *word);

/* ---- Help (usage.c) ------------------------------------------------------------------------- */
void args_print_usage(str *out, const args *a, size_t width);
void args_print_help(str *out, const args *a, size_t width);
size_t args_help_width(void); /* COLUMNS, the terminal, or 80 */

/* ---- Every option of every group, for checks and generators --------------------------------- */
typedef void (*args_visitor)(const option_group *group, const pgy_option *row, void *user);
void args_visit(const option_group *const *groups, args_visitor visit, void *user);
/* Is `command` ("inspect model") one of "run, inspect model"? */
bool option_is_listed(const char *commands, const char *command);
/* The i-th spelling of an option ("--rtol --rel-tol"); false if there are fewer. */
bool option_spelling(span *out, const pgy_option *row, size_t i);
/* The i-th of blank-separated words; false if there are fewer. */
bool option_word(span *out, const char *words, size_t i);

#endif
