/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of networks: the reference and the engine run a network, and the outputs of both must equal
 * expected numbers.
 *
 *     network_case c = net_start();
 *     pgy_value *x = net_floats(&c, "x", "2, 3", (float[]){...});      // an input with its data
 *     ...
 *     net_expect(&c, layer->outputs[0], "2, 3", (double[]){...});      // marked as an output
 *     net_finish(&c);                                                  // runs, compares, destroys
 *
 * Dynamic inputs are given as "2?, 3": declared -1, fed with 2. */
#ifndef HARNESS_NETWORK_CASE_H
#define HARNESS_NETWORK_CASE_H

#include <polygraphy/network.h>

enum { CASE_MAX_OUTPUTS = 16 };

typedef struct network_case {
    pgy_network *net;
    pgy_tensor_map *feed;
    pgy_error err;
    struct {
        char name[128];
        size_t rank, count;
        int64_t shape[8];
        double values[256];
        double tolerance;
    } expected[CASE_MAX_OUTPUTS];
    size_t expected_count;
} network_case;

network_case net_start(void);
pgy_value *net_floats(network_case *c, const char *name, const char *shape, const float *values);
pgy_value *net_ints(network_case *c, const char *name, const char *shape, const int64_t *values);
pgy_value *net_bools(network_case *c, const char *name, const char *shape, const bool *values);
/* Add constants to the network. */
pgy_value *net_const_floats(network_case *c, const char *shape, const float *values);
pgy_value *net_const_ints(network_case *c, const char *shape, const int64_t *values);
pgy_value *net_const(network_case *c, pgy_dtype dtype, const char *shape, const double *values);
void net_expect(network_case *c, pgy_value *v, const char *shape, const double *values);
/* Fails the test with the error's text. */
void net_ok(network_case *c, pgy_status st);
/* Fails the test unless st == wanted and the error's text contains `part`. */
void net_refused(network_case *c, pgy_status st, pgy_status wanted, const char *part);
/* The first output of a layer. Fails the test if adding the layer returned an error in `st`. */
pgy_value *net_out(network_case *c, pgy_status st, pgy_layer *const *layer);
void net_finish(network_case *c);
/* Like net_finish, but the run must fail with an error whose text contains `part`. */
void net_finish_failing(network_case *c, const char *part);
/* Destroys the case without running it. */
void net_drop(network_case *c);

#endif
