/* SPDX-License-Identifier: Apache-2.0 */
/* Measures what the processors can do at most. */
#ifndef BASE_MACHINE_PROBE_H
#define BASE_MACHINE_PROBE_H

#include <polygraphy/machine.h>

/* Sets gflops, gb_per_s, threads and is_disturbed; takes about `seconds`. */
pgy_status machine_probe(pgy_machine_peaks *out, double seconds, pgy_error *err) PGY_MUST_CHECK;

#endif
