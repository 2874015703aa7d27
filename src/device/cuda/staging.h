/* SPDX-License-Identifier: Apache-2.0 */
/* Copies between a GPU and ordinary memory of the host by way of a stream's own pinned memory. The
 * driver would stage them, too, but blocks the caller meanwhile, and a copy to the host ends only
 * when all work before it has.
 *
 * What the GPU has copied to the host lies in pinned memory until the host waits for it: then
 * staging_finish takes it to its place. Any thread may call these functions. */
#ifndef DEVICE_CUDA_STAGING_H
#define DEVICE_CUDA_STAGING_H

#include "device/cuda/gpu.h"

cuda_staging *staging_create(cuda_gpu *g); /* NULL: out of memory */
cuda_staging *staging_retain(cuda_staging *s);
void staging_release(cuda_staging *s); /* NULL is fine */

/* Copies by way of pinned memory; *done is false if that is not worth it or there is no room, and
 * nothing is copied. The GPU's context is current. Returns a CUresult. */
int staging_from_host(bool *done, cuda_staging *s, cu_stream stream, cu_address to,
                      const void *from, size_t size_bytes);
int staging_to_host(bool *done, cuda_staging *s, cu_stream stream, void *to, cu_address from,
                    size_t size_bytes);

/* Number of the copies so far; an event remembers it. */
uint64_t staging_mark(cuda_staging *s);
/* Do earlier copies to the host up to `mark` wait for staging_finish? */
bool staging_is_owed(cuda_staging *s, uint64_t mark);
/* The same for copies to these bytes. */
bool staging_owes(cuda_staging *s, const void *host, size_t size_bytes);
/* The host is about to wait for the copies up to `mark`: readies the memory that they go to. */
void staging_ready(cuda_staging *s, uint64_t mark);
/* The copies up to `mark` have ended; false: they failed, and nothing arrives on the host. */
void staging_finish(cuda_staging *s, uint64_t mark, bool arrived);

#endif
