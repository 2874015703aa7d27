/* SPDX-License-Identifier: Apache-2.0 */
/* Plans with valid checksums whose records and parameters are wrong: refused, or harmless. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "engine/plan/plan.h"
#include "harness/hostile_plan.h"
#include "harness/plain_plan.h"

/* A plan that may be changed, with its only (or first) program. */
typedef struct opened {
    void *bytes;
    size_t size;
    plan_program *program;
    plan_tensor *tensors;
    plan_step *steps;
    uint32_t *refs;
} opened;

static opened copy_of(size_t i)
{
    const void *plan;
    opened o = {0};
    size_t unused;
    pgy_error err = {0};
    if (!hostile_plan_make(&plan, &o.size, i, &err)) fail_msg("%s", err.text);
    o.bytes = mem_alloc_aligned(PLAN_ALIGN, o.size);
    assert_non_null(o.bytes);
    memcpy(o.bytes, plan, o.size);
    o.program = hostile_plan_section(o.bytes, PLAN_PROGRAMS, &unused);
    o.tensors = hostile_plan_section(o.bytes, PLAN_TENSORS, &unused);
    o.steps = hostile_plan_section(o.bytes, PLAN_STEPS, &unused);
    o.refs = hostile_plan_section(o.bytes, PLAN_REFS, &unused);
    return o;
}

static opened copy_of_op(const char *op)
{
    size_t i = 0;
    while (strcmp(hostile_plan_name(i), op)) i++;
    return copy_of(i);
}

/* Whoever says that hashes need not be looked at is told the same. */
static void expect_refused(opened *o, const char *text)
{
    plan_file *p = NULL;
    plain_plan_sign(o->bytes);
    for (int trusted = 0; trusted < 2; trusted++) {
        pgy_error err = {0};
        assert_int_equal(plan_parse(&p, o->bytes, o->size, trusted, &err), PGY_E_FORMAT);
        if (!strstr(err.text, text)) fail_msg("'%s' is not in: %s", text, err.text);
    }
    mem_free(o->bytes);
}

static void test_hostile_plan__operands_that_a_kernel_needs_are_there(void **state)
{
    (void)state;
    opened o = copy_of_op("Add");
    o.refs[o.steps[0].refs + 1] = UINT32_MAX;
    expect_refused(&o, "omitted input 1 has 0 bytes");
    o = copy_of_op("Add");
    o.refs[o.steps[0].refs + 2] = UINT32_MAX;
    expect_refused(&o, "omitted output 0 has 0 bytes");
    o = copy_of_op("Add");
    o.refs[o.steps[0].refs] = o.refs[o.steps[0].refs + 1]; /* [5, 1] for [3, 1, 7] */
    expect_refused(&o, "input 0 has 20 bytes, but the kernel accesses 84 with these parameters");
}

static void test_hostile_plan__parameters_are_checked(void **state)
{
    (void)state;
    for (size_t i = 0; i < hostile_plan_count(); i++) {
        opened o = copy_of(i);
        bool any = false;
        for (uint32_t k = 0; o.program && k < o.program->step_count; k++) {
            any |= o.steps[k].params_bytes > 0;
            if (o.steps[k].params_bytes) o.steps[k].params_bytes -= 4;
        }
        if (any)
            expect_refused(&o, "invalid parameters");
        else
            mem_free(o.bytes);
    }
}

static void test_hostile_plan__memory_suffices(void **state)
{
    (void)state;
    opened o = copy_of_op("GatherMatMul");
    o.steps[0].workspace_bytes -= 64;
    expect_refused(&o, "its workspace has");
    o = copy_of_op("GatherMatMul");
    o.steps[0].scratch_bytes -= 64;
    expect_refused(&o, "its scratch memory has");
    o = copy_of_op("GatherMatMul");
    o.steps[0].phases++;
    expect_refused(&o, "its number of phases or parts differs");
    o = copy_of_op("ConvTranspose");
    o.steps[0].packed_bytes -= 64;
    expect_refused(&o, "its memory for packed weights has");
}

