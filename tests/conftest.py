"""What all tests share: the development clips, where they are."""

from pathlib import Path

import pytest

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Folder of the development clips; the test is skipped where it is absent."""
    if not DATA.is_dir():
        pytest.skip("the development clips (../shared/data) are not here")
    return DATA
