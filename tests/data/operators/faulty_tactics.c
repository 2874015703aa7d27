/* SPDX-License-Identifier: Apache-2.0 */
/* Tactics that go wrong: one fails with a text of its own, one crashes, one accepts at no cost that
 * is a number and one wants a format that does not exist (both stand aside for `compute`). */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <polygraphy/operator.h>

static const pgy_operator_host *host;

static pgy_status same(pgy_operator_call *c, pgy_error *err)
{
    const pgy_operator_type x = host->input_type(c, 0);
    return host->set_output(c, 0, x.dtype, x.rank, x.dims, err);
}

static pgy_status copy(pgy_operator_call *c, pgy_error *err)
{
    pgy_operator_value x;
    void *data;
    if (!host->input_value(c, 0, &x)) return host->set_error(err, PGY_E_ARGUMENT, "no input");
    const pgy_status st = host->output_data(c, 0, x.rank, x.shape, &data, err);
    if (!st && x.count) memcpy(data, x.data, x.count * sizeof(double));
    return st;
}

static bool any(pgy_tactic_use *u, double *cost_ns)
{
    u->inputs[0].block = u->outputs[0].block = 1;
    *cost_ns = 1;
    return true;
}

static bool no_number(pgy_tactic_use *u, double *cost_ns)
{
    (void)u;
    *cost_ns = NAN;
    return true;
}

static bool no_format(pgy_tactic_use *u, double *cost_ns)
{
    u->inputs[0].block = 7;
    *cost_ns = 1;
    return true;
}

static pgy_status fail(const pgy_tactic_run *r, pgy_error *err)
{
    (void)r;
    return host->set_error(err, PGY_E_DEVICE, "the accelerator is on fire");
}

static pgy_status crash(const pgy_tactic_run *r, pgy_error *err)
{
    (void)r, (void)err;
    abort();
}

#define TACTIC(accept_, run_)                                                              \
    {                                                                                      \
        .size = sizeof(pgy_operator_tactic), .name = "t", .version = 1, .accept = accept_, \
        .run = run_                                                                        \
    }
static const pgy_operator_tactic TACTICS[] = {TACTIC(any, fail), TACTIC(any, crash),
                                              TACTIC(no_number, crash), TACTIC(no_format, crash)};
static const pgy_operator_tactic *const LISTS[][2] = {
    {&TACTICS[0], NULL}, {&TACTICS[1], NULL}, {&TACTICS[2], NULL}, {&TACTICS[3], NULL}};

#define OPERATOR(name_, list_)                                                                \
    {                                                                                         \
        .size = sizeof(pgy_operator_definition), .abi = PGY_OPERATOR_ABI, .domain = "faulty", \
        .name = name_, .since = 1, .min_inputs = 1, .max_inputs = 1, .min_outputs = 1,        \
        .max_outputs = 1, .infer = same, .compute = copy, .tactics = LISTS[list_]             \
    }
static const pgy_operator_definition OPERATORS[] = {
    OPERATOR("Fails", 0), OPERATOR("Crashes", 1), OPERATOR("NoNumber", 2), OPERATOR("NoFormat", 3)};

__attribute__((visibility("default"))) const pgy_operator_definition *const *pgy_operators_v1(
    const pgy_operator_host *h)
{
    static const pgy_operator_definition *const ALL[] = {&OPERATORS[0], &OPERATORS[1],
                                                         &OPERATORS[2], &OPERATORS[3], NULL};
    host = h;
    return ALL;
}
