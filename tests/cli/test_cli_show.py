from __future__ import annotations

import re

import pytest

from support import assistant, error, reasoning, tool, user

HOSTILE = (
    "nul\x00 bell\x07 csi\x1b[2J\x1b[31m osc\x1b]8;;http://evil\x1b\\link\x1b]8;;\x1b\\ "
    "clip\x1b]52;c;ZXZpbA==\x07 back\x08\x08 over\rwritten vt\x0b ff\x0c del\x7f c1\x9b2J nel\x85 "
    "bidi\u202e\u202d\u2066\u2069\u200e\u200f\u061c zero\u200bwidth joi\u200dner bom\ufeff "
    "lines\u2028\u2029 tag\U000e0041 filler\u3164"
)
DANGEROUS = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff\u3164"
    "\U000e0000-\U000e007f]"
)


def test_a_turn_for_each_speaker_and_a_line_for_each_call(cli, make):
    path = make.file(
        user("question\n\tindented"),
        reasoning("first\nsecond"),
        assistant("Let me look."),
        tool(arguments='{"command":"ls  -la\\n| wc","description":"d"}', output="12\n"),
        tool(name="Write", arguments='{"file_path":"a.txt"}', output="no", ok=False),
        tool(name=None, arguments=None, output=None, ok=None),
        tool(name="Odd", arguments="not json", output="x", ok=None),
        error("it broke"),
        assistant(""),
    )
    result = cli("show", path)
    assert (result.status, result.err) == (0, "")
    assert result.text == (
        "user  2026-09-01 00:00:00 UTC\n"
        "    question\n"
        "    \tindented\n"
        "\n"
        "assistant  2026-09-01 00:00:00 UTC\n"
        "  ~ first\n"
        "    second\n"
        "    Let me look.\n"
        "  * Bash ls -la | wc (ok; in 45 B, out 3 B)\n"
        "  * Write a.txt (failed; in 21 B, out 2 B)\n"
        "  * (no name) (unfinished; in 0 B)\n"
        "  * Odd not json (unknown; in 8 B, out 1 B)\n"
        "  ! it broke\n"
        "    (empty)\n"
    )


@pytest.mark.parametrize("how", ["pipe", "terminal", "no color"])
def test_hostile_text_is_made_visible_and_never_executed(cli, make, how):
    path = make.file(
        user(HOSTILE),
        reasoning(HOSTILE),
        assistant(HOSTILE),
        error(HOSTILE),
        tool(name=HOSTILE, arguments=f'{{"command":"{HOSTILE}"}}', output=HOSTILE),
        tool(name=HOSTILE, arguments=HOSTILE, line_id="ok"),
    )
    if how == "pipe":
        text = cli("show", path, "--refs").text
    else:
        env = {"NO_COLOR": "1"} if how == "no color" else {}
        text = cli.on_terminal("show", path, "--refs", env=env).text
    if how == "terminal":
        text = re.sub("\x1b\\[[0-9]{1,2}m", "", text)  # our own colors, nothing else
    assert DANGEROUS.findall(text) == []
    for spelled in (r"nul\x00", r"csi\x1b[2J", r"clip\x1b]52;", r"c1\x9b2J", r"over\rwritten"):
        assert text.count(spelled) >= 4
    for spelled in (
        r"\u202e\u202d\u2066\u2069\u200e\u200f\u061c",
        r"zero\u200bwidth",
        r"joi\u200d",
    ):
        assert text.count(spelled) >= 4
    assert r"tag\U000e0041 filler\u3164" in text


def test_text_cannot_pass_for_a_heading_or_a_call(cli, make):
    forged = "x\nuser  2026-09-01 00:00:00 UTC\n  * Bash rm (ok; in 1 B)"
    lines = cli("show", make.file(user(forged))).text.split("\n")
    assert [line for line in lines if line and not line.startswith("    ")] == [
        "user  2026-09-01 00:00:00 UTC"
    ]


def test_other_scripts_and_emoji_stay_as_they_are(cli, make):
    hebrew, persian = "\u05e9\u05dc\u05d5\u05dd", "\u0645\u06cc\u200c\u062e\u0648"
    text = f"{hebrew} {persian} \U0001f468\u200d\U0001f469\u200d\U0001f467 e\u0301"
    path = make.file(user(text))
    assert f"    {text}\n" in cli("show", path).text
    in_c = cli("show", path, env={"LC_ALL": "C", "PYTHONUTF8": "0"})
    assert f"    {text}\n" in in_c.text


