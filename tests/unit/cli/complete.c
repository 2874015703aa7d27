/* SPDX-License-Identifier: Apache-2.0 */
/* Completion prints to stdout, so the tests read what a pipe caught. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "cli/complete.h"
#include "cli/manual.h"
#include "cli/program_polygraphy.h"

static char caught[1 << 20];

static void catch_words(int count, const char *const *words)
{
    FILE *file = tmpfile();
    assert_non_null(file);
    fflush(stdout);
    int saved = dup(STDOUT_FILENO);
    assert_true(dup2(fileno(file), STDOUT_FILENO) >= 0);
    int code = count < 0 ? manual_print(&PROGRAM_POLYGRAPHY, words[0])
                         : complete_words(&PROGRAM_POLYGRAPHY, count, words);
    fflush(stdout);
    assert_true(dup2(saved, STDOUT_FILENO) >= 0);
    close(saved);
    assert_int_equal(code, 0);
    rewind(file);
    caught[fread(caught, 1, sizeof caught - 1, file)] = 0;
    fclose(file);
}

static void test_complete__options_by_prefix(void **state)
{
    (void)state;
    catch_words(3, (const char *[]){"data", "merge", "--o"});
    assert_string_equal(caught, "--output\n");
}

static void test_complete__tools_and_subtools(void **state)
{
    (void)state;
    catch_words(1, (const char *[]){"ins"});
    assert_string_equal(caught, "inspect\n");
    catch_words(2, (const char *[]){"inspect", "s"});
    assert_string_equal(caught, "sparsity\n");
}

static void test_complete__formats(void **state)
{
    (void)state;
    static const struct {
        const char *format, *part;
    } CASES[] = {{"bash", "complete "},
                 {"zsh", "#compdef polygraphy\n"},
                 {"fish", "complete -c"},
                 {"man", ".TH"},
                 {"man", ".SH ENVIRONMENT"},
                 {"markdown", "--load-inputs"},
                 {"parity", "| `surgeon operate` |"}};
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        catch_words(-1, &CASES[i].format);
        if (!strstr(caught, CASES[i].part)) fail_msg("%s lacks %s", CASES[i].format, CASES[i].part);
    }
}
