/* SPDX-License-Identifier: Apache-2.0 */
/* Programs on a CUDA device over the stand-in driver: placement, graphs, and failures of a run. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "device/cuda.h"
#include "engine/context/context.h"
#include "engine/program/device_copies.h"
#include "engine/select/measure.h"
#include "harness/fake_cuda.h"
#include "harness/model_builder.h"
#include "kernels/extent.h"

/* ---- Kernels: z = x + y, and z = max(x, 0) for one operand ------------------------------------
 */

static const char SOURCE[] = "extern \"C\" __global__ void test_add(float *z, ...) {}";

typedef struct params {
    uint64_t count, inputs;
} params;

typedef struct loaded {
    cuda_code *code;
    cuda_function *function;
} loaded;

/* Cheaper than any other kernel, so that this one is chosen. */
static bool accept(kernel_problem *u, double *cost_ns)
{
    for (size_t i = 0; i < u->input_count; i++)
        if (u->inputs[i].dtype != PGY_F32 || u->inputs[i].layout != KERNEL_LINEAR ||
            kernel_count(&u->inputs[i]) != kernel_count(&u->outputs[0]))
            return false;
    *cost_ns = 1e-6;
    return true;
}

static pgy_status prepare(kernel_plan *out, const kernel_problem *u, pgy_error *err)
{
    params *p = mem_calloc(1, sizeof *p);
    if (!p) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    *p = (params){.count = kernel_count(&u->outputs[0]), .inputs = u->input_count};
    *out = (kernel_plan){
        .params = p, .params_bytes = sizeof *p, .phases = 1, .parts = 1, .in_place = -1};
    return PGY_OK;
}

static bool extent(kernel_extent *e, const kernel_claim *q)
{
    const params *p = extent_params(e, q, sizeof *p);
    if (!p) return false;
    for (uint32_t i = 0; i <= p->inputs; i++) extent_tensor(e, i, p->count, sizeof(float));
    return true;
}

static void unload(void *user)
{
    loaded *l = user;
    cuda_code_destroy(l->code);
    mem_free(l);
}

static pgy_status load(void **out, const kernel *self, const kernel_plan *plan, device *d,
                       pgy_error *err)
{
    loaded *l = mem_calloc(1, sizeof *l);
    (void)self, (void)plan;
    if (!l) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    pgy_status st = cuda_code_create(&l->code, d, "test_add", SOURCE, (const char *[]){NULL}, err);
    if (!st) st = cuda_code_function(&l->function, l->code, "test_add", err);
    if (st)
        unload(l);
    else
        *out = l;
    return st;
}

static pgy_status enqueue(const kernel_run *r, device_stream *s, pgy_error *err)
{
    const params *p = r->params;
    const loaded *l = r->loaded;
    int count = (int)p->count;
    void *none = NULL, *faults = r->fault;
    const cuda_grid g = {.grid = {1, 1, 1}, .block = {256, 1, 1}};
    void *arguments[] = {(void *)&r->tensors[p->inputs], (void *)&r->tensors[0],
                         p->inputs > 1 ? (void *)&r->tensors[1] : &none, &count, &faults};
    return cuda_launch(s, l->function, &g, arguments, err);
}

static void run_add(void **arguments, const unsigned grid[3], const unsigned block[3])
{
    float *z = fake_cuda_reach(*(void **)arguments[0]);
    const float *x = fake_cuda_reach(*(void **)arguments[1]);
    const float *y = fake_cuda_reach(*(void **)arguments[2]);
    (void)grid, (void)block;
    for (int i = 0; i < *(int *)arguments[3]; i++) z[i] = y ? x[i] + y[i] : x[i] > 0 ? x[i] : 0;
    if (x[0] > 100) **(int **)arguments[4] = KERNEL_FAULT_INDEX;
}

/* The kernel of device/cuda/carry.c; one of the two addresses is the host's. */
static void run_carry(void **arguments, const unsigned grid[3], const unsigned block[3])
{
    const struct {
        void *from, *to;
        uint64_t vectors, size;
    } *a = arguments[0];
    (void)grid, (void)block;
    memcpy(fake_cuda_reach(a->to), fake_cuda_reach(a->from), a->size);
}

