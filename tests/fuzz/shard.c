/* SPDX-License-Identifier: Apache-2.0 */
/* Any model divided among two devices, both ways, with hints made from it; what comes out can be
 * serialised and read. */
#include <stdint.h>
#include <stdlib.h>

#include <polygraphy/shard.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_again(pgy_gs_graph *g)
{
    pgy_model *model = NULL, *again = NULL;
    void *bytes = NULL;
    size_t size;
    pgy_error err = {0};
    pgy_status st = pgy_gs_export(&model, g, NULL, &err);
    if (!st) st = pgy_model_serialize(&bytes, &size, model, &err);
    if (!st && pgy_model_parse(&again, bytes, size, true, NULL, &err)) abort();
    pgy_model_destroy(again);
    pgy_text_free(bytes);
    pgy_model_destroy(model);
}

static void divide(const pgy_gs_graph *g, const pgy_shard_options *o, bool tensors)
{
    pgy_gs_graph *part = NULL;
    pgy_shard_hints *hints = NULL;
    pgy_error err = {0};
    pgy_status st = pgy_gs_copy(&part, g, &err);
    if (!st) st = pgy_shard_name_nodes(part, &err);
    if (!st && pgy_shard_suggest(&hints, part, o, &err)) abort();
    if (!st)
        st = tensors ? pgy_shard_tensors(part, hints, 1, &err)
                     : pgy_shard_context(part, hints, o->pattern, &err);
    if (!st) read_again(part);
    pgy_shard_hints_destroy(hints);
    pgy_gs_destroy(part);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    pgy_model *model = NULL;
    pgy_gs_graph *g = NULL;
    pgy_shard_options o = pgy_shard_options_default();
    pgy_error err = {0};
    if (pgy_model_parse(&model, data, size, true, NULL, &err)) return 0;
    o.nb_rank = 2;
    o.k_axis = 1;
    o.pattern = size % 2;
    if (!pgy_gs_import(&g, model, &err)) {
        for (int way = 0; way < 3; way++) {
            o.fused = way == 2;
            divide(g, &o, way == 1);
        }
    }
    pgy_gs_destroy(g);
    pgy_model_destroy(model);
    return 0;
}
