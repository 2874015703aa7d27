/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "cli/program_polygraphy.h"

static void open_line(args *line)
{
    const command *c = command_find(&PROGRAM_POLYGRAPHY, "data", "merge");
    assert_int_equal(command_open(line, &PROGRAM_POLYGRAPHY, c, NULL), PGY_OK);
}

static void test_usage__names_what_is_required(void **state)
{
    (void)state;
    args line = {0};
    str text = {0};
    open_line(&line);
    args_print_usage(&text, &line, 200);
    assert_true(str_starts_with(str_text(&text), "usage: polygraphy data merge [-h]"));
    assert_non_null(strstr(str_text(&text), " -o PATH"));
    assert_null(strstr(str_text(&text), "[-o PATH]"));
    str_deinit(&text);
    args_deinit(&line);
}

static void test_usage__help_keeps_to_the_width_and_hides_older_spellings(void **state)
{
    (void)state;
    args line = {0};
    str text = {0};
    open_line(&line);
    args_print_help(&text, &line, 60);
    assert_non_null(strstr(str_text(&text), "-o PATH"));
    assert_null(strstr(str_text(&text), "--timestamp"));
    for (const char *p = str_text(&text); *p;) {
        size_t size = strcspn(p, "\n"), blanks = strspn(p, " ");
        if (blanks == 0 || blanks == 24)
            assert_true(size <= 60); /* prose; the names of options are not broken */
        p += size + (p[size] == '\n');
    }
    str_deinit(&text);
    args_deinit(&line);
}