#define ROW(row_name, row_op)                                                                  \
    {                                                                                          \
        .name = row_name, .version = 1, .ops = row_op, .accept = accept, .prepare = prepare,   \
        .extent = extent, .device = "cuda", .enqueue = enqueue, .load = load, .unload = unload \
    }
static const kernel KERNELS[] = {ROW("test_relu", "Relu"), ROW("test_add", "Add"), {0}};

/* ---- A run ----------------------------------------------------------------------------------- */

/* Hardmax stays on the host, between three steps of the device and one. */
static pgy_model *make_model(void)
{
    model_builder b = builder_start(17);
    builder_input(&b, "x", PGY_F32, "2, 4");
    builder_floats(&b, "w", "2, 4", NULL);
    builder_node(&b, "Relu", "x", "a");
    builder_node(&b, "Add", "a w", "b");
    builder_node(&b, "Add", "b x", "c");
    builder_node(&b, "Hardmax", "c", "d");
    builder_node(&b, "Add", "d w", "e");
    builder_output(&b, "c", PGY_F32, NULL);
    builder_output(&b, "e", PGY_F32, NULL);
    return builder_finish_bytes(&b);
}

/* All steps run on the device, and two results leave it. */
static pgy_model *make_chain(void)
{
    model_builder b = builder_start(17);
    builder_input(&b, "x", PGY_F32, "2, 4");
    builder_floats(&b, "w", "2, 4", NULL);
    builder_node(&b, "Add", "x w", "a");
    builder_node(&b, "Relu", "a", "y");
    builder_node(&b, "Add", "y x", "z");
    builder_output(&b, "y", PGY_F32, NULL);
    builder_output(&b, "z", PGY_F32, NULL);
    return builder_finish_bytes(&b);
}

static pgy_status make_feed(pgy_tensor_map **out, float first)
{
    static const float X[8] = {1, -2, 3, 0, -1, 5, 2, 4};
    const int64_t shape[2] = {2, 4};
    pgy_tensor *t = NULL;
    pgy_status st = pgy_tensor_map_create(out, NULL);
    if (!st) st = pgy_tensor_create(&t, PGY_F32, 2, shape, NULL);
    if (st) return st;
    memcpy(pgy_tensor_data(t), X, sizeof X);
    ((float *)pgy_tensor_data(t))[0] = first;
    return pgy_tensor_map_adopt(*out, "x", t, NULL);
}

static pgy_status run_once(str *out, context *c, float first, pgy_error *err)
{
    pgy_tensor_map *in = NULL, *got = NULL;
    pgy_status st = make_feed(&in, first);
    if (!st) st = pgy_tensor_map_create(&got, err);
    if (!st) st = context_run(c, in, got, NULL, err);
    for (size_t i = 0; !st && i < pgy_tensor_map_count(got); i++) {
        const float *values = pgy_tensor_data(pgy_tensor_map_at(got, i));
        str_printf(out, "%s", i ? " |" : "");
        for (int k = 0; k < 8; k++) str_printf(out, " %.0f", (double)values[k]);
    }
    if (st) str_append(out, err->text);
    str_append(out, ";");
    pgy_tensor_map_destroy(in);
    pgy_tensor_map_destroy(got);
    return st;
}

static pgy_status build(engine **out, pgy_model *model, bool fallback, pgy_error *err)
{
    static const char *const NAMES[] = {"cuda"};
    const pgy_build_config config = {.size = sizeof config,
                                     .threads = 1,
                                     .has_optimization_level = true,
                                     .devices = {.items = NAMES, .count = 1},
                                     .devices_first = true,
                                     .gpu_fallback = fallback};
    const pgy_status st = engine_build(out, model, &config, err);
    pgy_model_destroy(model);
    return st;
}

static const int SIZES[] = {8, 8, 8, 4, 8, 0}, CARRY_SIZES[] = {32, 0}; /* of launches' arguments */

