/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of CUDA devices without a GPU: the stand-in libraries of tests/harness/cuda are found in
 * place of NVIDIA's. A process opens the driver once, so each scenario runs in a child:
 *
 *     static void scenario(str *out) { ... str_append(out, err.text); }
 *     ...
 *     fake_cuda_use(TEST_BINARY_DIR);
 *     setenv("FAKE_CUDA_FAIL", "cuInit:1:100", 1);
 *     assert_string_equal(fake_cuda_child(scenario), "the NVIDIA driver finds no GPU (...)");
 */
#ifndef HARNESS_FAKE_CUDA_H
#define HARNESS_FAKE_CUDA_H

#include "base/str.h"

/* Sets POLYGRAPHY_CUDA_PATH to the libraries of this build, turns the cache off, and clears the
 * settings of the stand-ins. */
void fake_cuda_use(const char *binary_dir);

/* The same with libraries that run the kernels on the host. */
void fake_cuda_use_running(const char *binary_dir);

/* Runs `scenario` in a child. Returns what it wrote into `out`, until the next call; "killed by
 * signal N" if it did not return. */
const char *fake_cuda_child(void (*scenario)(str *out));

/* ---- In the process that uses the device ---- */

/* Number of calls of a function of the stand-in driver or NVRTC. 0 if its library is not open. */
unsigned long fake_cuda_calls(const char *function);
size_t fake_cuda_live_bytes(void); /* bytes of device memory allocated now */
/* Launches of the kernel with this entry name call `run`. `sizes`: the size in bytes (at most 8, or
 * 128 of a single one) of each kernel argument, then 0. */
void fake_cuda_set_kernel(const char *entry, const int *sizes,
                          void (*run)(void **arguments, const unsigned grid[3],
                                      const unsigned block[3]));
/* The host memory behind an address of the stand-in device. */
void *fake_cuda_reach(const void *address);

#endif
