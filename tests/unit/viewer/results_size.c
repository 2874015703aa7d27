/* SPDX-License-Identifier: Apache-2.0 */
/* Quantities that every model has: bytes and operations of nodes. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "harness/model_builder.h"
#include "viewer/page.h"

static double value_at(const pgy_page *p, const char *id, const char *node)
{
    const view_quantity *q = view_quantity_find(&p->results, id, 0);
    if (!q) fail_msg("no quantity '%s'", id);
    const uint32_t at = view_graph_node(p->graphs[0], node);
    assert_true(at < q->count);
    return q->is_measured[at] ? q->values[at] : NAN;
}

static void test_results_size__bytes_and_operations_of_nodes(void **state)
{
    (void)state;
    pgy_error err = {0};
    pgy_page *p = NULL;
    model_builder b = builder_start(17);
    builder_input(&b, "x", PGY_F32, "2, 3");
    builder_floats(&b, "w", "3, 4", NULL);
    builder_node(&b, "MatMul", "x w", "m")->name = "product";
    builder_node(&b, "Relu", "m", "y")->name = "positive";
    builder_output(&b, "y", PGY_F32, "2, 4");
    pgy_model *model = builder_finish_bytes(&b);
    if (pgy_page_create(&p, NULL, &err)) fail_msg("%s", err.text);
    if (pgy_page_add_model(p, model, "m", &err)) fail_msg("%s", err.text);
    pgy_model_destroy(model);
    if (page_complete(p, &err)) fail_msg("%s", err.text);
    assert_true(value_at(p, "output_bytes", "product") == 2 * 4 * 4);
    assert_true(value_at(p, "weight_bytes", "product") == 3 * 4 * 4);
    assert_true(value_at(p, "flops", "product") == 2 * 2 * 3 * 4);
    assert_true(value_at(p, "intensity", "product") == 48. / (32 + 48));
    assert_true(isnan(value_at(p, "weight_bytes", "positive")));
    pgy_page_destroy(p);
}
