/* SPDX-License-Identifier: Apache-2.0 */
/* Loops, conditionals, assertions and plug-ins in networks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "harness/network_case.h"

static const float SIX[] = {1, 2, 3, 4, 5, 6};

static pgy_layer *add(network_case *c, pgy_network *net, pgy_value *a, pgy_value *b,
                      pgy_elementwise_operation operation)
{
    pgy_layer *layer = NULL;
    net_ok(c, pgy_network_add_elementwise(&layer, net, a, b, operation, &c->err));
    return layer;
}

/* ---- Loops ---------------------------------------------------------------------------------- */

/* Running sums over the rows of a matrix: a recurrence, an iterator, all kinds of outputs. */
static void test_network_flow__running_sums(void **state)
{
    (void)state;
    network_case c = net_start();
    pgy_loop *loop = NULL;
    pgy_layer *limit = NULL, *sum = NULL, *row = NULL, *last = NULL, *all = NULL, *back = NULL;
    const int64_t three[] = {3};
    const float zeros[] = {0, 0};
    pgy_value *x = net_floats(&c, "x", "3, 2", SIX), *n = net_ints(&c, "n", "", three);
    pgy_value *zero = net_const_floats(&c, "2", zeros);
    net_ok(&c, pgy_network_add_loop(&loop, c.net, &c.err));
    pgy_network *body = pgy_loop_body(loop);
    net_ok(&c, pgy_loop_add_trip_count(&limit, loop, n, &c.err));
    net_ok(&c, pgy_loop_add_recurrence(&sum, loop, zero, &c.err));
    net_ok(&c, pgy_loop_add_iterator(&row, loop, x, 0, false, &c.err));
    pgy_layer *next = add(&c, body, sum->outputs[0], row->outputs[0], PGY_ELEMENTWISE_SUM);
    net_ok(&c, pgy_loop_set_next(sum, next->outputs[0], &c.err));
    net_ok(&c, pgy_loop_add_output(&last, loop, sum->outputs[0], PGY_LOOP_LAST_VALUE, 0, &c.err));
    net_ok(&c, pgy_loop_add_output(&all, loop, next->outputs[0], PGY_LOOP_CONCATENATE, 1, &c.err));
    net_ok(&c, pgy_loop_add_output(&back, loop, next->outputs[0], PGY_LOOP_REVERSE, 0, &c.err));
    assert_int_equal(last->output_count, 0);
    net_ok(&c, pgy_loop_close(loop, &c.err));
    assert_int_equal(limit->type, PGY_LAYER_TRIP_LIMIT);
    assert_int_equal(sum->type, PGY_LAYER_RECURRENCE);
    assert_int_equal(row->type, PGY_LAYER_ITERATOR);
    assert_int_equal(last->type, PGY_LAYER_LOOP_OUTPUT);
    assert_int_equal(pgy_network_layer_count(body), 3);
    assert_int_equal(pgy_network_layer_count(c.net), 5); /* zero, limit and three outputs */
    net_expect(&c, last->outputs[0], "2", (double[]){9, 12});
    net_expect(&c, all->outputs[0], "2, 3", (double[]){1, 4, 9, 2, 6, 12});
    net_expect(&c, back->outputs[0], "3, 2", (double[]){9, 12, 4, 6, 1, 2});
    net_finish(&c);
}

static void test_network_flow__iterators_go_backwards(void **state)
{
    (void)state;
    network_case c = net_start();
    pgy_loop *loop = NULL;
    pgy_layer *column = NULL, *all = NULL;
    const int64_t three[] = {3};
    pgy_value *x = net_floats(&c, "x", "2?, 3?", SIX);
    net_ok(&c, pgy_network_add_loop(&loop, c.net, &c.err));
    net_ok(&c, pgy_loop_add_trip_count(NULL, loop, net_const_ints(&c, "", three), &c.err));
    net_ok(&c, pgy_loop_add_iterator(&column, loop, x, 1, true, &c.err));
    net_ok(&c,
           pgy_loop_add_output(&all, loop, column->outputs[0], PGY_LOOP_CONCATENATE, 0, &c.err));
    net_ok(&c, pgy_loop_close(loop, &c.err));
    net_expect(&c, all->outputs[0], "3, 2", (double[]){3, 6, 2, 5, 1, 4});
    net_finish(&c);
}

