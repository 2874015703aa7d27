/* SPDX-License-Identifier: Apache-2.0 */
/* Weights of any model: pruned, stripped and filled. What comes out is written, and parses again.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <polygraphy/weights.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Elements that cannot be read are an error; what could be written must be a model. */
static void write(pgy_model *m)
{
    void *bytes = NULL;
    size_t size = 0;
    pgy_model *again = NULL;
    pgy_error err = {0};
    if (pgy_model_size_bytes(m) > 1 << 24 || pgy_model_serialize(&bytes, &size, m, &err)) return;
    if (pgy_model_parse(&again, bytes, size, true, NULL, &err)) abort();
    pgy_model_destroy(again);
    pgy_text_free(bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const pgy_reconstruct_options o = {.size = sizeof o, .seed = 3};
    const pgy_model_load_options load = {.size = sizeof load, .ignore_external_data = true};
    pgy_model *m = NULL, *pruned = NULL, *stripped = NULL, *filled = NULL;
    pgy_error err = {0};
    if (pgy_model_parse(&m, data, size, true, &load, &err)) return 0;
    if (!pgy_model_prune(&pruned, m, &err)) write(pruned);
    if (!pgy_model_strip_weights(&stripped, NULL, m, NULL, &err)) {
        write(stripped);
        if (!pgy_model_reconstruct_weights(&filled, NULL, stripped, &o, &err)) write(filled);
    }
    pgy_model_destroy(filled);
    filled = NULL;
    if (!pgy_model_reconstruct_weights(&filled, NULL, m, &o, &err)) write(filled);
    pgy_model_destroy(filled);
    pgy_model_destroy(stripped);
    pgy_model_destroy(pruned);
    pgy_model_destroy(m);
    return 0;
}
