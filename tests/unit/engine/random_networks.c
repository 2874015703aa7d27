/* SPDX-License-Identifier: Apache-2.0 */
/* Networks that nobody thought of: the engine agrees with the reference, on every processor level
 * and through a plan, and gives the same bits for any number of threads. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/context/context.h"
#include "evaluate/execute.h"
#include "harness/random_network.h"

enum { NETWORKS = 300 };

static pgy_tensor_map *new_map(void)
{
    pgy_tensor_map *m = NULL;
    assert_int_equal(pgy_tensor_map_create(&m, NULL), PGY_OK);
    return m;
}

static pgy_tensor_map *run_reference(pgy_model *model, const pgy_tensor_map *feed)
{
    pgy_graph *g = NULL;
    graph_plan plan = {0};
    const execute_limits limits = {0};
    pgy_tensor_map *out = new_map();
    assert_int_equal(pgy_graph_import(&g, model, NULL), PGY_OK);
    assert_int_equal(plan_build(&plan, g, NULL), PGY_OK);
    assert_int_equal(pgy_graph_infer_shapes(g, NULL, NULL), PGY_OK);
    assert_int_equal(execute_graph(&plan, g, feed, out, false, &limits, NULL), PGY_OK);
    pgy_graph_destroy(g);
    graph_plan_deinit(&plan);
    return out;
}

static pgy_tensor_map *run_engine(engine *e, const pgy_tensor_map *feed, size_t threads,
                                  unsigned seed)
{
    context *c = NULL;
    pgy_error err = {0};
    pgy_tensor_map *out = new_map();
    if (context_create(&c, e, threads, &err)) fail_msg("network %u: %s", seed, err.text);
    if (context_run(c, feed, out, NULL, &err)) fail_msg("network %u: %s", seed, err.text);
    context_destroy(c);
    return out;
}

static void expect_same_bits(pgy_tensor_map *a, const pgy_tensor_map *b, unsigned seed,
                             const char *what)
{
    for (size_t i = 0; i < pgy_tensor_map_count(b); i++) {
        const pgy_tensor *x = pgy_tensor_map_at(a, i), *y = pgy_tensor_map_at(b, i);
        if (memcmp(pgy_tensor_data(x), pgy_tensor_data(y), pgy_tensor_size_bytes(y)))
            fail_msg("network %u, %s: other bits in '%s'", seed, what, pgy_tensor_map_name(b, i));
    }
    pgy_tensor_map_destroy(a);
}

static engine *through_plan(engine *e, unsigned seed)
{
    void *bytes = NULL;
    size_t size = 0;
    engine *loaded = NULL;
    pgy_error err = {0};
    if (engine_serialize(&bytes, &size, e, &err)) fail_msg("network %u: %s", seed, err.text);
    if (engine_load(&loaded, bytes, size, false, &err)) fail_msg("network %u: %s", seed, err.text);
    pgy_engine_free_bytes(bytes);
    return loaded;
}

static void expect_close(const pgy_tensor_map *got, const pgy_tensor_map *wanted, unsigned seed)
{
    assert_int_equal(pgy_tensor_map_count(got), pgy_tensor_map_count(wanted));
    for (size_t i = 0; i < pgy_tensor_map_count(wanted); i++) {
        const double error = largest_error(pgy_tensor_map_at(got, i), pgy_tensor_map_at(wanted, i));
        if (!(error < 1e-3))
            fail_msg("network %u: '%s' is wrong by %g of its root mean square", seed,
                     pgy_tensor_map_name(wanted, i), error);
    }
}

static void try_network(unsigned seed, int64_t level)
{
    byte_source source = {.state = seed};
    const pgy_build_config config = {.size = sizeof config,
                                     .threads = 1,
                                     .has_optimization_level = true,
                                     .optimization_level = level};
    pgy_error err = {0};
    engine *e = NULL;
    pgy_model *model = random_network(&source);
    assert_non_null(model);
    if (engine_build(&e, model, &config, &err)) fail_msg("network %u: %s", seed, err.text);
    pgy_tensor_map *feed = random_feed(&source, engine_inputs(e));
    pgy_tensor_map *wanted = run_reference(model, feed), *got = run_engine(e, feed, 1, seed);
    expect_close(got, wanted, seed);
    if (seed % 4 == 0) {
        expect_same_bits(run_engine(e, feed, 3, seed), got, seed, "3 threads");
        engine *loaded = through_plan(e, seed);
        expect_same_bits(run_engine(loaded, feed, 2, seed), got, seed, "a plan, 2 threads");
        engine_release(loaded);
    }
    pgy_tensor_map_destroy(got);
    pgy_tensor_map_destroy(wanted);
    pgy_tensor_map_destroy(feed);
    engine_release(e);
    pgy_model_destroy(model);
}

/* PGY_TEST_NETWORK=7 tries one alone, PGY_TEST_NETWORKS=5000 more of them. */
static void test_random_networks__agree_with_the_reference(void **state)
{
    const char *one = getenv("PGY_TEST_NETWORK"), *many = getenv("PGY_TEST_NETWORKS");
    const unsigned first = one ? (unsigned)strtoul(one, NULL, 10) : 0;
    const unsigned count = one ? 1 : many ? (unsigned)strtoul(many, NULL, 10) : NETWORKS;
    (void)state;
    for (unsigned seed = first; seed < first + count; seed++) try_network(seed, 0);
}

static void test_random_networks__measured_kernels_agree_too(void **state)
{
    (void)state;
    for (unsigned seed = 10000; seed < 10020; seed++) try_network(seed, 5);
}
