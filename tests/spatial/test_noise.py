"""What the user says of the noise counts for more than what was measured."""

from __future__ import annotations

from videorestore.spatial.noise import Noise


def test_a_stated_level_replaces_the_one_that_a_codec_suggests() -> None:
    measured = Noise(sd=4, low=3, high=5, offset=16, per_channel=(4, 4, 4), codec=True, assumed=10)
    assert measured.stated(None) is measured
    stated = measured.stated(2.0)
    assert stated.level == stated.sd == 2 and stated.codec
    assert Noise(sd=0.0, codec=True, assumed=6).stated(3.0).level == 3
