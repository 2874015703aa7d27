/* SPDX-License-Identifier: Apache-2.0 */
/* If, Loop and Scan with bodies written in C: the host's callbacks stand for subgraphs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "ops/op.h"

/* What a "graph" of these tests is. */
typedef enum body { BODY_SEVEN, BODY_EIGHT, BODY_COUNT_UP, BODY_RUNNING_SUM } body;
static body bodies[] = {BODY_SEVEN, BODY_EIGHT, BODY_COUNT_UP, BODY_RUNNING_SUM};

static op_tensor vector(pgy_dtype declared, size_t rank, size_t count, const double *values)
{
    const int64_t shape[] = {(int64_t)count};
    pgy_tensor *t = NULL;
    assert_int_equal(pgy_tensor_create(&t, op_storage(declared), rank, shape, NULL), PGY_OK);
    for (size_t i = 0; i < count; i++) {
        if (declared == PGY_F32)
            op_f64(t)[i] = values[i];
        else if (declared == PGY_BOOL)
            ((uint8_t *)pgy_tensor_data(t))[i] = values[i] != 0;
        else
            op_i64(t)[i] = (int64_t)values[i];
    }
    return (op_tensor){.dtype = declared, .value = t};
}

static op_tensor scalar(pgy_dtype declared, double value)
{
    return vector(declared, 0, 1, &value);
}

/* COUNT_UP: (iteration, condition, x) -> (x + 1 < 5, x + 1, x * 10). RUNNING_SUM: (sum, item) ->
 * (sum + item, sum + item). */
static pgy_status run_graph(void *graph, const op_tensor *in, size_t in_count, op_tensor *out,
                            size_t out_count, void *user, pgy_error *err)
{
    const body which = *(body *)graph;
    (void)user;
    if (which == BODY_SEVEN || which == BODY_EIGHT) {
        assert_int_equal(in_count, 0);
        out[0] = scalar(PGY_F32, which == BODY_SEVEN ? 7 : 8);
    } else if (which == BODY_COUNT_UP) {
        assert_int_equal(in_count, 3);
        assert_int_equal(out_count, 3);
        const double x = op_f64(in[2].value)[0];
        if (x > 100) return pgy_error_set(err, PGY_E_INTERNAL, "the body fails");
        out[0] = scalar(PGY_BOOL, x + 1 < 5);
        out[1] = scalar(PGY_F32, x + 1);
        out[2] = scalar(PGY_F32, x * 10);
    } else {
        const double sum = op_f64(in[0].value)[0] + op_f64(in[1].value)[0];
        out[0] = scalar(PGY_F32, sum);
        out[1] = scalar(PGY_F32, sum);
    }
    return PGY_OK;
}

/* The carried vector of a loop grows by one element each time; what is collected has shape (3,). */
static pgy_status infer_graph(void *graph, const op_value *in, size_t in_count, op_value *out,
                              size_t out_count, void *user, pgy_error *err)
{
    static dim grown[1], collected[1] = {{3, NULL}};
    (void)graph, (void)in_count, (void)err;
    assert_int_equal(out_count, 3);
    grown[0] = dim_add(user, in[2].dims[0], dim_const(1));
    out[0] = (op_value){.dtype = PGY_BOOL};
    out[1] = (op_value){.dtype = PGY_F32, .rank = 1, .dims = grown};
    out[2] = (op_value){.dtype = PGY_F32, .rank = 1, .dims = collected};
    return PGY_OK;
}

static pgy_status run(const char *op, int version, const op_attr *attrs, size_t attr_count,
                      op_tensor *in, size_t in_count, op_tensor *out, size_t out_count,
                      pgy_error *err)
{
    const bool wanted[] = {true, true, true};
    const op_host host = {.run_graph = run_graph};
    const op_node n = {.def = op_find("", op, version),
                       .name = "n",
                       .opset = version,
                       .attrs = attrs,
                       .attr_count = attr_count,
                       .input_count = in_count,
                       .output_count = out_count};
    assert_non_null(n.def);
    const pgy_status st = op_run(&n, in, out, wanted, &host, err);
    for (size_t i = 0; i < in_count; i++) op_tensor_release(&in[i]);
    return st;
}

static void test_control__if_runs_the_chosen_branch(void **state)
{
    const op_attr attrs[] = {
        {.name = "then_branch", .kind = OP_ATTR_GRAPH, .graph = &bodies[BODY_SEVEN]},
        {.name = "else_branch", .kind = OP_ATTR_GRAPH, .graph = &bodies[BODY_EIGHT]}};
    (void)state;
    for (int condition = 0; condition < 2; condition++) {
        op_tensor in[] = {scalar(PGY_BOOL, condition)}, out[1];
        assert_int_equal(run("If", 16, attrs, 2, in, 1, out, 1, NULL), PGY_OK);
        assert_true(op_f64(out[0].value)[0] == (condition ? 7 : 8));
        op_tensor_release(&out[0]);
    }
}

