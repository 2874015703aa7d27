/* SPDX-License-Identifier: Apache-2.0 */
/* TensorProto files: any bytes give a tensor or an error; what loads converts to float64 where it
 * can. */
#include <polygraphy/tensor.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    pgy_error err = {0};
    pgy_tensor *t = NULL, *wide = NULL;
    char *name = NULL;
    if (pgy_tensorproto_parse(&t, &name, data, size, &err)) return 0;
    if (!pgy_tensor_cast(&wide, pgy_tensor_view(t), PGY_F64, &err)) pgy_tensor_release(wide);
    pgy_text_free(name);
    pgy_tensor_release(t);
    return 0;
}
