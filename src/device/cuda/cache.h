/* SPDX-License-Identifier: Apache-2.0 */
/* Machine code on disk, so that sources are compiled once per machine and user: one file for each
 * key in a folder of the user's own. */
#ifndef DEVICE_CUDA_CACHE_H
#define DEVICE_CUDA_CACHE_H

#include "device/cuda/compile.h"

typedef struct cuda_cache {
    const char *folder; /* NULL: there is no cache */
    uint64_t limit_bytes;
} cuda_cache;

enum { CUDA_CACHE_LIMIT = 256 << 20 };

/* Identifies a source with its options, architecture and compiler. */
typedef struct cuda_key {
    uint64_t
        parts[2]; /* two hashes of source, options, architecture and compiler, joined to one text */
    uint64_t size; /* size of that text in bytes */
} cuda_key;

cuda_key cuda_key_of(const cuda_source *s, const cuda_nvrtc *n);
bool cuda_key_equal(const cuda_key *a, const cuda_key *b);

/* The folder that POLYGRAPHY_CUDA_CACHE names, else polygraphy/cuda in $XDG_CACHE_HOME or
 * ~/.cache. NULL: the variable is "off", or no home is known (mem_free). */
char *cuda_cache_folder(void);

/* Reads the code of a key (mem_free). False: it is not there, or its file is damaged, is another
 * user's, or may be written by others. */
bool cuda_cache_read(void **out, size_t *out_size, const cuda_cache *c, const cuda_key *k);
/* Writes the code of a key, then removes the files that were not used for the longest time until
 * all together are within the limit. A failure is logged and has no other effect. */
void cuda_cache_write(const cuda_cache *c, const cuda_key *k, const void *code, size_t size_bytes);
void cuda_cache_remove(const cuda_cache *c, const cuda_key *k);

#endif
