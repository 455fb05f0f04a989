"""Work is shared between this process and others, whoever is free, and nothing is lost with one of them."""

import os
import threading
import time

import pytest

from videorestore.errors import InputError, VideoRestoreError
from videorestore.run.store import TRIES
from videorestore.run.task_queue import TaskQueue
from videorestore.run.workers import Crew


def served(here, elsewhere, count, others):
    """All results of a desk, by number."""
    found = {}
    with TaskQueue(here, elsewhere, others) as desk:
        for k in range(count):
            desk.put(k, (k,))
        while len(found) < count:
            if not desk.help():
                desk.wait()
            found.update({task.number: task.value for task in desk.collect()})
    return found


def test_whoever_is_free_takes_the_next_one():
    gate = threading.Event()

    def slow(k):
        gate.wait(10)
        return "there"

    def quick(k):
        if k == 9:
            gate.set()
        return "here"

    found = served(quick, slow, 10, 2)
    assert sorted(found) == list(range(10))
    assert list(found.values()).count("here") >= 8


def test_who_is_still_getting_ready_holds_nothing_up():
    ready = threading.Event()
    with TaskQueue(lambda k: ("here", k), lambda k: ("there", k), 1, first=ready.wait) as desk:
        tasks = [desk.put(k, (k,)) for k in range(3)]
        time.sleep(0.05)
        assert [desk.result(task) for task in tasks] == [("here", k) for k in range(3)]
        ready.set()
        last = desk.put(3, (3,))
        desk.wait()
        assert last.value == ("there", 3)


def test_results_come_before_an_error_and_the_error_comes():
    def there(k):
        raise InputError("no")

    def here(k):
        time.sleep(0.02)
        return k

    with pytest.raises(InputError):
        served(here, there, 3, 1)


def test_nothing_is_taken_from_a_closed_desk():
    taken = []
    with TaskQueue(taken.append, taken.append, 1) as desk:
        pass
    desk.put(0, (0,))
    time.sleep(0.05)
    assert not taken


def who(k):
    time.sleep(0.05)
    return k, os.getpid()


def dies(folder, k, mother):
    """The first process beside the mother that gets this far is killed."""
    if os.getpid() == mother:
        time.sleep(0.3)
    else:
        try:
            os.close(os.open(f"{folder}/died", os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            return k
        os.kill(os.getpid(), 9)
    return k


SEEN = set()


def always_dies(folder, mother):
    """The mother works until one more of the others is dead, and for as long as it takes until that is noticed."""
    if os.getpid() != mother:
        (folder / str(os.getpid())).touch()
        os.kill(os.getpid(), 9)
    deadline = time.monotonic() + 30
    while len(list(folder.iterdir())) == len(SEEN) and time.monotonic() < deadline:
        time.sleep(0.05)
    time.sleep(0.5)
    SEEN.update(path.name for path in folder.iterdir())


def test_results_are_in_order_and_this_process_takes_part():
    with Crew(2) as crew:
        list(crew.in_order(who, [(k,) for k in range(4)]))
        found = list(crew.in_order(who, ((k,) for k in range(40))))
    assert [k for k, _ in found] == list(range(40))
    assert os.getpid() in {pid for _, pid in found}
    assert len({pid for _, pid in found}) == 2


def test_few_arguments_are_held_at_a_time():
    asked = []

    def arguments():
        for k in range(30):
            asked.append(k)
            yield (k,)

    with Crew(2) as crew:
        for k, (number, _) in enumerate(crew.in_order(who, arguments())):
            assert number == k
            assert len(asked) - k <= 6


@pytest.mark.parametrize("way", ["in_order", "as_done"])
def test_what_a_worker_takes_with_it_is_done_again(tmp_path, way):
    with Crew(2) as crew:
        found = list(getattr(crew, way)(dies, [(str(tmp_path), k, os.getpid()) for k in range(6)]))
    assert (tmp_path / "died").exists()
    assert sorted(found) == list(range(6))


def test_workers_that_die_again_and_again_are_told(tmp_path):
    lost = pytest.raises(VideoRestoreError, match=f"were lost with their workers {TRIES} times")
    with lost, Crew(2) as crew:
        list(crew.as_done(always_dies, [(tmp_path, os.getpid())] * 12))
    assert len(list(tmp_path.iterdir())) >= TRIES
