/* SPDX-License-Identifier: Apache-2.0 */
/* Hooks change a network, so the model is converted to a network and back. */
#include "engine/build/hooks.h"

#include <polygraphy/network.h>

pgy_status hooks_apply(pgy_model **model, pgy_build_config *config, pgy_model *from, pgy_error *err)
{
    const pgy_build_hook *hooks = config->hooks;
    const size_t count = config->hook_count;
    pgy_network *network = NULL;
    if (!count) {
        *model = pgy_model_retain(from);
        return PGY_OK;
    }
    pgy_status st = pgy_network_from_model(&network, from, err);
    for (size_t i = 0; !st && i < count; i++)
        if (hooks[i].network) st = hooks[i].network(network, err);
    for (size_t i = 0; !st && i < count; i++)
        if (hooks[i].config) st = hooks[i].config(config, network, err);
    if (st) pgy_error_prefix(err, st, "a network hook failed: ");
    if (!st) st = pgy_network_to_model(model, network, err);
    pgy_network_destroy(network);
    return st;
}
