/* SPDX-License-Identifier: Apache-2.0 */
/* Python scripts for the original's package, made from the settings of a command line. A script
 * collects imports and variables while one function per option group adds its part; the command
 * puts the parts together.
 *
 *     py_call call = py_call_of("SessionFromOnnx");
 *     py_value(&call, path);                                  // SessionFromOnnx('m.onnx')
 *     py_import(s, "backend.onnxrt", "SessionFromOnnx");
 *     const char *name = py_variable(s, &s->loaders, "build_onnxrt_session", py_call_end(&call));
 *
 * A failed allocation sets `failed`; script_give reports it. */
#ifndef CLI_SCRIPT_SCRIPT_H
#define CLI_SCRIPT_SCRIPT_H

#include "cli/command.h"

typedef struct py_script {
    const args *line;
    arena *memory;
    strvec imports;   /* "module<tab>name" */
    strvec lazy;      /* "trt = mod.lazy_import('tensorrt>=8.5')" */
    strmap variables; /* "base = expression": the name of the variable */
    strmap bases;     /* base name: how many variables have it */
    str logger, data, loaders, functions;
    const char *loader; /* expression that gives the data, or NULL: none */
    bool failed;
} py_script;

void script_init(py_script *s, args *line);
void script_deinit(py_script *s);
/* PGY_E_MEMORY if an allocation failed. */
pgy_status script_finish(const py_script *s, pgy_error *err) PGY_MUST_CHECK;
void py_import(py_script *s, const char *module, const char *name);
void py_import_trt(py_script *s);    /* trt = ...   */
void py_import_onnxrt(py_script *s); /* onnxrt = ... */
/* The name of a variable with this value. Equal values share one; another value of the same base
 * name gets "base_1", and so on. */
const char *py_variable(py_script *s, str *section, const char *base, const char *expression);
/* Appends the interpreter line and comments. `summary`: lines of the third comment, or NULL. */
void script_head(str *out, const py_script *s, const char *summary);
const char *script_package(const py_script *s);
const char *script_exception(py_script *s); /* the class of its exceptions */
/* Appends the import lines. Modules are named relative to the package; "" is the package, and "_x"
 * another package whose name is longer by that. */
void script_imports(str *out, py_script *s);
/* Writes the text to a file, which becomes executable, or to the standard output ("-"). */
pgy_status script_write(const char *path, const char *text, pgy_error *err) PGY_MUST_CHECK;

/* ---- Values and calls: value.c -------------------------------------------------------------- */

/* A string literal. Bytes that are not UTF-8 become \udcNN, as Python's file names have them. */
void py_text(str *out, const char *text);
void py_texts(str *out, const char *const *items, size_t count);
void py_number(str *out, double v);
/* A value as `cast` reads it; lists become tuples. */
pgy_status py_cast(str *out, const char *text, arena *a, pgy_error *err) PGY_MUST_CHECK;
/* {'name': value, ...} of key:value words. */
pgy_status py_map(str *out, const pgy_text_list *words, arena *a, pgy_error *err) PGY_MUST_CHECK;

typedef struct py_call {
    str text;
    bool any; /* it has arguments */
} py_call;
py_call py_call_of(const char *function);
/* Begins an argument: appends the separator and "key=" (key NULL: a positional one). */
str *py_argument(py_call *c, const char *key);
void py_raw(py_call *c, const char *key, const char *expression);
void py_value(py_call *c, const char *key, const char *text);
void py_flag(py_call *c, const char *key, bool given); /* key=True if given */
/* Ends the call. The text lives in the script's memory. */
const char *py_call_end(py_script *s, py_call *c);

/* One row for each option that becomes an argument of the same kind. */
typedef enum py_kind {
    PY_FLAG,  /* bool: key=True */
    PY_TEXT,  /* const char *: key='text' */
    PY_REAL,  /* const char *: key=0.5 */
    PY_INT,   /* int64_t, unless negative */
    PY_NAME,  /* const char *: key=prefix.NAME */
    PY_NAMES, /* pgy_text_list: key=[prefix.NAME, ...] */
    PY_MAP,   /* pgy_text_list: key={'name': value} */
    PY_OTHER  /* `write` */
} py_kind;
typedef struct py_row {
    const char *key;
    py_kind kind;
    size_t offset;
    const char *prefix;
    pgy_status (*write)(py_script *s, py_call *c, const char *key, pgy_error *err);
} py_row;
pgy_status py_rows(py_script *s, py_call *c, const py_row *rows, size_t count, const void *settings,
                   pgy_error *err) PGY_MUST_CHECK;

/* ---- Parts, one for each group of options --------------------------------------------------- */

void script_logger(py_script *s);                                    /* logger.c */
pgy_status script_data(py_script *s, pgy_error *err) PGY_MUST_CHECK; /* data.c */
/* onnx.c: the variable of the model as ONNX with all its changes; NULL: none, the file is used as
 * it is. `outputs`: --onnx-outputs apply. `needed`: never NULL. */
const char *script_onnx(py_script *s, bool outputs, bool needed);
const char *script_onnx_bytes(py_script *s, bool outputs);
bool script_onnx_changes(const py_script *s); /* changes other than outputs */
/* trt_config.c: the variable of the configuration, `base` by default. *plain: it has no arguments.
 * `short_class`: the class keeps its name if there are none. */
pgy_status script_trt_config(const char **out, bool *plain, py_script *s, const char *base,
                             bool short_class, pgy_error *err) PGY_MUST_CHECK;
/* trt_network.c: the variable of the network of the line's model. `config` may be NULL. */
pgy_status script_trt_network(const char **out, py_script *s, const char *config,
                              pgy_error *err) PGY_MUST_CHECK;
/* Loads plugins before `object` is made; gives `object` if there are none. */
const char *script_trt_plugins(py_script *s, const char *object);
pgy_status script_runners(str *out, py_script *s, pgy_error *err) PGY_MUST_CHECK; /* runners.c */
/* compare.c: the list of functions, and the lines after the runners. */
pgy_status script_functions(str *out, py_script *s, pgy_error *err) PGY_MUST_CHECK;
pgy_status script_comparison(str *out, py_script *s, bool ran, const char *functions,
                             pgy_error *err) PGY_MUST_CHECK;
/* given.c: refuses options that the original does not have. */
pgy_status script_check_options(args *line, const char *name, pgy_error *err) PGY_MUST_CHECK;

/* The whole script: run.c. */
pgy_status script_run(str *out, args *line, pgy_error *err) PGY_MUST_CHECK;
/* template.c: `template trt-network` and `template trt-config`. */
pgy_status script_template_network(str *out, args *line, pgy_error *err) PGY_MUST_CHECK;
pgy_status script_template_config(str *out, args *line, pgy_error *err) PGY_MUST_CHECK;

#endif
