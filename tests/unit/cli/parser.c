/* SPDX-License-Identifier: Apache-2.0 */
/* The rules of argparse that users of the original meet (each row of its reference). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "cli/args/parser.h"

typedef struct settings {
    const char *file, *out, *maybe, *left, *right;
    pgy_text_list many, any, added, runners;
    int64_t number;
    int loud;
    bool flag;
} settings;

static const char *const COLORS[] = {"red", "blue", NULL};
static const pgy_option OPTIONS[] = {
    PGY_OPT_POSITIONAL("file", settings, file, .help = "h"),
    PGY_OPT_TEXT("-o --output", settings, out, .help = "h"),
    PGY_OPT_TEXT("--maybe", settings, maybe, .nargs = PGY_OPTIONAL, .constant = "given",
                 .help = "h"),
    PGY_OPT_TEXT("--left", settings, left, .exclusive = "side", .help = "h"),
    PGY_OPT_TEXT("--right", settings, right, .exclusive = "side", .help = "h"),
    PGY_OPT_LIST("--many --multiple", settings, many, .nargs = PGY_ONE_OR_MORE, .help = "h"),
    PGY_OPT_LIST("--any", settings, any, .nargs = PGY_ZERO_OR_MORE, .choices = COLORS, .help = "h"),
    PGY_OPT_APPEND("--add", settings, added, .nargs = PGY_ONE_OR_MORE, .help = "h"),
    PGY_OPT_RUNNER("--one", settings, runners, "one", .help = "h"),
    PGY_OPT_RUNNER("--two", settings, runners, "two", .help = "h"),
    PGY_OPT_INT("-n --number", settings, number, .help = "h"),
    PGY_OPT_COUNT("-v --verbose", settings, loud, .help = "h"),
    PGY_OPT_TEXT("--same-thing --same-thread", settings, left, .help = "h"),
    PGY_OPT_TEXT("--outer", settings, left, .hidden = true, .deprecated = "is old"),
    PGY_OPT_FLAG("-f --flag", settings, flag, .help = "h", .deprecated = "is old"),
    PGY_OPT_END,
};
static const option_group GROUP = {.options = OPTIONS, .settings_size = sizeof(settings)};
static const option_group *const GROUPS[] = {&GROUP, NULL};

static args line;
static args_outcome outcome;

static const settings *parse(int argc, const char *const *argv)
{
    assert_int_equal(args_init(&line, "program", "", GROUPS, NULL), PGY_OK);
    assert_int_equal(args_parse(&line, &outcome, argc, argv, NULL), PGY_OK);
    return args_get(&line, &GROUP);
}

static void free_line(void)
{
    if (line.groups) args_deinit(&line);
}

/* What an earlier parse left is freed first. */
#define PARSE(...)                                                                     \
    (free_line(), parse((int)(sizeof((const char *[]){__VA_ARGS__}) / sizeof(char *)), \
                        (const char *[]){__VA_ARGS__}))

static void test_parser__forms(void **state)
{
    (void)state;
    const settings *s = PARSE("m", "--output", "a");
    assert_string_equal(s->out, "a");
    assert_string_equal(s->file, "m");
    assert_string_equal(PARSE("--output=b=c", "m")->out, "b=c");
    assert_string_equal(PARSE("-o", "d", "m")->out, "d");
    assert_string_equal(PARSE("-oe", "m")->out, "e");
    assert_int_equal(PARSE("-vvv", "m")->loud, 3);
    s = PARSE("-vfn7", "m");
    assert_int_equal(s->loud, 1);
    assert_true(s->flag);
    assert_int_equal(s->number, 7);
    free_line();
}

static void test_parser__equals_gives_one_word(void **state)
{
    (void)state;
    const settings *s = PARSE("--many=a b", "m");
    assert_int_equal(s->many.count, 1);
    assert_string_equal(s->many.items[0], "a b");
    assert_string_equal(s->file, "m");
    free_line();
}

