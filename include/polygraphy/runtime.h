/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Running engines: contexts, streams, and what can be watched while an engine runs.
 *
 *     pgy_context *c = NULL;
 *     if (pgy_context_create(&c, engine, NULL, &err)) ...
 *     if (pgy_context_set_input_shape(c, "x", 4, shape, &err)) ...  // only where it is not fixed
 *     if (pgy_context_set_input(c, "x", x, sizeof x, &err)) ...
 *     if (pgy_context_set_output(c, "y", y, sizeof y, &err)) ...
 *     if (pgy_context_execute(c, &err)) ...
 *     pgy_context_destroy(c);
 *
 * Contexts of one engine share its weights and may run on several threads at once; each of them
 * belongs to one thread at a time. What may be called from any thread says so.
 */
#ifndef POLYGRAPHY_RUNTIME_H
#define POLYGRAPHY_RUNTIME_H

#include <polygraphy/engine.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Errors that are kept ------------------------------------------------------------------- */

/** Keeps the failures of what it is attached to, oldest first. Reference counted; any thread. */
typedef struct pgy_error_recorder pgy_error_recorder;
/** @param capacity  of kept errors; 0: 64. One more sets the overflow flag and is dropped */
PGY_API PGY_MUST_CHECK pgy_status pgy_error_recorder_create(pgy_error_recorder **out,
                                                            size_t capacity, pgy_error *err);
PGY_API pgy_error_recorder *pgy_error_recorder_retain(pgy_error_recorder *r);
PGY_API void pgy_error_recorder_release(pgy_error_recorder *r); /**< NULL is fine */
/** Adds an error, as the library does. NULL is fine; PGY_OK is not added. */
PGY_API void pgy_error_recorder_report(pgy_error_recorder *r, pgy_status status, const char *text);
PGY_API size_t pgy_error_recorder_count(const pgy_error_recorder *r);
PGY_API bool pgy_error_recorder_overflowed(const pgy_error_recorder *r);
/** @return the status of error i, whose text is copied to `out` (may be NULL); PGY_OK: there is no
 * such error */
PGY_API pgy_status pgy_error_recorder_at(pgy_error *out, const pgy_error_recorder *r, size_t i);
PGY_API void pgy_error_recorder_clear(pgy_error_recorder *r);
/** For contexts of this engine that have none of their own; retained. NULL: none. Any thread. */
PGY_API void pgy_engine_set_error_recorder(pgy_engine *e, pgy_error_recorder *r);

/* ---- Threads and memory --------------------------------------------------------------------- */

/** Threads that run an engine's steps together. A team that several contexts use runs one of them
 * at a time. Reference counted; any thread. */
typedef struct pgy_team pgy_team;
/** @param threads  the caller of a run is one of them; 0: one for each processor */
PGY_API PGY_MUST_CHECK pgy_status pgy_team_create(pgy_team **out, size_t threads, pgy_error *err);
PGY_API pgy_team *pgy_team_retain(pgy_team *t);
PGY_API void pgy_team_release(pgy_team *t); /**< NULL is fine */

/** Where a context's memory comes from. */
typedef struct pgy_allocator {
    void *user;
    /** At a multiple of `alignment`, a power of two; NULL: there is none. */
    void *(*allocate)(void *user, size_t size_bytes, size_t alignment);
    void (*release)(void *user, void *memory, size_t size_bytes);
} pgy_allocator;

/** When a context takes memory for what is computed. */
typedef enum pgy_allocation {
    PGY_ALLOCATION_RUNTIME, /**< when shapes come that need more than there is */
    PGY_ALLOCATION_STATIC,  /**< at once, for the largest shapes of all profiles */
    PGY_ALLOCATION_PROFILE, /**< when a profile is set, for its largest shapes */
    PGY_ALLOCATION_USER     /**< never: pgy_context_set_memory gives it */
} pgy_allocation;

/* ---- Contexts ------------------------------------------------------------------------------- */

typedef struct pgy_context pgy_context;

typedef struct pgy_context_options {
    size_t size;    /**< sizeof(pgy_context_options) */
    size_t threads; /**< of a team of its own; 0: as many as the engine was built for */
    pgy_team *team; /**< to be shared, retained; NULL: one of its own */
    pgy_allocation allocation;
    const pgy_allocator *allocator; /**< copied; NULL: the library's */
} pgy_context_options;

/** @param o  NULL: defaults */
PGY_API PGY_MUST_CHECK pgy_status pgy_context_create(pgy_context **out, pgy_engine *e,
                                                     const pgy_context_options *o, pgy_error *err);
