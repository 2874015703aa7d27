/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "graph_text.h"

/* Builds a node whose operator is the text in `user`. */
static pgy_status build(pgy_gs_node **out, pgy_gs_graph *g, const pgy_gs_call *call, void *user,
                        pgy_error *err)
{
    const pgy_gs_operand output = pgy_gs_name_operand("out");
    const pgy_gs_layer_spec spec = {.op = user,
                                    .inputs = call->inputs,
                                    .input_count = call->input_count,
                                    .outputs = &output,
                                    .output_count = 1};
    return pgy_gs_layer(out, g, &spec, err);
}

static void add(pgy_gs_graph *g, const char *name, const int64_t *opsets, size_t count,
                const char *op)
{
    pgy_error err = {0};
    const pgy_gs_operation o = {
        .name = name, .opsets = opsets, .opset_count = count, .build = build, .user = (void *)op};
    assert_int_equal(pgy_gs_register(g, &o, &err), PGY_OK);
}

static const char *called(pgy_gs_graph *g, const char *name)
{
    pgy_error err = {0};
    pgy_gs_node *n = NULL;
    return pgy_gs_invoke(&n, g, name, NULL, &err) ? "" : n->op;
}

static void test_registry__the_opset_decides_then_all_then_functions(void **state)
{
    (void)state;
    pgy_error err = {0};
    pgy_gs_graph *g = text_graph(), *f = NULL;
    const int64_t one[] = {1}, eleven[] = {10, 11};
    add(g, "relu", eleven, 2, "Relu11");
    add(g, "relu", one, 1, "Relu1");
    assert_string_equal(called(g, "relu"), "Relu11");
    add(g, "relu", NULL, 0, "ReluAny");
    assert_string_equal(called(g, "relu"), "Relu11");
    assert_int_equal(pgy_gs_set_opset(g, 13, &err), PGY_OK);
    assert_string_equal(called(g, "relu"), "ReluAny");
    assert_int_equal(pgy_gs_set_opset(g, 1, &err), PGY_OK);
    assert_string_equal(called(g, "relu"), "Relu1");
    add(g, "relu", one, 1, "Newest");
    assert_string_equal(called(g, "relu"), "Newest");

    assert_int_equal(pgy_gs_function(&f, g, "twice", NULL, &err), PGY_OK);
    assert_string_equal(called(g, "twice"), "twice");
    add(g, "twice", NULL, 0, "Registered");
    assert_string_equal(called(g, "twice"), "Registered");
    pgy_gs_destroy(g);
}

static void test_registry__what_is_not_there_is_explained(void **state)
{
    (void)state;
    pgy_error err = {0};
    pgy_gs_graph *g = text_graph();
    pgy_gs_node *n = NULL;
    const int64_t opsets[] = {1, 13};
    add(g, "relu", opsets, 2, "Relu");
    assert_int_equal(pgy_gs_invoke(&n, g, "relu", NULL, &err), PGY_E_NOT_FOUND);
    assert_string_equal(
        err.text, "no operation 'relu' is registered for opset 11; it is registered for opset 1, "
                  "13");
    assert_int_equal(pgy_gs_invoke(&n, g, "rellu", NULL, &err), PGY_E_NOT_FOUND);
    assert_string_equal(err.text,
                        "no operation 'rellu' is registered for opset 11; did you mean 'relu'?");
    pgy_gs_destroy(g);
}

static void test_registry__calls_that_do_not_fit_name_their_input(void **state)
{
    (void)state;
    pgy_error err = {0};
    pgy_gs_graph *g = text_graph();
    pgy_gs_node *n = NULL;
    pgy_gs_operation o = {.name = "pad",
                          .min_inputs = 2,
                          .max_inputs = 3,
                          .input_kinds = "tif",
                          .build = build,
                          .user = "Pad"};
    assert_int_equal(pgy_gs_register(g, &o, &err), PGY_OK);
    pgy_gs_operand inputs[] = {pgy_gs_tensor_operand(text_tensor(g, "x")), pgy_gs_int_operand(1),
                               pgy_gs_float_operand(2), pgy_gs_int_operand(3)};
    pgy_gs_call call = {.inputs = inputs, .input_count = 1};
    assert_int_equal(pgy_gs_invoke(&n, g, "pad", &call, &err), PGY_E_ARGUMENT);
    assert_string_equal(err.text, "operation 'pad' takes 2 to 3 inputs and was called with 1");
    o.max_inputs = 0;
    assert_int_equal(pgy_gs_register(g, &o, &err), PGY_OK);
    assert_int_equal(pgy_gs_invoke(&n, g, "pad", &call, &err), PGY_E_ARGUMENT);
    assert_string_equal(err.text, "operation 'pad' takes at least 2 inputs and was called with 1");
    o.max_inputs = 3;
    assert_int_equal(pgy_gs_register(g, &o, &err), PGY_OK);
    call.input_count = 4;
    assert_int_equal(pgy_gs_invoke(&n, g, "pad", &call, &err), PGY_E_ARGUMENT);
    call.input_count = 3;
    assert_int_equal(pgy_gs_invoke(&n, g, "pad", &call, &err), PGY_OK);
    inputs[2] = pgy_gs_omitted_operand();
    assert_int_equal(pgy_gs_invoke(&n, g, "pad", &call, &err), PGY_OK);
    inputs[1] = pgy_gs_float_operand(1);
    assert_int_equal(pgy_gs_invoke(&n, g, "pad", &call, &err), PGY_E_ARGUMENT);
    assert_string_equal(err.text, "operation 'pad': input 1 must be integers");

    o.input_kinds = "tx";
    assert_int_equal(pgy_gs_register(g, &o, &err), PGY_E_ARGUMENT);
    assert_string_equal(
        err.text, "operation 'pad': unknown kind of input 'x'; the kinds are t, n, c, i, f and ?");
    pgy_gs_destroy(g);
}

static pgy_status build_by_itself(pgy_gs_node **out, pgy_gs_graph *g, const pgy_gs_call *call,
                                  void *user, pgy_error *err)
{
    return pgy_gs_invoke(out, g, user, call, err);
}

static void test_registry__endless_operations_are_refused(void **state)
{
    (void)state;
    pgy_error err = {0};
    pgy_gs_node *n;
    pgy_gs_graph *g = text_graph();
    static char name[] = "again";
    const pgy_gs_operation operation = {.name = name, .build = build_by_itself, .user = name};
    assert_int_equal(pgy_gs_register(g, &operation, &err), PGY_OK);
    for (int i = 0; i < 2; i++) { /* the depth is as before */
        assert_int_equal(pgy_gs_invoke(&n, g, name, NULL, &err), PGY_E_ARGUMENT);
        assert_string_equal(err.text,
                            "operation 'again': operations invoke each other more than 200 deep");
    }
    pgy_gs_destroy(g);
}
