/* SPDX-License-Identifier: Apache-2.0 */
/* The table of formats. It only grows, so readers need no lock. */
#include "kernels/format.h"

#include <pthread.h>
#include <stdatomic.h>

static uint32_t blocks[KERNEL_MAX_FORMATS] = {[KERNEL_LINEAR] = 1,
                                              [KERNEL_BLOCKED_8] = 8,
                                              [KERNEL_BLOCKED_16] = 16,
                                              [KERNEL_CHANNELS_LAST] = 1};
static atomic_size_t count = KERNEL_CHANNELS_LAST + 1;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

size_t kernel_format_count(void)
{
    return atomic_load_explicit(&count, memory_order_acquire);
}

size_t kernel_block(kernel_layout layout)
{
    return blocks[layout];
}

size_t kernel_lanes(kernel_layout layout, size_t channels)
{
    return layout != KERNEL_CHANNELS_LAST ? blocks[layout] : channels ? channels : 1;
}

bool kernel_layout_of_block(kernel_layout *out, uint64_t block)
{
    const size_t n = kernel_format_count();
    for (size_t i = 0; i < n; i++) {
        if (blocks[i] != block) continue;
        *out = (kernel_layout)i;
        return true;
    }
    return false;
}

pgy_status kernel_offer_format(kernel_layout *out, uint32_t block, pgy_error *err)
{
    if (block < 2 || block > KERNEL_MAX_BLOCK || (block & (block - 1)))
        return pgy_error_set(
            err, PGY_E_ARGUMENT,
            "a format cannot have blocks of %u channels; give a power of two from 2 to %d", block,
            KERNEL_MAX_BLOCK);
    pgy_status st = PGY_OK;
    pthread_mutex_lock(&lock);
    const size_t n = kernel_format_count();
    if (!kernel_layout_of_block(out, block)) {
        if (n == KERNEL_MAX_FORMATS) {
            st = pgy_error_set(err, PGY_E_UNSUPPORTED,
                               "cannot register another format: there are already %d, the limit",
                               KERNEL_MAX_FORMATS);
        } else {
            blocks[n] = block;
            *out = (kernel_layout)n;
            atomic_store_explicit(&count, n + 1, memory_order_release);
        }
    }
    pthread_mutex_unlock(&lock);
    return st;
}
