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
    expect("trt.optimization_profile: profile 1 does not exist",
           "--optimization-profile: profile 1 does not exist");
    expect("or use random.inputs.", "or use --input-shapes.");
    expect("15/16 of free memory; pgy_set_max_memory sets another one",
           "15/16 of free memory; --max-memory sets another one");
    expect("load it with pgy_operators_load", "load it with --op-library");
}

static void test_fields__other_texts_stay(void **state)
{
    (void)state;
    expect("no field here", NULL);
    expect("pgy_version has no option", NULL);
    expect("my_pgy_set_max_memory and pgy_set_max_memory_2", NULL);
    expect("tensor 'pgy_set_max_memory' is missing", NULL);
    expect("config.json is a file", NULL);
    expect("my.config.fp16 and config.fp160", NULL);
    expect("tensor 'config.fp16' is missing", NULL);
    expect("config.has_workspace_limit has no option", NULL);
    expect("float16's config.fp16", "float16's --fp16");
}
