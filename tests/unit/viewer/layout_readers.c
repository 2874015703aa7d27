/* SPDX-License-Identifier: Apache-2.0 */
/* A tensor that is read outside of its container first, and then inside, as in a merged graph. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "viewer/graph_collect.h"
#include "viewer/layout/layout.h"

static uint32_t add_node(graph_parts *b, uint32_t parent, uint32_t input, uint32_t output)
{
    view_node like = {.name = "", .parent = parent, .op = collect_op(b, "Relu", "")};
    like.inputs = collect_list(b, 1);
    like.outputs = collect_list(b, 1);
    like.inputs[0] = input;
    like.outputs[0] = output;
    like.input_count = input != VIEW_NONE;
    like.output_count = output != VIEW_NONE;
    const uint32_t at = collect_node(b, &like);
    if (output != VIEW_NONE) b->tensors[output].producer = at;
    return at;
}

static void test_layout_readers__outside_first_and_then_inside(void **state)
{
    (void)state;
    graph_parts b;
    pgy_error err = {0};
    view_graph *g = NULL;
    strvec warnings = {0};
    assert_int_equal(collect_start(&b, "merged", "m", &warnings, &err), PGY_OK);
    const view_container outer = {
        .name = "", .parent = VIEW_NONE, .node = VIEW_NONE, .state = VIEW_OPEN};
    const view_container inner = {
        .kind = VIEW_SCOPE, .name = "s", .parent = 0, .node = VIEW_NONE, .state = VIEW_OPEN};
    collect_container(&b, &outer);
    const uint32_t scope = collect_container(&b, &inner);
    const view_tensor like = {.name = "t", .dtype = "", .producer = VIEW_NONE};
    const uint32_t t = collect_tensor(&b, &like);
    add_node(&b, scope, VIEW_NONE, t);
    add_node(&b, 0, t, VIEW_NONE);
    add_node(&b, scope, t, VIEW_NONE);
    assert_int_equal(collect_finish(&g, &b, &err), PGY_OK);
    collect_deinit(&b);
    assert_int_equal(view_layout_run(g, NULL, NULL, &err), PGY_OK);
    assert_int_equal(g->containers[0].layout->edge_count, 1);     /* out of the scope */
    assert_int_equal(g->containers[scope].layout->edge_count, 2); /* to its port, and inside */
    view_graph_destroy(g);
    strvec_deinit(&warnings);
}
