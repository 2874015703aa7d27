/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <polygraphy/debug.h>

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "harness/model_builder.h"

static const char CANDIDATE[] = "precision_candidate.plan";

/* Records what each trial builds, and passes it if at least `border` layers are marked. */
typedef struct rig {
    size_t border, trials;
    pgy_status failing; /* of builds with fewer layers than `border` */
    char last[256];     /* "a:float32 b:float32 " of the last build */
    size_t marked[16];
} rig;

static pgy_status record(const char *path, pgy_model *model, const pgy_build_config *c, void *user,
                         pgy_error *err)
{
    rig *r = user;
    size_t used = 0;
    (void)model;
    assert_string_equal(path, CANDIDATE);
    r->last[0] = '\0';
    for (size_t i = 0; i < c->layer_type_count; i++)
        used += (size_t)snprintf(r->last + used, sizeof r->last - used, "%s:%s ",
                                 c->layer_types[i].name, pgy_dtype_name(c->layer_types[i].dtype));
    r->marked[r->trials++] = c->layer_type_count;
    if (r->failing && c->layer_type_count < r->border)
        return pgy_error_set(err, r->failing, "the build failed on purpose");
    return PGY_OK;
}

static pgy_status judge(bool *passed, const char *candidate, void *user, pgy_error *err)
{
    const rig *r = user;
    (void)candidate;
    (void)err;
    *passed = r->marked[r->trials - 1] >= r->border;
    return PGY_OK;
}

static pgy_status find(pgy_debug_precision *out, rig *r, pgy_model *model,
                       pgy_debug_precision_options how, pgy_error *err)
{
    const pgy_debug_check check = {.size = sizeof check, .judge = judge, .user = r};
    pgy_debug_options o = pgy_debug_options_default();
    pgy_debug_session *s = NULL;
    o.check = &check;
    o.candidate = CANDIDATE;
    how.size = sizeof how;
    how.build = record;
    how.user = r;
    assert_int_equal(pgy_debug_session_create(&s, &o, NULL), PGY_OK);
    const pgy_status st = pgy_debug_precision_find(out, s, model, &how, err);
    pgy_debug_session_destroy(s);
    return st;
}

static const pgy_build_config FP16 = {.size = sizeof FP16, .fp16 = true};

/* Eight layers. A constant, casts and two layers on integers keep their types. */
static pgy_model *mixed(void)
{
    model_builder b = builder_start(17);
    int64_t one = 1;
    builder_input(&b, "x", PGY_F32, "2, 3");
    builder_ints(&b, "i", "1", &one);
    builder_node(&b, "Shape", "x", "shape");
    builder_node(&b, "Relu", "x", "a");
    builder_attr_ints(&b, builder_node(&b, "Constant", "", "c"), "value_ints", 1, &one);
    builder_attr_int(&b, builder_node(&b, "Cast", "a", "half"), "to", 10);
    builder_attr_int(&b, builder_node(&b, "Cast", "half", "whole"), "to", 1);
    builder_node(&b, "Tanh", "whole", "b");
    builder_node(&b, "Add", "shape i", "more");
    builder_node(&b, "Sigmoid", "b", "d");
    builder_output(&b, "d", PGY_F32, "2, 3");
    builder_output(&b, "more", PGY_I64, "2");
    builder_output(&b, "c", PGY_I64, "1");
    return builder_finish(&b);
}

static void test_precision__marks_only_layers_of_floats(void **state)
{
    (void)state;
    pgy_model *model = mixed();
    pgy_debug_precision p = {0};
    rig r = {.border = 2};
    assert_int_equal(find(&p, &r, model, (pgy_debug_precision_options){.config = &FP16}, NULL),
                     PGY_OK);
    assert_true(p.found);
    assert_int_equal(p.layer_count, 8);
    assert_int_equal(p.count, 6);
    assert_int_equal(p.name_count, 2);
    assert_string_equal(p.names[0], "n1");
    assert_string_equal(p.names[1], "n5");
    assert_int_equal(r.marked[0], 3);
    pgy_debug_precision_free(&p);
    r = (rig){.border = 2};
    const pgy_debug_precision_options back = {.config = &FP16, .reverse = true, .linear = true};
    assert_int_equal(find(&p, &r, model, back, NULL), PGY_OK);
    assert_int_equal(p.count, 3);
    assert_string_equal(p.names[0], "n5");
    assert_string_equal(p.names[1], "n7");
    pgy_debug_precision_free(&p);
    pgy_model_destroy(model);
}

static void test_precision__layers_with_the_largest_errors_come_first(void **state)
{
    (void)state;
    static const pgy_debug_tensor_error ERRORS[] = {{"a", 0.25}, {"d", 0.75}, {"b", 0.5}};
    pgy_model *model = mixed();
    pgy_debug_precision p = {0};
    rig r = {.border = 2};
    pgy_debug_precision_options how = {
        .config = &FP16, .linear = true, .errors = ERRORS, .error_count = 3};
    assert_int_equal(find(&p, &r, model, how, NULL), PGY_OK);
    assert_int_equal(p.count, 2);
    assert_string_equal(p.names[0], "n7");
    assert_string_equal(p.names[1], "n5");
    pgy_debug_precision_free(&p);
    r = (rig){.border = 3};
    how.limit = 2;
    assert_int_equal(find(&p, &r, model, how, NULL), PGY_OK);
    assert_false(p.found);
    assert_int_equal(r.trials, 3);
    pgy_debug_precision_free(&p);
    pgy_error err = {0};
    how.reverse = true;
    assert_int_equal(find(&p, &r, model, how, &err), PGY_E_ARGUMENT);
    assert_non_null(strstr(err.text, "precision.reverse"));
    pgy_model_destroy(model);
}