static void test_parser__many_takes_all_that_follows(void **state)
{
    (void)state;
    assert_int_equal(PARSE("m", "--many", "a", "b", "-v")->many.count, 2);
    PARSE("--many", "a", "m");
    assert_int_equal(outcome, ARGS_USAGE);
    assert_non_null(strstr(str_text(&line.message), "the following arguments are required: file"));
    assert_non_null(strstr(str_text(&line.message), "--many takes the words that follow it"));
    PARSE("m", "--many");
    assert_string_equal(str_text(&line.message),
                        "argument --many/--multiple: expected at least one argument");
    assert_true(PARSE("m", "--any")->any.given);
    PARSE("m", "--any", "green");
    assert_string_equal(str_text(&line.message),
                        "argument --any: invalid choice: 'green' (choose from 'red', 'blue')");
    free_line();
}

static void test_parser__optional_value(void **state)
{
    (void)state;
    assert_string_equal(PARSE("m", "--maybe")->maybe, "given");
    assert_string_equal(PARSE("m", "--maybe", "x")->maybe, "x");
    assert_null(PARSE("m")->maybe);
    PARSE("--maybe", "m");
    assert_int_equal(outcome, ARGS_USAGE);
    free_line();
}

static void test_parser__negative_numbers_are_values(void **state)
{
    (void)state;
    assert_int_equal(PARSE("m", "-n", "-12")->number, -12);
    assert_string_equal(PARSE("m", "-o", "-2.5")->out, "-2.5");
    PARSE("m", "-o", "-inf");
    assert_int_equal(outcome, ARGS_USAGE);
    assert_string_equal(PARSE("m", "--output=-inf")->out, "-inf");
    assert_int_equal(PARSE("m", "-n", " 1_000 ")->number, 1000);
    PARSE("m", "-n", "1.5");
    assert_string_equal(str_text(&line.message), "argument -n/--number: invalid int value: '1.5'");
    free_line();
}

static void test_parser__double_dash(void **state)
{
    (void)state;
    const settings *s = PARSE("--many", "a", "--", "m");
    assert_int_equal(s->many.count, 1);
    assert_string_equal(s->file, "m");
    assert_string_equal(PARSE("--", "-v")->file, "-v");
    free_line();
}

static void test_parser__repetition(void **state)
{
    (void)state;
    const settings *s = PARSE("m", "-o", "a", "-o", "b", "--many", "1", "2", "--many", "3");
    assert_string_equal(s->out, "b");
    assert_int_equal(s->many.count, 1);
    s = PARSE("m", "--add", "a", "b", "--add", "c");
    assert_int_equal(s->added.count, 5);
    assert_null(s->added.items[2]);
    assert_string_equal(s->added.items[3], "c");
    s = PARSE("m", "--two", "--one", "--two");
    assert_int_equal(s->runners.count, 3);
    assert_string_equal(s->runners.items[0], "two");
    assert_string_equal(s->runners.items[1], "one");
    free_line();
}

static void test_parser__abbreviation(void **state)
{
    (void)state;
    assert_string_equal(PARSE("m", "--out", "x")->out, "x");
    PARSE("m", "--m", "x");
    assert_int_equal(outcome, ARGS_USAGE);
    assert_string_equal(str_text(&line.message),
                        "ambiguous option: --m could match --maybe, --many");
    assert_int_equal(PARSE("m", "--mult", "x")->many.count, 1);
    assert_int_equal(PARSE("m", "--man=x")->many.count, 1);
    free_line();
    assert_int_equal(args_init(&line, "program", "", GROUPS, NULL), PGY_OK);
    line.no_abbreviation = true;
    assert_int_equal(args_parse(&line, &outcome, 3, (const char *[]){"m", "--out", "x"}, NULL),
                     PGY_OK);
    assert_int_equal(outcome, ARGS_UNKNOWN);
    free_line();
}

static void test_parser__a_beginning_may_fit_two_spellings_of_one_option(void **state)
{
    (void)state;
    assert_string_equal(PARSE("m", "--same", "x")->left, "x");
    assert_int_equal(outcome, ARGS_OK);
    assert_string_equal(PARSE("m", "--same-th=y")->left, "y");
    free_line();
}

static void test_parser__older_spellings_are_found_whole_only(void **state)
{
    (void)state;
    assert_string_equal(PARSE("m", "--out", "x")->out, "x"); /* not ambiguous with --outer */
    assert_string_equal(PARSE("m", "--outer", "x")->left, "x");
    PARSE("m", "--oute", "x");
    assert_int_equal(outcome, ARGS_UNKNOWN);
    free_line();
}

