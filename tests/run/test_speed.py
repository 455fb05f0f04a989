import pytest

from videorestore.request.verbs import DenoiseOptions
from videorestore.run import needs, speed
from videorestore.run.tally import FIRST


@pytest.fixture(autouse=True)
def _forgotten():
    speed.slowness.cache_clear()
    yield
    speed.slowness.cache_clear()


def test_the_quickest_trial_tells_the_speed(monkeypatch):
    ends = iter([0.0, 0.09, 1.0, 1.006, 2.0, 2.02, 3.0, 3.5, 4.0, 4.007])
    monkeypatch.setattr(speed, "TRIALS", 5)
    monkeypatch.setattr(speed.time, "thread_time", lambda: next(ends))
    assert speed.slowness() == pytest.approx(0.006 / speed.REFERENCE_S)


def test_the_time_that_is_foretold_is_that_of_this_machine(monkeypatch):
    class Work:
        likely_bytes, piece_bytes, piece_disk, likely_disk = (), 1, 0, 0

        def piece_seconds(self):
            return [40.0, 40.0, 40.0 - needs.STARTING]

        def looking_seconds(self):
            return 8.0

    monkeypatch.setattr(needs, "disk_need", lambda *args, **more: 0)
    told = []
    for slow in (1.0, 2.5):
        monkeypatch.setattr(needs, "slowness", lambda slow=slow: slow)
        told.append(needs.estimate(Work(), "a.mkv", None, 2, planned=7.0)["time_s"])
    # Two at once, of which the longest also starts, then one alone; what the plan takes was measured here.
    starts = (FIRST - 1) * 40.0
    assert told == [87.0 + starts, 207.0 + 2.5 * starts]
    half = needs.estimate(Work(), "a.mkv", None, 2, planned=7.0, seen=0.5)["time_s"]
    assert half == 7 + 2.5 * (needs.STARTING + 8 / 2 + (120 - needs.STARTING) / 0.5 / 2 + starts)


def test_one_process_has_all_cores_unless_one_was_asked_for(monkeypatch):
    class Work:
        likely_bytes, piece_bytes, piece_disk, likely_disk = (), 1, 0, 0

        def piece_seconds(self):
            return [40.0]

        def looking_seconds(self):
            return 0.0

    monkeypatch.setattr(needs, "disk_need", lambda *args, **more: 0)
    monkeypatch.setattr(needs, "slowness", lambda: 1.0)
    monkeypatch.setattr(needs.workers, "cores", lambda: 2)
    told = [
        needs.estimate(Work(), "a.mkv", DenoiseOptions(jobs=jobs), 1, planned=0.0)["time_s"]
        for jobs in (0, 1)
    ]
    assert told[1] == needs.STARTING + FIRST * 40.0
    assert told[1] / 1.6 < told[0] < told[1] / 1.4
