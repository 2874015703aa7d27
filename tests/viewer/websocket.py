# SPDX-License-Identifier: Apache-2.0
"""A client of WebSocket (RFC 6455) for text messages to a server on this machine."""
import base64
import os
import socket
import struct

TEXT, CLOSE, PING, PONG = 1, 8, 9, 10


class WebSocket:
    def __init__(self, port, path, seconds=10):
        self._socket = socket.create_connection(("127.0.0.1", port), timeout=seconds)
        key = base64.b64encode(os.urandom(16)).decode()
        self._socket.sendall(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: {key}\r\n"
                             "Sec-WebSocket-Version: 13\r\n\r\n".encode())
        self._stream = self._socket.makefile("rb")
        status = self._stream.readline()
        if b" 101 " not in status:
            raise OSError(f"no WebSocket at port {port}: {status!r}")
        while self._stream.readline().strip():
            pass
        self._socket.settimeout(None)

    def _frame(self, kind, data):
        size, mask = len(data), os.urandom(4)
        if size < 126:
            head = struct.pack("!BB", 128 | kind, 128 | size)
        elif size < 1 << 16:
            head = struct.pack("!BBH", 128 | kind, 128 | 126, size)
        else:
            head = struct.pack("!BBQ", 128 | kind, 128 | 127, size)
        masked = (int.from_bytes(data, "big") ^ int.from_bytes((mask * (size // 4 + 1))[:size], "big")).to_bytes(size, "big")
        self._socket.sendall(head + mask + masked)

    def send(self, text):
        self._frame(TEXT, text.encode())

    def _read(self, count):
        data = self._stream.read(count)
        if len(data) < count:
            raise EOFError("the connection ended")
        return data

    def receive(self):
        """The next message. EOFError: the other side has closed."""
        message = b""
        while True:
            first, second = self._read(2)
            size = second & 127
            if size == 126:
                size = struct.unpack("!H", self._read(2))[0]
            elif size == 127:
                size = struct.unpack("!Q", self._read(8))[0]
            data = self._read(size)
            if first & 15 == CLOSE:
                raise EOFError("the connection was closed")
            if first & 15 == PING:
                self._frame(PONG, data)
            elif first & 15 != PONG:
                message += data
                if first & 128:
                    return message.decode()

    def close(self):
        # A thread may be waiting in receive(): it gets an end of the stream.
        try:
            self._socket.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self._socket.close()