static void run_three_times(str *out, pgy_model *model, bool fallback)
{
    engine *e = NULL;
    context *c = NULL;
    pgy_error err = {0};
    setenv("POLYGRAPHY_PASSES", "-fuse_elementwise", 1);
    pgy_log_set_sink(NULL, NULL);
    pgy_status st = kernel_offer(KERNELS, &err);
    if (st)
        pgy_model_destroy(model);
    else
        st = build(&e, model, fallback, &err);
    if (!st) st = context_create(&c, e, 1, &err);
    if (st) str_append(out, err.text);
    if (!st && fake_cuda_calls("cuInit")) {
        fake_cuda_set_kernel("test_add", SIZES, run_add);
        fake_cuda_set_kernel("carry", CARRY_SIZES, run_carry);
    }
    for (int i = 0; !st && i < 3; i++) st = run_once(out, c, (float)(i + 1), &err);
    if (getenv("TEST_FAULT") && !st) (void)run_once(out, c, 101, &err);
    str_printf(out, " captured %lu, launched %lu and %lu", fake_cuda_calls("cuStreamEndCapture"),
               fake_cuda_calls("cuGraphLaunch"), fake_cuda_calls("cuLaunchKernel"));
    str_printf(out, ", copied %lu and %lu", fake_cuda_calls("cuMemcpyHtoDAsync_v2"),
               fake_cuda_calls("cuMemcpyDtoHAsync_v2"));
    context_destroy(c);
    engine_release(e);
    if (!getenv("FAKE_CUDA_FAIL")) str_printf(out, ", left %zu", fake_cuda_live_bytes());
}

static void run_on_device(str *out)
{
    run_three_times(out, make_model(), false);
}

static void run_chain(str *out)
{
    run_three_times(out, make_chain(), false);
}

static void run_anywhere(str *out)
{
    run_three_times(out, make_model(), true);
}

/* x[0] is 1, 2, 3 in the three runs. */
#define RESULTS                             \
    " 3 -1 7 1 0 11 5 9 | 1 1 2 1 1 2 1 1;" \
    " 5 -1 7 1 0 11 5 9 | 1 1 2 1 1 2 1 1;" \
    " 7 -1 7 1 0 11 5 9 | 2 1 1 1 1 2 1 1;"

/* ---- Tests ----------------------------------------------------------------------------------- */

static void test_cuda__a_stretch_of_steps_is_one_graph_from_the_second_run_on(void **state)
{
    (void)state;
    fake_cuda_use(TEST_BINARY_DIR);
    assert_string_equal(fake_cuda_child(run_on_device),
                        RESULTS " captured 1, launched 2 and 10, copied 5 and 9, left 0");
}

/* The first run copies input and outputs, and the weight before it. */
static void test_cuda__a_graph_brings_inputs_and_outputs(void **state)
{
    static const char RESULT[] = " 2 0 4 1 0 6 3 5 | 3 -2 7 1 -1 11 5 9;"
                                 " 3 0 4 1 0 6 3 5 | 5 -2 7 1 -1 11 5 9;"
                                 " 4 0 4 1 0 6 3 5 | 7 -2 7 1 -1 11 5 9;"
                                 " captured 1, launched 2 and 9, copied 2 and 2, left 0";
    (void)state;
    fake_cuda_use(TEST_BINARY_DIR);
    assert_string_equal(fake_cuda_child(run_chain), RESULT);
}

static void test_cuda__steps_that_cannot_be_captured_are_launched_one_by_one(void **state)
{
    (void)state;
    fake_cuda_use(TEST_BINARY_DIR);
    setenv("FAKE_CUDA_FAIL", "cuGraphInstantiateWithFlags:1:801", 1);
    assert_string_equal(fake_cuda_child(run_on_device),
                        RESULTS " captured 1, launched 0 and 16, copied 7 and 9");
}

