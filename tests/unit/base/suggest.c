/* SPDX-License-Identifier: Apache-2.0 */
/* Names like one that was not found. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "base/suggest.h"

static void assert_suggests(const char *wanted, const char *const *names, const char *text)
{
    suggestions s = {.wanted = wanted};
    str out = {0};
    for (size_t i = 0; names[i]; i++) suggest_offer(&s, names[i]);
    suggest_append(&out, &s);
    assert_string_equal(str_text(&out), text);
    str_deinit(&out);
}

static void test_suggest__the_nearest_first(void **state)
{
    (void)state;
    static const char *const NAMES[] = {"",        "relu_12", "rel",   "relu1", "relu1",
                                        "sigmoid", "relu2",   "gelu1", NULL};
    assert_suggests("relu1", NAMES, "; did you mean 'relu1', 'relu2', 'gelu1'?");
    assert_suggests("relu3", NAMES, "; did you mean 'relu1', 'relu2', 'rel'?");
    assert_suggests("sigmoidd", NAMES, "; did you mean 'sigmoid'?");
}

static void test_suggest__nothing_is_near(void **state)
{
    (void)state;
    static const char *const NAMES[] = {"softmax", "", "conv", NULL};
    char longest[300];
    memset(longest, 'x', sizeof longest);
    longest[sizeof longest - 1] = 0;
    const char *const same[] = {longest, NULL};
    assert_suggests("weights", NAMES, "");
    assert_suggests("", NAMES, "");
    assert_suggests(longest, same, "");
}
