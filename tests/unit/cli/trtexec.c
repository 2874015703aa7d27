/* SPDX-License-Identifier: Apache-2.0 */
/* Words of trtexec and what is written here instead. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "cli/args/trtexec.h"

static void test_trtexec__shapes(void **state)
{
    (void)state;
    static const char *const CASES[][2] = {{"a:1x3", "'a:[1,3]'"},
                                           {"a:1x-1,b:2", "'a:[1,-1]' 'b:[2]'"},
                                           {"x:0:4x28", "'x:0:[4,28]'"},
                                           {"'a b':7", "'a b:[7]'"},
                                           {"a:scalar,b:", "'a:[]' 'b:[]'"}};
    static const char *const WRONG[] = {"",        "a",     "1x3",     ":1x3",  "a:1x",   "a:x3",
                                        "a:1,3",   "a:[1]", "a:1x3,",  ",a:1",  "a:-",    "a:1--2",
                                        "a:1xbig", "'':1",  "a:1x3 b", "a:1-x", "a:1x3,b"};
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        str text = {0};
        assert_true(trtexec_shapes(&text, CASES[i][0]));
        assert_string_equal(str_text(&text), CASES[i][1]);
        str_deinit(&text);
    }
    for (size_t i = 0; i < sizeof WRONG / sizeof *WRONG; i++) {
        str text = {0};
        if (trtexec_shapes(&text, WRONG[i])) fail_msg("'%s' is read as %s", WRONG[i], text.data);
        assert_int_equal(text.size, 0);
        str_deinit(&text);
    }
}

static void test_trtexec__options(void **state)
{
    (void)state;
    static const char *const CASES[][2] = {
        {"--optShapes=a:1", "'--optShapes' is an option of trtexec; use --trt-opt-shapes 'a:[1]'"},
        {"--maxshapes",
         "'--maxShapes' is an option of trtexec; use --trt-max-shapes 'NAME:[1,3,224,224]'"},
        {"--saveEngine=x", "'--saveEngine' is an option of trtexec; use --save-engine x"},
        {"--saveEngine", "'--saveEngine' is an option of trtexec; use --save-engine VALUE"},
        {"--directIO", "'--directIO' is an option of trtexec; use --direct-io"}};
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        str text = {0};
        assert_true(trtexec_advice(&text, CASES[i][0]));
        assert_string_equal(str_text(&text), CASES[i][1]);
        str_deinit(&text);
    }
    str none = {0};
    assert_false(trtexec_advice(&none, "--save-engine=x"));
    assert_false(trtexec_advice(&none, "--saveEngines"));
    assert_int_equal(none.size, 0);
}
