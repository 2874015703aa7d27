/* SPDX-License-Identifier: Apache-2.0 */
/* torch.save's bytes: as a whole archive, and its pickle alone. */
#include <stddef.h>
#include <stdint.h>

#include "base/alloc.h"
#include "base/base64.h"
#include "data/pickle.h"
#include "data/torch_tensor.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    pickle_tensor pickled;
    pgy_tensor *t = NULL;
    size_t chars = base64_encoded_size(size);
    char *text = mem_alloc(chars);
    if (!text) return 0;
    base64_encode(text, data, size);
    json_value v = {.type = JSON_STRING, .raw = {text, chars}};
    if (!torch_tensor_read(&t, &v, "input", NULL)) {
        volatile unsigned sum = 0;
        for (size_t i = 0; i < pgy_tensor_size_bytes(t); i++)
            sum += ((const uint8_t *)pgy_tensor_data(t))[i];
        pgy_tensor_release(t);
    }
    if (!pickle_tensor_read(&pickled, data, size, NULL) && pickled.rank > PGY_MAX_RANK)
        __builtin_trap();
    mem_free(text);
    return 0;
}
