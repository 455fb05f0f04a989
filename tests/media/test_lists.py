"""Lists of other files: a video is read, what it points to is not."""

import subprocess

import numpy as np
import pytest

from videorestore.errors import MediaReadError
from videorestore.media import SinkOptions, open_source, write
from videorestore.media.clips import read
from videorestore.media.pipe import ffmpeg


@pytest.fixture
def treasure(tmp_path):
    np.save(tmp_path / "t.npy", np.random.default_rng(0).integers(0, 255, (3, 16, 16, 3), dtype=np.uint8))
    write(read(tmp_path / "t.npy"), tmp_path / "secret.mp4", SinkOptions())
    subprocess.run(
        [
            ffmpeg(),
            "-v",
            "error",
            "-i",
            str(tmp_path / "secret.mp4"),
            "-c",
            "copy",
            str(tmp_path / "secret.ts"),
        ],
        check=True,
    )
    assert len(read(tmp_path / "secret.ts").frames) == 3
    return tmp_path


@pytest.mark.parametrize("name", ["list.m3u8", "list.mp4", "list.mkv", "list.txt"])
@pytest.mark.parametrize("kind", ["hls", "concat", "concat with space", "dash"])
def test_a_list_of_files_is_refused_whatever_its_name(treasure, name, kind):
    texts = {
        "hls": "#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXTINF:1,\nsecret.ts\n#EXT-X-ENDLIST\n",
        "concat": "ffconcat version 1.0\nfile secret.mp4\n",
        "concat with space": "\n ffconcat version 1.0\nfile secret.mp4\n",
        "dash": '<?xml version="1.0"?><MPD type="static"><Period/></MPD>',
    }
    (treasure / name).write_text(texts[kind])
    with pytest.raises(MediaReadError, match="list of other files"):
        open_source(treasure / name)
