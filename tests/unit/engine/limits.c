/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "engine/passes/limits.h"

static size_t index_of(const char *name, size_t occurrence)
{
    for (size_t i = 0; pass_at(i); i++)
        if (!strcmp(pass_at(i)->name, name) && pass_occurrence(i) == occurrence) return i;
    fail_msg("no pass %s", name);
    return 0;
}

static pass_limits read(const char *text)
{
    pass_limits l;
    pgy_error err = {0};
    if (pass_limits_read(&l, text, &err)) fail_msg("%s", err.text);
    return l;
}

static void test_limits__words(void **state)
{
    (void)state;
    const size_t fold = index_of("fold", 1), again = index_of("fold", 2),
                 conv = index_of("fuse_conv", 1);
    pass_limits l = read("");
    for (size_t i = 0; pass_at(i); i++) assert_true(l.most[i] == SIZE_MAX);
    l = read("none");
    for (size_t i = 0; pass_at(i); i++) assert_int_equal(l.most[i], 0);
    l = read("-fold");
    assert_int_equal(l.most[fold] + l.most[again], 0);
    assert_true(l.most[conv] == SIZE_MAX);
    l = read("-fold#2,");
    assert_true(l.most[fold] == SIZE_MAX);
    assert_int_equal(l.most[again], 0);
    l = read("until=fuse_conv:3");
    assert_int_equal(l.most[conv], 3);
    assert_int_equal(l.most[conv + 1], 0);
    assert_true(l.most[conv - 1] == SIZE_MAX);
    l = read("-fuse_conv,until=fuse_conv#1:3");
    assert_int_equal(l.most[conv], 0);
}

static void test_limits__bad_words(void **state)
{
    static const struct {
        const char *text, *error;
    } CASES[] = {
        {"fold", "'fold' is not valid; expected -NAME, until=NAME or none"},
        {"-nix", "'nix' is not a pass; the passes are: inline_functions, normalise, "},
        {"-fold#3", "'fold' is not a pass"},
        {"-fold#", "is not valid"},
        {"until=", "is not valid"},
        {"until=fold:x", "expected until=NAME, until=NAME:REWRITES or"},
        {"until=fold#0", "is not a pass"},
        {"until=fold:99999999999999999999", "is not valid"},
        {"-fuse_conv,nix", "'nix' is not valid"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        pass_limits l;
        pgy_error err = {0};
        assert_int_equal(pass_limits_read(&l, CASES[i].text, &err), PGY_E_ARGUMENT);
        if (!strstr(err.text, CASES[i].error)) fail_msg("%s: %s", CASES[i].text, err.text);
    }
}
