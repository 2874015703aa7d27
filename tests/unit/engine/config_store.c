/* SPDX-License-Identifier: Apache-2.0 */
/* What plans keep of a configuration comes back, and nothing else is taken for it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "engine/build/config_store.h"

enum { MOST = 32 };

typedef struct list {
    config_setting items[MOST];
    size_t count;
} list;

static bool keep(const config_setting *s, void *user)
{
    list *l = user;
    if (l->count < MOST) l->items[l->count] = *s;
    return l->count++ < MOST;
}

static config_setting at(size_t i, const void *user)
{
    return ((const list *)user)->items[i];
}

static pgy_status load(pgy_build_config **out, const list *l, arena *memory, pgy_error *err)
{
    return config_load(out, at, l, l->count, memory, err);
}

static void test_config_store__keeps_what_a_plan_needs(void **state)
{
    (void)state;
    static const pgy_type_choice LAYERS[] = {{"conv*", PGY_F16}, {"fc", PGY_I8}};
    static const char *const MARKED[] = {"a", "b"};
    const pgy_build_config from = {.size = sizeof from,
                                   .threads = 5,
                                   .has_workspace_limit = true,
                                   .workspace_bytes = 1000,
                                   .fp16 = true,
                                   .int8 = true,
                                   .constraints = PGY_CONSTRAINTS_OBEY,
                                   .layer_types = LAYERS,
                                   .layer_type_count = 2,
                                   .cpu_level = PGY_CPU_AVX2,
                                   .debug_tensors = {MARKED, 2, true},
                                   .debug_unfused = true,
                                   .save_tactics = "here.json", /* of the build alone */
                                   .profiling_verbosity = PGY_VERBOSITY_NONE};
    list l = {0};
    arena memory = {0};
    pgy_error err = {0};
    pgy_build_config *to = NULL;
    assert_true(config_save(&from, keep, &l));
    if (load(&to, &l, &memory, &err)) fail_msg("%s", err.text);
    assert_int_equal(to->size, sizeof *to);
    assert_int_equal(to->threads, 5);
    assert_true(to->has_workspace_limit && to->workspace_bytes == 1000);
    assert_true(to->fp16 && to->int8 && !to->bf16 && to->debug_unfused);
    assert_int_equal(to->constraints, PGY_CONSTRAINTS_OBEY);
    assert_int_equal(to->cpu_level, PGY_CPU_AVX2);
    assert_int_equal(to->profiling_verbosity, PGY_VERBOSITY_NONE);
    assert_int_equal(to->layer_type_count, 2);
    assert_string_equal(to->layer_types[0].name, "conv*");
    assert_int_equal(to->layer_types[1].dtype, PGY_I8);
    assert_int_equal(to->debug_tensors.count, 2);
    assert_string_equal(to->debug_tensors.items[1], "b");
    assert_null(to->save_tactics);
    arena_deinit(&memory);
}

static void test_config_store__defaults_take_no_room(void **state)
{
    (void)state;
    const pgy_build_config from = {.size = sizeof from};
    list l = {0};
    assert_true(config_save(&from, keep, &l));
    assert_int_equal(l.count, 0);
}

static void test_config_store__refuses_what_is_no_setting(void **state)
{
    (void)state;
    static const config_setting WRONG[] = {
        {.field = "warp_speed", .value = 1},    /* of a later version */
        {.field = "save_tactics", .text = "x"}, /* not kept in plans */
        {.field = "fp16", .value = 2},
        {.field = "constraints", .text = "MAYBE"},
        {.field = "constraints"},
        {.field = "layer_types", .text = "conv", .value = 9999},
        {.field = "layer_types", .text = "conv", .value = INT64_MAX},
        {.field = "layer_types", .value = 1},
        {.field = "debug_tensors"},
        {.field = NULL},
    };
    for (size_t i = 0; i < sizeof WRONG / sizeof *WRONG; i++) {
        const list l = {.items = {WRONG[i]}, .count = 1};
        pgy_build_config *to = NULL;
        pgy_error err = {0};
        arena memory = {0};
        assert_int_equal(load(&to, &l, &memory, &err), PGY_E_FORMAT);
        assert_null(to);
        if (WRONG[i].field) assert_non_null(strstr(err.text, WRONG[i].field));
        arena_deinit(&memory);
    }
}
