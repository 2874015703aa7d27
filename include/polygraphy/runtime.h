/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Running engines: contexts, streams, profiling and debug tensors.
 *
 *     pgy_context *c = NULL;
 *     if (pgy_context_create(&c, engine, NULL, &err)) ...
 *     if (pgy_context_set_input_shape(c, "x", 4, shape, &err)) ...  // only where it is not fixed
 *     if (pgy_context_set_input(c, "x", x, sizeof x, &err)) ...
 *     if (pgy_context_set_output(c, "y", y, sizeof y, &err)) ...
 *     if (pgy_context_execute(c, &err)) ...
 *     pgy_context_destroy(c);
 *
 * Contexts of one engine share its weights and may run on several threads at once. One context
 * belongs to one thread at a time, unless a function below says "any thread".
 */
#ifndef POLYGRAPHY_RUNTIME_H
#define POLYGRAPHY_RUNTIME_H

#include <polygraphy/engine.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Error recorders ------------------------------------------------------------------------ */

/** Keeps the failures of the engines and contexts it is attached to, oldest first. Reference
 * counted; any thread. */
typedef struct pgy_error_recorder pgy_error_recorder;
/** @param capacity  number of errors to keep; 0: 64. Further errors are dropped and set the
 * overflow flag */
PGY_API PGY_MUST_CHECK pgy_status pgy_error_recorder_create(pgy_error_recorder **out,
                                                            size_t capacity, pgy_error *err);
PGY_API pgy_error_recorder *pgy_error_recorder_retain(pgy_error_recorder *r);
PGY_API void pgy_error_recorder_release(pgy_error_recorder *r); /**< NULL is fine */
/** Adds an error, as the library does. NULL is fine; PGY_OK is not added. */
PGY_API void pgy_error_recorder_report(pgy_error_recorder *r, pgy_status status, const char *text);
PGY_API size_t pgy_error_recorder_count(const pgy_error_recorder *r);
PGY_API bool pgy_error_recorder_overflowed(const pgy_error_recorder *r);
/** Copies the text of error i to `out` (may be NULL). @return its status; PGY_OK: error i does not
 * exist */
PGY_API pgy_status pgy_error_recorder_at(pgy_error *out, const pgy_error_recorder *r, size_t i);
PGY_API void pgy_error_recorder_clear(pgy_error_recorder *r);
/** Sets the recorder, which is retained, for contexts of this engine without one of their own.
 * NULL: none. Any thread. */
PGY_API void pgy_engine_set_error_recorder(pgy_engine *e, pgy_error_recorder *r);

/* ---- Threads and memory --------------------------------------------------------------------- */

/** Threads that run an engine's steps together. Several contexts may share a team; it then runs
 * them one at a time. Reference counted; any thread. */
typedef struct pgy_team pgy_team;
/** @param threads  number of threads, with the one that calls a run; 0: one for each processor */
PGY_API PGY_MUST_CHECK pgy_status pgy_team_create(pgy_team **out, size_t threads, pgy_error *err);
PGY_API pgy_team *pgy_team_retain(pgy_team *t);
PGY_API void pgy_team_release(pgy_team *t); /**< NULL is fine */

/** Where a context's memory comes from. Both functions are required. */
typedef struct pgy_allocator {
    size_t size; /**< sizeof(pgy_allocator) */
    void *user;
    /** Returns memory at a multiple of `alignment`, a power of two; NULL on failure. */
    void *(*allocate)(void *user, size_t size_bytes, size_t alignment);
    void (*release)(void *user, void *memory, size_t size_bytes);
} pgy_allocator;

/** When a context allocates memory for intermediate tensors. */
typedef enum pgy_allocation {
    PGY_ALLOCATION_RUNTIME, /**< when a run's shapes need more than the context has */
    PGY_ALLOCATION_STATIC,  /**< allocate at once, for the largest shapes of all profiles */
    PGY_ALLOCATION_PROFILE, /**< when a profile is set, for its largest shapes */
    PGY_ALLOCATION_USER     /**< never: the caller provides it by pgy_context_set_memory */
} pgy_allocation;