static void check_loop(op_tensor most, double start, double last, size_t count,
                       const double *collected)
{
    const op_attr attrs[] = {
        {.name = "body", .kind = OP_ATTR_GRAPH, .graph = &bodies[BODY_COUNT_UP]}};
    op_tensor in[] = {most, {0}, scalar(PGY_F32, start)}, out[2];
    assert_int_equal(run("Loop", 13, attrs, 1, in, 3, out, 2, NULL), PGY_OK);
    assert_true(op_f64(out[0].value)[0] == last);
    assert_int_equal(pgy_tensor_rank(out[1].value), 1);
    assert_int_equal(pgy_tensor_count(out[1].value), count);
    assert_memory_equal(pgy_tensor_data(out[1].value), collected, count * sizeof *collected);
    op_tensor_release(&out[0]);
    op_tensor_release(&out[1]);
}

static void test_control__loop_ends_by_count_or_condition(void **state)
{
    (void)state;
    check_loop(scalar(PGY_I64, 2), 0, 2, 2, (const double[]){0, 10});
    check_loop((op_tensor){0}, 2, 5, 3, (const double[]){20, 30, 40});
}

static void test_control__loop_passes_the_bodys_error_on(void **state)
{
    const op_attr attrs[] = {
        {.name = "body", .kind = OP_ATTR_GRAPH, .graph = &bodies[BODY_COUNT_UP]}};
    op_tensor in[] = {scalar(PGY_I64, 2), {0}, scalar(PGY_F32, 200)}, out[2];
    pgy_error err = {0};
    (void)state;
    assert_int_equal(run("Loop", 13, attrs, 1, in, 3, out, 2, &err), PGY_E_INTERNAL);
    assert_non_null(strstr(err.text, "the body fails"));
}

static void test_control__scan_carries_and_collects(void **state)
{
    const int64_t backwards[] = {1};
    const op_attr attrs[] = {
        {.name = "body", .kind = OP_ATTR_GRAPH, .graph = &bodies[BODY_RUNNING_SUM]},
        {.name = "num_scan_inputs", .kind = OP_ATTR_INT, .i = 1},
        {.name = "scan_input_directions", .kind = OP_ATTR_INTS, .ints = backwards, .count = 1}};
    const double items[] = {1, 2, 4}, forward[] = {1, 3, 7}, reversed[] = {4, 6, 7};
    (void)state;
    for (size_t reverse = 0; reverse < 2; reverse++) {
        op_tensor in[] = {scalar(PGY_F32, 0), vector(PGY_F32, 1, 3, items)}, out[2];
        assert_int_equal(run("Scan", 11, attrs, 2 + reverse, in, 2, out, 2, NULL), PGY_OK);
        assert_true(op_f64(out[0].value)[0] == 7);
        assert_memory_equal(pgy_tensor_data(out[1].value), reverse ? reversed : forward,
                            sizeof forward);
        op_tensor_release(&out[0]);
        op_tensor_release(&out[1]);
    }
}

static void test_control__loop_widens_what_varies(void **state)
{
    const op_attr attrs[] = {
        {.name = "body", .kind = OP_ATTR_GRAPH, .graph = &bodies[BODY_COUNT_UP]}};
    const op_node n = {.def = op_find("", "Loop", 13),
                       .name = "n",
                       .opset = 13,
                       .attrs = attrs,
                       .attr_count = 1,
                       .input_count = 3,
                       .output_count = 2};
    const dim two[] = {{2, NULL}};
    const op_value in[] = {
        {.dtype = PGY_I64}, {.dtype = PGY_BOOL}, {.dtype = PGY_F32, .rank = 1, .dims = two}};
    const bool present[] = {true, true, true}, wanted[] = {true, true};
    op_value out[2] = {{.rank = -1}, {.rank = -1}};
    dim_table dims = {0};
    arena memory = {0};
    const op_host host = {.infer_graph = infer_graph, .user = &dims};
    op_infer c = {.node = &n,
                  .inputs = in,
                  .present = present,
                  .outputs = out,
                  .wanted = wanted,
                  .dims = &dims,
                  .memory = &memory,
                  .host = &host};
    (void)state;
    assert_int_equal(n.def->infer(&c, NULL), PGY_OK);
    assert_int_equal(out[0].rank, 1);
    assert_true(dim_is_unknown(out[0].dims[0]));
    assert_int_equal(out[1].rank, 2);
    assert_true(dim_is_unknown(out[1].dims[0]));
    assert_true(dim_equal(out[1].dims[1], dim_const(3)));
    dim_table_deinit(&dims);
    arena_deinit(&memory);
}

