/* SPDX-License-Identifier: Apache-2.0 */
/**
 * What this machine's processors can do at most: a short probe measures it.
 *
 *     pgy_machine_peaks peaks;
 *     if (pgy_machine_peaks_get(&peaks, NULL, &err)) ...
 *     printf("%.1f GFLOP/s, %.1f GB/s\n", peaks.gflops, peaks.gb_per_s);
 */
#ifndef POLYGRAPHY_MACHINE_H
#define POLYGRAPHY_MACHINE_H

#include <polygraphy/base.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct pgy_machine_peaks {
    double gflops;      /**< 1e9 float32 operations per second; a multiply-add counts as two */
    double gb_per_s;    /**< 1e9 bytes per second from and to memory; the best of reading, and of
                           reading two arrays while a third is written */
    size_t threads;     /**< that ran at the same time */
    char cpu[16];       /**< level of instructions: "avx512", "avx2" or "portable"; "": the peaks
                           were not measured, but given by someone who knows them */
    char processor[64]; /**< name of the processor; "unknown" if the system does not tell */
    bool is_cached;     /**< measured earlier, and read from the cache */
    bool is_disturbed;  /**< other programs had the processors during the probe, so gb_per_s may be
                             too low; such a result is not kept */
} pgy_machine_peaks;

typedef struct pgy_machine_options {
    size_t size;     /**< sizeof(pgy_machine_options) */
    double seconds;  /**< that the probe takes; 0: 2 */
    bool again;      /**< measure although the cache has a result */
    bool keeps_none; /**< neither read nor write the cache */
} pgy_machine_options;

/** Gives the peaks of this machine. The first call measures for two seconds on all processors that
 * the process may use, with the instructions in force (POLYGRAPHY_THREADS and POLYGRAPHY_CPU
 * restrict both), and keeps the result in polygraphy/peaks below $XDG_CACHE_HOME or ~/.cache, one
 * file for each combination of machine, processor, instructions and threads. A result of a shorter
 * probe than wanted does not count.
 * @param options  NULL: defaults @return PGY_E_CANCELLED after pgy_cancel; PGY_E_MEMORY */
PGY_API PGY_MUST_CHECK pgy_status pgy_machine_peaks_get(pgy_machine_peaks *out,
                                                        const pgy_machine_options *options,
                                                        pgy_error *err);

#ifdef __cplusplus
}
#endif
#endif
