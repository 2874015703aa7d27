#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes tests/ops/image_decoder.txt: small images of each format, and the pixels that Pillow decodes. Needs Pillow and NumPy.

    make_image_cases.py > tests/ops/image_decoder.txt
"""
import io
import struct
import zlib

import numpy as np
from PIL import Image

LIBRARIES = {"JPEG": "libturbojpeg.so.0", "PNG": "libpng16.so.16", "WEBP": "libwebp.so.7", "TIFF": "libtiff.so.6", "JPEG2000": "libopenjp2.so.7"}
LUMA = (19595, 38470, 7471)


def picture(height, width):
    y, x = np.mgrid[:height, :width]
    return np.stack([(x * 37 + y * 11) % 256, (x * 5 + y * 53) % 256, (255 - x * 29 - y * 3) % 256], -1).astype(np.uint8)


def numbers(values):
    words, lines, line = [str(int(v)) for v in np.asarray(values).ravel()], [], ""
    for word in words:
        if len(line) + len(word) > 110:
            lines.append(line)
            line = ""
        line += word + " "
    return "\n     ".join([*lines, line.rstrip()])


def case(name, data, wanted, pixel_format=None, library=None, error=None):
    print(f"case: {name}\nop: ImageDecoder 20")
    if library:
        print(f"library: {LIBRARIES[library]}")
    if pixel_format:
        print(f'attr: pixel_format = "{pixel_format}"')
    data = np.frombuffer(data, np.uint8)
    print(f"in: uint8 [{len(data)}] {numbers(data)}".rstrip())
    print(f"error: {error}\n" if error else f"out: uint8 {list(wanted.shape)} {numbers(wanted)}\n")


def decoded(data, pixel_format="RGB"):
    image = Image.open(io.BytesIO(data))
    if pixel_format == "Grayscale":
        return np.array(image.convert("L"))[..., None]
    if image.mode in ("RGBA", "LA"):  # alpha is left out
        return np.array(image)[..., :3] if image.mode == "RGBA" else np.repeat(np.array(image)[..., :1], 3, -1)
    return np.array(image.convert("RGB"))[..., :: -1 if pixel_format == "BGR" else 1]


def saved(image, kind, **options):
    out = io.BytesIO()
    image.save(out, kind, **options)
    return out.getvalue()


def known(name, data, pixel_format=None, library=None):
    case(name, data, decoded(data, pixel_format or "RGB"), pixel_format, library)


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png(width, height, bits, color, raw, interlaced=0, extra=b"", claimed=None):
    w, h = claimed or (width, height)
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", w, h, bits, color, 0, 0, interlaced)) + extra
            + chunk(b"IDAT", zlib.compress(raw, 9)) + chunk(b"IEND", b""))


def interlaced(pixels):
    raw = b""
    for x0, y0, dx, dy in ((0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2)):
        part = pixels[y0::dy, x0::dx]
        if part.size:
            raw += b"".join(b"\0" + row.tobytes() for row in part)
    return raw


def bmp(width, height, bits, compression, body, palette=b"", header=40, extra=b"", colors=0):
    at = 14 + header + len(extra) + len(palette)
    head = struct.pack("<IiiHHIIiiII", header, width, height, 1, bits, compression, len(body), 0, 0, colors, 0)
    return b"BM" + struct.pack("<IHHI", at + len(body), 0, 0, at) + head + extra + palette + body


def bmp_cases():
    rgb = picture(4, 5)
    known("bmp of 24 bits", saved(Image.fromarray(rgb), "BMP"))
    known("bmp, BGR", saved(Image.fromarray(rgb), "BMP"), "BGR")
    known("bmp, Grayscale", saved(Image.fromarray(rgb), "BMP"), "Grayscale")
    known("bmp of 8 bits, gray", saved(Image.fromarray(rgb[..., 0]), "BMP"))
    known("bmp of 1 bit", saved(Image.fromarray(rgb[..., 0] > 60), "BMP"))
    known("bmp with a palette", saved(Image.fromarray(rgb).quantize(7), "BMP"))
    body = np.concatenate([rgb[..., ::-1], rgb[..., :1]], -1)
    known("bmp of 32 bits, from top to bottom", bmp(5, -4, 32, 0, body.tobytes()))
    five = (np.arange(20, dtype="<u2") * 3251 & 0x7FFF).reshape(4, 5)
    body = np.pad(five, ((0, 0), (0, 1))).tobytes()
    known("bmp of 16 bits", bmp(5, 4, 16, 0, body))
    masks = struct.pack("<III", 0xF800, 0x7E0, 0x1F)
    known("bmp of 16 bits with masks 5, 6, 5", bmp(5, 4, 16, 3, body, extra=masks))
    palette = bytes(v for i in range(16) for v in (i * 16, 255 - i * 16, i * 7, 0))
    known("bmp with runs of 8 bits", bmp(5, 3, 8, 1, bytes([3, 2, 2, 5, 0, 0, 0, 5, 1, 2, 3, 4, 5, 0, 0, 0, 5, 9, 0, 1]), palette, colors=16))
    known("bmp with runs of 4 bits", bmp(5, 2, 4, 2, bytes([5, 0x27, 0, 0, 0, 5, 0x12, 0x34, 0x50, 0, 0, 1]), palette, colors=16))
    # Pillow fills the rest of a row as it likes, so these are by hand: pixels without a run have color 0
    wanted = np.zeros((2, 4), int)
    wanted[1, 2], wanted[0, 3] = 3, 4
    lookup = np.array(list(palette)).reshape(16, 4)[:, 2::-1]
    case("bmp, runs that leave pixels out", bmp(4, 2, 8, 1, bytes([0, 2, 2, 0, 1, 3, 0, 2, 0, 1, 1, 4, 0, 1]), palette, colors=16), lookup[wanted])
    whole = saved(Image.fromarray(rgb), "BMP")
    case("bmp, cut off", whole[:-9], None, error="BMP: the file ends too early, after 109 bytes")
    case("bmp, cut off in its header", whole[:20], None, error="BMP: the file ends too early, after 20 bytes")
    case("bmp of absurd size", bmp(0x7FFFFFFF, 0x7FFFFFFF, 24, 0, b"123"), None, error="the image has 2147483647 x 2147483647 pixels, which exceeds the")
    case("bmp without pixels", bmp(0, 4, 24, 0, b""), None, error="the image has 0 x 4 pixels")
    case("bmp, a color behind the palette", bmp(1, 1, 8, 0, bytes([9, 0, 0, 0]), palette[:8], colors=2), None, error="color 9 is not among the 2 of the palette")
    case("bmp, a run that leaves the image", bmp(5, 1, 8, 1, bytes([6, 2, 0, 1]), palette, colors=16), None, error="a run of 6 pixels leaves the image")
    case("bmp, runs without end", bmp(5, 1, 8, 1, bytes([5, 2]), palette, colors=16), None, error="ends too early")
    end, colors = bytes([0, 1]), palette[:4]  # a file of 60 bytes, of which 16384 pixels each are believed
    case("bmp, more pixels than its runs could reach", bmp(2, 491520, 4, 2, end, colors, colors=1), None, error="the image has 2 x 491520 pixels, but the runs in a file of 60 bytes cannot reach so many")
    print(f"case: bmp, almost as many\nop: ImageDecoder 20\nattr: pixel_format = \"Grayscale\"\nin: uint8 [60] {numbers(list(bmp(983039, 1, 8, 1, end, colors, colors=1)))}\nout: uint8 [1, 983039, 1] *150\n")
    case("bmp, a mask of two ranges", bmp(1, 1, 16, 3, bytes(4), extra=struct.pack("<III", 0xF00F, 0x7E0, 0x1F)), None, error="the bit mask 0x0000F00F is no one range")
    case("bmp that holds a jpeg", bmp(1, 1, 24, 4, bytes(4)), None, error="24 bits per pixel with compression 4 are not supported")


def pnm_cases():
    rgb = picture(2, 3)
    known("ppm", saved(Image.fromarray(rgb), "PPM"))
    known("pgm, Grayscale", saved(Image.fromarray(rgb[..., 0]), "PPM"), "Grayscale")
    known("pgm", saved(Image.fromarray(rgb[..., 0]), "PPM"))
    known("pbm", saved(Image.fromarray(picture(3, 10)[..., 0] > 99), "PPM"))
    known("pbm as text", b"P1 # letters\n# J\n3 2\n0 1 1\n1 0 0\n")
    known("pgm as text", b"P2\n3 2\n6\n0 1 2\n3 4 6\n")
    known("ppm as text", b"P3\n2 2\n15\n0 1 2 3 4 5\n6 7 8 9 10 15")
    known("ppm with samples up to 100", b"P6 2 1 100 " + bytes([0, 1, 50, 99, 100, 7]))
    samples = np.array([[0, 1, 127, 128], [129, 32768, 65534, 65535]])
    case("pgm of 16 bits", b"P5 4 2 65535 " + samples.astype(">u2").tobytes(), np.repeat(np.rint(samples * 255 / 65535)[..., None], 3, -1))
    case("ppm, cut off", b"P6 3 2 255\n" + bytes(17), None, error="PPM: the file ends too early, after 28 bytes")
    case("pgm as text, cut off", b"P2 2 2 9 1 2 3", None, error="PGM: the file ends too early")
    case("ppm of absurd size", b"P6 4294967295 4294967295 255\n", None, error="the image has 4294967295 x 4294967295 pixels, which exceeds the")
    case("pgm, a sample above the largest", b"P5 1 1 9 x", None, error="a sample is 120, above the largest of 9")
    case("pgm, largest sample 0", b"P5 1 1 0 x", None, error="the largest sample is 0, but must lie in 1 to 65535")
    case("pgm without a size", b"P5 x 1 9 x", None, error="byte 3 is not a width")


def png_cases():
    rgb = picture(5, 6)
    known("png", saved(Image.fromarray(rgb), "PNG"), library="PNG")
    known("png, BGR", saved(Image.fromarray(rgb), "PNG"), "BGR", "PNG")
    known("png, gray", saved(Image.fromarray(rgb[..., 1]), "PNG"), library="PNG")
    known("png, a gray bit", saved(Image.fromarray(rgb[..., 1] > 99), "PNG"), library="PNG")
    known("png with a palette", saved(Image.fromarray(rgb).quantize(5), "PNG"), library="PNG")
    alpha = np.concatenate([rgb, (rgb[..., :1] // 2)], -1)
    known("png with alpha, which is left out", saved(Image.fromarray(alpha), "PNG"), library="PNG")
    known("png, interlaced", png(6, 5, 8, 2, interlaced(rgb), 1), library="PNG")
    gamma = chunk(b"gAMA", struct.pack(">I", 100000))
    known("png whose gamma is not applied", png(6, 5, 8, 2, interlaced(rgb), 1, gamma), library="PNG")
    wide = (np.arange(12) * 5461).astype(">u2").reshape(3, 4)
    raw = b"".join(b"\0" + row.tobytes() for row in wide)
    case("png of 16 bits", png(4, 3, 16, 0, raw), np.repeat((wide >> 8)[..., None], 3, -1), library="PNG")
    whole = saved(Image.fromarray(rgb), "PNG")
    case("png, cut off", whole[:-20], None, library="PNG", error="PNG: the file ends too early")
    case("png with a wrong check sum", whole[:45] + b"x" + whole[46:], None, library="PNG", error="PNG: libpng: ")
    case("png of absurd size", png(6, 5, 8, 2, b"", claimed=(999999, 999999)), None, library="PNG", error="the image has 999999 x 999999 pixels, which exceeds the")
    case("png with too few rows", png(6, 5, 8, 2, b"\0" * 19), None, library="PNG", error="PNG: libpng: ")


def jpeg_cases():
    rgb = picture(9, 10)
    for name, options in (("", {}), (" in full chroma", {"subsampling": 0}), (", chroma halved across", {"subsampling": 1}), (", progressive", {"progressive": True})):
        known("jpeg" + name, saved(Image.fromarray(rgb), "JPEG", quality=80, optimize=True, **options), library="JPEG")
    known("jpeg, BGR", saved(Image.fromarray(rgb), "JPEG", optimize=True), "BGR", "JPEG")
    known("jpeg, Grayscale", saved(Image.fromarray(rgb), "JPEG", optimize=True), "Grayscale", "JPEG")
    known("jpeg, gray", saved(Image.fromarray(rgb[..., 0]), "JPEG", optimize=True), library="JPEG")
    known("jpeg, CMYK", saved(Image.fromarray(rgb).convert("CMYK"), "JPEG", quality=95, optimize=True), library="JPEG")
    whole = saved(Image.fromarray(rgb), "JPEG", optimize=True)
    case("jpeg, cut off", whole[:-40], None, library="JPEG", error="JPEG: libjpeg-turbo: Premature end of JPEG file")
    case("jpeg, only its first bytes", whole[:20], None, library="JPEG", error="JPEG: the file has no image after its header")


def webp_cases():
    rgb = picture(6, 7)
    known("webp", saved(Image.fromarray(rgb), "WEBP"), library="WEBP")
    known("webp without loss", saved(Image.fromarray(rgb), "WEBP", lossless=True), library="WEBP")
    known("webp, Grayscale", saved(Image.fromarray(rgb), "WEBP", lossless=True), "Grayscale", "WEBP")
    alpha = np.concatenate([rgb, rgb[..., :1] // 2 + 1], -1)
    known("webp with alpha, which is left out", saved(Image.fromarray(alpha), "WEBP", lossless=True, exact=True), library="WEBP")
    whole = saved(Image.fromarray(rgb), "WEBP")
    case("webp, cut off", whole[:-30], None, library="WEBP", error="WebP: the file is damaged or cut off")
    case("webp, only its first bytes", whole[:18], None, library="WEBP", error="WebP: the file ends too early, after 18 bytes")
    both = saved(Image.fromarray(rgb), "WEBP", save_all=True, append_images=[Image.fromarray(255 - rgb)], duration=99)
    case("webp, an animation", both, None, library="WEBP", error="the file holds an animation, not one image")


def tiff_cases():
    rgb = picture(5, 6)
    for compression in (None, "tiff_lzw", "tiff_adobe_deflate", "packbits"):
        known(f"tiff, {compression}", saved(Image.fromarray(rgb), "TIFF", compression=compression), library="TIFF")
    known("tiff, gray", saved(Image.fromarray(rgb[..., 2]), "TIFF"), library="TIFF")
    known("tiff with a palette", saved(Image.fromarray(rgb).quantize(5), "TIFF"), library="TIFF")
    known("tiff, one bit", saved(Image.fromarray(rgb[..., 2] > 99), "TIFF", compression="group4"), library="TIFF")
    alpha = np.concatenate([rgb, rgb[..., :1] // 2], -1)
    known("tiff with alpha, which is left out", saved(Image.fromarray(alpha), "TIFF"), library="TIFF")
    whole = saved(Image.fromarray(rgb), "TIFF")
    case("tiff, cut off", whole[:-9], None, library="TIFF", error="TIFF: libtiff: ")
    absurd = bytearray(whole)  # width, height and the rows of its only strip
    at = struct.unpack_from("<I", whole, 4)[0]
    for entry in range(at + 2, at + 2 + 12 * struct.unpack_from("<H", whole, at)[0], 12):
        if struct.unpack_from("<H", whole, entry)[0] in (256, 257, 278):
            struct.pack_into("<HII", absurd, entry + 2, 4, 1, 1000000)
    case("tiff of absurd size", bytes(absurd), None, library="TIFF", error="TIFF: the image has 1000000 x 1000000 pixels, which exceeds the")
    case("tiff, only its first bytes", whole[:8], None, library="TIFF", error="TIFF: libtiff: ")


def jpeg2000_cases():
    rgb = picture(6, 7)
    known("jp2", saved(Image.fromarray(rgb), "JPEG2000"), library="JPEG2000")
    known("j2k, a bare codestream", saved(Image.fromarray(rgb), "JPEG2000", no_jp2=True), library="JPEG2000")
    known("jp2 with loss", saved(Image.fromarray(picture(16, 16)), "JPEG2000", irreversible=True, quality_layers=[8]), library="JPEG2000")
    known("jp2, gray", saved(Image.fromarray(rgb[..., 0]), "JPEG2000"), library="JPEG2000")
    whole = saved(Image.fromarray(rgb), "JPEG2000")
    case("jp2, cut off", whole[:-30], None, library="JPEG2000", error="JPEG 2000: OpenJPEG: ")
    case("jp2, only its first bytes", whole[:40], None, library="JPEG2000", error="JPEG 2000: OpenJPEG: ")


def main():
    print("# Written by tests/data/make_image_cases.py. Pixels are those of Pillow, but where its comments say otherwise.\n")
    bmp_cases()
    pnm_cases()
    png_cases()
    jpeg_cases()
    webp_cases()
    tiff_cases()
    jpeg2000_cases()
    case("no bytes", b"", None, error="the input (0 bytes, first none) is no image in BMP, JPEG, JPEG 2000, PNG, PNM, TIFF or WebP")
    case("no image", b"GIF89a\x01\x02\x03", None, error="the input (9 bytes, first 47 49 46 38 39 61 01 02) is no image")
    print('case: an unknown pixel format\nop: ImageDecoder 20\nattr: pixel_format = "XYZ"\nin: uint8 [3] 1 2 3\nerror: pixel_format\n')
    print('case: only the number of channels is known\nop: ImageDecoder 20\nattr: pixel_format = "Grayscale"\nin: uint8 [N] ?\nout: uint8 [?, ?, 1] ?\n')
    print("case: a matrix\nop: ImageDecoder 20\nin: uint8 [2, 2] 1 2 3 4\nerror: rank")


main()
