/* SPDX-License-Identifier: Apache-2.0 */
/* Makes small float32 networks from random bytes: convolutions, normalisations, attention-like
 * products, shape changes. They are numerically stable, so every correct runtime gets about the
 * same numbers. */
#ifndef HARNESS_RANDOM_NETWORK_H
#define HARNESS_RANDOM_NETWORK_H

#include <polygraphy/network.h>

/* Source of all choices: the given bytes, then a random generator seeded by them. */
typedef struct byte_source {
    const uint8_t *data;
    size_t size;
    uint64_t state;
} byte_source;

/* Draws a number less than `bound`. */
uint32_t byte_source_below(byte_source *s, uint32_t bound);
/* Fills a float32 tensor with elements between -1 and 1. */
void byte_source_fill(byte_source *s, pgy_tensor *t);
/* NULL: out of memory. */
pgy_model *random_network(byte_source *s);
/* Like random_network, with at most max_layers layers (limited to RANDOM_MAX_LAYERS). */
enum { RANDOM_MAX_LAYERS = 24 };
pgy_model *random_network_below(byte_source *s, uint32_t max_layers);
/* Random float32 data for every input. All shapes must be fixed. */
pgy_tensor_map *random_feed(byte_source *s, const pgy_metadata *inputs);
/* The largest difference divided by the root mean square of `wanted`. Infinite if only one of two
 * corresponding elements is finite. */
double largest_error(const pgy_tensor *got, const pgy_tensor *wanted);

#endif