/* x doubles while it is below the limit; the condition is asked before every iteration. */
static void doubles_while(float start, float limit, double result, double rounds)
{
    network_case c = net_start();
    pgy_loop *loop = NULL;
    pgy_layer *x = NULL, *count = NULL, *last = NULL, *counted = NULL, *loop_while = NULL;
    pgy_value *first = net_floats(&c, "first", "", &start), *most = net_floats(&c, "m", "", &limit);
    pgy_value *zero = net_const_floats(&c, "", (float[]){0});
    pgy_value *one = net_const_floats(&c, "", (float[]){1});
    net_ok(&c, pgy_network_add_loop(&loop, c.net, &c.err));
    pgy_network *body = pgy_loop_body(loop);
    net_ok(&c, pgy_loop_add_recurrence(&x, loop, first, &c.err));
    net_ok(&c, pgy_loop_add_recurrence(&count, loop, zero, &c.err));
    pgy_layer *twice = add(&c, body, x->outputs[0], x->outputs[0], PGY_ELEMENTWISE_SUM);
    pgy_layer *more = add(&c, body, count->outputs[0], one, PGY_ELEMENTWISE_SUM);
    pgy_layer *small = add(&c, body, x->outputs[0], most, PGY_ELEMENTWISE_LESS);
    net_ok(&c, pgy_loop_set_next(x, twice->outputs[0], &c.err));
    net_ok(&c, pgy_loop_set_next(count, more->outputs[0], &c.err));
    net_ok(&c, pgy_loop_add_while(&loop_while, loop, small->outputs[0], &c.err));
    net_ok(&c, pgy_loop_add_output(&last, loop, x->outputs[0], PGY_LOOP_LAST_VALUE, 0, &c.err));
    net_ok(&c,
           pgy_loop_add_output(&counted, loop, count->outputs[0], PGY_LOOP_LAST_VALUE, 0, &c.err));
    net_ok(&c, pgy_loop_close(loop, &c.err));
    net_expect(&c, last->outputs[0], "", &result);
    net_expect(&c, counted->outputs[0], "", &rounds);
    net_finish(&c);
}

static void test_network_flow__while(void **state)
{
    (void)state;
    doubles_while(1, 10, 16, 4);
    doubles_while(8, 10, 16, 1);
    doubles_while(10, 10, 10, 0); /* no iteration at all */
}

