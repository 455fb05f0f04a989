"""What the user says of the noise counts for more than what was measured."""

from __future__ import annotations

from videorestore.spatial.noise import Noise
from videorestore.tasks.denoise import stated_noise


def test_a_stated_level_replaces_the_one_that_a_codec_suggests() -> None:
    measured = Noise(sd=4, low=3, high=5, offset=16, per_channel=(4, 4, 4), codec=True, assumed=10)
    assert stated_noise(measured, None) is measured
    stated = stated_noise(measured, 2.0)
    assert stated.level == stated.sd == 2 and stated.codec
    assert stated_noise(Noise(sd=0.0, codec=True, assumed=6), 3.0).level == 3
