/* SPDX-License-Identifier: Apache-2.0 */
/* Programs on two devices. The second one computes in the host's memory too, but in blocks of its
 * own, and looks at every address that it is given. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "device/host.h"
#include "engine/context/context.h"
#include "engine/plan/plan.h"
#include "engine/select/measure.h"
#include "harness/hostile_plan.h"
#include "harness/model_builder.h"
#include "harness/plain_plan.h"
#include "kernels/extent.h"
#include "kernels/launch.h"

/* ---- The device ------------------------------------------------------------------------------ */

enum { BLOCKS = 256 };

/* What lies on it, and what it was asked for. */
static struct {
    struct {
        char *data;
        size_t size;
    } blocks[BLOCKS];
    size_t count, loaded, runs, to_host, from_host, waits;
    bool faults;
    const char *fingerprint;
} second;

static bool is_on_second(const void *p)
{
    for (size_t i = 0; i < second.count; i++)
        if ((const char *)p >= second.blocks[i].data &&
            (const char *)p < second.blocks[i].data + second.blocks[i].size)
            return true;
    return false;
}

static pgy_status describe(device_properties *out, device *d, pgy_error *err)
{
    const pgy_status st = DEVICE_HOST_FUNCTIONS.properties(out, d, err);
    out->copy_rate = 1e6; /* so fast that everything goes there */
    snprintf(out->fingerprint, sizeof out->fingerprint, "%s", second.fingerprint);
    return st;
}

static pgy_status allocate(void **out, device_stream *s, size_t size_bytes, pgy_error *err)
{
    const pgy_status st = DEVICE_HOST_FUNCTIONS.allocate(out, s, size_bytes, err);
    if (st) return st;
    assert_true(second.count < BLOCKS);
    second.blocks[second.count].data = *out;
    second.blocks[second.count++].size = size_bytes;
    return st;
}

static void release(device_stream *s, void *memory)
{
    assert_true(is_on_second(memory));
    for (size_t i = 0; i < second.count; i++)
        if (second.blocks[i].data == memory) second.blocks[i] = second.blocks[--second.count];
    DEVICE_HOST_FUNCTIONS.release(s, memory);
}

static pgy_status copy(device_stream *s, void *to, const void *from, size_t size_bytes,
                       device_direction direction, pgy_error *err)
{
    assert_int_equal(is_on_second(from), direction != DEVICE_FROM_HOST);
    assert_int_equal(is_on_second(to), direction != DEVICE_TO_HOST);
    second.from_host += direction == DEVICE_FROM_HOST;
    second.to_host += direction == DEVICE_TO_HOST;
    return DEVICE_HOST_FUNCTIONS.copy(s, to, from, size_bytes, direction, err);
}

static pgy_status wait_for(device_event *e, pgy_error *err)
{
    second.waits++;
    return DEVICE_HOST_FUNCTIONS.event_synchronize(e, err);
}

/* ---- Its kernels ----------------------------------------------------------------------------- */

typedef struct params {
    uint64_t count, inputs;
} params;

static bool accept(kernel_problem *u, double *cost_ns)
{
    const kernel_tensor *y = &u->outputs[0];
    for (size_t i = 0; i < u->input_count; i++)
        if (u->inputs[i].dtype != PGY_F32 || u->inputs[i].layout != KERNEL_LINEAR ||
            kernel_count(&u->inputs[i]) != kernel_count(y))
            return false;
    *cost_ns = 0.5;
    return true;
}

static pgy_status prepare(kernel_plan *out, const kernel_problem *u, pgy_error *err)
{
    (void)err;
    params *p = mem_calloc(1, sizeof *p);
    assert_non_null(p);
    *p = (params){.count = kernel_count(&u->outputs[0]), .inputs = u->input_count};
    *out = (kernel_plan){.params = p,
                         .params_bytes = sizeof *p,
                         .workspace_bytes = 100,
                         .phases = 1,
                         .parts = 1,
                         .in_place = 0};
    return PGY_OK;
}

