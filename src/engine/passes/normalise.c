/* SPDX-License-Identifier: Apache-2.0 */
/* Converts all models to one opset, so that patterns and kernels know one version of each operator.
 * A model that the newest opset cannot express stays as it is. */
#include "transform/normalise.h"
#include "base/cancel.h"

#include "base/log.h"
#include "engine/passes/pass.h"

static const char LOG_PATH[] = "engine/passes/normalise.c";

static pgy_status run(pgy_graph *g, size_t *changes, pgy_error *err)
{
    pgy_error why = {0};
    const int64_t before = pgy_graph_opset(g, "");
    const pgy_status st = graph_normalise(g, &why);
    if (status_ends_all(st)) return pgy_error_set(err, st, "%s", why.text);
    if (st) LOG(VERBOSE, "The model keeps opset %lld: %s", (long long)before, why.text);
    *changes = pgy_graph_opset(g, "") != before;
    return PGY_OK;
}

const pass PASS_normalise = {
    .name = "normalise", .summary = "conversion to the newest opset", .run = run};