static void test_cuda__a_device_lost_in_a_run_ends_it_with_an_error(void **state)
{
    (void)state;
    fake_cuda_use(TEST_BINARY_DIR);
    setenv("FAKE_CUDA_FAIL", "cuLaunchKernel:2:700", 1);
    const char *text = fake_cuda_child(run_on_device);
    assert_non_null(strstr(text, "device 'cuda:0' was lost while launching kernel 'test_add' "
                                 "(CUDA_ERROR_ILLEGAL_ADDRESS: an illegal memory access was "
                                 "encountered); this process cannot use it any more;"));
    setenv("FAKE_CUDA_FAIL", "cuGraphLaunch:2:719", 1);
    text = fake_cuda_child(run_on_device);
    assert_non_null(strstr(text, "device 'cuda:0' was lost while launching a graph"));
}

static void test_cuda__a_fault_found_by_a_kernel_names_its_node(void **state)
{
    (void)state;
    fake_cuda_use(TEST_BINARY_DIR);
    setenv("TEST_FAULT", "1", 1);
    const char *text = fake_cuda_child(run_on_device);
    unsetenv("TEST_FAULT");
    assert_non_null(strstr(text, RESULTS));
    assert_non_null(strstr(text, "': an index is out of range, or a shape does not fit;"));
}

static void test_cuda__only_gpu_fallback_builds_without_the_device(void **state)
{
    (void)state;
    fake_cuda_use(TEST_BINARY_DIR);
    setenv("FAKE_CUDA_FAIL", "cuDevicePrimaryCtxRetain:0:46", 1);
    assert_non_null(strstr(fake_cuda_child(run_on_device), "device 'cuda:0' is used by another"));
    const char *text = fake_cuda_child(run_anywhere);
    assert_non_null(strstr(text, RESULTS " captured 0, launched 0 and 0"));
}

/* Pieces of x along its last axis, of `columns` elements each. */
static pgy_model *make_split(int columns)
{
    char shape[16];
    model_builder b = builder_start(18);
    snprintf(shape, sizeof shape, "1, %d", 2 * columns);
    builder_input(&b, "x", PGY_F32, shape);
    builder_node(&b, "Relu", "x", "r");
    pgy_onnx_node *n = builder_node(&b, "Split", "r", "p q");
    builder_attr_int(&b, n, "axis", 1);
    builder_attr_int(&b, n, "num_outputs", 2);
    builder_node(&b, "Add", "p q", "y");
    builder_output(&b, "y", PGY_F32, NULL);
    return builder_finish_bytes(&b);
}

static void count_left_out(str *out)
{
    pgy_log_set_sink(NULL, NULL);
    for (int columns = 64; columns >= 32; columns /= 2) {
        engine *e = NULL;
        program *p = NULL;
        pgy_error err = {0};
        pgy_status st = build(&e, make_split(columns), false, &err);
        if (!st) st = engine_program_for(&p, e, 0, &err);
        str_printf(out, "%zu left out%s;", p ? p->left_out_count : 99, err.text);
        program_release(p);
        engine_release(e);
    }
}

/* Parts of a tensor on a device begin at multiples of 256 bytes. */
static void test_cuda__pieces_of_a_split_stay_where_they_are(void **state)
{
    (void)state;
    fake_cuda_use(TEST_BINARY_DIR);
    assert_string_equal(fake_cuda_child(count_left_out), "1 left out;0 left out;");
}

/* Of each size in MiB: which copies of two inputs and the result one graph can have together. */
static void find_copies(str *out)
{
    static const double SIZES_MiB[] = {0.3, 0.4, 1.5};
    pgy_log_set_sink(NULL, NULL);
    for (size_t i = 0; i < 3; i++) {
        engine *e = NULL;
        program *p = NULL;
        pgy_error err = {0};
        char shape[16];
        size_t room = 0;
        model_builder b = builder_start(18);
        snprintf(shape, sizeof shape, "%d", (int)(SIZES_MiB[i] * (1 << 20) / sizeof(float)));
        builder_input(&b, "x", PGY_F32, shape);
        builder_input(&b, "w", PGY_F32, shape);
        builder_node(&b, "Add", "x w", "y");
        builder_output(&b, "y", PGY_F32, NULL);
        pgy_status st = build(&e, builder_finish_bytes(&b), false, &err);
        if (!st) st = engine_program_for(&p, e, 0, &err);
        for (uint32_t k = 0; !st && k < p->step_count; k++) {
            const device_copy_way way = device_copy_way_of(p, k);
            if (p->steps[k].act != PROGRAM_COPY) continue;
            str_append(out, way == COPY_IN ? "in" : way == COPY_OUT ? "out" : "other");
            str_append(out, way && device_copies_fit(&room, p, k) ? " fits " : " ");
        }
        program_release(p);
        engine_release(e);
    }
}