static void test_parser__missing_options_are_never_others(void **state)
{
    (void)state;
    static const missing_option MISSING[] = {
        {.commands = "program", .names = "--outlandish", .what = "a", .instead = "use b"},
        {.commands = "program", .names = "--fl", .what = "c"},
        {.commands = "program", .names = "--numb", .older = true, .what = "d"},
        {.commands = "other", .names = "--on", .what = "e"},
        {.commands = "program", .names = "--output", .values = "x.y", .what = "f"}};
    static const struct {
        const char *words[3];
        int count;
        args_outcome outcome;
        const char *message; /* begins so */
    } CASES[] = {
        {{"m", "--fl"}, 2, ARGS_MISSING, "--fl is not available in this build (c); docs/parity.md"},
        {{"m", "--outl=1"},
         2,
         ARGS_MISSING,
         "--outlandish is not available in this build (a); use b; docs/parity.md"},
        {{"m", "--out", "x"}, 3, ARGS_MISSING, "--outlandish is not"},
        {{"m", "--numb"}, 2, ARGS_MISSING, "--numb is not"},
        {{"m", "--num", "1"}, 3, ARGS_OK, ""},
        {{"m", "--on"}, 2, ARGS_OK, ""},
        {{"m", "-o", "x.y"}, 3, ARGS_MISSING, "--output x.y is not available in this build (f)"},
        {{"-h", "--fl"}, 2, ARGS_HELP, ""},
    };
    static const original ORIGINAL = {.page = "docs/parity.md",
                                      .options = MISSING,
                                      .option_count = sizeof MISSING / sizeof *MISSING};
    static const args_dialect DIALECT = {
        .program = "p", .values = &VALUES_BRACKETS, .original = &ORIGINAL};
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        free_line();
        assert_int_equal(args_init(&line, "polygraphy program", "", GROUPS, NULL), PGY_OK);
        line.dialect = &DIALECT;
        assert_int_equal(args_parse(&line, &outcome, CASES[i].count, CASES[i].words, NULL), PGY_OK);
        assert_int_equal(outcome, CASES[i].outcome);
        assert_true(str_starts_with(str_text(&line.message), CASES[i].message));
    }
    free_line();
}

static void test_parser__suggests(void **state)
{
    (void)state;
    str text = {0};
    PARSE("m", "--ouptut", "x");
    args_suggest(&text, &line, "--ouptut");
    assert_true(str_starts_with(str_text(&text), "; did you mean '--output'"));
    str_clear(&text);
    args_suggest(&text, &line, "--ouptut=x");
    assert_true(str_starts_with(str_text(&text), "; did you mean '--output'"));
    str_deinit(&text);
    PARSE("m", "--any", "blu");
    assert_string_equal(
        str_text(&line.message),
        "argument --any: invalid choice: 'blu'; did you mean 'blue'? (choose from 'red', 'blue')");
    free_line();
}

static void test_parser__unknown_and_surplus(void **state)
{
    (void)state;
    PARSE("m", "--bogus", "-v", "extra");
    assert_int_equal(outcome, ARGS_UNKNOWN);
    assert_int_equal(line.unknown.count, 2);
    assert_string_equal(line.unknown.items[0], "--bogus");
    assert_string_equal(line.unknown.items[1], "extra");
    free_line();
}

static void test_parser__exclusion_and_flags(void **state)
{
    (void)state;
    PARSE("m", "--left", "a", "--right", "b");
    assert_string_equal(str_text(&line.message),
                        "argument --right: not allowed with argument --left");
    PARSE("m", "--flag=1");
    assert_string_equal(str_text(&line.message),
                        "argument -f/--flag: ignored explicit argument '1'");
    PARSE("m", "-o");
    assert_string_equal(str_text(&line.message), "argument -o/--output: expected one argument");
    PARSE("m", "-f", "-f");
    assert_int_equal(line.deprecations.count, 1);
    assert_string_equal(line.deprecations.items[0], "-f: is old");
    PARSE("-h");
    assert_int_equal(outcome, ARGS_HELP);
    free_line();
}
