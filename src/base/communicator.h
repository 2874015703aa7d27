/* SPDX-License-Identifier: Apache-2.0 */
/* Where the ranks of a communicator meet. A collective is one meeting: every rank that it joins
 * shows its input, reads those of the others, and goes on when all have read. */
#ifndef BASE_COMMUNICATOR_H
#define BASE_COMMUNICATOR_H

#include <polygraphy/communicator.h>

/* What a rank calls. Only equal calls meet. */
typedef struct communicator_call {
    uint64_t members; /* bit i: rank i takes part */
    uint64_t place;   /* which collective of the model it is: a hash of the node's name */
    uint64_t bytes;   /* of each rank's data */
    uint32_t operation, reduction, type;
    int32_t root;
    bool on_device;   /* `data` is what a device needs, not the elements */
    const char *name; /* for messages, not compared: "all_reduce" */
} communicator_call;

/* data[i] is that of the i-th member, in the order of ranks; `self` is the caller's index. It must
 * end soon after a request to stop, because the others wait for it. */
typedef void (*communicator_read)(const void *const *data, size_t count, size_t self, void *user);

/* The communicator and rank of this thread; NULL: it is none. */
pgy_communicator *communicator_current(int64_t *rank);
/* Meets the others. Fails with the communicator's failure, or PGY_E_CANCELLED on a request to stop;
 * then `read` may not have been called. The thread must be a member. */
pgy_status communicator_meet(const communicator_call *call, const void *data,
                             communicator_read read, void *user, pgy_error *err) PGY_MUST_CHECK;
/* Why the last collective of this thread failed. communicator_note sets it. */
const char *communicator_why(void);
void communicator_note(const char *text);

/* What a device keeps for a communicator. One device's library may keep something. `stop` is called
 * once when the communicator fails, by any thread; `destroy` when it is destroyed. */
typedef struct communicator_attachment {
    void *state;
    void (*stop)(void *state);
    void (*destroy)(void *state);
} communicator_attachment;
/* Borrowed; NULL: nothing is attached. */
void *communicator_attached(pgy_communicator *c);
/* Attaches `a`, unless something is attached already: then `a` is destroyed. Returns the state that
 * is attached. If the communicator has failed already, `stop` is called at once. */
void *communicator_attach(pgy_communicator *c, const communicator_attachment *a);

#endif
