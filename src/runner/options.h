/* SPDX-License-Identifier: Apache-2.0 */
/* Settings of a backend, filled by name. A backend inside the library may hang an object on them,
 * for a member that no text can give. */
#ifndef RUNNER_OPTIONS_H
#define RUNNER_OPTIONS_H

#include <stdatomic.h>

#include <polygraphy/runner.h>

/* Put it first into a struct of one's own. Shared by options and the runners made with them. */
typedef struct options_object {
    atomic_size_t references; /* 1 from the start */
    void (*destroy)(struct options_object *self);
} options_object;

/* The settings struct of the backend, options_size bytes; NULL if it has none. */
void *options_settings(pgy_backend_options *o);
const pgy_backend *options_backend(const pgy_backend_options *o);
/* Takes over a reference in place of the object that was there. */
void options_adopt(pgy_backend_options *o, options_object *object);
/* A copy with all texts, which later changes of `from` do not reach. */
pgy_status options_copy(pgy_backend_options **out, const pgy_backend_options *from,
                        pgy_error *err) PGY_MUST_CHECK;

#endif
