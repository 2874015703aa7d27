/* SPDX-License-Identifier: Apache-2.0 */
/* What the library calls a field, the program calls an option. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cli/fields.h"

static void expect(const char *text, const char *wanted)
{
    str out = {0};
    const bool changed = fields_to_options(&out, text);
    assert_int_equal(changed, wanted != NULL);
    if (wanted) assert_string_equal(str_text(&out), wanted);
    str_deinit(&out);
}

static void test_fields__become_options(void **state)
{
    (void)state;
    expect("run.warm_up requires run.sequential.", "--warm-up requires --sequential-runners.");
    expect("config.workspace_bytes: too much", "--pool-limit: too much");
    expect("(config.refittable)", "(--refittable)");
    expect("onnxrt.onnxrt_threads: 5000 is not in [0, 4096]",
           "--onnxrt-threads: 5000 is not in [0, 4096]");
    expect("trt.optimization_profile: there is no profile 1",
           "--optimization-profile: there is no profile 1");
}

static void test_fields__other_texts_stay(void **state)
{
    (void)state;
    expect("no field here", NULL);
    expect("config.json is a file", NULL);
    expect("my.config.fp16 and config.fp160", NULL);
    expect("tensor 'config.fp16' is missing", NULL);
    expect("config.has_workspace_limit has no option", NULL);
    expect("float16's config.fp16", "float16's --fp16");
}
