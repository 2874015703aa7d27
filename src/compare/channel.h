/* SPDX-License-Identifier: Apache-2.0 */
/* Messages over a pipe between a run and its child process. Both are the same program, so numbers
 * are sent as they lie in memory. The reader checks every length, because the child may have
 * crashed mid-message. */
#ifndef COMPARE_CHANNEL_H
#define COMPARE_CHANNEL_H

#include <polygraphy/tensor.h>

typedef enum channel_kind {
    CHANNEL_FEED = 1,
    CHANNEL_ITERATION,
    CHANNEL_DONE,
    CHANNEL_ERROR
} channel_kind;

/* What a message says besides tensors: the times of an iteration, or a status. */
typedef struct channel_numbers {
    double first, second;
} channel_numbers;

/* Sending and receiving return PGY_E_IO when the other process has closed its end. */
pgy_status channel_send(int fd, channel_kind kind, channel_numbers numbers, const char *text,
                        const pgy_tensor_map *map, pgy_error *err) PGY_MUST_CHECK;

typedef struct channel_message {
    channel_kind kind;
    channel_numbers numbers;
    char *text;          /* never NULL */
    pgy_tensor_map *map; /* NULL: the message has none */
} channel_message;
/* Waits until `deadline_ns` (a time of clock_ns(); negative: no limit). Returns PGY_E_CANCELLED
 * when the deadline has passed. */
pgy_status channel_receive(channel_message *out, int fd, int64_t deadline_ns,
                           pgy_error *err) PGY_MUST_CHECK;
void channel_message_deinit(channel_message *m);

#endif