static bool extent(kernel_extent *e, const kernel_claim *q)
{
    const params *p = extent_params(e, q, sizeof *p);
    if (!p) return false;
    if (p->inputs != q->input_count) return extent_refuse(e, "number of inputs");
    for (uint32_t i = 0; i <= p->inputs; i++) extent_tensor(e, i, p->count, sizeof(float));
    e->workspace = 100;
    return true;
}

static pgy_status load(void **out, const kernel *self, const kernel_plan *plan, device *d,
                       pgy_error *err)
{
    (void)plan, (void)err;
    assert_string_equal(self->device, d->kind);
    *out = mem_alloc(1);
    second.loaded++;
    return PGY_OK;
}

static void unload(void *loaded)
{
    second.loaded--;
    mem_free(loaded);
}

static pgy_status enqueue(const kernel_run *r, device_stream *s, pgy_error *err)
{
    const params *p = r->params;
    const float *x = r->tensors[0];
    float *y = r->tensors[p->inputs];
    (void)s, (void)err;
    for (uint64_t i = 0; i <= p->inputs; i++) assert_true(is_on_second(r->tensors[i]));
    assert_true(is_on_second(r->workspace));
    assert_non_null(r->loaded);
    second.runs++;
    if (second.faults) kernel_fault(r);
    for (uint64_t i = 0; i < p->count; i++)
        y[i] = p->inputs == 1 ? (x[i] > 0 ? x[i] : 0) : x[i] + ((float *)r->tensors[1])[i];
    return PGY_OK;
}

#define ROW(row_name, row_op)                                                                    \
    {                                                                                            \
        .name = row_name, .version = 1, .ops = row_op, .accept = accept, .prepare = prepare,     \
        .extent = extent, .device = "second", .enqueue = enqueue, .load = load, .unload = unload \
    }
static const kernel KERNELS[] = {ROW("relu_second", "Relu"), ROW("add_second", "Add"), {0}};

static device_functions functions;
static device device_second = {.name = "second:0", .kind = "second", .does = &functions};

static void plug_in(void)
{
    memset(&second, 0, sizeof second);
    second.fingerprint = "second, driver 1";
    functions = DEVICE_HOST_FUNCTIONS;
    functions.properties = describe;
    functions.allocate = allocate;
    functions.release = release;
    functions.copy = copy;
    functions.event_synchronize = wait_for;
    setenv("POLYGRAPHY_PASSES", "-fuse_elementwise", 1);
    assert_int_equal(device_register(&device_second, NULL), PGY_OK);
    assert_int_equal(kernel_offer(KERNELS, NULL), PGY_OK);
}

/* Everything that was taken has been given back. */
static void pull_out(void)
{
    device_withdraw(&device_second);
    kernel_withdraw(KERNELS);
    assert_int_equal(second.count, 0);
    assert_int_equal(second.loaded, 0);
}

/* ---- Models ---------------------------------------------------------------------------------- */

/* Softmax has no kernel there, so there are borders; `w` is read on both sides. */
static pgy_model *model_with_borders(void)
{
    float w[32];
    model_builder b = builder_start(17);
    for (int i = 0; i < 32; i++) w[i] = (float)(i % 5) - 1.5f;
    builder_input(&b, "x", PGY_F32, "4, 8");
    builder_floats(&b, "w", "4, 8", w);
    builder_node(&b, "Relu", "x", "a");
    builder_node(&b, "Add", "a w", "b");
    builder_node(&b, "Softmax", "b", "c");
    builder_node(&b, "Add", "c b", "d");
    builder_node(&b, "Mul", "w d", "e");
    builder_node(&b, "Relu", "e", "f");
    builder_node(&b, "Relu", "b", "g");
    builder_output(&b, "f", PGY_F32, NULL);
    builder_output(&b, "g", PGY_F32, NULL);
    return builder_finish_bytes(&b);
}

