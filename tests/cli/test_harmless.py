"""What files are called, and what is written in them, gives no orders to the terminal."""

from videorestore.cli.console import Console
from videorestore.cli.environment import Environment
from videorestore.cli.status import harmless, tell


def test_escape_sequences_are_spelt_out():
    assert harmless("a\x1b[31mb\x9bc\x07\u202ed\r") == "a\\x1b[31mb\\x9bc\\x07\\u202ed\\r"
    assert harmless("Zoë 映画\t1\n2") == "Zoë 映画\t1\n2"


def test_no_way_to_the_terminal_is_left_open(capsys):
    import io

    for terminal in (False, True):
        out, err = io.StringIO(), io.StringIO()
        world = Environment(
            stdout=out, stderr=err, stderr_is_terminal=terminal, variables={"NO_COLOR": "1", "TERM": "dumb"}
        )
        console = Console(world, progress="auto")
        console.progress("reading", 0, 3)
        console.note("warning: \x1b]0;title\x07")
        console.error("in \x1b[2J.mkv must exist")
        tell(out, "title: \x1b[31mred\n")
        assert (
            "\x1b]0" not in err.getvalue()
            and "\x1b[2J" not in err.getvalue()
            and "\x1b" not in out.getvalue()
        )