/* Every output of the body is (3,). */
static pgy_status infer_triples(void *graph, const op_value *in, size_t in_count, op_value *out,
                                size_t out_count, void *user, pgy_error *err)
{
    static const dim triple[1] = {{3, NULL}};
    (void)graph, (void)in, (void)in_count, (void)user, (void)err;
    out[0] = (op_value){.dtype = PGY_BOOL};
    for (size_t i = 1; i < out_count; i++)
        out[i] = (op_value){.dtype = PGY_F32, .rank = 1, .dims = triple};
    return PGY_OK;
}

static void test_control__loop_without_iterations_collects_nothing(void **state)
{
    const op_attr attrs[] = {
        {.name = "body", .kind = OP_ATTR_GRAPH, .graph = &bodies[BODY_COUNT_UP]}};
    const op_host host = {.run_graph = run_graph, .infer_graph = infer_triples};
    const bool wanted[] = {true, true};
    const op_node n = {.def = op_find("", "Loop", 13),
                       .name = "n",
                       .opset = 13,
                       .attrs = attrs,
                       .attr_count = 1,
                       .input_count = 3,
                       .output_count = 2};
    (void)state;
    op_tensor limits[] = {scalar(PGY_I64, 0), scalar(PGY_I64, -4), scalar(PGY_I64, 9)};
    op_tensor goes = scalar(PGY_BOOL, 1), stops = scalar(PGY_BOOL, 0);
    for (size_t i = 0; i < 3; i++) {
        op_tensor in[] = {limits[i], i == 2 ? stops : goes,
                          vector(PGY_F32, 1, 3, (double[]){1, 2, 3})};
        op_tensor out[2];
        assert_int_equal(op_run(&n, in, out, wanted, &host, NULL), PGY_OK);
        assert_int_equal(pgy_tensor_count(out[0].value), 3);
        assert_int_equal(out[1].dtype, PGY_F32);
        assert_int_equal(pgy_tensor_rank(out[1].value), 2);
        assert_int_equal(pgy_tensor_shape(out[1].value)[0], 0);
        assert_int_equal(pgy_tensor_shape(out[1].value)[1], 3);
        op_tensor_release(&in[2]);
        op_tensor_release(&out[0]);
        op_tensor_release(&out[1]);
        op_tensor_release(&limits[i]);
    }
    op_tensor_release(&goes);
    op_tensor_release(&stops);
}

static void test_control__scan_8_goes_through_a_batch_of_uneven_length(void **state)
{
    const op_attr attrs[] = {
        {.name = "body", .kind = OP_ATTR_GRAPH, .graph = &bodies[BODY_RUNNING_SUM]},
        {.name = "num_scan_inputs", .kind = OP_ATTR_INT, .i = 1}};
    (void)state;
    op_tensor flat = vector(PGY_F32, 1, 6, (double[]){1, 2, 3, 10, 20, 30});
    op_tensor in[] = {vector(PGY_I64, 1, 2, (double[]){3, 2}),
                      vector(PGY_F32, 1, 2, (double[]){0.5, 100}),
                      {.dtype = PGY_F32}};
    op_tensor out[2];
    assert_int_equal(pgy_tensor_reshape(&in[2].value, flat.value, 2, (int64_t[]){2, 3}, NULL),
                     PGY_OK);
    op_tensor_release(&flat);
    assert_int_equal(run("Scan", 8, attrs, 2, in, 3, out, 2, NULL), PGY_OK);
    assert_int_equal(pgy_tensor_count(out[0].value), 2);
    assert_memory_equal(op_f64(out[0].value), ((double[]){6.5, 130}), 2 * sizeof(double));
    assert_int_equal(pgy_tensor_rank(out[1].value), 2);
    assert_int_equal(pgy_tensor_shape(out[1].value)[1], 3);
    assert_memory_equal(op_f64(out[1].value), ((double[]){1.5, 3.5, 6.5, 110, 130, 0}),
                        6 * sizeof(double));
    op_tensor_release(&out[0]);
    op_tensor_release(&out[1]);
}

static void test_control__scan_8_refuses_lengths_beyond_the_input(void **state)
{
    const op_attr attrs[] = {
        {.name = "body", .kind = OP_ATTR_GRAPH, .graph = &bodies[BODY_RUNNING_SUM]},
        {.name = "num_scan_inputs", .kind = OP_ATTR_INT, .i = 1}};
    (void)state;
    op_tensor flat = vector(PGY_F32, 1, 2, (double[]){1, 2});
    op_tensor in[] = {vector(PGY_I64, 1, 1, (double[]){3}),
                      vector(PGY_F32, 1, 1, (double[]){0}),
                      {.dtype = PGY_F32}};
    op_tensor out[2];
    pgy_error err = {0};
    assert_int_equal(pgy_tensor_reshape(&in[2].value, flat.value, 2, (int64_t[]){1, 2}, NULL),
                     PGY_OK);
    op_tensor_release(&flat);
    assert_int_equal(run("Scan", 8, attrs, 2, in, 3, out, 2, &err), PGY_E_SHAPE);
    assert_non_null(strstr(err.text, "sequence_lens"));
}
