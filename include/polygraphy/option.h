/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Tables of command-line options. Programs and backends describe their options by the same type of
 * row.
 *
 * A table ends with PGY_OPT_END. Each row names a member of a settings struct; the parser
 * (argparse's rules) writes there. Types are checked at compile time by the macros. The caller
 * fills the settings struct with defaults before parsing.
 *
 *     typedef struct { int64_t seed; pgy_text_list range; } loader_args;
 *     static const pgy_option OPTIONS[] = {
 *         PGY_OPT_INT("--seed", loader_args, seed, .meta = "SEED", .help = "seed"),
 *         PGY_OPT_LIST("--val-range", loader_args, range, .nargs = PGY_ONE_OR_MORE,
 *                      .meta = "[NAME:][LO,HI]", .help = "range of values"),
 *         PGY_OPT_END
 *     };
 */
#ifndef POLYGRAPHY_OPTION_H
#define POLYGRAPHY_OPTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Words given to an option; borrowed from the argument vector. */
typedef struct pgy_text_list {
    const char *const *items;
    size_t count;
    bool given;
} pgy_text_list;

typedef enum pgy_option_kind {
    PGY_OPTION_END,
    PGY_OPTION_FLAG,      /**< bool: set to true */
    PGY_OPTION_COUNT,     /**< int: incremented each time */
    PGY_OPTION_INT,       /**< int64_t: Python int() syntax */
    PGY_OPTION_TEXT,      /**< const char * */
    PGY_OPTION_LIST,      /**< pgy_text_list: the words of the last occurrence */
    PGY_OPTION_APPEND,    /**< pgy_text_list: the words of all occurrences, a NULL item after each
                             occurrence */
    PGY_OPTION_RUNNER,    /**< pgy_text_list: appends the option's own name (order of runners) */
    PGY_OPTION_POSITIONAL /**< const char * (nargs one or optional) or pgy_text_list */
} pgy_option_kind;

typedef enum pgy_option_nargs {
    PGY_ONE = 0,
    PGY_NONE,
    PGY_OPTIONAL,
    PGY_ZERO_OR_MORE,
    PGY_ONE_OR_MORE,
    PGY_REST
} pgy_option_nargs;

typedef struct pgy_option {
    const char *names; /**< "--rtol --rel-tol" or "-o --output": all spellings, blank-separated;
                          positional: its name */
    pgy_option_kind kind;
    pgy_option_nargs nargs;
    size_t offset; /**< offset of the member in the settings struct */
    bool required;
    bool alone; /**< prints information and ends the program, so options that are otherwise required
                   may be missing */
    const char *const *choices; /**< NULL-ended list, or NULL */
    bool opens;                 /**< values are files; one that is not readable is a usage error */
    const char *constant;       /**< PGY_OPTIONAL: value if none is given; RUNNER: text to append */
    const char *meta;           /**< placeholder of the value in help */
    const char *help;
    const char *exclusive;  /**< rows of a command with the same text here exclude each other */
    bool hidden;            /**< accepted, not shown */
    const char *deprecated; /**< warning shown when the option is used: names its replacement */
} pgy_option;

#define PGY_OPT_AT(type, member, ctype) \
    .offset = offsetof(type, member) +  \
              0 * sizeof(char[sizeof(((type *)0)->member) == sizeof(ctype) ? 1 : -1])
#define PGY_OPT_FLAG(names_, type, member, ...)                      \
    {                                                                \
        .names = names_, .kind = PGY_OPTION_FLAG, .nargs = PGY_NONE, \
        PGY_OPT_AT(type, member, bool), __VA_ARGS__                  \
    }
#define PGY_OPT_COUNT(names_, type, member, ...)                      \
    {                                                                 \
        .names = names_, .kind = PGY_OPTION_COUNT, .nargs = PGY_NONE, \
        PGY_OPT_AT(type, member, int), __VA_ARGS__                    \
    }
#define PGY_OPT_INT(names_, type, member, ...)                                                  \
    {                                                                                           \
        .names = names_, .kind = PGY_OPTION_INT, PGY_OPT_AT(type, member, int64_t), __VA_ARGS__ \
    }
#define PGY_OPT_TEXT(names_, type, member, ...)                                           \
    {                                                                                     \
        .names = names_, .kind = PGY_OPTION_TEXT, PGY_OPT_AT(type, member, const char *), \
        __VA_ARGS__                                                                       \
    }
#define PGY_OPT_LIST(names_, type, member, ...)                                            \
    {                                                                                      \
        .names = names_, .kind = PGY_OPTION_LIST, PGY_OPT_AT(type, member, pgy_text_list), \
        __VA_ARGS__                                                                        \
    }
#define PGY_OPT_APPEND(names_, type, member, ...)                                            \
    {                                                                                        \
        .names = names_, .kind = PGY_OPTION_APPEND, PGY_OPT_AT(type, member, pgy_text_list), \
        __VA_ARGS__                                                                          \
    }
#define PGY_OPT_RUNNER(names_, type, member, constant_, ...)                        \
    {                                                                               \
        .names = names_, .kind = PGY_OPTION_RUNNER, .nargs = PGY_NONE,              \
        PGY_OPT_AT(type, member, pgy_text_list), .constant = constant_, __VA_ARGS__ \
    }
#define PGY_OPT_POSITIONAL(name_, type, member, ...)                                     \
    {                                                                                    \
        .names = name_, .kind = PGY_OPTION_POSITIONAL, .offset = offsetof(type, member), \
        __VA_ARGS__                                                                      \
    }
#define PGY_OPT_END            \
    {                          \
        .kind = PGY_OPTION_END \
    }

#ifdef __cplusplus
}
#endif
#endif
