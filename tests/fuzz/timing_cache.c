/* SPDX-License-Identifier: Apache-2.0 */
/* Both forms of a timing cache: what is read is written and read again, and stays the same. The
 * checksum of the binary form is put right, so that what lies behind it is reached. */
#include <polygraphy/tensor.h>
#include <polygraphy/timing_cache.h>

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

static void write_and_read(const pgy_timing_cache *c, pgy_timing_form form)
{
    pgy_timing_cache *again = NULL;
    void *first = NULL, *second = NULL;
    size_t first_size, second_size;
    if (pgy_timing_cache_serialize(&first, &first_size, c, form, NULL)) return;
    if (pgy_timing_cache_parse(&again, first, first_size, NULL)) abort();
    if (!pgy_timing_cache_serialize(&second, &second_size, again, form, NULL) &&
        (first_size != second_size || memcmp(first, second, first_size) != 0))
        abort();
    pgy_text_free(first);
    pgy_text_free(second);
    pgy_timing_cache_destroy(again);
}

enum { HEADER_BYTES = 32, HASH_AT = 24 };

static pgy_timing_cache *parse(const uint8_t *data, size_t size)
{
    pgy_timing_cache *c = NULL;
    uint8_t *copy = malloc(size + 1);
    if (!copy) return NULL;
    if (size) memcpy(copy, data, size);
    if (size >= HEADER_BYTES && data[0] == 0x89) {
        memset(copy + HASH_AT, 0, sizeof(uint64_t));
        const uint64_t hash =
            hash_xxh64(copy + HEADER_BYTES, size - HEADER_BYTES, hash_xxh64(copy, HEADER_BYTES, 0));
        memcpy(copy + HASH_AT, &hash, sizeof hash);
    }
    if (pgy_timing_cache_parse(&c, copy, size, NULL)) c = NULL;
    free(copy);
    return c;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    pgy_timing_cache *sum = NULL, *c = parse(data, size);
    if (!c) return 0;
    write_and_read(c, PGY_TIMING_BINARY);
    write_and_read(c, PGY_TIMING_TEXT);
    if (!pgy_timing_cache_create(&sum, NULL) && !pgy_timing_cache_combine(sum, c, true, NULL) &&
        pgy_timing_cache_count(sum) != pgy_timing_cache_count(c))
        abort();
    pgy_timing_cache_destroy(sum);
    pgy_timing_cache_destroy(c);
    return 0;
}