static pgy_tensor_map *feed(void)
{
    pgy_tensor_map *map = NULL;
    pgy_tensor *t = NULL;
    const int64_t shape[2] = {4, 8};
    assert_int_equal(pgy_tensor_map_create(&map, NULL), PGY_OK);
    assert_int_equal(pgy_tensor_create(&t, PGY_F32, 2, shape, NULL), PGY_OK);
    for (size_t i = 0; i < 32; i++) ((float *)pgy_tensor_data(t))[i] = (float)(i * 7 % 11) - 5;
    assert_int_equal(pgy_tensor_map_adopt(map, "x", t, NULL), PGY_OK);
    return map;
}

static engine *build(pgy_model *model, bool on_second, int64_t level)
{
    static const char *const NAMES[] = {"second:0"};
    const pgy_build_config config = {.size = sizeof config,
                                     .threads = 2,
                                     .has_optimization_level = true,
                                     .optimization_level = level,
                                     .devices = {.items = NAMES, .count = on_second}};
    engine *e = NULL;
    pgy_error err = {0};
    if (engine_build(&e, model, &config, &err)) fail_msg("%s", err.text);
    return e;
}

static pgy_tensor_map *run(engine *e)
{
    context *c = NULL;
    pgy_tensor_map *in = feed(), *out = NULL;
    pgy_error err = {0};
    if (context_create(&c, e, 2, &err)) fail_msg("%s", err.text);
    for (int i = 0; i < 3; i++) {
        pgy_tensor_map_destroy(out);
        assert_int_equal(pgy_tensor_map_create(&out, NULL), PGY_OK);
        if (context_run(c, in, out, NULL, &err)) fail_msg("%s", err.text);
    }
    context_destroy(c);
    pgy_tensor_map_destroy(in);
    return out;
}

/* The same bits; both are released. */
static void expect_same(pgy_tensor_map *a, pgy_tensor_map *b)
{
    assert_int_equal(pgy_tensor_map_count(a), pgy_tensor_map_count(b));
    for (size_t i = 0; i < pgy_tensor_map_count(a); i++) {
        const pgy_tensor *x = pgy_tensor_map_at(a, i), *y = pgy_tensor_map_at(b, i);
        assert_int_equal(pgy_tensor_size_bytes(x), pgy_tensor_size_bytes(y));
        assert_memory_equal(pgy_tensor_data(x), pgy_tensor_data(y), pgy_tensor_size_bytes(x));
    }
    pgy_tensor_map_destroy(a);
    pgy_tensor_map_destroy(b);
}

static pgy_tensor_map *run_on_host(pgy_model *model)
{
    engine *e = build(model, false, 0);
    pgy_tensor_map *out = run(e);
    engine_release(e);
    return out;
}

static size_t count_acts(const program *p, program_act act, uint32_t space)
{
    size_t count = 0;
    for (size_t i = 0; i < p->step_count; i++)
        count += p->steps[i].act == act && p->steps[i].space == space;
    return count;
}

/* ---- Tests ----------------------------------------------------------------------------------- */

static void test_devices__nodes_run_where_they_are_cheap_with_the_same_bits(void **state)
{
    (void)state;
    pgy_model *model = model_with_borders();
    program *p = NULL;
    plug_in();
    engine *e = build(model, true, 0);
    assert_int_equal(engine_program_for(&p, e, 0, NULL), PGY_OK);
    assert_int_equal(p->space_count, 2);
    assert_true(p->spaces[1].arena_bytes > 0);
    assert_int_equal(p->spaces[1].constant_bytes, 4 * 8 * sizeof(float));
    assert_int_equal(count_acts(p, PROGRAM_RUN, 1), 5);
    assert_int_equal(count_acts(p, PROGRAM_RUN, 0), 2);
    /* x, c and e go there; b, d, f and g come back, each once. */
    assert_int_equal(count_acts(p, PROGRAM_COPY, 1), 7);
    /* Softmax, Mul and the end wait. */
    assert_int_equal(count_acts(p, PROGRAM_WAIT, 0), 3);
    assert_int_equal(count_acts(p, PROGRAM_RECORD, 1), 3);
    program_release(p);
    expect_same(run(e), run_on_host(model));
    assert_int_equal(second.runs, 3 * 5);
    assert_int_equal(second.waits, 3 * 3);
    engine_release(e);
    pull_out();
    pgy_model_destroy(model);
}

