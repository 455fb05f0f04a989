"""Words into commands."""

from __future__ import annotations

import re
from fractions import Fraction

import pytest

from videorestore.cli.parser import Answer, Command, build, parse
from videorestore.cli.status import UsageError
from videorestore.request import TABLE, VERBS, Common, Insertion, Span

WRITING = [verb for verb in VERBS if issubclass(TABLE[verb].options, Common)]
NEEDED = {"upsample": ["--factor", "2"]}


def command(*args: str) -> Command:
    found = parse(args)
    assert isinstance(found, Command)
    return found


@pytest.mark.parametrize("verb", WRITING)
def test_every_writing_verb_takes_the_options_of_the_contract(verb: str) -> None:
    found = command(
        verb, "in.mkv", "-o", "out.mkv", *NEEDED.get(verb, []), "-y", "--model", "curve", "--range", "10:20",
        "--sd", "sd.npy", "--report", "page.html", "--json", "--progress", "json", "--jobs", "3", "--cluster",
        "127.0.0.1:8786", "--max-memory", "4G", "--fresh", "--codec", "ffv1", "--crf", "18", "--pix-fmt", "yuv420p",
        "--encoder-args", "-preset slow", "--seed", "7", "--dry-run", "-q", "-v", "--traceback",
    )  # fmt: skip
    options = found.options
    assert (found.verb, found.input, found.output) == (verb, "in.mkv", "out.mkv")
    assert options.overwrite and options.model == "curve" and options.span == Span(start=10, stop=20)
    assert (options.sd, options.report, options.jobs, options.cluster) == (
        "sd.npy",
        "page.html",
        3,
        "127.0.0.1:8786",
    )
    assert (options.max_memory, options.resume, options.codec, options.crf) == (4 << 30, False, "ffv1", 18)
    assert (options.pix_fmt, options.encoder_args, options.seed) == ("yuv420p", "-preset slow", 7)
    assert options.dry_run
    telling = found.telling
    assert telling.json and telling.quiet and telling.traceback and telling.verbose == 1
    assert telling.progress == "json"


@pytest.mark.parametrize("verb", WRITING)
def test_what_is_not_given_is_the_dataclass_default(verb: str) -> None:
    assert command(verb, "a", "-o", "b", *NEEDED.get(verb, [])).options == TABLE[verb].options(
        **({"factor": Fraction(2)} if verb == "upsample" else {})
    )


def test_options_of_each_verb() -> None:
    restore = command(
        "restore", "a", "-o", "b", "--denoise", "on", "--fill", "off", "--mend", "off", "--fps", "60"
    ).options
    assert (restore.denoise, restore.fill, restore.mend, restore.fps) == ("on", "off", "off", 60)
    denoise = command(
        "denoise", "a", "-o", "b", "--sigma", "12.5", "--strength", "0.5", "--quality", "best"
    ).options
    assert (denoise.sigma, denoise.strength, denoise.quality) == (12.5, 0.5, "best")
    assert command("denoise", "a", "-o", "b", "--sigma", "auto").options.sigma is None
    fill = command("fill", "a", "-o", "b", "--missing", "7,50-51", "--insert", "?@80").options
    assert fill.missing == (7, 50, 51) and fill.insert == (Insertion(after=80, count=None),)
    inpaint = command(
        "inpaint", "a", "-o", "b", "--mask", "m.png", "--loose", "x/", "--placement", "mh"
    ).options
    assert (inpaint.mask, inpaint.loose, inpaint.placement) == ("m.png", "x/", "mh")
    upsample = command("upsample", "a", "-o", "b", "--fps", "60000/1001", "--denoise", "on").options
    assert (upsample.fps, upsample.denoise) == (Fraction(60000, 1001), "on")
    assert command("reorder", "a", "-o", "b", "--first", "12").options.first == 12
    assert command("inspect", "a", "--report", "r.html").options.report == "r.html"
    assert command("compare", "a", "b").options.other == "b"


def test_inserting_alone_does_not_search_for_missing_frames() -> None:
    assert command("fill", "a", "-o", "b").options.missing is None
    assert command("fill", "a", "-o", "b", "--insert", "5@50").options.missing == ()
    assert command("fill", "a", "-o", "b", "--insert", "5@50", "--missing", "auto").options.missing is None


