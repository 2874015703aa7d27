/* SPDX-License-Identifier: Apache-2.0 */
/* Programs of pgy's Elementwise: what parses is printed and parsed again, and must be the same. The
 * first byte is the number of inputs. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "ops/class_chain.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    chain first, second;
    str text = {0};
    if (!size || !chain_parse(&first, (const char *)data + 1, size - 1, data[0] % 33u)) return 0;
    chain_print(&text, &first);
    if (text.failed || !chain_parse(&second, str_text(&text), text.size, first.inputs) ||
        memcmp(&first, &second, sizeof first) != 0)
        abort();
    str_deinit(&text);
    return 0;
}