static void test_cuda__graphs_have_copies_of_one_mebibyte(void **state)
{
    (void)state;
    fake_cuda_use(TEST_BINARY_DIR);
    assert_string_equal(fake_cuda_child(find_copies),
                        "in fits in fits out fits in fits in fits out other other other ");
}

static void run_nothing(void **arguments, const unsigned grid[3], const unsigned block[3])
{
    (void)arguments, (void)grid, (void)block;
}

/* By the stand-in's clock, each sample of ten runs takes a millisecond. */
static void measure_both(str *out)
{
    const int64_t shape[1] = {8};
    const op_def def = {.name = "Relu"};
    const op_node node = {.def = &def, .name = "relu"};
    const kernel kernels[] = {{.name = "early",
                               .ops = "Relu",
                               .device = "cuda",
                               .accept = accept,
                               .prepare = prepare,
                               .enqueue = enqueue,
                               .load = load,
                               .unload = unload},
                              {.name = "holding",
                               .ops = "Relu",
                               .flags = KERNEL_HOLDS_NEXT,
                               .device = "cuda",
                               .accept = accept,
                               .prepare = prepare,
                               .enqueue = enqueue,
                               .load = load,
                               .unload = unload}};
    kernel_problem problem = {.node = &node, .space = 1, .input_count = 1, .output_count = 1};
    device *d = NULL;
    pgy_error err = {0};
    problem.inputs[0] = problem.outputs[0] =
        (kernel_tensor){.dtype = PGY_F32, .rank = 1, .shape = shape, .space = 1};
    if (device_open(&d, "cuda", &err)) str_append(out, err.text);
    if (d) fake_cuda_set_kernel("test_add", SIZES, run_nothing);
    for (size_t i = 0; d && i < 2; i++) {
        const measure_candidate c = {.kernel = &kernels[i], .problem = &problem, .device = d};
        str_printf(out, "%.0f ", measure_on_device(&c, INT64_MAX));
    }
}

static void test_cuda__a_kernel_that_holds_up_the_next_one_counts_for_it(void **state)
{
    (void)state;
    fake_cuda_use(TEST_BINARY_DIR);
    assert_string_equal(fake_cuda_child(measure_both), "100000 100700 ");
}

/* Each call of the driver that can fail while an engine is built and run does so: the result is an
 * error, or what an undisturbed run gives. */
static void test_cuda__each_call_may_fail_in_a_run(void **state)
{
    static const char *const CALLS[] = {
#define X(member, symbol, arguments) symbol,
#include "device/cuda/driver.def"
#include "device/cuda/nvrtc.def"
#undef X
    };
    (void)state;
    fake_cuda_use(TEST_BINARY_DIR);
    for (size_t i = 0; i < sizeof CALLS / sizeof *CALLS; i++)
        for (int nth = 1; nth <= 5; nth += 2) {
            char rule[96];
            snprintf(rule, sizeof rule, "%s:%d:1", CALLS[i], nth);
            setenv("FAKE_CUDA_FAIL", rule, 1);
            const char *text = fake_cuda_child(run_on_device);
            if (strstr(text, "killed")) fail_msg("%s: %s", rule, text);
            if (!strstr(text, RESULTS) && !strstr(text, "cuda:0") && !strstr(text, "NVRTC") &&
                !strstr(text, "does not compile") && !strstr(text, "NVIDIA driver") &&
                !strstr(text, "out of memory"))
                fail_msg("%s: %s", rule, text);
        }
}