/* ---- Contexts ------------------------------------------------------------------------------- */

typedef struct pgy_context pgy_context;

typedef struct pgy_context_options {
    size_t size;    /**< sizeof(pgy_context_options) */
    size_t threads; /**< threads of its own team; 0: as many as the engine was built for */
    pgy_team *team; /**< a team to share, retained; NULL: the context makes its own */
    pgy_allocation allocation;
    const pgy_allocator *allocator; /**< copied; NULL: the library's */
} pgy_context_options;

/** @param o  NULL: defaults */
PGY_API PGY_MUST_CHECK pgy_status pgy_context_create(pgy_context **out, pgy_engine *e,
                                                     const pgy_context_options *o, pgy_error *err);
PGY_API void pgy_context_destroy(pgy_context *c); /**< NULL is fine; no run may be in progress */
PGY_API pgy_engine *pgy_context_engine(const pgy_context *c); /**< borrowed */
/** Sets a recorder for this context instead of the engine's; it is retained. NULL: the engine's
 * again. */
PGY_API void pgy_context_set_error_recorder(pgy_context *c, pgy_error_recorder *r);

/** Selects the profile that input shapes must lie in. Before the first call, shapes within any
 * profile are accepted. */
PGY_API PGY_MUST_CHECK pgy_status pgy_context_set_profile(pgy_context *c, size_t profile,
                                                          pgy_error *err);
/** Sets the shape of an input for the next runs. Inputs of fixed shape need no call. @return
 * PGY_E_SHAPE if the shape contradicts the model or lies outside the profile; the text names input,
 * shape and range */
PGY_API PGY_MUST_CHECK pgy_status pgy_context_set_input_shape(pgy_context *c, const char *name,
                                                              size_t rank, const int64_t *shape,
                                                              pgy_error *err);
/** Infers the shapes of the outputs; those that depend on data stay unknown. It needs the shapes of
 * all inputs, and the addresses of inputs whose elements are shapes. `missing` receives the names
 * of up to `capacity` inputs that lack one, and *missing_count their number. Builds nothing. */
PGY_API PGY_MUST_CHECK pgy_status pgy_context_infer_shapes(pgy_context *c, const char **missing,
                                                           size_t capacity, size_t *missing_count,
                                                           pgy_error *err);
/** Type and shape of an input as set, or of an output as the last pgy_context_infer_shapes or run
 * found it; unknown dimensions are -1. Borrowed until the next such call. NULL: the engine has no
 * input or output of this name. */
PGY_API const pgy_tensor_info *pgy_context_tensor(const pgy_context *c, const char *name);
/** Gives the bytes of an output; call pgy_context_infer_shapes first. @return PGY_E_UNSUPPORTED if
 * the shape depends on data: set an output allocator instead */
PGY_API PGY_MUST_CHECK pgy_status pgy_context_output_bytes(size_t *out, const pgy_context *c,
                                                           const char *name, pgy_error *err);

/** Sets the address of an input's elements, row-major. Every later run reads them there. */
PGY_API PGY_MUST_CHECK pgy_status pgy_context_set_input(pgy_context *c, const char *name,
                                                        const void *data, size_t size_bytes,
                                                        pgy_error *err);
/** Sets the address to which runs write an output's elements, row-major, and the bytes available
 * there. It may be the address of an input if the step that reads the input writes over it: then
 * caches of keys and values stay in place (docs/api.md). A run refuses other overlaps. */
PGY_API PGY_MUST_CHECK pgy_status pgy_context_set_output(pgy_context *c, const char *name,
                                                         void *data, size_t size_bytes,
                                                         pgy_error *err);
/** Keeps a cache in a buffer [batch, heads, rows, size]: runs find input `past` in the first rows
 * of each head, and add the new rows of output `present` there, without a copy. The shape of the
 * past is set as ever. Such runs fail with PGY_E_UNSUPPORTED where no kernel can do that
 * (docs/api.md).
 * @param data  replaces the addresses of both; NULL removes them
 * @param rows  of each head, at least those of `present` */
