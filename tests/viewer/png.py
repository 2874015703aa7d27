# SPDX-License-Identifier: Apache-2.0
"""PNG files with 8 bits per channel: read, write, compare."""
import struct
import zlib

SIGNATURE = b"\x89PNG\r\n\x1a\n"
CHANNELS = {0: 1, 2: 3, 4: 2, 6: 4}


def _chunks(data):
    at = len(SIGNATURE)
    while at < len(data):
        size, kind = struct.unpack(">I4s", data[at:at + 8])
        yield kind, data[at + 8:at + 8 + size]
        at += 12 + size


def _unfilter(kind, line, above, step):
    """Undoes the filter of one line, in place."""
    if kind == 1:
        for i in range(step, len(line)):
            line[i] = (line[i] + line[i - step]) & 255
    elif kind == 2:
        line[:] = bytes([(a + b) & 255 for a, b in zip(line, above)])
    elif kind == 3:
        for i in range(len(line)):
            line[i] = (line[i] + ((line[i - step] if i >= step else 0) + above[i]) // 2) & 255
    elif kind == 4:
        for i in range(len(line)):
            a, b, c = (line[i - step], above[i], above[i - step]) if i >= step else (0, above[i], 0)
            p, q, r = abs(b - c), abs(a - c), abs(a + b - c - c)
            line[i] = (line[i] + (a if p <= q and p <= r else b if q <= r else c)) & 255


def decode(data):
    """(width, height, rows), each row the bytes of RGB; transparency is laid on white."""
    if data[:8] != SIGNATURE:
        raise ValueError("not a PNG file")
    parts = list(_chunks(data))
    width, height, depth, colour, _, _, interlaced = struct.unpack(">IIBBBBB", parts[0][1])
    if depth != 8 or colour not in CHANNELS or interlaced:
        raise ValueError(f"PNG of a kind that is not read: depth {depth}, colour {colour}, interlaced {interlaced}")
    step = CHANNELS[colour]
    stride = width * step
    raw = zlib.decompress(b"".join(body for kind, body in parts if kind == b"IDAT"))
    above, rows = bytearray(stride), []
    for y in range(height):
        line = bytearray(raw[y * (stride + 1) + 1:(y + 1) * (stride + 1)])
        _unfilter(raw[y * (stride + 1)], line, above, step)
        above = line
        rows.append(_rgb(line, step))
    return width, height, rows


def _rgb(line, step):
    if step == 3:
        return bytes(line)
    out = bytearray(len(line) // step * 3)
    if step < 3:
        out[0::3] = out[1::3] = out[2::3] = line[0::step]
    else:
        out[0::3], out[1::3], out[2::3] = line[0::4], line[1::4], line[2::4]
    if step in (2, 4) and line[step - 1::step].count(255) != len(line) // step:
        for i, alpha in enumerate(line[step - 1::step]):
            for k in range(3):
                out[3 * i + k] = (out[3 * i + k] * alpha + 255 * (255 - alpha)) // 255
    return bytes(out)


def encode(width, height, rows):
    def chunk(kind, body):
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return SIGNATURE + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(b"".join(b"\0" + r for r in rows), 9)) + chunk(b"IEND", b"")


def difference(a, b, step=48):
    """The share of pixels that differ by more than `step` (of 255) in a channel, and a picture of where: red on the first one in grey.
    Edges of glyphs move by less than a pixel between machines: pixels whose neighbour on the other side agrees are equal."""
    width, height, rows_a = decode(a)
    width_b, height_b, rows_b = decode(b)
    if (width, height) != (width_b, height_b):
        return 1.0, f"sizes {width} x {height} and {width_b} x {height_b}"
    count, shown = 0, []
    for y, (p, q) in enumerate(zip(rows_a, rows_b)):
        grey = bytearray(255 - (255 - v) // 3 for v in p)
        if p != q:
            for x in range(width):
                if p[3 * x:3 * x + 3] != q[3 * x:3 * x + 3] and not _is_near(rows_a, rows_b, x, y, width, height, step):
                    count += 1
                    grey[3 * x:3 * x + 3] = b"\xff\0\0"
        shown.append(bytes(grey))
    return count / (width * height), encode(width, height, shown)


def _is_near(rows_a, rows_b, x, y, width, height, step):
    p = rows_a[y][3 * x:3 * x + 3]
    for v in range(max(0, y - 1), min(height, y + 2)):
        row = rows_b[v]
        for u in range(max(0, x - 1), min(width, x + 2)):
            if all(abs(p[k] - row[3 * u + k]) <= step for k in range(3)):
                return True
    return False


def is_blank(data):
    """True if all pixels have one colour: nothing was drawn."""
    _, _, rows = decode(data)
    return all(row == rows[0][:3] * (len(row) // 3) for row in rows)


def colours(data):
    """The colours of a picture, with the number of their pixels, the most frequent first."""
    counts = {}
    _, _, rows = decode(data)
    for row in rows:
        for x in range(0, len(row), 3):
            colour = row[x:x + 3]
            counts[colour] = counts.get(colour, 0) + 1
    return sorted(((tuple(c), n) for c, n in counts.items()), key=lambda item: -item[1])
