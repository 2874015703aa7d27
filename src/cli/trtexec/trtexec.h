/* SPDX-License-Identifier: Apache-2.0 */
/* The phases of a run of trtexec, each in its file. */
#ifndef CLI_TRTEXEC_TRTEXEC_H
#define CLI_TRTEXEC_TRTEXEC_H

#include <polygraphy/perf.h>
#include <polygraphy/route.h>

#include <stdio.h>

#include "cli/groups/trace.h"
#include "cli/trtexec/options.h"

typedef struct trtexec_session {
    trtexec_args *a;
    args *line;
    int argc; /* the words after the program's name */
    const char *const *argv;
    pgy_engine *engine;
    pgy_perf_options loop;
    double percentiles[64];
    size_t percentile_count;
    trace_session trace;
    pgy_route *route;     /* of --setBuildRoute; the configuration refers to it */
    bool accuracy_failed; /* the run itself was good, but a loss was too large */
    pgy_route_loss *losses;
    size_t loss_count;
    double engine_s;     /* time of building or loading */
    uint64_t plan_bytes; /* 0: there is no file */
} trtexec_session;

/* Lines "[MM/DD/YYYY-HH:MM:SS] [I] text" for everything that is logged from now on. */
void console_install(void);
void console_set_verbose(bool on);
/* Everything goes to stderr, so that stdout has JSON only. */
void console_use_stderr(void);
FILE *console_stream(void); /* for lines without severity */
/* Appends a message with options in place of the library's fields. */
void trtexec_fields(str *out, const char *text);
/* Logs each line of a text. */
void console_text(const char *text);

/* Restricts the program to the processors of --pin; call it before threads start. */
pgy_status pin_apply(const trtexec_args *a, pgy_error *err) PGY_MUST_CHECK;
pgy_status session_check(trtexec_session *s, pgy_error *err) PGY_MUST_CHECK;
void settings_print(const trtexec_session *s);
/* Prints the devices on which the layers of a plan run. */
pgy_status settings_print_devices(const char *path, pgy_error *err);
/* What the options say about the build, except shapes and calibration. */
pgy_status session_config(pgy_build_config *c, trtexec_session *s, pgy_error *err) PGY_MUST_CHECK;
/* Builds or loads the engine, and saves it. */
pgy_status session_engine(trtexec_session *s, pgy_error *err) PGY_MUST_CHECK;
pgy_status session_time_loading(trtexec_session *s, pgy_error *err) PGY_MUST_CHECK;
pgy_status session_time_refit(trtexec_session *s, pgy_error *err) PGY_MUST_CHECK;
/* Measures, reports and exports. */
pgy_status session_infer(trtexec_session *s, pgy_error *err) PGY_MUST_CHECK;
/* Replaces the inputs of a "name:file,..." list, which may be NULL. */
pgy_status infer_load_inputs(pgy_tensor_map *feed, const char *text, trtexec_session *s,
                             pgy_error *err) PGY_MUST_CHECK;
/* Prints and exports what is asked for about layers. */
pgy_status session_layers(trtexec_session *s, pgy_error *err) PGY_MUST_CHECK;

/* Shapes (shapes.c). Profiles for a build; memory of the line's arena. */
pgy_status shapes_profiles(const pgy_profile **out, size_t *count, trtexec_session *s,
                           pgy_model *model, pgy_error *err) PGY_MUST_CHECK;
/* The shapes of --shapes; NULL if none is given. The caller destroys them. */
pgy_status shapes_wanted(pgy_metadata **out, trtexec_session *s, const pgy_metadata *inputs,
                         pgy_error *err) PGY_MUST_CHECK;
/* An initializer may be listed among the inputs; then it is no input of the engine. */
bool shapes_is_initializer(const pgy_onnx_graph *g, const char *name);
void append_shape(str *out, size_t rank, const int64_t *shape); /* "1x3", "scalar" */

#endif
