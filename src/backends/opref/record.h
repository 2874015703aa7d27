/* SPDX-License-Identifier: Apache-2.0 */
/* Recorded tensors that replace the outputs of unknown operators. They are valid for one set of
 * inputs only, so a hash of the first inputs is kept. */
#ifndef BACKENDS_OPREF_RECORD_H
#define BACKENDS_OPREF_RECORD_H

#include <polygraphy/tensor.h>

typedef struct record {
    pgy_tensor_map *tensors; /* NULL: none */
    uint64_t inputs;         /* hash of the inputs of the first inference */
    bool started;
} record;

/* Reads saved results of a run, or a file in any input format. It must have exactly one iteration.
 */
pgy_status record_load(record *r, const char *path, pgy_error *err) PGY_MUST_CHECK;
void record_deinit(record *r);
/* Joins the feed and the recorded tensors. PGY_E_ARGUMENT if the feed differs from the first one */
pgy_status record_join(pgy_tensor_map **out, record *r, const pgy_tensor_map *feed,
                       pgy_error *err) PGY_MUST_CHECK;

#endif