static void test_devices__nobody_uses_a_device_that_is_not_named(void **state)
{
    (void)state;
    pgy_model *model = model_with_borders();
    plug_in();
    pgy_tensor_map_destroy(run_on_host(model));
    assert_int_equal(second.runs, 0);
    pull_out();
    pgy_model_destroy(model);
}

static void test_devices__a_device_must_be_there(void **state)
{
    (void)state;
    static const char *const NAMES[] = {"second:0", "second:0"};
    pgy_build_config config = {.size = sizeof config, .devices = {.items = NAMES, .count = 1}};
    pgy_model *model = model_with_borders();
    engine *e = NULL;
    pgy_error err = {0};
    assert_int_equal(engine_build(&e, model, &config, &err), PGY_E_NOT_FOUND);
    assert_string_equal(err.text, "device 'second:0' does not exist; this process has: host");
    plug_in();
    config.devices.count = 2;
    assert_int_equal(engine_build(&e, model, &config, &err), PGY_E_ARGUMENT);
    assert_string_equal(err.text, "the configuration names device 'second:0' twice");
    pull_out();
    pgy_model_destroy(model);
}

static void test_devices__their_kernels_are_measured_by_their_clock(void **state)
{
    (void)state;
    const int64_t shape[2] = {64, 64};
    const op_def def = {.name = "Relu"};
    const op_node node = {.def = &def, .name = "relu"};
    kernel_problem problem = {.node = &node, .space = 1, .input_count = 1, .output_count = 1};
    problem.inputs[0] = problem.outputs[0] =
        (kernel_tensor){.dtype = PGY_F32, .rank = 2, .shape = shape, .space = 1};
    plug_in();
    measure_candidate c = {.kernel = &KERNELS[0], .problem = &problem, .device = &device_second};
    assert_true(measure_kernels(&c, 1, 1, INT64_MAX));
    assert_true(c.time_ns > 0);
    pgy_model *model = model_with_borders();
    engine *e = build(model, true, 5);
    expect_same(run(e), run_on_host(model));
    engine_release(e);
    pull_out();
    pgy_model_destroy(model);
}

/* ---- Plans ----------------------------------------------------------------------------------- */

static void save(const char *path)
{
    pgy_model *model = model_with_borders();
    engine *e = build(model, true, 0);
    pgy_error err = {0};
    if (engine_save(e, path, &err)) fail_msg("%s", err.text);
    engine_release(e);
    pgy_model_destroy(model);
}

static void test_devices__plans_have_sections_for_each(void **state)
{
    (void)state;
    static const char PATH[] = TEST_BINARY_DIR "/devices.plan";
    pgy_model *model = model_with_borders();
    engine *e = NULL;
    program *p = NULL;
    pgy_error err = {0};
    plug_in();
    save(PATH);
    if (engine_open(&e, PATH, &err)) fail_msg("%s", err.text);
    assert_int_equal(engine_program_for(&p, e, 0, NULL), PGY_OK);
    assert_true(p->mapped);
    assert_int_equal(p->space_count, 2);
    assert_string_equal(p->spaces[1].name, "second:0");
    assert_ptr_equal(p->spaces[1].device, &device_second);
    assert_int_equal(p->spaces[1].constant_bytes, 4 * 8 * sizeof(float));
    assert_int_equal(count_acts(p, PROGRAM_RUN, 1), 5);
    program_release(p);
    expect_same(run(e), run_on_host(model));
    assert_int_equal(second.runs, 3 * 5);
    engine_release(e);
    pull_out();
    pgy_plan *look = NULL;
    if (pgy_plan_open(&look, PATH, &err)) fail_msg("%s", err.text); /* anywhere */
    const pgy_plan_profile *layers = pgy_plan_profile_at(look, 0);
    assert_string_equal(layers->layers[1].type, "Relu");
    assert_string_equal(layers->layers[1].tactic, "relu_second");
    assert_string_equal(layers->layers[1].device, "second:0");
    assert_string_equal(layers->layers[0].tactic, "copy");
    assert_int_equal(layers->space_count, 2);
    assert_null(layers->spaces[0].device);
    assert_string_equal(layers->spaces[1].device, "second:0");
    assert_true(layers->spaces[1].arena_bytes > 0);
    assert_int_equal(layers->spaces[1].constant_bytes, 4 * 8 * sizeof(float));
    assert_int_equal(layers->arena_bytes,
                     layers->spaces[0].arena_bytes + layers->spaces[1].arena_bytes);
    pgy_plan_close(look);
    remove(PATH);
    pgy_model_destroy(model);
}