/* A step whose first output and some input lie in the arena, the input not smaller. */
static plan_step *find_arena_step(opened *o, plan_tensor **in, plan_tensor **out)
{
    for (size_t i = 0; i < hostile_plan_count(); i++) {
        *o = copy_of(i);
        for (uint32_t k = 0; o->program && k < o->program->step_count; k++) {
            plan_step *s = &o->steps[k];
            if (s->kernel == PLAN_NO_TEXT || !s->input_count || !s->output_count) continue;
            const uint32_t from = o->refs[s->refs], to = o->refs[s->refs + s->input_count];
            if (from == UINT32_MAX || to == UINT32_MAX) continue;
            *in = &o->tensors[from], *out = &o->tensors[to];
            if ((*in)->place == PROGRAM_ARENA && (*out)->place == PROGRAM_ARENA &&
                (*out)->size_bytes && (*in)->size_bytes >= (*out)->size_bytes)
                return s;
        }
        mem_free(o->bytes);
    }
    fail_msg("no plan has such a step");
    return NULL;
}

/* Kernels look at their inputs several times, at indices first to check them. */
static void test_hostile_plan__a_step_does_not_write_what_it_reads(void **state)
{
    (void)state;
    opened o;
    plan_tensor *in = NULL, *out = NULL;
    plan_step *s = find_arena_step(&o, &in, &out);
    out->offset = in->offset;
    s->in_place = -1;
    expect_refused(&o, "an output overlaps another tensor of the step");
    s = find_arena_step(&o, &in, &out);
    s->workspace_place = (uint32_t)(in->offset / PLAN_ALIGN);
    s->workspace_bytes = o.program->workspace_bytes = 1;
    expect_refused(&o, "its workspace overlaps a tensor");
}

/* The outputs of a context have room for what the program says, its inputs what the model says. */
static void test_hostile_plan__inputs_are_those_of_the_model(void **state)
{
    (void)state;
    opened o = copy_of_op("Where");
    o.tensors[1].name = o.tensors[0].name;
    expect_refused(&o, "an input of a program differs from the input of the model");
    o = copy_of_op("Where");
    o.tensors[1].dtype = 6; /* int32, of the same size */
    expect_refused(&o, "an input of a program differs from the input of the model");
}

/* What runs by definition runs with the inputs that its node has. */
static void test_hostile_plan__steps_by_definition_are_those_of_nodes(void **state)
{
    (void)state;
    pgy_error err = {0};
    opened o = copy_of_op("Det");
    assert_int_equal(o.steps[0].kernel, PLAN_NO_TEXT);
    o.refs[o.steps[0].refs] = UINT32_MAX;
    plain_plan_sign(o.bytes);
    assert_int_equal(hostile_plan_run(o.bytes, o.size, &err), PGY_E_FORMAT);
    assert_non_null(strstr(err.text, "does not match its node"));
    mem_free(o.bytes);
}

static void test_hostile_plan__unchanged_ones_run(void **state)
{
    (void)state;
    for (size_t i = 0; i < hostile_plan_count(); i++) {
        const void *plan;
        size_t size;
        pgy_error err = {0};
        if (!hostile_plan_make(&plan, &size, i, &err) || hostile_plan_run(plan, size, &err))
            fail_msg("%s: %s", hostile_plan_name(i), err.text);
    }
}

/* Faults show in builds with sanitizers; the fuzz target plan_run looks further. */
static void test_hostile_plan__changed_ones_are_refused_or_run(void **state)
{
    (void)state;
    enum { EACH = 20 };
    const char *more = getenv("HOSTILE_PLANS"); /* for a longer search */
    const long each = more ? strtol(more, NULL, 10) : EACH;
    byte_source choices = {.state = 1};
    size_t refused = 0, ran = 0;
    for (size_t i = 0; i < hostile_plan_count(); i++) {
        const void *plan;
        size_t size;
        pgy_error err = {0};
        assert_true(hostile_plan_make(&plan, &size, i, &err));
        void *bytes = mem_alloc(size);
        assert_non_null(bytes);
        for (long k = 0; k < each; k++) {
            memcpy(bytes, plan, size);
            hostile_plan_change(bytes, size, &choices);
            if (hostile_plan_run(bytes, size, &err))
                refused++;
            else
                ran++;
        }
        mem_free(bytes);
    }
    assert_true(refused > ran / 10);
    assert_true(ran > refused / 10);
}
