/* SPDX-License-Identifier: Apache-2.0 */
#include "support.h"

#include "base/dl.h"

static void test_dl__takes_the_first_that_opens(void **state)
{
    (void)state;
    static const char *const NAMES[] = {"libno-such-thing.so.1", "libm.so.6", "libc.so.6"};
    void *handle = NULL;
    str tried = {0};
    assert_int_equal(dl_open(&handle, NAMES, 3, &tried, NULL), PGY_OK);
    assert_non_null(handle);
    double (*cosine)(double) = NULL;
    void *absent = &handle;
    const dl_symbol symbols[] = {{"cos", (void **)&cosine, true},
                                 {"no_such_function", &absent, false}};
    assert_int_equal(dl_resolve(handle, symbols, 2, NULL), PGY_OK);
    assert_true(cosine(0) == 1);
    assert_null(absent);
    str_deinit(&tried);
}

static void test_dl__says_what_is_missing(void **state)
{
    (void)state;
    static const char *const NAMES[] = {"libno-such-thing.so.1", "libnor-this.so"};
    void *handle = NULL, *a = NULL, *b = NULL;
    str tried = {0};
    pgy_error err = {0};
    assert_int_equal(dl_open(&handle, NAMES, 2, &tried, &err), PGY_E_NOT_FOUND);
    assert_null(handle);
    assert_non_null(strstr(err.text, "libno-such-thing.so.1"));
    assert_non_null(strstr(err.text, "libnor-this.so"));
    assert_non_null(strstr(str_text(&tried), "libnor-this.so"));
    str_deinit(&tried);
    assert_int_equal(dl_open(&handle, NAMES, 0, NULL, &err), PGY_E_NOT_FOUND);
    assert_int_equal(dl_open(&handle, (const char *const[]){"libc.so.6"}, 1, NULL, &err), PGY_OK);
    const dl_symbol symbols[] = {
        {"no_such_one", &a, true}, {"malloc", &b, true}, {"no_such_two", &a, true}};
    assert_int_equal(dl_resolve(handle, symbols, 3, &err), PGY_E_NOT_FOUND);
    assert_string_equal(err.text, "the library lacks the symbols: no_such_one, no_such_two");
}
