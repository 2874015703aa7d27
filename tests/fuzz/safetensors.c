/* SPDX-License-Identifier: Apache-2.0 */
/* safetensors: any bytes give tensors or an error. */
#include <polygraphy/tensor.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    pgy_error err = {0};
    pgy_tensor_map *m = NULL;
    if (!pgy_safetensors_parse(&m, data, size, &err)) pgy_tensor_map_destroy(m);
    return 0;
}