static void test_network_flow__wrong_loops(void **state)
{
    (void)state;
    network_case c = net_start();
    pgy_loop *loop = NULL;
    pgy_layer *r = NULL, *row = NULL, *none = NULL;
    pgy_model *model = NULL;
    const int64_t three[] = {3};
    const bool yes = true;
    pgy_value *x = net_floats(&c, "x", "3, 2", SIX), *w = net_const_floats(&c, "2", SIX);
    net_ok(&c, pgy_network_add_loop(&loop, c.net, &c.err));
    pgy_network *body = pgy_loop_body(loop);
    net_refused(&c, pgy_loop_add_trip_count(&none, loop, w, &c.err), PGY_E_TYPE,
                "the trip count is float32; expected an integer");
    net_refused(&c, pgy_loop_close(loop, &c.err), PGY_E_ARGUMENT,
                "neither a trip count nor a condition");
    net_ok(&c, pgy_loop_add_trip_count(NULL, loop, net_const_ints(&c, "", three), &c.err));
    net_refused(&c, pgy_loop_close(loop, &c.err), PGY_E_ARGUMENT, "no outputs");
    net_ok(&c, pgy_loop_add_recurrence(&r, loop, w, &c.err));
    net_ok(&c, pgy_loop_add_iterator(&row, loop, x, 0, false, &c.err));
    net_refused(&c, pgy_loop_set_next(r, x, &c.err), PGY_E_SHAPE,
                "but its next value is 'x' float32 [3, 2]");
    net_refused(&c,
                pgy_loop_add_output(&none, loop, row->outputs[0], PGY_LOOP_LAST_VALUE, 0, &c.err),
                PGY_E_ARGUMENT, "is not a recurrence");
    net_ok(&c, pgy_loop_add_output(&none, loop, r->outputs[0], PGY_LOOP_LAST_VALUE, 0, &c.err));
    net_refused(&c, pgy_loop_close(loop, &c.err), PGY_E_ARGUMENT, "no next value");
    net_refused(&c, pgy_network_add_unary(&none, c.net, row->outputs[0], PGY_UNARY_NEG, &c.err),
                PGY_E_ARGUMENT, "not in");
    net_ok(&c, pgy_network_mark_output(c.net, w, &c.err));
    net_refused(&c, pgy_network_to_model(&model, c.net, &c.err), PGY_E_ARGUMENT, "not closed");
    /* A condition that needs the present row cannot be asked before there is one. */
    pgy_layer *less = add(&c, body, row->outputs[0], w, PGY_ELEMENTWISE_LESS), *scalar = NULL;
    const int64_t zero[] = {0};
    net_ok(&c, pgy_network_add_gather(&scalar, body, less->outputs[0], net_const_ints(&c, "", zero),
                                      PGY_GATHER_DEFAULT, 0, 0, &c.err));
    net_ok(&c, pgy_loop_set_next(r, row->outputs[0], &c.err));
    net_ok(&c, pgy_loop_add_while(NULL, loop, scalar->outputs[0], &c.err));
    net_refused(&c, pgy_loop_close(loop, &c.err), PGY_E_UNSUPPORTED, "depends on the iterator");
    net_refused(&c, pgy_loop_add_while(NULL, loop, net_bools(&c, "yes", "", &yes), &c.err),
                PGY_E_ARGUMENT, "already has a condition");
    net_drop(&c);
}

static void test_network_flow__closed_loops_stay_closed(void **state)
{
    (void)state;
    network_case c = net_start();
    pgy_loop *loop = NULL;
    pgy_layer *row = NULL, *all = NULL, *none = NULL;
    const int64_t two[] = {2};
    pgy_value *x = net_floats(&c, "x", "3, 2", SIX);
    net_ok(&c, pgy_network_add_loop(&loop, c.net, &c.err));
    net_ok(&c, pgy_loop_add_trip_count(NULL, loop, net_const_ints(&c, "", two), &c.err));
    net_ok(&c, pgy_loop_add_iterator(&row, loop, x, 0, false, &c.err));
    net_ok(&c, pgy_loop_add_output(&all, loop, row->outputs[0], PGY_LOOP_CONCATENATE, 0, &c.err));
    net_ok(&c, pgy_loop_close(loop, &c.err));
    net_refused(&c, pgy_loop_close(loop, &c.err), PGY_E_ARGUMENT, "already closed");
    net_refused(
        &c,
        pgy_network_add_unary(&none, pgy_loop_body(loop), row->outputs[0], PGY_UNARY_NEG, &c.err),
        PGY_E_ARGUMENT, "is closed");
    net_refused(&c, pgy_loop_add_iterator(&none, loop, x, 0, false, &c.err), PGY_E_ARGUMENT,
                "closed");
    net_refused(&c, pgy_network_remove_layer(c.net, all, &c.err), PGY_E_ARGUMENT, "part of a loop");
    net_expect(&c, all->outputs[0], "2, 2", (double[]){1, 2, 3, 4});
    net_finish(&c);
}

