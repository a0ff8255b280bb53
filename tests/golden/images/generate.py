#!/usr/bin/env python3
"""Writes the images of this folder, and what Pillow makes of them: expected.bin with its index in expected.json.

    pip install pillow==11.3.0 numpy; tests/golden/images/generate.py
"""
import json
import pathlib

import numpy as np
import PIL
from PIL import Image

HERE = pathlib.Path(__file__).parent
SIZES = [(22, 22), (22, 23), (45, 44), (45, 45), (8, 8)]  # Rows, columns.


def picture(rows, cols, seed):
    """Slopes, edges and noise, in colour."""
    draw = np.random.default_rng(seed)
    row, col = np.mgrid[0:rows, 0:cols]
    red = 255 * row / max(1, rows - 1)
    green = 255 * col / max(1, cols - 1)
    blue = 255 * ((row // 9 + col // 7) % 2)
    colours = np.stack([red, green, blue], axis=-1) + draw.normal(0, 12, (rows, cols, 3))
    return Image.fromarray(np.clip(colours, 0, 255).astype(np.uint8), "RGB")


def write_images():
    base = picture(97, 131, 1)
    base.save(HERE / "subsampled.jpg", quality=85, subsampling="4:2:0")
    base.save(HERE / "progressive.jpg", quality=90, subsampling="4:2:2", progressive=True)
    base.save(HERE / "full_colour.jpg", quality=95, subsampling="4:4:4")
    base.convert("L").save(HERE / "gray.jpg", quality=85)
    base.convert("CMYK").save(HERE / "cmyk.jpg", quality=85)
    picture(150, 40, 2).save(HERE / "tall.jpg", quality=80)
    base.save(HERE / "rgb.png")
    rgba = base.copy()
    rgba.putalpha(Image.linear_gradient("L").resize(base.size))
    rgba.save(HERE / "rgba.png")
    base.convert("L").save(HERE / "gray.png")
    gray_alpha = base.convert("LA")
    gray_alpha.save(HERE / "gray_alpha.png")
    base.quantize(16).save(HERE / "palette.png", transparency=3)
    base.convert("1").save(HERE / "bilevel.png")
    picture(5, 7, 3).save(HERE / "small.png")
    picture(1, 1, 4).save(HERE / "pixel.png")


def main():
    write_images()
    index, data = [], b""
    for file in sorted([*HERE.glob("*.jpg"), *HERE.glob("*.png")]):
        image = Image.open(file).convert("RGB").convert("L")
        for rows, cols in SIZES:
            pixels = image.resize((cols, rows), Image.Resampling.BILINEAR).tobytes()
            index.append({"file": file.name, "rows": rows, "cols": cols, "offset": len(data)})
            data += pixels
    (HERE / "expected.bin").write_bytes(data)
    entries = ",\n".join(json.dumps(entry) for entry in index)
    (HERE / "expected.json").write_text(f'{{"pillow": "{PIL.__version__}", "images": [\n{entries}\n]}}\n')


main()
