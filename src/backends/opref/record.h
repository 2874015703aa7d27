/* SPDX-License-Identifier: Apache-2.0 */
/* Recorded tensors that stand in for the outputs of unknown operators. They belong to one set of
 * inputs, which is remembered. */
#ifndef BACKENDS_OPREF_RECORD_H
#define BACKENDS_OPREF_RECORD_H

#include <polygraphy/tensor.h>

typedef struct record {
    pgy_tensor_map *tensors; /* NULL: none */
    uint64_t inputs;         /* what the first inputs hash to */
    bool started;
} record;

/* From results that a run saved, or any format of inputs; exactly one iteration. */
pgy_status record_load(record *r, const char *path, pgy_error *err) PGY_MUST_CHECK;
void record_deinit(record *r);
/* The feed and the recorded tensors `names` together. PGY_E_ARGUMENT if the feed is another one
 * than before */
pgy_status record_join(pgy_tensor_map **out, record *r, const pgy_tensor_map *feed,
                       pgy_error *err) PGY_MUST_CHECK;

#endif
