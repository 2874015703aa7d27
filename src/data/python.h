/* SPDX-License-Identifier: Apache-2.0 */
/* A Python script in its own process, which we query over a socket. The interpreter is
 * POLYGRAPHY_PYTHON, else python3 from PATH. */
#ifndef DATA_PYTHON_H
#define DATA_PYTHON_H

#include <polygraphy/tensor.h>

extern const char PYTHON_PROGRAM[];

typedef struct python_script python_script;
/* script: "file.py" or "file.py:symbol". role: "data", "compare", "postprocess", "plugin" or
 * "judge". Loads the file; its failure is an error that names symbol, file and reason, the
 * traceback is logged. */
pgy_status python_script_start(python_script **out, const char *script, const char *default_symbol,
                               const char *role, pgy_error *err) PGY_MUST_CHECK;
/* Closes the socket and waits a moment for the process to end; then sends SIGTERM, later SIGKILL.
 * NULL is fine. */
void python_script_stop(python_script *s);
/* Ends the process after an answer that was not read completely; later requests fail. */
void python_script_abandon(python_script *s);
const char *python_script_symbol(const python_script *s);

/* A request: one letter ('m'etadata, 'n'ext, 'r'ewind, 'c'ompare, 'p'ostprocess; of plugins: 'g'
 * find in a graph, 'h' replace; of criteria: 's'ample, 'a'dd a result, 'j'udge), followed by its
 * iteration results or texts, if it takes any. */
pgy_status python_ask(python_script *s, char request, pgy_error *err) PGY_MUST_CHECK;
pgy_status python_put_inputs(python_script *s, const pgy_metadata *inputs,
                             pgy_error *err) PGY_MUST_CHECK;
pgy_status python_put_results(python_script *s, const char *runner_name, double runtime_s,
                              const pgy_tensor_map *outputs, pgy_error *err) PGY_MUST_CHECK;

pgy_status python_put_text(python_script *s, const char *text, pgy_error *err) PGY_MUST_CHECK;

/* The answer's letter: 'N'othing, 'M'ap, 'V'erdicts, 'P'laces (a text of JSON), 'H' (a count),
 * 'F' (a double). An
 * exception of the script becomes the error. */
pgy_status python_answer(char *kind, python_script *s, pgy_error *err) PGY_MUST_CHECK;
pgy_status python_take_map(pgy_tensor_map **out, python_script *s, pgy_error *err) PGY_MUST_CHECK;
pgy_status python_take_u32(uint32_t *out, python_script *s, pgy_error *err) PGY_MUST_CHECK;
pgy_status python_take_byte(uint8_t *out, python_script *s, pgy_error *err) PGY_MUST_CHECK;
/* Owned text (mem_free), terminated. */
pgy_status python_take_text(char **out, size_t *size, python_script *s,
                            pgy_error *err) PGY_MUST_CHECK;

/* Send and receive raw bytes, for python_map.c. */
pgy_status python_put(python_script *s, const void *data, size_t size_bytes,
                      pgy_error *err) PGY_MUST_CHECK;
pgy_status python_take(python_script *s, void *out, size_t size_bytes,
                       pgy_error *err) PGY_MUST_CHECK;

#endif
