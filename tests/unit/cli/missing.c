/* SPDX-License-Identifier: Apache-2.0 */
/* Every option and tool of the original, of 0.53.6 and of older releases, is here or is known to be
 * missing. tests/data/cli/options.txt is made from the original's parsers by
 * tests/parity/options.py; options_older.txt lists what older releases had besides. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "cli/missing.h"
#include "cli/program_polygraphy.h"

#define DATA TEST_SOURCE_DIR "/tests/data/cli/"

typedef struct listed {
    char command[64]; /* one of those that the line names */
    char *names, *arity;
} listed;

typedef void (*visitor)(const listed *option);

static const command *find_command(const char *name)
{
    const char *blank = strchr(name, ' ');
    char tool[64];
    snprintf(tool, sizeof tool, "%.*s", blank ? (int)(blank - name) : 60, name);
    return command_find(&PROGRAM_POLYGRAPHY, tool, blank ? blank + 1 : NULL);
}

static const missing_tool *find_missing(const char *name)
{
    const char *blank = strchr(name, ' ');
    char tool[64];
    snprintf(tool, sizeof tool, "%.*s", blank ? (int)(blank - name) : 60, name);
    return missing_tool_find(PROGRAM_POLYGRAPHY.dialect.original, tool, blank ? blank + 1 : NULL);
}

/* Calls `visit` for each option of each command in a file; returns how many. */
static size_t visit_listed(const char *path, visitor visit)
{
    char line[512];
    size_t count = 0;
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    while (fgets(line, sizeof line, file)) {
        if (line[0] == '#') continue;
        char *names = strstr(line, " | "), *arity = names ? strstr(names + 3, " | ") : NULL;
        assert_non_null(arity);
        *names = *arity = 0;
        arity[3 + strcspn(arity + 3, "\n")] = 0;
        for (char *at = line; at && *at; count++) {
            listed option = {.names = names + 3, .arity = arity + 3};
            char *comma = strchr(at, ',');
            snprintf(option.command, sizeof option.command, "%.*s", comma ? (int)(comma - at) : 60,
                     at);
            visit(&option);
            at = comma ? comma + 2 : NULL;
        }
    }
    fclose(file);
    return count;
}

static void open_line(args *line, const char *name)
{
    const command *c = find_command(name);
    assert_non_null(c);
    assert_int_equal(command_open(line, &PROGRAM_POLYGRAPHY, c, NULL), PGY_OK);
}

/* The words an option takes, as argparse writes it. */
static const char *arity_of(const pgy_option *row)
{
    static const char *const TEXTS[] = {
        [PGY_ONE] = "one",        [PGY_NONE] = "none",     [PGY_OPTIONAL] = "?",
        [PGY_ZERO_OR_MORE] = "*", [PGY_ONE_OR_MORE] = "+", [PGY_REST] = "rest"};
    return TEXTS[row->nargs];
}

/* An option that takes at least what the original's takes, or says that it is missing. */
static void check_known(const listed *option)
{
    args line = {0};
    span name;
    if (find_missing(option->command)) return;
    open_line(&line, option->command);
    for (size_t i = 0; option_word(&name, option->names, i); i++) {
        char word[64];
        args_match match;
        snprintf(word, sizeof word, "%.*s", (int)name.size, name.data);
        assert_int_equal(args_match_word(&match, &line, word, NULL), PGY_OK);
        if (!match.row && !match.missing) fail_msg("%s %s is not known", option->command, word);
        const char *arity = match.row ? arity_of(match.row) : option->arity;
        if (strcmp(arity, option->arity) && !(*arity == '*' && *option->arity == '+'))
            fail_msg("%s %s takes %s, not %s", option->command, word, arity, option->arity);
    }
    args_deinit(&line);
}

static void test_missing__every_option_of_the_original_is_known(void **state)
{
    (void)state;
    assert_int_equal(visit_listed(DATA "options.txt", check_known), 1042);
    assert_true(visit_listed(DATA "options_older.txt", check_known) > 90);
}

