/* SPDX-License-Identifier: Apache-2.0 */
/* Files of token ids: any bytes give int64 ids in rows, or an error of one line. */
#include <polygraphy/decode.h>

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    pgy_error err = {0};
    pgy_tensor *t = NULL;
    if (pgy_decode_ids_parse(&t, data, size, "ids", &err)) {
        if (!err.text[0] || strchr(err.text, '\n')) __builtin_trap();
        return 0;
    }
    if (pgy_tensor_dtype(t) != PGY_I64 || pgy_tensor_rank(t) != 2 || !pgy_tensor_count(t))
        __builtin_trap();
    int64_t sum = 0;
    for (size_t i = 0; i < pgy_tensor_count(t); i++)
        sum ^= ((const int64_t *)pgy_tensor_data(t))[i];
    pgy_tensor_release(t);
    return sum == INT64_MIN ? -1 : 0;
}