/* A table of products: a loop in a loop, both indices from outside. */
static void test_network_flow__loops_nest(void **state)
{
    (void)state;
    network_case c = net_start();
    pgy_loop *outer = NULL, *inner = NULL;
    pgy_layer *a = NULL, *b = NULL, *row = NULL, *table = NULL;
    const int64_t two[] = {2}, three[] = {3};
    pgy_value *x = net_floats(&c, "x", "2", SIX), *y = net_floats(&c, "y", "3", SIX);
    net_ok(&c, pgy_network_add_loop(&outer, c.net, &c.err));
    net_ok(&c, pgy_loop_add_trip_count(NULL, outer, net_const_ints(&c, "", two), &c.err));
    net_ok(&c, pgy_loop_add_iterator(&a, outer, x, 0, false, &c.err));
    net_ok(&c, pgy_network_add_loop(&inner, pgy_loop_body(outer), &c.err));
    net_ok(&c, pgy_loop_add_trip_count(NULL, inner, net_const_ints(&c, "", three), &c.err));
    net_ok(&c, pgy_loop_add_iterator(&b, inner, y, 0, false, &c.err));
    pgy_layer *product =
        add(&c, pgy_loop_body(inner), a->outputs[0], b->outputs[0], PGY_ELEMENTWISE_PROD);
    net_ok(&c,
           pgy_loop_add_output(&row, inner, product->outputs[0], PGY_LOOP_CONCATENATE, 0, &c.err));
    net_refused(&c, pgy_loop_close(outer, &c.err), PGY_E_ARGUMENT, "inside of the loop");
    net_ok(&c, pgy_loop_close(inner, &c.err));
    net_ok(&c,
           pgy_loop_add_output(&table, outer, row->outputs[0], PGY_LOOP_CONCATENATE, 0, &c.err));
    net_ok(&c, pgy_loop_close(outer, &c.err));
    net_expect(&c, table->outputs[0], "2, 3", (double[]){1, 2, 3, 2, 4, 6});
    net_finish(&c);
}

/* ---- Conditionals --------------------------------------------------------------------------- */

static void choose(bool condition, const double *wanted)
{
    network_case c = net_start();
    pgy_conditional *branches = NULL;
    pgy_layer *input = NULL, *negative = NULL, *out = NULL, *second = NULL;
    pgy_value *x = net_floats(&c, "x", "2", SIX), *p = net_bools(&c, "p", "", &condition);
    net_ok(&c, pgy_network_add_conditional(&branches, c.net, p, &c.err));
    net_ok(&c, pgy_conditional_add_input(&input, branches, x, &c.err));
    net_ok(&c, pgy_network_add_unary(&negative, pgy_conditional_branch(branches, true),
                                     input->outputs[0], PGY_UNARY_NEG, &c.err));
    net_ok(&c, pgy_conditional_add_output(&out, branches, negative->outputs[0], input->outputs[0],
                                          &c.err));
    net_ok(&c, pgy_conditional_add_output(&second, branches, x, x, &c.err));
    net_ok(&c, pgy_conditional_close(branches, &c.err));
    assert_int_equal(input->type, PGY_LAYER_CONDITIONAL_INPUT);
    assert_int_equal(out->type, PGY_LAYER_CONDITIONAL_OUTPUT);
    assert_int_equal(pgy_network_layer_at(c.net, 0)->type, PGY_LAYER_CONDITION);
    net_expect(&c, out->outputs[0], "2", wanted);
    net_expect(&c, second->outputs[0], "2", (double[]){1, 2});
    net_finish(&c);
}

static void test_network_flow__conditionals(void **state)
{
    (void)state;
    choose(true, (double[]){-1, -2});
    choose(false, (double[]){1, 2});
}

static void test_network_flow__wrong_conditionals(void **state)
{
    (void)state;
    network_case c = net_start();
    pgy_conditional *branches = NULL;
    pgy_layer *negative = NULL, *none = NULL;
    const bool yes = true;
    pgy_value *x = net_floats(&c, "x", "2", SIX), *p = net_bools(&c, "p", "", &yes);
    pgy_value *n = net_const_ints(&c, "2", (int64_t[]){1, 2});
    net_refused(&c, pgy_network_add_conditional(&branches, c.net, x, &c.err), PGY_E_TYPE,
                "expected bool");
    net_ok(&c, pgy_network_add_conditional(&branches, c.net, p, &c.err));
    net_ok(&c, pgy_network_add_unary(&negative, pgy_conditional_branch(branches, true), x,
                                     PGY_UNARY_NEG, &c.err));
    net_refused(&c, pgy_conditional_close(branches, &c.err), PGY_E_ARGUMENT, "has no outputs");
    net_refused(&c, pgy_conditional_add_output(&none, branches, x, n, &c.err), PGY_E_TYPE,
                "different types");
    net_refused(&c, pgy_conditional_add_output(&none, branches, x, negative->outputs[0], &c.err),
                PGY_E_ARGUMENT, "the branch for false");
    net_drop(&c);
}

