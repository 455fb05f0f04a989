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
                before, sd, near_before, near_after, corner = (
                    pictures.get(f"{name}_{k}")
                    for name in ("before", "sd", "loupe_before", "loupe_after", "corner")
                )
                builder.add_picture(
                    k,
                    after=pictures[f"after_{k}"],
                    before=before,
                    sd=sd,
                    origin=notes[k]["fact"]["origin"],
                    loupe=(near_before, near_after, corner),
                )
    builder.write(path, record, overwrite=overwrite)
