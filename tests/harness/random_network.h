/* SPDX-License-Identifier: Apache-2.0 */
/* Small networks out of bytes: convolutions, normalisations, attention-like products, shapes moved
 * about, all in float32 and well behaved, so that whoever computes one must come to about the same
 * numbers. */
#ifndef HARNESS_RANDOM_NETWORK_H
#define HARNESS_RANDOM_NETWORK_H

#include <polygraphy/network.h>

/* Where choices come from: bytes, and behind their end a generator seeded by them. */
typedef struct byte_source {
    const uint8_t *data;
    size_t size;
    uint64_t state;
} byte_source;

/* Below `bound`. */
uint32_t byte_source_below(byte_source *s, uint32_t bound);
/* Elements between -1 and 1. */
void byte_source_fill(byte_source *s, pgy_tensor *t);
/* NULL: out of memory. */
pgy_model *random_network(byte_source *s);
/* The same of at most so many layers, up to RANDOM_MAX_LAYERS. */
enum { RANDOM_MAX_LAYERS = 24 };
pgy_model *random_network_below(byte_source *s, uint32_t max_layers);
/* Something for every input of fixed shape. */
pgy_tensor_map *random_feed(byte_source *s, const pgy_metadata *inputs);
/* Of the root mean square of what is wanted, the largest difference; infinite if only one of two
 * numbers is finite. */
double largest_error(const pgy_tensor *got, const pgy_tensor *wanted);

#endif