/* ---- Assertions ----------------------------------------------------------------------------- */

static network_case asserting(const float *data)
{
    network_case c = net_start();
    pgy_layer *small = NULL, *check = NULL, *neg = NULL;
    const float most[] = {5};
    pgy_value *x = net_floats(&c, "x", "2", data);
    net_ok(&c, pgy_network_add_elementwise(&small, c.net, x, net_const_floats(&c, "", most),
                                           PGY_ELEMENTWISE_LESS, &c.err));
    net_ok(&c, pgy_network_add_assertion(&check, c.net, small->outputs[0], "x must be below 5",
                                         &c.err));
    net_ok(&c, pgy_network_add_unary(&neg, c.net, x, PGY_UNARY_NEG, &c.err));
    assert_int_equal(check->type, PGY_LAYER_ASSERTION);
    assert_int_equal(check->output_count, 0);
    net_expect(&c, neg->outputs[0], "2", (double[]){-(double)data[0], -(double)data[1]});
    return c;
}

static void test_network_flow__assertions(void **state)
{
    (void)state;
    network_case c = asserting(SIX);
    net_finish(&c);
    c = asserting(SIX + 3);
    net_finish_failing(&c, "x must be below 5");
}

/* Each row is looked at in its iteration. */
static network_case asserting_rows(const float *data)
{
    network_case c = net_start();
    pgy_loop *loop = NULL;
    pgy_layer *row = NULL, *all = NULL;
    const int64_t three[] = {3};
    const float most[] = {8};
    pgy_value *x = net_floats(&c, "x", "3, 2", data);
    pgy_value *limit = net_const_floats(&c, "", most);
    net_ok(&c, pgy_network_add_loop(&loop, c.net, &c.err));
    net_ok(&c, pgy_loop_add_trip_count(NULL, loop, net_const_ints(&c, "", three), &c.err));
    net_ok(&c, pgy_loop_add_iterator(&row, loop, x, 0, false, &c.err));
    pgy_layer *less = add(&c, pgy_loop_body(loop), row->outputs[0], limit, PGY_ELEMENTWISE_LESS);
    net_ok(&c, pgy_network_add_assertion(NULL, pgy_loop_body(loop), less->outputs[0],
                                         "a row is too large", &c.err));
    net_ok(&c, pgy_loop_add_output(&all, loop, row->outputs[0], PGY_LOOP_CONCATENATE, 0, &c.err));
    net_ok(&c, pgy_loop_close(loop, &c.err));
    net_expect(&c, all->outputs[0], "3, 2", (double[]){1, 2, 3, 4, 5, 6});
    return c;
}

static void test_network_flow__assertions_in_loops(void **state)
{
    (void)state;
    network_case c = asserting_rows(SIX);
    net_finish(&c);
    c = asserting_rows((float[]){1, 2, 3, 4, 5, 9});
    net_finish_failing(&c, "a row is too large");
}

static void test_network_flow__assertions_of_constants(void **state)
{
    (void)state;
    network_case c = net_start();
    pgy_layer *check = NULL, *neg = NULL;
    pgy_value *x = net_floats(&c, "x", "2", SIX);
    pgy_value *yes = net_const(&c, PGY_BOOL, "2", (double[]){1, 1});
    pgy_value *no = net_const(&c, PGY_BOOL, "2", (double[]){1, 0});
    net_ok(&c, pgy_network_add_assertion(&check, c.net, yes, "fine", &c.err));
    net_refused(&c, pgy_network_add_assertion(&check, c.net, no, "never", &c.err), PGY_E_ARGUMENT,
                "the assertion is false: never");
    net_refused(&c, pgy_network_add_assertion(&check, c.net, x, "", &c.err), PGY_E_TYPE,
                "expected bool");
    net_ok(&c, pgy_network_add_unary(&neg, c.net, x, PGY_UNARY_NEG, &c.err));
    net_expect(&c, neg->outputs[0], "2", (double[]){-1, -2});
    net_finish(&c);
}