PGY_API void pgy_context_destroy(pgy_context *c); /**< NULL is fine; no run may be going on */
PGY_API pgy_engine *pgy_context_engine(const pgy_context *c); /**< borrowed */
/** For failures of this context, instead of the engine's; retained. NULL: the engine's again. */
PGY_API void pgy_context_set_error_recorder(pgy_context *c, pgy_error_recorder *r);

/** The profile that shapes must lie in; until one is set any will do. */
PGY_API PGY_MUST_CHECK pgy_status pgy_context_set_profile(pgy_context *c, size_t profile,
                                                          pgy_error *err);
/** The shape of an input of the next runs. Inputs of fixed shape need none. @return PGY_E_SHAPE if
 * it contradicts the model or lies outside the profile; the text names input, shape and range */
PGY_API PGY_MUST_CHECK pgy_status pgy_context_set_input_shape(pgy_context *c, const char *name,
                                                              size_t rank, const int64_t *shape,
                                                              pgy_error *err);
/** Are the shapes of all inputs there, and of those whose elements are shapes the addresses? Then
 * shapes of outputs are known, but those that depend on other data. `missing` gets the names of up
 * to `capacity` inputs that are missing; *missing_count is how many there are. Builds nothing. */
PGY_API PGY_MUST_CHECK pgy_status pgy_context_infer_shapes(pgy_context *c, const char **missing,
                                                           size_t capacity, size_t *missing_count,
                                                           pgy_error *err);
/** Type and shape of an input as set, or of an output as found by the last
 * pgy_context_infer_shapes or run; -1 where they are not known. Borrowed until the next of those
 * calls. NULL: there is no such tensor. */
PGY_API const pgy_tensor_info *pgy_context_tensor(const pgy_context *c, const char *name);
/** Bytes of an output, which pgy_context_infer_shapes must have found. @return PGY_E_UNSUPPORTED if
 * its shape depends on data: give such an output an allocator */
PGY_API PGY_MUST_CHECK pgy_status pgy_context_output_bytes(size_t *out, const pgy_context *c,
                                                           const char *name, pgy_error *err);

/** Where the elements of an input lie, row-major, from now on. Read by every run. */
PGY_API PGY_MUST_CHECK pgy_status pgy_context_set_input(pgy_context *c, const char *name,
                                                        const void *data, size_t size_bytes,
                                                        pgy_error *err);
/** Where the elements of an output go, row-major, and how much room is there. */
PGY_API PGY_MUST_CHECK pgy_status pgy_context_set_output(pgy_context *c, const char *name,
                                                         void *data, size_t size_bytes,
                                                         pgy_error *err);
/** Gives room to an output when its shape is known: before the run, or behind it if the shape
 * depends on data. */
typedef struct pgy_output_allocator {
    void *user;
    /** NULL: there is no room, and the run fails. 64-byte alignment is best. */
    void *(*allocate)(void *user, const char *name, size_t size_bytes);
    /** Behind a run: what the output is. May be NULL. */
    void (*filled)(void *user, const char *name, pgy_view value);
} pgy_output_allocator;
/** Copied; instead of an address. NULL: none any more. */
PGY_API PGY_MUST_CHECK pgy_status pgy_context_set_output_allocator(
    pgy_context *c, const char *name, const pgy_output_allocator *allocator, pgy_error *err);

/** Runs once on the addresses that were set. Tensors of numbers only: sequences and strings go
 * through pgy_context_run. @return PGY_E_CANCELLED when stopped */
PGY_API PGY_MUST_CHECK pgy_status pgy_context_execute(pgy_context *c, pgy_error *err);
/** Runs once on the tensors of a map, whose shapes are used; outputs are added to `out`. Shapes and
 * addresses that were set are neither used nor changed. */
PGY_API PGY_MUST_CHECK pgy_status pgy_context_run(pgy_context *c, const pgy_tensor_map *feed,
                                                  pgy_tensor_map *out, pgy_error *err);
/** Ends the run that is going on at its next step; it returns PGY_E_CANCELLED, and the context can
 * be used again. Nothing happens if none is going on. Any thread, and callbacks. */
PGY_API void pgy_context_cancel(pgy_context *c);

/* ---- Memory of a context -------------------------------------------------------------------- */

/** Bytes that a run at the shapes that are set needs; builds what is needed for them. 0 if the
 * graph is interpreted: then memory comes from the library as it is needed. */
PGY_API PGY_MUST_CHECK pgy_status pgy_context_memory_bytes(uint64_t *out, pgy_context *c,
                                                           pgy_error *err);
