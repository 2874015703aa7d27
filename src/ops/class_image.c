/* SPDX-License-Identifier: Apache-2.0 */
/* What the decoders of images share: the check of sizes, and libraries that are opened when the
 * first image needs them. */
#include "ops/class_image.h"

#include <inttypes.h>
#include <pthread.h>

#include "base/alloc.h"
#include "base/memory.h"

pgy_status image_reserve(image *m, uint64_t width, uint64_t height, uint64_t extra_bytes,
                         pgy_error *err)
{
    size_t pixels = 0, all = 0;
    if (!width || !height)
        return pgy_error_set(err, PGY_E_FORMAT, "the image has %" PRIu64 " x %" PRIu64 " pixels",
                             width, height);
    if (!size_mul(&pixels, width, height) ||
        !size_mul(&all, pixels, 3 + extra_bytes + m->result_bytes) || all > m->max_bytes)
        return pgy_error_set(err, PGY_E_MEMORY,
                             "the image has %" PRIu64 " x %" PRIu64 " pixels, which exceeds %s",
                             width, height, memory_limit_describe_other(m->max_bytes).text);
    m->rgb = mem_calloc(pixels, 3);
    if (!m->rgb) return pgy_error_set(err, PGY_E_MEMORY, "out of memory for the image");
    m->width = width;
    m->height = height;
    return PGY_OK;
}

pgy_status image_cut_off(const image *m, pgy_error *err)
{
    return pgy_error_set(err, PGY_E_FORMAT, "the file ends too early, after %zu bytes", m->size);
}

pgy_status image_library_open(image_library *l, pgy_error *err)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    void *handle = NULL;
    pgy_status st = PGY_OK;
    pthread_mutex_lock(&lock);
    if (!l->opened) {
        st = dl_open(&handle, &l->name, 1, NULL, NULL);
        if (st)
            st = pgy_error_set(err, PGY_E_NOT_FOUND,
                               "to decode %s needs the library %s, which cannot be opened; install "
                               "it (Debian: %s)",
                               l->format, l->name, l->package);
        if (!st) {
            st = dl_resolve(handle, l->symbols, l->symbol_count, err);
            if (st) st = pgy_error_prefix(err, st, "%s: ", l->name);
        }
        l->opened = !st;
    }
    pthread_mutex_unlock(&lock);
    return st;
}