static void refuse(const char *where, const char *name, const char *value)
{
    args line = {0};
    args_outcome outcome;
    const char *words[] = {name, value};
    open_line(&line, where);
    assert_int_equal(args_parse(&line, &outcome, value ? 2 : 1, words, NULL), PGY_OK);
    if (outcome != ARGS_MISSING) fail_msg("%s %s is accepted", where, name);
    const char *text = str_text(&line.message);
    assert_true(str_starts_with(text, name));
    if (value) assert_non_null(strstr(text, value));
    assert_non_null(strstr(text, "is not available in this build"));
    assert_non_null(strstr(text, "docs/parity.md"));
    assert_null(strchr(text, '\n'));
    args_deinit(&line);
}

/* Each row names commands that there are and options that these do not have. */
static void check_row(const missing_option *option)
{
    char where[64], name[64], value[64];
    span word, one;
    assert_true(option->what && option->what[0]);
    for (const char *at = option->commands; *at;) {
        const size_t size = strcspn(at, ",");
        snprintf(where, sizeof where, "%.*s", (int)size, at);
        for (size_t i = 0; option_word(&word, option->names, i); i++) {
            snprintf(name, sizeof name, "%.*s", (int)word.size, word.data);
            if (!option->values) refuse(where, name, NULL);
            for (size_t v = 0; option->values && option_word(&one, option->values, v); v++) {
                snprintf(value, sizeof value, "%.*s", (int)one.size, one.data);
                refuse(where, name, value);
            }
        }
        at += size;
        while (*at == ',' || *at == ' ') at++;
    }
}

static void test_missing__rows_refuse(void **state)
{
    (void)state;
    const original *o = PROGRAM_POLYGRAPHY.dialect.original;
    assert_true(o->option_count > 40);
    for (size_t i = 0; i < o->option_count; i++) check_row(&o->options[i]);
}

static void test_missing__tools_that_are_there_are_not_missing(void **state)
{
    (void)state;
    const original *o = PROGRAM_POLYGRAPHY.dialect.original;
    for (size_t i = 0; i < o->tool_count; i++) {
        if (find_command(o->tools[i].name)) fail_msg("%s is there", o->tools[i].name);
        assert_ptr_equal(find_missing(o->tools[i].name), &o->tools[i]);
    }
    assert_null(missing_tool_find(o, "run", NULL));
    assert_null(missing_tool_find(o, "debug", "nothing"));
    assert_null(missing_tool_find(NULL, "debug", "build"));
    assert_non_null(missing_tool_find(o, "surgeon", NULL));
    assert_non_null(missing_tool_find(o, "to-json", "x.pickle"));
}

/* --tf is a runner, not short for --tf32. */
static void test_missing__no_prefix_of_another_option(void **state)
{
    (void)state;
    static const struct {
        const char *word, *name;
        bool missing;
    } CASES[] = {{"--tf", "--tf", true},
                 {"--tf3", "--tf32", false},
                 {"--tft", "--tftrt", true},
                 {"--freeze", "--freeze-graph", true},
                 {"--ckpt=x", "--ckpt", true},
                 {"--trt-config-s=x.py", "--trt-config-script", true},
                 {"--trt-leg", NULL, false},
                 {"--model", "--model-type", false},
                 {"--fp-to", "--fp-to-fp16", false},
                 {"--timest", NULL, false}};
    args line = {0};
    open_line(&line, "run");
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        args_match match;
        assert_int_equal(args_match_word(&match, &line, CASES[i].word, NULL), PGY_OK);
        assert_int_equal(match.missing != NULL, CASES[i].missing);
        assert_int_equal(match.row != NULL, CASES[i].name && !CASES[i].missing);
        if (CASES[i].name) assert_true(span_equals(match.name, CASES[i].name));
    }
    args_deinit(&line);
}