/** The same for the largest shapes of a profile; SIZE_MAX: of all profiles. */
PGY_API PGY_MUST_CHECK pgy_status pgy_context_profile_memory_bytes(uint64_t *out, pgy_context *c,
                                                                   size_t profile, pgy_error *err);
/** Memory of the caller's, at a multiple of 64, used by the next runs until other is given; for
 * PGY_ALLOCATION_USER. NULL takes it away. */
PGY_API PGY_MUST_CHECK pgy_status pgy_context_set_memory(pgy_context *c, void *memory,
                                                         size_t size_bytes, pgy_error *err);

typedef struct pgy_context_memory {
    uint64_t held_bytes;  /**< by the context, or given to it */
    uint64_t arena_bytes; /**< for tensors and what kernels work with in the last run's program; 0:
                             it was interpreted, or there was no run */
    uint64_t arena_bound; /**< the most of it that is in use at once: no arena is smaller */
    uint64_t scratch_bytes; /**< beside it, for all threads */
} pgy_context_memory;
PGY_API pgy_context_memory pgy_context_describe_memory(const pgy_context *c);

/* ---- Watching ------------------------------------------------------------------------------- */

/** Hears how long each layer took. Clocks cost time: the sum is less than the whole run. */
typedef struct pgy_profiler {
    void *user;
    void (*layer)(void *user, const char *name, double ms); /**< in order of the run */
    void (*run)(void *user, double ms, double layers_ms);   /**< then, the whole; may be NULL */
} pgy_profiler;
/** @param profiler  copied; NULL: none, which costs nothing
 *  @param emit      report behind every run; else when pgy_context_report_profile asks */
PGY_API void pgy_context_set_profiler(pgy_context *c, const pgy_profiler *profiler, bool emit);
/** Reports the last run that was complete. @return PGY_E_NOT_FOUND if there is none */
PGY_API PGY_MUST_CHECK pgy_status pgy_context_report_profile(pgy_context *c, pgy_error *err);

/** Sees tensors that the engine was built to show (pgy_build_config.debug_tensors,
 * debug_unfused), each right behind the step that computes it. */
typedef struct pgy_debug_listener {
    void *user;
    /** On the thread that runs; the value is valid during the call only. False ends the run as
     * pgy_context_cancel does. */
    bool (*tensor)(void *user, const char *name, pgy_view value);
} pgy_debug_listener;
/** Copied; NULL: none. What is computed and how stays the same. */
PGY_API void pgy_context_set_debug_listener(pgy_context *c, const pgy_debug_listener *listener);
/** Shows one tensor or not; all are shown at first. NULL: all that the engine shows. @return
 * PGY_E_NOT_FOUND if the engine was not built to show it */
PGY_API PGY_MUST_CHECK pgy_status pgy_context_set_debug(pgy_context *c, const char *name, bool on,
                                                        pgy_error *err);

/* ---- Streams -------------------------------------------------------------------------------- */

/** A thread that does what is enqueued, in order. Any thread may call these. */
typedef struct pgy_stream pgy_stream;
/** One piece of work, counted up from 1. A stream has done it and all before it, or not. */
typedef uint64_t pgy_ticket;

PGY_API PGY_MUST_CHECK pgy_status pgy_stream_create(pgy_stream **out, pgy_error *err);
PGY_API void pgy_stream_destroy(pgy_stream *s); /**< waits for what is enqueued; NULL is fine */
/** @param ticket  of this work; may be NULL */
PGY_API PGY_MUST_CHECK pgy_status pgy_stream_enqueue(pgy_stream *s,
                                                     pgy_status (*work)(void *user, pgy_error *err),
                                                     void *user, pgy_ticket *ticket,
                                                     pgy_error *err);
/** pgy_context_execute, on the stream's thread. Until it is done the context and its addresses must
 * stay as they are. */
PGY_API PGY_MUST_CHECK pgy_status pgy_context_enqueue(pgy_context *c, pgy_stream *s,
                                                      pgy_ticket *ticket, pgy_error *err);
PGY_API pgy_ticket pgy_stream_last(pgy_stream *s); /**< what was enqueued last; 0: nothing */
PGY_API bool pgy_stream_is_done(pgy_stream *s, pgy_ticket ticket);
/** Waits. @return how that piece of work ended, with its text, if it is among the latest 16 that
 * failed */
PGY_API PGY_MUST_CHECK pgy_status pgy_stream_wait(pgy_stream *s, pgy_ticket ticket, pgy_error *err);
/** Waits for all. @return the first failure since the last call of this, or PGY_OK */
PGY_API PGY_MUST_CHECK pgy_status pgy_stream_synchronize(pgy_stream *s, pgy_error *err);

#ifdef __cplusplus
}
#endif
#endif