/* ---- Plug-ins ------------------------------------------------------------------------------- */

static void test_network_flow__operators_of_other_domains(void **state)
{
    (void)state;
    network_case c = net_start();
    pgy_layer *layer = NULL;
    pgy_value *x = net_floats(&c, "x", "2, 2", SIX), *w = net_const_floats(&c, "2, 2", SIX);
    pgy_value *inputs[] = {x, w};
    const pgy_plugin_field fields[] = {
        {.name = "alpha", .kind = PGY_FIELD_FLOAT, .f = 2},
        {.name = "transB", .kind = PGY_FIELD_INT, .i = 1},
    };
    net_refused(&c,
                pgy_network_add_plugin(&layer, c.net, "my.domain", "Nothing", inputs, 2, 1, NULL, 0,
                                       &c.err),
                PGY_E_NOT_FOUND, "no operator 'Nothing' of domain 'my.domain'");
    net_ok(&c, pgy_network_add_plugin(&layer, c.net, "com.microsoft", "FusedMatMul", inputs, 2, 1,
                                      fields, 2, &c.err));
    assert_int_equal(layer->type, PGY_LAYER_PLUGIN_V3);
    net_expect(&c, layer->outputs[0], "2, 2", (double[]){10, 22, 22, 50});
    net_finish(&c);
}

/* ---- Memory --------------------------------------------------------------------------------- */

static pgy_status build_and_export(pgy_error *err)
{
    const int64_t dims[] = {3, 2}, shape[] = {1};
    pgy_network *net = NULL;
    pgy_model *model = NULL;
    pgy_loop *loop = NULL;
    pgy_tensor *t = NULL;
    pgy_value *x = NULL;
    pgy_layer *trips = NULL, *row = NULL, *clip = NULL, *all = NULL;
    pgy_status st = pgy_network_create(&net, "small", err);
    if (!st) st = pgy_tensor_create(&t, PGY_I64, 1, shape, err);
    if (!st) *(int64_t *)pgy_tensor_data(t) = 3;
    if (!st) st = pgy_network_add_input(&x, net, "x", PGY_F32, 2, dims, err);
    if (!st) st = pgy_network_add_constant(&trips, net, t, err);
    if (!st) st = pgy_network_add_loop(&loop, net, err);
    if (!st) st = pgy_loop_add_trip_count(NULL, loop, trips->outputs[0], err);
    if (!st) st = pgy_loop_add_iterator(&row, loop, x, 0, false, err);
    if (!st)
        st = pgy_network_add_activation(&clip, pgy_loop_body(loop), row->outputs[0],
                                        PGY_ACTIVATION_CLIP, 0, 1, err);
    if (!st) st = pgy_loop_add_output(&all, loop, clip->outputs[0], PGY_LOOP_CONCATENATE, 1, err);
    if (!st) st = pgy_loop_close(loop, err);
    if (!st) st = pgy_layer_set_name(clip, "clip", err);
    if (!st) st = pgy_network_mark_debug(net, all->outputs[0], err);
    if (!st) st = pgy_network_mark_output(net, all->outputs[0], err);
    if (!st) st = pgy_network_to_model(&model, net, err);
    pgy_tensor_release(t);
    pgy_model_destroy(model);
    pgy_network_destroy(net);
    return st;
}

/* Every allocation may fail: nothing is lost, and the status says so or the work was done. */
static void test_network_flow__refused_memory(void **state)
{
    (void)state;
    bool done = false;
    if (!mem_fail_nth(0)) skip();
    for (uint64_t n = 1; !done && n < 20000; n++) {
        pgy_error err = {0};
        mem_fail_nth(n);
        const pgy_status st = build_and_export(&err);
        mem_fail_nth(0);
        if (st != PGY_OK && st != PGY_E_MEMORY)
            fail_msg("allocation %llu: %s", (unsigned long long)n, err.text);
        done = st == PGY_OK && n > 400;
    }
    assert_true(done);
}