/* The original reports a failure here. */
static void test_precision__all_layers_are_a_result(void **state)
{
    (void)state;
    pgy_model *model = mixed();
    for (int linear = 0; linear < 2; linear++) {
        pgy_debug_precision p = {0};
        rig r = {.border = 3};
        const pgy_debug_precision_options how = {
            .config = &FP16, .linear = linear, .reverse = true};
        assert_int_equal(find(&p, &r, model, how, NULL), PGY_OK);
        assert_true(p.found);
        assert_int_equal(p.name_count, 3);
        pgy_debug_precision_free(&p);
        r = (rig){.border = 4};
        assert_int_equal(find(&p, &r, model, how, NULL), PGY_OK);
        assert_false(p.found);
        assert_int_equal(p.count, 0);
        assert_int_equal(r.trials, linear ? 9 : 1);
        pgy_debug_precision_free(&p);
    }
    pgy_model_destroy(model);
}

static void test_precision__types_of_the_configuration_hold_in_each_trial(void **state)
{
    (void)state;
    static const pgy_type_choice GIVEN[] = {{"n7", PGY_F32}};
    const pgy_build_config config = {.size = sizeof config,
                                     .int8 = true,
                                     .fp16 = true,
                                     .layer_types = GIVEN,
                                     .layer_type_count = 1};
    pgy_model *model = mixed();
    pgy_debug_precision p = {0};
    rig r = {.border = 2};
    const pgy_debug_precision_options how = {.config = &config, .dtype = PGY_F16, .linear = true};
    assert_int_equal(find(&p, &r, model, how, NULL), PGY_OK);
    assert_int_equal(r.marked[0], 1);
    assert_string_equal(r.last, "n7:float32 n1:float16 ");
    pgy_debug_precision_free(&p);
    pgy_model_destroy(model);
}

static void test_precision__each_layer_has_a_name_of_its_own(void **state)
{
    (void)state;
    model_builder b = builder_start(17);
    builder_input(&b, "x", PGY_F32, "2, 3");
    const char *const NAMES[] = {"same", "same", "s*", "same_2"};
    const char *const TENSORS[] = {"x", "t1", "t2", "t3", "t4"};
    for (size_t i = 0; i < 4; i++)
        builder_node(&b, "Relu", TENSORS[i], TENSORS[i + 1])->name = NAMES[i];
    builder_output(&b, "t4", PGY_F32, "2, 3");
    pgy_model *model = builder_finish(&b);
    pgy_debug_precision p = {0};
    rig r = {.border = 4};
    assert_int_equal(find(&p, &r, model, (pgy_debug_precision_options){.config = &FP16}, NULL),
                     PGY_OK);
    static const char *const OWN[] = {"same", "same_2", "s_", "same_2_2"};
    assert_int_equal(p.name_count, 4);
    for (size_t i = 0; i < 4; i++) assert_string_equal(p.names[i], OWN[i]);
    pgy_debug_precision_free(&p);
    pgy_model_destroy(model);
}

static void test_precision__failed_builds_fail_but_lost_files_end_the_search(void **state)
{
    (void)state;
    pgy_model *model = mixed();
    pgy_debug_precision p = {0};
    pgy_error err = {0};
    rig r = {.border = 2, .failing = PGY_E_UNSUPPORTED};
    const pgy_debug_precision_options how = {.config = &FP16, .linear = true};
    assert_int_equal(find(&p, &r, model, how, &err), PGY_OK);
    assert_int_equal(p.name_count, 2);
    pgy_debug_precision_free(&p);
    r = (rig){.border = 2, .failing = PGY_E_IO};
    assert_int_equal(find(&p, &r, model, how, &err), PGY_E_IO);
    assert_non_null(strstr(err.text, "on purpose"));
    assert_int_equal(r.trials, 1);
    pgy_model_destroy(model);
}

static void test_precision__options_are_checked(void **state)
{
    (void)state;
    static const pgy_build_config NONE = {.size = sizeof NONE, .bf16 = true, .fp8 = true},
                                  INT8 = {.size = sizeof INT8, .int8 = true};
    pgy_model *model = mixed();
    pgy_debug_precision p = {0};
    pgy_error err = {0};
    rig r = {0};
    const struct {
        pgy_debug_precision_options how;
        const char *text;
    } CASES[] = {
        {{.config = &NONE}, "config.tf32, config.fp16 and config.int8 are all off"},
        {{.config = NULL}, "are all off"},
        {{.config = &INT8, .dtype = PGY_F16}, "float16 needs config.fp16"},
        {{.config = &FP16, .dtype = PGY_I8}, "int8 is no higher precision"},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        assert_int_equal(find(&p, &r, model, CASES[i].how, &err), PGY_E_ARGUMENT);
        if (!strstr(err.text, CASES[i].text)) fail_msg("%s", err.text);
    }
    assert_int_equal(r.trials, 0);
    pgy_model_destroy(model);
}
