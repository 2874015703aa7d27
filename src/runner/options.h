/* SPDX-License-Identifier: Apache-2.0 */
/* Settings of a backend, set by name. A backend inside the library may attach an object to them,
 * for a setting that has no text form. */
#ifndef RUNNER_OPTIONS_H
#define RUNNER_OPTIONS_H

#include <stdatomic.h>

#include <polygraphy/runner.h>

/* The first member of the attached struct. Options and the runners made with them share the object.
 */
typedef struct options_object {
    atomic_size_t references; /* 1 from the start */
    void (*destroy)(struct options_object *self);
} options_object;

/* The settings struct of the backend, options_size bytes; NULL if it has none. */
void *options_settings(pgy_backend_options *o);
const pgy_backend *options_backend(const pgy_backend_options *o);
/* Attaches an object and takes over one reference to it. Releases the object attached before. */
void options_adopt(pgy_backend_options *o, options_object *object);
/* A deep copy, including texts: later changes of `from` do not affect it. */
pgy_status options_copy(pgy_backend_options **out, const pgy_backend_options *from,
                        pgy_error *err) PGY_MUST_CHECK;

#endif