PGY_API PGY_MUST_CHECK pgy_status pgy_context_set_cache(pgy_context *c, const char *past,
                                                        const char *present, void *data,
                                                        size_t size_bytes, int64_t rows,
                                                        pgy_error *err);
/** Allocates an output once its shape is known: before the run, or in it if the shape depends on
 * data. A run that fails later has then asked already. */
typedef struct pgy_output_allocator {
    size_t size; /**< sizeof(pgy_output_allocator) */
    void *user;
    /** Required. Returns NULL when out of memory; the run fails. 64-byte alignment is fastest. */
    void *(*allocate)(void *user, const char *name, size_t size_bytes);
    /** Receives the output after a run. May be NULL. */
    void (*filled)(void *user, const char *name, pgy_view value);
} pgy_output_allocator;
/** Sets an output's allocator, which is copied and replaces its address. NULL removes it. */
PGY_API PGY_MUST_CHECK pgy_status pgy_context_set_output_allocator(
    pgy_context *c, const char *name, const pgy_output_allocator *allocator, pgy_error *err);

/** Runs once on the addresses that were set. Tensors of numbers only: sequences and strings go
 * through pgy_context_run. @return PGY_E_CANCELLED when stopped */
PGY_API PGY_MUST_CHECK pgy_status pgy_context_execute(pgy_context *c, pgy_error *err);
/** Runs once on the tensors of a map, with their shapes, and adds the outputs to `out`. Ignores the
 * shapes and addresses set above and leaves them unchanged. */
PGY_API PGY_MUST_CHECK pgy_status pgy_context_run(pgy_context *c, const pgy_tensor_map *feed,
                                                  pgy_tensor_map *out, pgy_error *err);
/** Stops the current run at its next step: it returns PGY_E_CANCELLED, and the context stays
 * usable. Without a current run, does nothing. Any thread; callbacks may call it. */
PGY_API void pgy_context_cancel(pgy_context *c);

/* ---- Memory of a context -------------------------------------------------------------------- */

/** Gives the bytes that a run at the shapes set so far needs; builds a program for these shapes if
 * there is none. 0 if the graph is interpreted: then the library allocates tensors one by one. */
PGY_API PGY_MUST_CHECK pgy_status pgy_context_memory_bytes(uint64_t *out, pgy_context *c,
                                                           pgy_error *err);
/** Like pgy_context_memory_bytes, for the largest shapes of a profile; SIZE_MAX: of all profiles.
 */
PGY_API PGY_MUST_CHECK pgy_status pgy_context_profile_memory_bytes(uint64_t *out, pgy_context *c,
                                                                   size_t profile, pgy_error *err);
/** Gives the caller's memory, at a multiple of 64, to all later runs; for PGY_ALLOCATION_USER. It
 * stays the caller's. NULL takes it back. */
PGY_API PGY_MUST_CHECK pgy_status pgy_context_set_memory(pgy_context *c, void *memory,
                                                         size_t size_bytes, pgy_error *err);

typedef struct pgy_context_memory {
    uint64_t held_bytes;  /**< memory that the context allocated or was given */
    uint64_t arena_bytes; /**< bytes for intermediate tensors and workspaces of the last run's
                             program; 0: the run was interpreted, or there was no run */
    uint64_t arena_bound; /**< lower bound: the largest sum of bytes in use at one step; no arena is
                             smaller */
    uint64_t scratch_bytes; /**< scratch of all threads together; not part of the arena */
} pgy_context_memory;
PGY_API pgy_context_memory pgy_context_describe_memory(const pgy_context *c);

/** Times of the last run that succeeded; zeros before it. */
typedef struct pgy_context_times {
    int64_t whole_ns;       /**< the run, with what it prepared */
    int64_t preparation_ns; /**< of it, for shapes that had no program: building one, or making it
                               from a range of shapes, and memory for it; 0: nothing was prepared */
} pgy_context_times;
PGY_API pgy_context_times pgy_context_describe_times(const pgy_context *c);

/* ---- Observing ------------------------------------------------------------------------------ */