static void expect_refused(const char *path, const char *why)
{
    engine *e = NULL;
    pgy_error err = {0};
    assert_int_equal(engine_open(&e, path, &err), PGY_E_UNSUPPORTED);
    if (!strstr(err.text, why)) fail_msg("'%s' is not in '%s'", why, err.text);
}

static void test_devices__plans_need_the_same_ones(void **state)
{
    (void)state;
    static const char PATH[] = TEST_BINARY_DIR "/other.plan";
    plug_in();
    save(PATH);
    second.fingerprint = "second, driver 2";
    expect_refused(PATH, "the plan was built for device 'second:0' with second, driver 1, but this "
                         "one has second, driver 2: convert the model again");
    pull_out();
    expect_refused(PATH,
                   "the plan was built for device 'second:0' (second, driver 1), which is not "
                   "available in this process");
    remove(PATH);
}

typedef struct changed_plan {
    void *bytes;
    size_t size, step_count;
    plan_step *steps;
    plan_tensor *tensors;
    uint32_t *refs;
} changed_plan;

static changed_plan open_bytes(const char *path)
{
    changed_plan p = {0};
    file_map map = {0};
    size_t size = 0;
    assert_int_equal(file_map_open(&map, path, NULL), PGY_OK);
    str plain = {0};
    plain_plan_append(&plain, map.data);
    file_map_close(&map);
    p.size = plain.size;
    p.bytes = mem_alloc_aligned(64, p.size);
    memcpy(p.bytes, plain.data, p.size);
    str_deinit(&plain);
    p.steps = hostile_plan_section(p.bytes, PLAN_STEPS, &size);
    p.step_count = size / sizeof *p.steps;
    p.tensors = hostile_plan_section(p.bytes, PLAN_TENSORS, &size);
    p.refs = hostile_plan_section(p.bytes, PLAN_REFS, &size);
    return p;
}

static plan_step *step_of(changed_plan *p, program_act act, size_t n)
{
    for (size_t i = 0; i < p->step_count; i++)
        if (p->steps[i].act == (uint32_t)act && n-- == 0) return &p->steps[i];
    fail_msg("there is no such step");
    return NULL;
}

/* The bytes are released. */
static void expect_damaged(changed_plan *p, const char *why)
{
    plan_file *f = NULL;
    pgy_error err = {0};
    plain_plan_sign(p->bytes);
    assert_int_equal(plan_parse(&f, p->bytes, p->size, false, &err), PGY_E_FORMAT);
    if (!strstr(err.text, why)) fail_msg("'%s' is not in '%s'", why, err.text);
    mem_free(p->bytes);
}

