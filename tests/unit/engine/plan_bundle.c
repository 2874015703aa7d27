/* SPDX-License-Identifier: Apache-2.0 */
/* The bundle of a plan's small sections: plans keep their contents in it, and damaged ones are
 * refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "engine/build/engine.h"
#include "engine/plan/plan.h"
#include "engine/plan/records.h"
#include "harness/model_builder.h"
#include "harness/plain_plan.h"

static void *serialize(size_t *size, bool fp16, bool bf16)
{
    const pgy_build_config config = {.size = sizeof config, .fp16 = fp16, .bf16 = bf16};
    model_builder b = builder_start(17);
    void *bytes = NULL;
    engine *e = NULL;
    pgy_error err = {0};
    builder_input(&b, "x", PGY_F32, "3, 5");
    builder_node(&b, "Tanh", "x", "t");
    builder_node(&b, "Softmax", "t", "s");
    builder_node(&b, "ReduceMax", "s", "y");
    builder_output(&b, "y", PGY_F32, NULL);
    builder_output(&b, "t", PGY_F32, NULL);
    pgy_model *model = builder_finish_bytes(&b);
    if (engine_build(&e, model, &config, &err)) fail_msg("%s", err.text);
    if (engine_serialize(&bytes, size, e, &err)) fail_msg("%s", err.text);
    engine_release(e);
    pgy_model_destroy(model);
    return bytes;
}

static pgy_status parse(const void *bytes, size_t size, pgy_error *err)
{
    plan_file *p = NULL;
    void *aligned = mem_alloc_aligned(PLAN_ALIGN, size);
    assert_non_null(aligned);
    memcpy(aligned, bytes, size);
    const pgy_status st = plan_parse(&p, aligned, size, false, err);
    plan_close(p);
    mem_free(aligned);
    return st;
}

/* ---- Sizes ----------------------------------------------------------------------------------- */

static void test_plan_bundle__plans_are_whole_pages(void **state)
{
    (void)state;
    size_t plain, half, brain;
    mem_free(serialize(&plain, false, false));
    mem_free(serialize(&half, true, false));
    mem_free(serialize(&brain, false, true));
    assert_int_equal(plain, PLAN_PAGE);
    assert_int_equal(half, plain); /* in spite of its conversion steps */
    assert_int_equal(brain, plain);
}

static void test_plan_bundle__records_return_to_their_order(void **state)
{
    (void)state;
    static const char RECORDS[] = "abcABCxyzXYZ", SHUFFLED[] = "aAxXbByYcCzZ";
    char to[sizeof RECORDS] = "", back[sizeof RECORDS] = "";
    plan_shuffle(to, RECORDS, 3, 4);
    assert_string_equal(to, SHUFFLED);
    plan_unshuffle(back, to, 3, 4);
    assert_string_equal(back, RECORDS);
}

/* ---- Damage ---------------------------------------------------------------------------------- */

/* A plan with a bundle that is not deflated. */
typedef struct bundled_plan {
    str bytes;
    plan_section *section; /* the bundle's */
    plan_bundled *records;
} bundled_plan;

static bundled_plan make_bundled(void)
{
    bundled_plan made = {.section = NULL};
    size_t size;
    void *bytes = serialize(&size, true, false);
    plain_plan_append_bundled(&made.bytes, bytes);
    mem_free(bytes);
    plan_header *h = (plan_header *)made.bytes.data;
    made.section = (plan_section *)(h + 1) + h->section_count - 1;
    assert_int_equal(made.section->kind, PLAN_BUNDLE);
    made.records = (plan_bundled *)(made.bytes.data + made.section->offset);
    return made;
}

static void expect_refused(bundled_plan *plan, const char *text)
{
    pgy_error err = {0};
    plain_plan_sign(plan->bytes.data);
    assert_int_equal(parse(plan->bytes.data, plan->bytes.size, &err), PGY_E_FORMAT);
    if (!strstr(err.text, text)) fail_msg("'%s' does not contain '%s'", err.text, text);
}

static void test_plan_bundle__one_that_is_not_deflated_is_read(void **state)
{
    (void)state;
    bundled_plan plan = make_bundled();
    pgy_error err = {0};
    if (parse(plan.bytes.data, plan.bytes.size, &err)) fail_msg("%s", err.text);
    str_deinit(&plan.bytes);
}

static void test_plan_bundle__wrong_lists_are_refused(void **state)
{
    (void)state;
    static const struct {
        plan_bundled record; /* instead of the third one; size 0: as it was */
        const char *text;
    } CASES[] = {
        {{PLAN_BUNDLE, 0}, "its bundle has a section of an unknown kind"},
        {{PLAN_KIND_END, 0}, "its bundle has a section of an unknown kind"},
        {{UINT32_MAX, 0}, "its bundle has a section of an unknown kind"},
        {{PLAN_STRINGS, 0}, "a section occurs twice"},
        {{PLAN_SETTINGS, UINT32_MAX}, "a section exceeds its bundle"},
        {{PLAN_SETTINGS, 1 << 20}, "a section exceeds its bundle"},
        {{PLAN_SETTINGS, 17}, "the size of a section is not a multiple of its record size"},
        {{PLAN_CONSTANTS_F16, 0}, "a section is missing"},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        bundled_plan plan = make_bundled();
        assert_int_equal(plan.records[2].kind, PLAN_SETTINGS);
        plan.records[2].kind = CASES[i].record.kind;
        if (CASES[i].record.size_bytes) plan.records[2].size_bytes = CASES[i].record.size_bytes;
        expect_refused(&plan, CASES[i].text);
        str_deinit(&plan.bytes);
    }
}

static void test_plan_bundle__wrong_sizes_are_refused(void **state)
{
    (void)state;
    static const struct {
        uint64_t size_bytes;
        const char *text;
    } CASES[] = {
        {0, "the size of a deflated section is out of range"},
        {2 * sizeof(plan_bundled) + 3, "the list of sections in its bundle has no end"},
        {20 * sizeof(plan_bundled) + 200, "a section exceeds its bundle"},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        bundled_plan plan = make_bundled();
        plan.section->size_bytes = CASES[i].size_bytes;
        expect_refused(&plan, CASES[i].text);
        str_deinit(&plan.bytes);
    }
}

static void test_plan_bundle__deflated_bytes_are_checked(void **state)
{
    (void)state;
    size_t size;
    bundled_plan plan = {.section = NULL};
    void *bytes = serialize(&size, false, false);
    str_append_n(&plan.bytes, bytes, size);
    mem_free(bytes);
    plan.section = (plan_section *)(plan.bytes.data + sizeof(plan_header));
    assert_int_equal(plan.section->flags, PLAN_DEFLATED);
    uint64_t *raw_bytes = (uint64_t *)(plan.bytes.data + plan.section->offset);
    const uint64_t right = *raw_bytes, wrong[] = {0, PLAN_MAX_DEFLATED + 1, UINT64_MAX};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        *raw_bytes = wrong[i];
        expect_refused(&plan, "the size of a deflated section is out of range");
    }
    *raw_bytes = right - 1;
    expect_refused(&plan, "cannot be inflated to its size");
    *raw_bytes = right;
    plan.section->size_bytes = sizeof *raw_bytes - 1;
    expect_refused(&plan, "a deflated section is cut off");
    str_deinit(&plan.bytes);
}
