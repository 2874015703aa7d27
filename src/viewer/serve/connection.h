/* SPDX-License-Identifier: Apache-2.0 */
/* One client of the server: reads requests one after the other, and writes their answers. No call
 * waits for the client. */
#ifndef VIEWER_SERVE_CONNECTION_H
#define VIEWER_SERVE_CONNECTION_H

#include "viewer/serve/answer.h"

typedef enum connection_state {
    CONNECTION_READS,
    CONNECTION_WRITES,
    CONNECTION_ENDS /* the last answer is written; what still comes is dropped */
} connection_state;

typedef struct connection {
    int fd;
    connection_state state;
    int64_t since_ns;     /* the last progress: what is slower than the limit is cut off */
    size_t size, dropped; /* bytes in `in`; bytes dropped at the end */
    char in[HTTP_REQUEST_LIMIT];
    http_answer answer;
    size_t part, sent; /* of the answer: head, body, elements; bytes of that part */
} connection;

void connection_init(connection *c, int fd);
void connection_deinit(connection *c);        /* closes it */
short connection_events(const connection *c); /* what to poll for */
/* Does what is possible now. False: the connection is over. */
bool connection_step(connection *c, site *s, short events);
/* Call it from time to time. False: the connection is over. */
bool connection_check_time(connection *c, int64_t now_ns);

#endif
