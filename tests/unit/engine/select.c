/* SPDX-License-Identifier: Apache-2.0 */
/* Which kernels and layouts a program gets. */
#include <cmocka.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <polygraphy/timing_cache.h>

#include <stdio.h>
#include <string.h>

#include "engine/build/engine.h"
#include "harness/model_builder.h"

/* A row of convolutions on 64 channels: node conv0, conv1 ... */
static pgy_model *convolutions(size_t count)
{
    model_builder b = builder_start(17);
    const int64_t pads[4] = {1, 1, 1, 1};
    char in[32] = "x";
    builder_input(&b, "x", PGY_F32, "1, 64, 28, 28");
    for (size_t i = 0; i < count; i++) {
        char out[32], weights[32], inputs[80], name[32];
        snprintf(out, sizeof out, "y%zu", i);
        snprintf(weights, sizeof weights, "w%zu", i);
        snprintf(inputs, sizeof inputs, "%s %s", in, weights);
        snprintf(name, sizeof name, "conv%zu", i);
        builder_floats(&b, weights, "64, 64, 3, 3", NULL);
        pgy_onnx_node *n = builder_node(&b, "Conv", inputs, out);
        builder_attr_ints(&b, n, "pads", 4, pads);
        memcpy(in, out, sizeof in);
    }
    builder_output(&b, in, PGY_F32, "1, 64, 28, 28");
    return builder_finish_bytes(&b);
}

static program *build(pgy_model *model, const pgy_build_config *config)
{
    engine *e = NULL;
    program *p = NULL;
    pgy_error err = {0};
    if (engine_build(&e, model, config, &err) || engine_program_for(&p, e, 0, &err))
        fail_msg("%s", err.text);
    assert_non_null(p);
    engine_release(e);
    return p;
}

static const program_step *find_step(const program *p, const char *type)
{
    for (size_t i = 0; i < p->step_count; i++)
        if (strcmp(p->steps[i].op_type, type) == 0) return &p->steps[i];
    fail_msg("there is no step %s", type);
    return NULL;
}

static size_t count_steps(const program *p, const char *type)
{
    size_t count = 0;
    for (size_t i = 0; i < p->step_count; i++) count += strcmp(p->steps[i].op_type, type) == 0;
    return count;
}

static pgy_timing_cache *cache_of(pgy_model *model, int64_t level)
{
    pgy_timing_cache *c = NULL;
    assert_int_equal(pgy_timing_cache_create(&c, NULL), PGY_OK);
    const pgy_build_config config = {.size = sizeof config,
                                     .threads = 1,
                                     .has_optimization_level = true,
                                     .optimization_level = level,
                                     .timing_cache = c};
    program_release(build(model, &config));
    return c;
}

static void test_select__levels_say_what_is_measured(void **state)
{
    pgy_model *model = convolutions(1);
    (void)state;
    for (int64_t level = 0; level <= 1; level++) {
        pgy_timing_cache *none = cache_of(model, level);
        assert_int_equal(pgy_timing_cache_count(none), 0);
        pgy_timing_cache_destroy(none);
    }
    pgy_timing_cache *some = cache_of(model, 2), *all = cache_of(model, 4);
    assert_true(pgy_timing_cache_count(all) >= pgy_timing_cache_count(some));
    assert_true(pgy_timing_cache_count(all) > 0);
    pgy_timing_cache_destroy(some);
    pgy_timing_cache_destroy(all);
    pgy_model_destroy(model);
}

static void note_time(pgy_severity severity, const char *text, size_t size_bytes, void *user)
{
    const char word[] = "(estimate";
    (void)severity;
    for (size_t i = 0; i + sizeof word <= size_bytes; i++)
        *(size_t *)user += memcmp(text + i, word, sizeof word - 1) == 0;
}

/* Winograd's convolution needs a third of the work here, but many threads may divide that worse.
 * Portable kernels are too far apart. */
static void test_select__many_threads_measure_more_kernels(void **state)
{
    (void)state;
    size_t times[2] = {0};
    pgy_model *model = convolutions(1);
    assert_int_equal(pgy_log_set_severity(NULL, PGY_LOG_EXTRA_VERBOSE, NULL), PGY_OK);
    for (size_t i = 0; i < 2; i++) {
        const pgy_build_config config = {.size = sizeof config, .threads = i ? 8 : 1};
        pgy_log_set_sink(note_time, &times[i]);
        program_release(build(model, &config));
        pgy_log_set_sink(NULL, NULL);
    }
    assert_true(times[1] >= times[0] + (cpu_features() > CPU_PORTABLE));
    assert_int_equal(pgy_log_set_severity(NULL, PGY_LOG_INFO, NULL), PGY_OK);
    pgy_model_destroy(model);
}

/* Two convolutions of one shape are one use. */
static void test_select__equal_nodes_are_measured_once(void **state)
{
    pgy_model *one = convolutions(1), *three = convolutions(3);
    (void)state;
    pgy_timing_cache *a = cache_of(one, 4), *b = cache_of(three, 4);
    assert_int_equal(pgy_timing_cache_count(a), pgy_timing_cache_count(b));
    pgy_timing_cache_destroy(a);
    pgy_timing_cache_destroy(b);
    pgy_model_destroy(one);
    pgy_model_destroy(three);
}

/* All entries of the cache get this tactic. */
static void overwrite(pgy_timing_cache *c, uint64_t tactic)
{
    pgy_timing_key keys[64];
    const size_t count = pgy_timing_cache_keys(c, keys, 64);
    const pgy_timing_entry entry = {tactic, 1e-6f};
    for (size_t i = 0; i < count && i < 64; i++)
        assert_int_equal(pgy_timing_cache_update(c, &keys[i], &entry, NULL), PGY_OK);
}

