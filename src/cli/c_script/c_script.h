/* SPDX-License-Identifier: Apache-2.0 */
/* C programs for this library, made from the settings of a command line. The settings are turned
 * into the library's structs by the code that the command itself uses, and the structs are written
 * down, so that program and command do the same.
 *
 *     const c_struct o = {&s->text, "    o.", ";\n"};
 *     c_flag(&o, "fail_fast", options->fail_fast);                // "    o.fail_fast = true;\n"
 *     c_text_member(&o, "heatmap_dir", options->heatmap_dir);     // nothing for NULL
 *
 * Members that have their default, zero, are left out. What a user typed appears in string
 * literals and in the first comment only. */
#ifndef CLI_C_SCRIPT_H
#define CLI_C_SCRIPT_H

#include <polygraphy/engine_runner.h>
#include <polygraphy/loader.h>

#include "cli/command.h"
#include "cli/groups/compare.h"

/* What the command does, besides what its groups say. */
typedef struct c_plan {
    const pgy_run_options *options; /* with judge and postprocess */
    compare_choice functions;
    const char *postprocess_script; /* NULL: none */
    const pgy_build_config *config; /* NULL: no runner builds an engine */
    bool edits_onnx, edits_trt;     /* the runners, or those that build engines, share a model that
                                       is changed first */
    bool trt_saves;                 /* the engine's model is the one that --save-onnx saves */
} c_plan;

typedef struct c_script {
    args *line;
    const c_plan *plan;
    str functions; /* the functions and constants before run() */
    str variables; /* run(): declarations */
    str steps;     /* run(): what it does, each step if the one before succeeded */
    str release;   /* run(): what it frees, the last first */
} c_script;
/* Puts a line in front of those that free. */
void c_release(c_script *s, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* ---- Values: value.c ------------------------------------------------------------------------ */

void c_text(str *out, const char *text);    /* a literal, or NULL */
void c_comment(str *out, const char *text); /* so that it does not end the comment */
void c_real(str *out, double v);
void c_integer(str *out, int64_t v);
void c_texts(str *out, const char *const *items, size_t count); /* an array, or NULL */
void c_integers(str *out, const int64_t *items, size_t count);  /* an array, or NULL */
void c_identifier(str *out, const char *text); /* its letters and digits, the rest as _ */
const char *c_dtype(pgy_dtype dtype);          /* "PGY_F32" */

/* Members of a struct: `before`, name, " = ", value, `after`. */
typedef struct c_struct {
    str *out;
    const char *before, *after;
} c_struct;
void c_member(const c_struct *s, const char *name, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void c_flag(const c_struct *s, const char *name, bool value);
void c_number(const c_struct *s, const char *name, uint64_t value);
void c_real_member(const c_struct *s, const char *name, double value);
void c_text_member(const c_struct *s, const char *name, const char *text);
void c_texts_member(const c_struct *s, const char *name, const char *count_name,
                    const char *const *items, size_t count);
void c_enum_member(const c_struct *s, const char *name, const char *const *names, int value);

/* ---- Parts ---------------------------------------------------------------------------------- */

pgy_status c_log(str *out, args *line, pgy_error *err) PGY_MUST_CHECK; /* log.c: lines of main() */
pgy_status c_models(c_script *s, pgy_error *err) PGY_MUST_CHECK;       /* models.c */
void c_data(c_script *s);                                              /* data.c */
void c_calibration(c_script *s); /* data.c: the samples that calibration reads, if it does */
pgy_status c_config(c_script *s, pgy_error *err) PGY_MUST_CHECK;  /* config.c: hooks and CONFIG */
pgy_status c_runners(c_script *s, pgy_error *err) PGY_MUST_CHECK; /* runners.c */
void c_functions(c_script *s);                                    /* compare.c: make_comparisons */
void c_options(c_script *s); /* compare.c: judge and run options */

/* The whole program: run.c. `path`: its file, for the command that compiles it. */
pgy_status c_script_run(str *out, args *line, const c_plan *plan, const char *path,
                        pgy_error *err) PGY_MUST_CHECK;

#endif
