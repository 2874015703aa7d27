/* SPDX-License-Identifier: Apache-2.0 */
/* Interpreted nodes in a trace. Their shapes may differ from run to run, so labels have none. */
#include "base/system.h"
#include "base/tracer.h"
#include "base/tracer_text.h"
#include "engine/context/state.h"

static uint32_t make_label(const pgy_node *n)
{
    str args = {0};
    trace_put_text(&args, "op", n->op_type);
    trace_put_key(&args, "nodes");
    str_append_char(&args, '[');
    trace_text(&args, node_label(n));
    str_append_char(&args, ']');
    trace_put_text(&args, "backend", "native");
    trace_put_text(&args, "device", "host");
    const trace_label label = {.name = node_label(n), .args = str_text(&args)};
    const uint32_t made = args.failed ? TRACE_NONE : tracer_label(&label);
    str_deinit(&args);
    return made;
}

static uint32_t label_of(context *c, const pgy_node *n)
{
    if (c->traced_epoch != tracer_epoch()) strmap_deinit(&c->traced);
    c->traced_epoch = tracer_epoch();
    const uintptr_t known = (uintptr_t)strmap_get(&c->traced, node_label(n));
    if (known) return (uint32_t)(known - 1);
    const uint32_t made = make_label(n);
    if (made != TRACE_NONE)
        (void)strmap_put(&c->traced, node_label(n), (void *)(uintptr_t)(made + 1ull));
    return made;
}

void context_trace_node(context *c, const pgy_node *n, int64_t ns)
{
    const int64_t end = clock_ns();
    if (tracer_run() == TRACE_NONE) return;
    tracer_span(TRACE_LAYER, label_of(c, n), tracer_row(TRACE_LAYER), end - ns, end);
}