def shown(result):
    """The numbers of the user entries that were shown."""
    return [int(number) for number in re.findall(r"(?m)^    u([0-9]+)$", result.text)]


def turns(make, number):
    return [line for n in range(number) for line in (user(f"u{n}"), assistant(f"a{n}"))]


def test_the_last_ten_turns_and_how_many_are_earlier(cli, make):
    result = cli("show", make.file(*turns(make, 12)))
    assert shown(result) == [7, 8, 9, 10, 11]
    assert result.text.startswith("(14 earlier turns: --all shows them)\n\nuser ")
    assert cli("show", make.file(*turns(make, 5))).text.startswith("user ")


def test_last_and_all(cli, make):
    path = make.file(*turns(make, 130))
    assert shown(cli("show", path, "--all")) == list(range(130))
    assert shown(cli("show", path, "--last", "1")) == []
    assert shown(cli("show", path, "--last", "2")) == [129]
    assert shown(cli("show", path, "--last", "211")) == list(range(25, 130))
    assert shown(cli("show", path, "--last", "999999999")) == list(range(130))
    odd = cli("show", path, "--last", "3").text
    assert odd.startswith("(257 earlier turns: --all shows them)\n\nassistant  ")


def test_a_turn_over_several_pages_is_one_turn(cli, make):
    """A page spans 16 MiB at most, so this turn comes in two."""
    rows = [assistant(f"n{number}\n" + "x" * 4_500_000) for number in range(4)]
    path = make.file(user("u0"), *rows, user("u1"))
    numbers = [f"    n{number}" for number in range(4)]

    def show(*which):
        return [line for line in cli("show", path, *which).text.split("\n") if len(line) < 80]

    lines = show("--all")
    assert [line for line in lines if line in numbers] == numbers
    assert [line.split()[0] for line in lines if line.endswith("UTC")] == [
        "user",
        "assistant",
        "user",
    ]
    assert [line for line in show("--last", "2") if line in numbers] == numbers
    assert [line for line in show("--last", "1") if line in numbers] == []


@pytest.mark.parametrize("bad", [["--last", "0"], ["--last", "-1"], ["--last", "2", "--all"]])
def test_bad_numbers_are_usage_errors(cli, make, complaint, bad):
    result = cli("show", make.file(user()), *bad)
    assert (result.status, result.out) == (2, b"")
    complaint(result.err, "^lettafast show: ", "lettafast show --help")


def test_refs_lead_to_the_whole_output(cli, make):
    output = "line\n" * 3000
    path = make.file(user(), tool(output=output))
    text = cli("show", path, "--refs").text
    assert "(ok; in 2 B, out 15.0 kB) at:v1-" in text
    ref = re.search(r"at:v1-[0-9a-f.]+:[0-9]+", text)[0]
    assert cli("content", path, ref).text == output


def test_a_cut_text_says_how_to_read_all(cli, make):
    text = "x" * ((1 << 20) + 10)
    path = make.file(assistant(text))
    shown = cli("show", path).text
    ref = re.search(r"\n  \(cut; all 1\.0 MB: lettafast content PATH (\S+)\)\n", shown)[1]
    assert cli("content", path, ref).text == text


def test_remarks_on_what_is_not_shown(cli, make):
    assert cli("show", make.file()).text == "\n(no entry yet)\n"
    tail = cli("show", make.file(user(), b"{")).text
    assert tail.endswith(
        "\n(an unfinished line of 1 byte follows: it is being written, or was cut off)\n"
    )
    lenient = cli("show", "--lenient", make.file(user(), b"x\ny\n")).text
    assert lenient.endswith(
        "\n(2 diagnostics: lettafast check --lenient PATH lists what was skipped)\n"
    )


def test_thinking_is_dimmed_on_a_terminal(cli, make):
    path = make.file(reasoning("one\n\ntwo"))
    assert (
        b"  ~ \x1b[2mone\x1b[22m\n\n    \x1b[2mtwo\x1b[22m\n" in cli.on_terminal("show", path).out
    )
