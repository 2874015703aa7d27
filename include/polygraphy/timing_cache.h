/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Timing caches: measured times of kernels. With them the built-in engine's builder need not
 * measure again, and it chooses the same kernels again.
 *
 *     pgy_timing_cache *cache = NULL;
 *     if (pgy_timing_cache_load(&cache, "net.cache", &err)) ...
 *     const pgy_build_config config = {.size = sizeof config, .timing_cache = cache};
 *     ... build plans ...
 *     if (pgy_timing_cache_save_merged(cache, "net.cache", &err)) ...
 *     pgy_timing_cache_destroy(cache);
 *
 * An entry belongs to one problem (operator, attributes, shapes, types, layouts, processor,
 * threads) and gives the kernel to choose and its time. Overwrite an entry to choose another
 * kernel. All functions except destroy may be called from several threads at once.
 */
#ifndef POLYGRAPHY_TIMING_CACHE_H
#define POLYGRAPHY_TIMING_CACHE_H

#include <polygraphy/base.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct pgy_timing_cache pgy_timing_cache;

/** A hash of the problem. */
typedef struct pgy_timing_key {
    uint8_t bytes[16];
} pgy_timing_key;

typedef struct pgy_timing_entry {
    uint64_t tactic;    /**< pgy_timing_tactic of a kernel */
    float milliseconds; /**< not negative */
} pgy_timing_entry;

typedef enum pgy_timing_form {
    PGY_TIMING_BINARY,
    PGY_TIMING_TEXT /**< one line per entry: key, tactic, milliseconds, and the kernel's name after
                       a '#' */
} pgy_timing_form;

/** Creates an empty cache for this processor. */
PGY_API PGY_MUST_CHECK pgy_status pgy_timing_cache_create(pgy_timing_cache **out, pgy_error *err);
PGY_API void pgy_timing_cache_destroy(pgy_timing_cache *c); /**< NULL is fine */

/** Reads both file formats. @return PGY_E_FORMAT: damaged, or not a timing cache;
 * PGY_E_UNSUPPORTED: a newer format */
PGY_API PGY_MUST_CHECK pgy_status pgy_timing_cache_parse(pgy_timing_cache **out, const void *data,
                                                         size_t size_bytes, pgy_error *err);
/** Writes a cache to memory. Free *out with pgy_text_free. Equal caches give equal bytes. */
PGY_API PGY_MUST_CHECK pgy_status pgy_timing_cache_serialize(void **out, size_t *size_bytes,
                                                             const pgy_timing_cache *c,
                                                             pgy_timing_form form, pgy_error *err);

/** Reads a file under its lock, `<path>.lock`. @return PGY_E_NOT_FOUND if it does not exist */
PGY_API PGY_MUST_CHECK pgy_status pgy_timing_cache_load(pgy_timing_cache **out, const char *path,
                                                        pgy_error *err);
/** Writes a file under its lock; it appears whole or not at all. */
PGY_API PGY_MUST_CHECK pgy_status pgy_timing_cache_save(const pgy_timing_cache *c, const char *path,
                                                        pgy_timing_form form, pgy_error *err);
/** Like pgy_timing_cache_save, but merges: the entries and the format of an existing file are kept,
 * and its entries are added to `c`. A file that cannot be used is replaced, with a warning. */
PGY_API PGY_MUST_CHECK pgy_status pgy_timing_cache_save_merged(pgy_timing_cache *c,
                                                               const char *path, pgy_error *err);

/** Adds the entries that `c` lacks. @param ignore_mismatch false: refuse a cache made on another
 * processor with PGY_E_UNSUPPORTED; its entries would be harmless but unused here */
PGY_API PGY_MUST_CHECK pgy_status pgy_timing_cache_combine(pgy_timing_cache *c,
                                                           const pgy_timing_cache *other,
                                                           bool ignore_mismatch, pgy_error *err);
PGY_API void pgy_timing_cache_reset(pgy_timing_cache *c); /**< removes all entries */

/** The processor that the cache was made on, e.g. "AMD EPYC, avx512". */
PGY_API const char *pgy_timing_cache_device(const pgy_timing_cache *c);
PGY_API size_t pgy_timing_cache_count(const pgy_timing_cache *c);
/** Copies up to `capacity` keys in ascending order. @return the number of entries */
PGY_API size_t pgy_timing_cache_keys(const pgy_timing_cache *c, pgy_timing_key *out,
                                     size_t capacity);
/** Finds an entry. @return false if the cache has no entry for the key */
PGY_API bool pgy_timing_cache_query(pgy_timing_entry *out, const pgy_timing_cache *c,
                                    const pgy_timing_key *key);
/** Overwrites or adds an entry. A tactic that cannot solve the problem is not an error here: the
 * builder then measures anew. */
PGY_API PGY_MUST_CHECK pgy_status pgy_timing_cache_update(pgy_timing_cache *c,
                                                          const pgy_timing_key *key,
                                                          const pgy_timing_entry *entry,
                                                          pgy_error *err);

/** The hash of a kernel's name, which `inspect model` shows; 0: this library has no such kernel for
 * this processor. */
PGY_API uint64_t pgy_timing_tactic(const char *kernel);
/** The name of the kernel with this hash; NULL: this library has no such kernel for this processor.
 */
PGY_API const char *pgy_timing_tactic_name(uint64_t tactic);

#ifdef __cplusplus
}
#endif
#endif
