/* SPDX-License-Identifier: Apache-2.0 */
/* The options of the runner that calls trtexec. Most are options of that program under the names of
 * Polygraphy's extension. */
#ifndef BACKENDS_TRTEXEC_OPTIONS_H
#define BACKENDS_TRTEXEC_OPTIONS_H

#include <polygraphy/backend.h>
#include <polygraphy/build_config.h>

typedef struct trtexec_options {
    const pgy_build_config *config; /* first member, as PGY_BACKEND_TAKES_CONFIG demands */
    const char *path, *timeout, *export_output;
    pgy_text_list extra; /* "KEY" or "KEY=VALUE"; a NULL item ends each use */
    bool use_cuda_graph, best, expose_dma, no_data_transfers, use_spin_wait, threads;
    bool use_managed_memory, dump_refit, dump_output, dump_profile, dump_layer_info;
    bool separate_profile_run, no_builder_cache;
    int64_t avg_runs, duration, streams, min_timing, avg_timing, warm_up, iterations;
    const char *export_times, *export_profile, *export_layer_info, *profiling_verbosity;
    const char *layer_output_types;
} trtexec_options;

extern const pgy_option TRTEXEC_OPTIONS[];
void trtexec_options_defaults(void *options);
/* Checks the values that trtexec does not check, and reads the timeout; 0: none. */
pgy_status trtexec_options_check(double *timeout_s, const trtexec_options *o,
                                 pgy_error *err) PGY_MUST_CHECK;
/* Are outputs of the program wanted that only its log has? */
bool trtexec_options_dump(const trtexec_options *o);

/* An option that is passed on: its names here and in trtexec, and the member with its value. */
typedef struct trtexec_passed {
    const char *option, *key;
    pgy_option_kind kind;
    size_t offset;
} trtexec_passed;
size_t trtexec_passed_count(void);
const trtexec_passed *trtexec_passed_at(size_t i);
/* The value as text, "" for a flag; false: it is not given. The text is valid until the next call
 * with the same buffer. */
bool trtexec_passed_value(const char **value, char buffer[32], const trtexec_passed *p,
                          const trtexec_options *o);

/* The value of an extra option ("" if it has none), or NULL if it is not given. */
const char *trtexec_extra(const trtexec_options *o, const char *key);

#endif