/** Receives the time of each layer. Reading clocks takes time, so the sum is less than the whole
 * run. */
typedef struct pgy_profiler {
    size_t size; /**< sizeof(pgy_profiler) */
    void *user;
    void (*layer)(void *user, const char *name,
                  double ms); /**< called for each layer in execution order */
    void (*run)(void *user, double ms,
                double layers_ms); /**< called at the end of the run; may be NULL */
} pgy_profiler;
/** @param profiler  copied; NULL: none; runs then read no clocks
 * @param emit      report after every run; else only on pgy_context_report_profile */
PGY_API PGY_MUST_CHECK pgy_status pgy_context_set_profiler(pgy_context *c,
                                                           const pgy_profiler *profiler, bool emit,
                                                           pgy_error *err);
/** Reports the last complete run. @return PGY_E_NOT_FOUND before the first */
PGY_API PGY_MUST_CHECK pgy_status pgy_context_report_profile(pgy_context *c, pgy_error *err);

/** Receives the engine's debug tensors (pgy_build_config.debug_tensors, debug_unfused), each
 * directly after the step that computes it. */
typedef struct pgy_debug_listener {
    size_t size; /**< sizeof(pgy_debug_listener) */
    void *user;
    /** Called on the thread that runs; the value is valid during the call only. Returning false
     * ends the run as pgy_context_cancel does. */
    bool (*tensor)(void *user, const char *name, pgy_view value);
} pgy_debug_listener;
/** Sets the listener, which is copied; NULL: none. A listener does not change what is computed, or
 * how. */
PGY_API PGY_MUST_CHECK pgy_status pgy_context_set_debug_listener(pgy_context *c,
                                                                 const pgy_debug_listener *listener,
                                                                 pgy_error *err);
/** Turns a debug tensor on or off for the listener; all are on at first. NULL: all debug tensors.
 * @return PGY_E_NOT_FOUND if the engine was not built with this debug tensor */
PGY_API PGY_MUST_CHECK pgy_status pgy_context_set_debug(pgy_context *c, const char *name, bool on,
                                                        pgy_error *err);

/* ---- Streams -------------------------------------------------------------------------------- */

/** A thread that does enqueued work in order. Any thread may call its functions. */
typedef struct pgy_stream pgy_stream;
/** Identifies enqueued work: its number in the stream, from 1. When it is done, so is all earlier
 * work. */
typedef uint64_t pgy_ticket;

PGY_API PGY_MUST_CHECK pgy_status pgy_stream_create(pgy_stream **out, pgy_error *err);
PGY_API void pgy_stream_destroy(pgy_stream *s); /**< waits for enqueued work first; NULL is fine */
/** @param ticket  receives the ticket of this work; may be NULL */
PGY_API PGY_MUST_CHECK pgy_status pgy_stream_enqueue(pgy_stream *s,
                                                     pgy_status (*work)(void *user, pgy_error *err),
                                                     void *user, pgy_ticket *ticket,
                                                     pgy_error *err);
/** Enqueues pgy_context_execute. Until it is done, neither the context nor the memory at its
 * addresses may change. */
PGY_API PGY_MUST_CHECK pgy_status pgy_context_enqueue(pgy_context *c, pgy_stream *s,
                                                      pgy_ticket *ticket, pgy_error *err);
PGY_API pgy_ticket pgy_stream_last(pgy_stream *s); /**< ticket of the work enqueued last; 0: none */
PGY_API bool pgy_stream_is_done(pgy_stream *s, pgy_ticket ticket);
/** Waits for a piece of work. @return its failure, with the text, if it is among the latest 16
 * failures; else PGY_OK */
PGY_API PGY_MUST_CHECK pgy_status pgy_stream_wait(pgy_stream *s, pgy_ticket ticket, pgy_error *err);
/** Waits for all enqueued work. @return the first failure since the last call of this function, or
 * PGY_OK */
PGY_API PGY_MUST_CHECK pgy_status pgy_stream_synchronize(pgy_stream *s, pgy_error *err);

#ifdef __cplusplus
}
#endif
#endif
