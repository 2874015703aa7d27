/* SPDX-License-Identifier: Apache-2.0 */
/* config.save_tactics is obeyed by every way to build an engine. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <polygraphy/engine.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char FIRST[] = TEST_BINARY_DIR "/save_tactics_first.json",
                  SECOND[] = TEST_BINARY_DIR "/save_tactics_second.json",
                  PLAN[] = TEST_BINARY_DIR "/save_tactics.plan";

static pgy_model *load(const char *name)
{
    char path[512];
    pgy_model *m = NULL;
    pgy_error err = {0};
    snprintf(path, sizeof path, "%s/examples/models/%s", TEST_SOURCE_DIR, name);
    if (pgy_model_load(&m, path, NULL, &err)) fail_msg("%s", err.text);
    return m;
}

static void build(const char *name, const char *save, const char *replay)
{
    const pgy_build_config config = {.size = sizeof config,
                                     .has_optimization_level = true,
                                     .save_tactics = save,
                                     .load_tactics = replay};
    pgy_model *m = load(name);
    pgy_engine *e = NULL;
    pgy_error err = {0};
    if (pgy_engine_build(&e, m, &config, &err)) fail_msg("%s", err.text);
    pgy_engine_release(e);
    pgy_model_destroy(m);
}

static char *read_whole(const char *path)
{
    static char text[2][65536];
    static int turn;
    char *to = text[turn++ % 2];
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    to[fread(to, 1, sizeof text[0] - 1, f)] = 0;
    fclose(f);
    return to;
}

static void test_save_tactics__an_engine_that_is_built_writes_them(void **state)
{
    (void)state;
    remove(FIRST);
    build("digits.onnx", FIRST, NULL);
    assert_non_null(strstr(read_whole(FIRST), "conv"));
    build("digits.onnx", SECOND, FIRST);
    assert_string_equal(read_whole(FIRST), read_whole(SECOND));
    remove(SECOND);
}

static void test_save_tactics__a_plan_that_is_built_writes_them(void **state)
{
    (void)state;
    const pgy_build_config config = {
        .size = sizeof config, .has_optimization_level = true, .save_tactics = SECOND};
    pgy_model *m = load("digits.onnx");
    pgy_error err = {0};
    build("digits.onnx", FIRST, NULL);
    remove(SECOND);
    if (pgy_plan_build(PLAN, m, &config, &err)) fail_msg("%s", err.text);
    assert_string_equal(read_whole(FIRST), read_whole(SECOND));
    pgy_model_destroy(m);
    remove(PLAN);
    remove(FIRST);
    remove(SECOND);
}

/* A graph that is interpreted has no tactics. */
static void test_save_tactics__a_model_whose_shapes_depend_on_data_writes_none(void **state)
{
    (void)state;
    remove(FIRST);
    build("data_dependent.onnx", FIRST, NULL);
    assert_int_not_equal(access(FIRST, F_OK), 0);
}
