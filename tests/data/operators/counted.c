/* SPDX-License-Identifier: Apache-2.0 */
/* An operator whose tactics have parameters: a count of floats. One states its extent; the struct
 * of the other is of an older version. */
#include <stddef.h>
#include <string.h>

#include <polygraphy/operator.h>

static bool counted_accept(pgy_tactic_use *u, double *cost_ns)
{
    (void)u;
    *cost_ns = 1;
    return true;
}

static pgy_status counted_run(const pgy_tactic_run *r, pgy_error *err)
{
    (void)r;
    (void)err;
    return PGY_OK;
}

static bool counted_extent(pgy_tactic_extent *out, const void *params, size_t params_bytes)
{
    uint64_t count;
    if (params_bytes != sizeof count) return false;
    memcpy(&count, params, sizeof count);
    out->input_bytes[0] = out->output_bytes[0] = count * 4;
    out->workspace_bytes = 64;
    return count < 100;
}

static const pgy_operator_tactic COUNTED = {.size = sizeof(pgy_operator_tactic),
                                            .name = "counted",
                                            .version = 1,
                                            .accept = counted_accept,
                                            .run = counted_run,
                                            .extent = counted_extent};
static const pgy_operator_tactic OLDER = {.size = offsetof(pgy_operator_tactic, extent),
                                          .name = "older",
                                          .version = 1,
                                          .accept = counted_accept,
                                          .run = counted_run};

static pgy_status infer_nothing(pgy_operator_call *c, pgy_error *err)
{
    (void)c;
    (void)err;
    return PGY_OK;
}

static const pgy_operator_tactic *const TACTICS[] = {&COUNTED, &OLDER, NULL};
static const pgy_operator_definition COUNT = {.size = sizeof(pgy_operator_definition),
                                              .abi = PGY_OPERATOR_ABI,
                                              .domain = "test",
                                              .name = "Count",
                                              .since = 1,
                                              .min_inputs = 1,
                                              .max_inputs = 1,
                                              .min_outputs = 1,
                                              .max_outputs = 1,
                                              .infer = infer_nothing,
                                              .tactics = TACTICS};

__attribute__((visibility("default"))) const pgy_operator_definition *const *pgy_operators_v1(
    const pgy_operator_host *h)
{
    static const pgy_operator_definition *const ALL[] = {&COUNT, NULL};
    return h->abi == PGY_OPERATOR_ABI ? ALL : NULL;
}