/* Kernels that share their layouts with no other cannot be chosen this way: it is enough that some
 * can. */
static void test_select__to_edit_an_entry_is_to_choose_the_kernel(void **state)
{
    pgy_model *model = convolutions(1);
    pgy_timing_cache *c = cache_of(model, 4);
    size_t kernels = 0, obeyed = 0;
    const kernel *k;
    (void)state;
    for (size_t i = 0; (k = kernel_for("", "Conv", i)); i++) {
        if (k->device) continue;
        const pgy_build_config config = {.size = sizeof config, .threads = 1, .timing_cache = c};
        overwrite(c, pgy_timing_tactic(k->name));
        program *p = build(model, &config);
        obeyed += find_step(p, "Conv")->kernel == k;
        kernels++;
        program_release(p);
    }
    assert_true(obeyed >= (kernels > 2 ? 2 : 1));
    pgy_timing_cache_destroy(c);
    pgy_model_destroy(model);
}

static void test_select__an_unknown_tactic_is_measured_anew(void **state)
{
    pgy_model *model = convolutions(1);
    pgy_timing_cache *c = cache_of(model, 4);
    const pgy_build_config config = {.size = sizeof config,
                                     .threads = 1,
                                     .has_optimization_level = true,
                                     .optimization_level = 4,
                                     .timing_cache = c};
    pgy_timing_key keys[64];
    (void)state;
    overwrite(c, 12345);
    program_release(build(model, &config));
    const size_t count = pgy_timing_cache_keys(c, keys, 64);
    for (size_t i = 0; i < count; i++) {
        pgy_timing_entry entry;
        assert_true(pgy_timing_cache_query(&entry, c, &keys[i]));
        assert_non_null(pgy_timing_tactic_name(entry.tactic));
    }
    pgy_timing_cache_destroy(c);
    pgy_model_destroy(model);
}

static void test_select__a_miss_can_be_an_error(void **state)
{
    pgy_model *model = convolutions(1);
    const pgy_build_config config = {.size = sizeof config,
                                     .threads = 1,
                                     .has_optimization_level = true,
                                     .optimization_level = 4,
                                     .error_on_timing_cache_miss = true};
    engine *e = NULL;
    program *p = NULL;
    pgy_error err = {0};
    (void)state;
    assert_int_equal(engine_build(&e, model, &config, &err), PGY_OK);
    assert_int_equal(engine_program_for(&p, e, 0, &err), PGY_E_NOT_FOUND);
    assert_non_null(strstr(err.text, "the timing cache has no time for this node"));
    engine_release(e);
    pgy_model_destroy(model);
}

/* Between convolutions nothing is reordered. */
static void test_select__layouts_hold_through_a_chain(void **state)
{
    pgy_model *model = convolutions(6);
    const pgy_build_config config = {
        .size = sizeof config, .has_optimization_level = true, .optimization_level = 0};
    (void)state;
    program *p = build(model, &config);
    assert_int_equal(count_steps(p, "Conv"), 6);
    assert_true(count_steps(p, "Reorder") <= 2);
    program_release(p);
    pgy_model_destroy(model);
}

/* Two readers of one value share its copy in another layout. */
static void test_select__a_value_is_reordered_once(void **state)
{
    model_builder b = builder_start(17);
    (void)state;
    builder_input(&b, "x", PGY_F32, "1, 64, 28, 28");
    for (int i = 0; i < 4; i++) {
        char name[8], inputs[16], out[8];
        snprintf(name, sizeof name, "w%d", i);
        snprintf(inputs, sizeof inputs, "x w%d", i);
        snprintf(out, sizeof out, "y%d", i);
        builder_floats(&b, name, "64, 64, 3, 3", NULL);
        builder_node(&b, "Conv", inputs, out);
        builder_output(&b, out, PGY_F32, "1, 64, 26, 26");
    }
    pgy_model *model = builder_finish_bytes(&b);
    const pgy_build_config config = {
        .size = sizeof config, .has_optimization_level = true, .optimization_level = 0};
    program *p = build(model, &config);
    size_t of_input = 0;
    for (size_t i = 0; i < p->step_count; i++)
        of_input +=
            strcmp(p->steps[i].op_type, "Reorder") == 0 && strcmp(p->steps[i].label, "x") == 0;
    assert_true(of_input <= 1);
    program_release(p);
    pgy_model_destroy(model);
}

static void test_select__kernels_keep_the_limit_of_the_workspace(void **state)
{
    pgy_model *model = convolutions(2);
    const pgy_build_config config = {
        .size = sizeof config, .threads = 2, .has_workspace_limit = true, .workspace_bytes = 1000};
    (void)state;
    program *p = build(model, &config);
    for (size_t i = 0; i < p->step_count; i++)
        assert_true(p->steps[i].plan.workspace_bytes + 2 * p->steps[i].plan.scratch_bytes <= 1000);
    program_release(p);
    pgy_model_destroy(model);
}

static void test_select__plans_can_be_for_lesser_processors(void **state)
{
    pgy_model *model = convolutions(2);
    const pgy_build_config config = {.size = sizeof config, .cpu_level = PGY_CPU_PORTABLE};
    (void)state;
    program *p = build(model, &config);
    for (size_t i = 0; i < p->step_count; i++)
        if (p->steps[i].kernel) assert_int_equal(p->steps[i].kernel->needs, CPU_PORTABLE);
    program_release(p);
    pgy_model_destroy(model);
}
