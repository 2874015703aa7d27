/* SPDX-License-Identifier: Apache-2.0 */
/* Maps as inputs of operators. */
#include "ops/class_map.h"

pgy_status map_infer(const op_infer *c, pgy_dtype key, pgy_error *err)
{
    const op_value *x = &c->inputs[0];
    if (x->dtype || x->sequence)
        return op_error(c->node, err, PGY_E_TYPE, "input 0 must be a map, not a %s",
                        x->sequence ? "sequence" : "tensor");
    if (!key || !x->map_key || x->map_key == key) return PGY_OK;
    return op_error(c->node, err, PGY_E_TYPE, "the keys of input 0 have type %s, but must have %s",
                    pgy_dtype_name(x->map_key), pgy_dtype_name(key));
}

pgy_status map_input(map_parts *out, const op_eval *c, pgy_dtype key, pgy_error *err)
{
    const op_sequence *map = c->inputs[0].sequence;
    if (!map || !map->map || !map->items[0].value || !map->items[1].value)
        return op_error(c->node, err, PGY_E_TYPE, "input 0 must be a map");
    if (map->items[0].dtype != key)
        return op_error(c->node, err, PGY_E_TYPE,
                        "the keys of input 0 have type %s, but must have %s",
                        pgy_dtype_name(map->items[0].dtype), pgy_dtype_name(key));
    *out = (map_parts){map->items[0].value, map->items[1].value, map->items[1].dtype,
                       pgy_tensor_count(map->items[0].value)};
    if (pgy_tensor_count(out->values) == out->count) return PGY_OK;
    return op_error(c->node, err, PGY_E_SHAPE, "input 0 has %zu keys, but %zu values", out->count,
                    pgy_tensor_count(out->values));
}