/* Each wait that is missing is found when the plan is opened, not when it runs. */
static void test_devices__every_wait_of_a_plan_is_needed(void **state)
{
    (void)state;
    static const char PATH[] = TEST_BINARY_DIR "/waits.plan";
    static const char *const WHY[] = {"it uses memory of a copy", "it uses memory of a copy",
                                      "no step waits for the end of this step"};
    plug_in();
    save(PATH);
    for (size_t i = 0; i < 3; i++) {
        changed_plan p = open_bytes(PATH);
        plan_step *wait = step_of(&p, PROGRAM_WAIT, i);
        wait->act = PROGRAM_RECORD;
        wait->space = 1;
        expect_damaged(&p, WHY[i]);
    }
    changed_plan p = open_bytes(PATH);
    step_of(&p, PROGRAM_WAIT, 0)->event = step_of(&p, PROGRAM_WAIT, 2)->event;
    expect_damaged(&p, "it waits for an event that no earlier step records");
    pull_out();
    remove(PATH);
}

static void test_devices__plans_cannot_mix_memories(void **state)
{
    (void)state;
    static const char PATH[] = TEST_BINARY_DIR "/mixed.plan";
    plug_in();
    save(PATH);
    changed_plan p = open_bytes(PATH);
    plan_step *copy = step_of(&p, PROGRAM_COPY, 0); /* of x; the next step reads it there */
    copy[1].space = 0;
    copy[1].workspace_place = 0; /* inside the smaller arena */
    expect_damaged(&p, "an operand lies in the memory of another device");
    p = open_bytes(PATH);
    copy = step_of(&p, PROGRAM_COPY, 0);
    p.refs[copy[1].refs] = p.refs[copy->refs];
    expect_damaged(&p, "an operand lies in the memory of another device");
    p = open_bytes(PATH);
    step_of(&p, PROGRAM_COPY, 0)->space = 0;
    expect_damaged(&p, "a step has an invalid name, tensor or parameter");
    p = open_bytes(PATH);
    step_of(&p, PROGRAM_RECORD, 0)->event = 1000;
    expect_damaged(&p, "a step has an invalid name, tensor or parameter");
    p = open_bytes(PATH);
    copy = step_of(&p, PROGRAM_COPY, 0);
    p.tensors[p.refs[copy->refs + 1]].space = 2;
    expect_damaged(&p, "a tensor of a program has an invalid type, shape or place");
    pull_out();
    remove(PATH);
}

static void test_devices__a_fault_there_names_the_step(void **state)
{
    (void)state;
    pgy_model *model = model_with_borders();
    context *c = NULL;
    pgy_tensor_map *in = feed(), *out = NULL;
    pgy_error err = {0};
    plug_in();
    engine *e = build(model, true, 0);
    assert_int_equal(context_create(&c, e, 2, &err), PGY_OK);
    assert_int_equal(pgy_tensor_map_create(&out, NULL), PGY_OK);
    second.faults = true;
    assert_int_equal(context_run(c, in, out, NULL, &err), PGY_E_SHAPE);
    assert_non_null(strstr(err.text, "Relu"));
    assert_non_null(strstr(err.text, "an index is out of range"));
    second.faults = false;
    assert_int_equal(context_run(c, in, out, NULL, &err), PGY_OK);
    context_destroy(c);
    engine_release(e);
    pgy_tensor_map_destroy(in);
    pgy_tensor_map_destroy(out);
    pull_out();
    pgy_model_destroy(model);
}

static void test_devices__nothing_is_enqueued_after_a_request_to_stop(void **state)
{
    (void)state;
    pgy_model *model = model_with_borders();
    context *c = NULL;
    pgy_tensor_map *in = feed(), *out = NULL;
    pgy_error err = {0};
    plug_in();
    engine *e = build(model, true, 0);
    assert_int_equal(context_create(&c, e, 2, &err), PGY_OK);
    assert_int_equal(pgy_tensor_map_create(&out, NULL), PGY_OK);
    assert_int_equal(context_run(c, in, out, NULL, &err), PGY_OK);
    const size_t runs = second.runs;
    pgy_cancel();
    assert_int_equal(context_run(c, in, out, NULL, &err), PGY_E_CANCELLED);
    pgy_cancel_reset();
    assert_int_equal(second.runs, runs);
    assert_int_equal(context_run(c, in, out, NULL, &err), PGY_OK);
    context_destroy(c);
    engine_release(e);
    pgy_tensor_map_destroy(in);
    pgy_tensor_map_destroy(out);
    pull_out();
    pgy_model_destroy(model);
}

