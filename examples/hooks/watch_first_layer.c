/* SPDX-License-Identifier: Apache-2.0 */
/* Functions that change a network before it is built, and its configuration:
 *
 *     cc -shared -fPIC -o watch_first_layer.so watch_first_layer.c $(pkg-config --cflags
 * polygraphy)
 *     polygraphy run model.onnx --trt --trt-network-postprocess-script ./watch_first_layer.so \
 *         --trt-config-postprocess-script ./watch_first_layer.so
 *
 * The network is renamed and gets the first layer's result as one more output; the configuration is
 * told to choose kernels by estimates. Nothing is linked: the program that opens the object has the
 * functions of the library.
 */
#include <polygraphy/network.h>

#include <polygraphy/build_config.h>

__attribute__((visibility("default"))) pgy_status postprocess_network(pgy_network *network,
                                                                      pgy_error *err)
{
    const pgy_status st = pgy_network_set_name(network, "watched", err);
    for (size_t i = 0; !st && i < pgy_network_layer_count(network); i++) {
        const pgy_layer *layer = pgy_network_layer_at(network, i);
        if (layer->type == PGY_LAYER_CONSTANT || !layer->output_count) continue;
        return pgy_network_mark_output(network, layer->outputs[0], err);
    }
    return st ? st : pgy_error_set(err, PGY_E_NOT_FOUND, "the network has no layers");
}

__attribute__((visibility("default"))) pgy_status postprocess_config(pgy_build_config *config,
                                                                     pgy_network *network,
                                                                     pgy_error *err)
{
    (void)network, (void)err;
    config->has_optimization_level = true;
    config->optimization_level = 0;
    return PGY_OK;
}
