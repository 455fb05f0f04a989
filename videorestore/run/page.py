"""``--report``: the page of a run, from the small pictures that its pieces kept."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np


def write_page(
    path: str,
    record: dict[str, Any],
    notes: Sequence[dict[str, Any]],
    previews: Sequence[Path],
    *,
    overwrite: bool,
) -> None:
    """Put the page together.

    Parameters
    ----------
    record : dict
        The result record.
    notes : sequence of dict
        One for every frame, in output order.
    previews : sequence of Path
        Archives with ``before_K``, ``after_K`` and ``sd_K`` of some frames K.
    overwrite : bool
        Replace a file of this name.
    """
    from videorestore.report.page import PageBuilder

    builder = PageBuilder()
    for archive in previews:
        with np.load(archive) as pictures:
            shown = sorted(int(name.split("_")[1]) for name in pictures.files if name.startswith("after_"))
            for k in shown:
                before = pictures[f"before_{k}"] if f"before_{k}" in pictures.files else None
                sd = pictures[f"sd_{k}"] if f"sd_{k}" in pictures.files else None
                loupe = tuple(
                    pictures[name] if name in pictures.files else None
                    for name in (f"loupe_before_{k}", f"loupe_after_{k}", f"corner_{k}")
                )
                builder.add_pictures(before, pictures[f"after_{k}"], sd, notes[k]["fact"], loupe)
    builder.write(path, record, overwrite=overwrite)