def test_names_that_start_with_a_dash() -> None:
    found = command("denoise", "-o", "-out.mkv", "--", "-in.mkv")
    assert (found.input, found.output) == ("-in.mkv", "-out.mkv")
    assert command("denoise", "a", "-o", "b", "--encoder-args", "-bf").options.encoder_args == "-bf"
    assert command("denoise", "a", "--output=-b=c.mkv").output == "-b=c.mkv"


def test_options_may_stand_between_names() -> None:
    found = command("compare", "a", "--json", "b")
    assert (found.input, found.options.other, found.telling.json) == ("a", "b", True)


@pytest.mark.parametrize(
    "args",
    [
        [],
        ["frobnicate"],
        ["-q"],
        ["denoise"],
        ["denoise", "a"],
        ["denoise", "a", "-o"],
        ["denoise", "a", "-o", "-y"],
        ["denoise", "a", "b", "-o", "c"],
        ["denoise", "", "-o", "c"],
        ["denoise", "a", "-o", ""],
        ["denoise", "a", "-o", "b", "--unknown"],
        ["denoise", "a", "-o", "b", "--sigma", "loud"],
        ["denoise", "a", "-o", "b", "--sigma", "-3"],
        ["denoise", "a", "-o", "b", "--sigma", "nan"],
        ["denoise", "a", "-o", "b", "--sigma", "300"],
        ["denoise", "a", "-o", "b", "--quality", "superb"],
        ["denoise", "a", "-o", "b", "--jobs", "-1"],
        ["denoise", "a", "-o", "b", "--jobs", "0"],
        ["denoise", "a", "-o", "b", "--jobs", "1.5"],
        ["denoise", "a", "-o", "b", "--seed", "-1"],
        ["denoise", "a", "-o", "b", "--seed", "9" * 5000],
        ["denoise", "a", "-o", "b", "--crf", "99"],
        ["denoise", "a", "-o", "b", "--resume", "--fresh"],
        ["denoise", "a", "-o", "b", "--range", "20:10"],
        ["fill", "a", "-o", "b", "--missing", "x"],
        ["upsample", "a", "-o", "b"],
        ["upsample", "a", "-o", "b", "--factor", "2", "--fps", "60"],
        ["upsample", "a", "-o", "b", "--factor", "1/2"],
        ["inspect", "a", "-o", "b"],
        ["compare", "a"],
        ["compare", "a", "b", "c"],
        ["--completion", "tcsh"],
    ],
)
def test_wrong_usage_is_one_line_with_what_was_found_and_what_to_do(args: list[str]) -> None:
    with pytest.raises(UsageError) as caught:
        parse(args)
    message = str(caught.value)
    assert "\n" not in message
    assert ";" in message, message


def test_a_slip_of_the_pen_is_recognised() -> None:
    with pytest.raises(UsageError, match="did you mean denoise"):
        parse(["denois", "a"])
    with pytest.raises(UsageError, match="did you mean --quality"):
        parse(["denoise", "a", "-o", "b", "--qualty", "best"])


def test_help_version_and_completion_are_answers() -> None:
    for args in (
        ["--help"],
        ["-h"],
        ["help"],
        ["--version"],
        ["--completion", "bash"],
        ["denoise", "-h"],
        ["help", "fill"],
    ):
        found = parse(args)
        assert isinstance(found, Answer) and found.text.endswith("\n")
    assert parse(["--version"]) == Answer("videorestore 0.2.0\n")


def test_help_names_every_verb_that_works_and_no_other() -> None:
    overview = parse(["--help"])
    assert isinstance(overview, Answer)
    listed = {
        line.split()[0] for line in overview.text.split("verbs:")[1].split("\n\n")[0].strip().splitlines()
    }
    assert listed == set(VERBS)


@pytest.mark.parametrize("verb", VERBS)
def test_every_help_has_examples_that_parse(verb: str) -> None:
    import shlex

    text = build(verb).format_help()
    assert "examples:" in text
    for line, _ in TABLE[verb].examples:
        assert line in text
        words = shlex.split(line.partition("|")[0])
        assert words[0] == "videorestore" and isinstance(parse(words[1:]), Command)


@pytest.mark.parametrize("verb", VERBS)
def test_every_option_is_explained(verb: str) -> None:
    for action in build(verb)._actions:
        assert action.help, action.option_strings


def test_help_names_what_a_verb_takes() -> None:
    page, pair = build("preview").format_help(), build("compare").format_help()
    assert "-o PAGE.html" in page and ".mkv" not in page.split("output:")[1].split("examples:")[0]
    assert re.search(r"^  A  .*^  B  ", pair, re.M | re.S) and "INPUT" not in pair
