/* SPDX-License-Identifier: Apache-2.0 */
/* npy files: any bytes give a tensor or an error; what loads can be printed and copied. */
#include <polygraphy/tensor.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    pgy_error err = {0};
    pgy_tensor *t = NULL, *copy = NULL;
    char *text = NULL;
    if (pgy_npy_parse(&t, data, size, &err)) return 0;
    if (!pgy_tensor_copy(&copy, pgy_tensor_view(t), &err)) pgy_tensor_release(copy);
    if (!pgy_view_text(&text, pgy_tensor_view(t), NULL, &err)) pgy_text_free(text);
    pgy_tensor_release(t);
    return 0;
}