/* ---- Three memories -------------------------------------------------------------------------- */

static bool accept_add(kernel_problem *u, double *cost_ns)
{
    return u->input_count == 2 && accept(u, cost_ns);
}

static const kernel KERNELS_OF_THIRD[] = {{.name = "add_third",
                                           .version = 1,
                                           .ops = "Add",
                                           .accept = accept_add,
                                           .prepare = prepare,
                                           .extent = extent,
                                           .device = "third",
                                           .enqueue = enqueue,
                                           .load = load,
                                           .unload = unload},
                                          {0}};
static const kernel RELU_OF_SECOND[] = {ROW("relu_second", "Relu"), {0}};
static device device_third = {.name = "third:0", .kind = "third", .does = &functions};

static pgy_model *chain(void)
{
    model_builder b = builder_start(17);
    builder_input(&b, "x", PGY_F32, "4, 8");
    builder_node(&b, "Relu", "x", "a");
    builder_node(&b, "Add", "a x", "b");
    builder_node(&b, "Relu", "b", "c");
    builder_output(&b, "c", PGY_F32, NULL);
    return builder_finish_bytes(&b);
}

static void expect_wait_needed(const char *path, size_t n)
{
    changed_plan p = open_bytes(path);
    plan_step *wait = step_of(&p, PROGRAM_WAIT, n);
    const bool last = !wait->space;
    wait->act = PROGRAM_RECORD;
    wait->space = 1;
    expect_damaged(&p, last ? "no step waits for the end of this step"
                            : "it uses memory of a copy without waiting");
}

/* What one device gives to another passes the host's memory, but the host does not wait for it. */
static void test_devices__two_meet_on_the_host(void **state)
{
    (void)state;
    static const char *const NAMES[] = {"second:0", "third:0"};
    static const char PATH[] = TEST_BINARY_DIR "/three.plan";
    const pgy_build_config config = {.size = sizeof config,
                                     .threads = 1,
                                     .has_optimization_level = true,
                                     .devices = {.items = NAMES, .count = 2}};
    pgy_model *model = chain();
    engine *e = NULL;
    program *p = NULL;
    pgy_error err = {0};
    plug_in();
    kernel_withdraw(KERNELS);
    assert_int_equal(kernel_offer(RELU_OF_SECOND, NULL), PGY_OK);
    assert_int_equal(kernel_offer(KERNELS_OF_THIRD, NULL), PGY_OK);
    assert_int_equal(device_register(&device_third, NULL), PGY_OK);
    if (engine_build(&e, model, &config, &err)) fail_msg("%s", err.text);
    assert_int_equal(engine_program_for(&p, e, 0, NULL), PGY_OK);
    assert_int_equal(p->space_count, 3);
    assert_int_equal(count_acts(p, PROGRAM_RUN, 1), 2);
    assert_int_equal(count_acts(p, PROGRAM_RUN, 2), 1);
    assert_int_equal(count_acts(p, PROGRAM_WAIT, 1), 1); /* for b */
    assert_int_equal(count_acts(p, PROGRAM_WAIT, 2), 1); /* for a */
    assert_int_equal(count_acts(p, PROGRAM_WAIT, 0), 1); /* for c, which comes behind all */
    program_release(p);
    if (engine_save(e, PATH, &err)) fail_msg("%s", err.text);
    expect_same(run(e), run_on_host(model));
    engine_release(e);
    for (size_t i = 0; i < 3; i++) expect_wait_needed(PATH, i);
    if (engine_open(&e, PATH, &err)) fail_msg("%s", err.text);
    expect_same(run(e), run_on_host(model));
    engine_release(e);
    device_withdraw(&device_third);
    kernel_withdraw(KERNELS_OF_THIRD);
    kernel_withdraw(RELU_OF_SECOND);
    pull_out();
    remove(PATH);
    pgy_model_destroy(model);
}
