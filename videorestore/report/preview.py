"""The page of ``preview``: the same places under several settings, in true pixels, side by side."""

from __future__ import annotations

import os
from dataclasses import dataclass
from html import escape
from typing import Any

from videorestore.place import part_folder, publish
from videorestore.report.pictures import encode_exactly

_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'unsafe-inline'">
<title>{title} · videorestore preview</title>
<style>
body {{ margin: 0; background: #14181d; color: #e7ecf1; font: 15px/1.5 system-ui, sans-serif; }}
header, section {{ padding: 10px 18px; }} h1 {{ font-size: 24px; margin: 8px 0 2px; overflow-wrap: anywhere; }}
h2 {{ font-size: 16px; margin: 8px 0; }} p {{ color: #97a3b0; margin: 2px 0 8px; }}
.row {{ display: flex; flex-wrap: wrap; gap: 10px; }} figure {{ margin: 0; max-width: 100%; }}
img {{ display: block; image-rendering: pixelated; max-width: 100%; border-radius: 4px; cursor: pointer; }}
figcaption {{ font-size: 13px; color: #97a3b0; padding: 3px 0 0; }}
figure.first figcaption {{ color: #ffb43d; }}
</style></head><body>
<header><h1>{title}</h1><p>{subtitle}</p><p>Every pixel of the clip as it is. Press a picture, or hold the space bar, to see what it was before.</p></header>
{rows}
<script>
"use strict";
const pairs = [...document.querySelectorAll("section")].flatMap((section) => {{
  const first = section.querySelector("img").src;
  return [...section.querySelectorAll("img")].map((image) => ({{ image, own: image.src, first }}));
}});
const before = (pair, on) => {{ pair.image.src = on ? pair.first : pair.own; }};
for (const pair of pairs) {{
  pair.image.addEventListener("pointerdown", () => before(pair, true));
  for (const end of ["pointerup", "pointerleave", "pointercancel"]) pair.image.addEventListener(end, () => before(pair, false));
}}
document.addEventListener("keydown", (event) => {{ if (event.key === " ") {{ event.preventDefault(); pairs.forEach((p) => before(p, true)); }} }});
document.addEventListener("keyup", (event) => {{ if (event.key === " ") pairs.forEach((p) => before(p, false)); }});
document.documentElement.dataset.ready = "yes";
</script></body></html>
"""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Shown:
    """One place: ``pictures`` are (name, RGB or grey uint8 (h, w, c)), the first one is what was before."""

    frame: int
    time_s: float
    corner: tuple[int, int]
    noise_sd: float
    pictures: list[tuple[str, Any]]


def write_preview(
    path: str, name: str, size: tuple[int, int], shown: list[Shown], *, overwrite: bool
) -> None:
    """Write the page, whole or not at all."""
    rows = []
    for place in shown:
        figures = "".join(
            f'<figure class="{"first" if k == 0 else ""}"><img src="{encode_exactly(picture)}" alt="{escape(words)}">'
            f"<figcaption>{escape(words)}</figcaption></figure>"
            for k, (words, picture) in enumerate(place.pictures)
        )
        x, y = place.corner
        rows.append(
            f"<section><h2>frame {place.frame}, {place.time_s:.3f} s</h2><p>noise sd {place.noise_sd:.3g} of 255; the part at "
            f'{x}, {y}</p><div class="row">{figures}</div></section>'
        )
    text = _PAGE.format(title=escape(name), subtitle=f"{size[0]} × {size[1]}", rows="\n".join(rows))
    with part_folder(path) as folder:
        part = os.path.join(folder, "page.html")
        with open(part, "w", encoding="utf-8", errors="backslashreplace") as stream:
            stream.write(text)
        publish(part, path, overwrite=overwrite)
