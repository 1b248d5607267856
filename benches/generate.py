"""Seeded, realistic Letta Code transcripts (JSON Lines) of any size.

Every line is what JavaScript's `JSON.stringify` would write for one entry of Letta
Code: the same keys in the same order, no spaces, non-ASCII left as UTF-8, control
characters as `\\n`, `\\t` or `\\u001b`, absent optional values left out. The same
profile, seed and size always give the same bytes.

Profiles (line sizes are log-normal, in bytes as written):

    chat   mostly user/assistant/reasoning text, few and small tool calls
    tools  long runs of tool calls; output full of \\n, \\t, \\", \\u001b;
           results from 0 B to 200 KB, and now and then one of 5 MB
    tiny   many lines of about 150 B
    huge   few lines, results of 4 MB to 48 MB
    cjk    Chinese/Japanese/Korean text and emoji, unescaped

`Transcript(profile, seed).turn()` gives the lines of one more turn (a user entry and
what follows it), `write` makes a file, `sample` makes one once and keeps it. From a
shell: `python -m benches.generate tools 256M FILE [SEED]`.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timedelta, timezone
from pathlib import Path

FOLDER = Path(__file__).resolve().parent.parent / "build" / "bench"
"""Where samples are kept from one run to the next."""

POOL = 2048  # fragments kept in each pool
MIN_CHUNK = 1 << 20  # bytes gathered before a write
TOOL_RESULT_CAP = 200_000
TOOL_RESULT_OUTLIER = 5_000_000

EN = (
    "the agent file path returns value error function test module import class async await "
    "server client request response token stream parse line offset cache index page turn user "
    "memory block archive session commit branch merge diff patch build release version check "
    "should would could first then because however since when where which this that with from "
    "I'll let's we need to look at and update run fix add remove rename read write into before "
    "after config schema type struct field option default handler worker queue retry timeout"
).split()
CJK = (
    "用户 请求 服务器 响应 文件 路径 错误 测试 模块 函数 我们 需要 检查 这个 问题 因为 然后 首先 "
    "内存 索引 页面 会话 提交 分支 合并 构建 版本 配置 类型 默认 处理 队列 重试 超时 "
    "これは テスト です ファイル 読み込み エラー 修正 します 関数 確認 ください 変更 "
    "서버 요청 응답 파일 오류 수정 확인 테스트 함수 메모리 。 , 、 ! ?"
).split()
EMOJI = ["🚀", "✅", "❌", "🔧", "👩‍💻", "🎉", "⚠️", "📁", "🇩🇪", "💡"]
MARKS = ["—", "…", "→", "’", "“quoted”", "é", "naïve", "µs", "├──", "│", "└──"]
PATHS = ["src", "lib", "tests", "docs", "scripts", "packages", "core", "api", "cli", "utils"]
STEMS = "index parser server client page memory agent schema config main".split()
EXTENSIONS = ["py", "rs", "ts", "tsx", "md", "json", "toml", "go"]
ANSI = [f"\x1b[{code}m" for code in ("0", "1", "31", "32", "33", "36", "2", "38;5;214")]
TOOLS = "Bash Bash Bash Read Read Edit Write Grep Glob TodoWrite Task".split()


def escaped(text: str) -> bytes:
    """The inside of the JSON string for `text`, as JSON.stringify writes it."""
    return json.dumps(text, ensure_ascii=False)[1:-1].encode()


def twice_escaped(text: str) -> bytes:
    """The inside of a JSON string that itself holds a JSON string of `text`."""
    return escaped(json.dumps(text, ensure_ascii=False)[1:-1])


@dataclass(frozen=True)
class Size:
    """A log-normal size in bytes: median, spread and largest value."""

    median: float
    sigma: float
    cap: int

    def draw(self, rng: random.Random) -> int:
        return min(self.cap, int(self.median * 2.718281828459045 ** (self.sigma * rng.gauss(0, 1))))


@dataclass(frozen=True)
class Profile:
    """What a turn is made of: entry sizes, tool calls a turn and their shape."""

    user: Size
    assistant: Size
    reasoning: Size
    args: Size
    result: Size
    steps: Size  # tool calls in one turn
    reasoning_rate: float  # reasoning entries for each step
    error_rate: float  # error entries for each turn
    empty_result_rate: float = 0.06
    outlier_rate: float = 0.0  # results of TOOL_RESULT_OUTLIER bytes
    cjk: bool = False
    short_ids: bool = False


PROFILES = {
    "chat": Profile(
        user=Size(120, 1.0, 20_000),
        assistant=Size(1_400, 0.9, 40_000),
        reasoning=Size(500, 0.8, 20_000),
        args=Size(90, 0.8, 4_000),
        result=Size(300, 1.0, 8_000),
        steps=Size(0.8, 0.7, 6),
        reasoning_rate=0.8,
        error_rate=0.01,
    ),
    "tools": Profile(
        user=Size(160, 1.0, 20_000),
        assistant=Size(700, 0.9, 20_000),
        reasoning=Size(350, 0.8, 10_000),
        args=Size(160, 1.4, 60_000),
        result=Size(1_600, 1.7, TOOL_RESULT_CAP),
        steps=Size(9, 0.8, 120),
        reasoning_rate=0.5,
        error_rate=0.02,
        outlier_rate=1 / 4_000,
    ),
    "tiny": Profile(
        user=Size(20, 0.5, 60),
        assistant=Size(30, 0.5, 80),
        reasoning=Size(30, 0.5, 80),
        args=Size(20, 0.4, 60),
        result=Size(14, 0.7, 60),
        steps=Size(3, 0.6, 20),
        reasoning_rate=0.3,
        error_rate=0.02,
        short_ids=True,
    ),
    "huge": Profile(
        user=Size(120, 1.0, 20_000),
        assistant=Size(1_000, 0.9, 20_000),
        reasoning=Size(400, 0.8, 10_000),
        args=Size(160, 1.0, 8_000),
        result=Size(14_000_000, 0.7, 48_000_000),
        steps=Size(1.2, 0.3, 3),
        reasoning_rate=0.5,
        error_rate=0.0,
        empty_result_rate=0.0,
    ),
    "cjk": Profile(
        user=Size(180, 1.0, 20_000),
        assistant=Size(1_800, 0.9, 40_000),
        reasoning=Size(700, 0.8, 20_000),
        args=Size(160, 1.0, 8_000),
        result=Size(900, 1.3, 60_000),
        steps=Size(2, 0.7, 12),
        reasoning_rate=0.6,
        error_rate=0.01,
        cjk=True,
    ),
}


class Pool:
    """Pre-escaped fragments that are joined to texts of a wanted size."""

    def __init__(
        self,
        rng: random.Random,
        make: Callable[[], str],
        separator: bytes,
        escape: Callable[[str], bytes] = escaped,
    ) -> None:
        self.rng = rng
        self.separator = separator
        self.fragments = [escape(make()) for _ in range(POOL)]
        total = sum(len(fragment) + len(separator) for fragment in self.fragments)
        self.mean = total / POOL

    def text(self, size: int) -> bytes:
        count = max(1, round(size / self.mean))
        return self.separator.join(self.rng.choices(self.fragments, k=count))


class Transcript:
    """An endless, seeded transcript: each call of `turn` continues it."""

    def __init__(self, profile: str, seed: int = 0, result: Size | None = None) -> None:
        """`result` takes the place of the profile's size of tool results."""
        self.profile = PROFILES[profile]
        if result is not None:
            self.profile = replace(self.profile, result=result)
        self.rng = random.Random(f"{profile}:{seed}")
        self.clock = datetime(2026, 1, 5, 8, 0, tzinfo=timezone.utc)
        rng = self.rng
        self.words = Pool(rng, self._word, b" ")
        self.paragraphs = Pool(rng, self._paragraph, b"\\n\\n")
        self.outputs = Pool(rng, self._output_line, b"\\n")
        self.argument_words = Pool(rng, self._word, b" ", twice_escaped)
        self.argument_lines = Pool(rng, self._code_line, b"\\\\n", twice_escaped)

    # Fragments, unescaped.

    def _word(self) -> str:
        roll = self.rng.random()
        if self.profile.cjk:
            return "".join(self.rng.choices(CJK, k=3)) if roll < 0.93 else self.rng.choice(EMOJI)
        if roll < 0.97:
            return self.rng.choice(EN)
        return self.rng.choice(MARKS if roll < 0.992 else EMOJI)

    def _sentence(self, low: int, high: int) -> str:
        glue = "" if self.profile.cjk else " "
        return glue.join(self._word() for _ in range(self.rng.randint(low, high)))

    def _path(self) -> str:
        folders = self.rng.choices(PATHS, k=self.rng.randint(1, 3))
        stem = f"{self.rng.choice(STEMS)}_{self.rng.randint(1, 99)}.{self.rng.choice(EXTENSIONS)}"
        return "/".join(["/home/dev/project", *folders, stem])

    def _code_line(self) -> str:
        rng, indent = self.rng, "    " * self.rng.randint(0, 4)
        name = rng.choice(EN).strip("'").replace("'", "_")
        note = self._sentence(1, 4)
        return indent + rng.choice(
            [
                f"def {name}_{rng.randint(1, 9)}(self, value: str) -> None:",
                f'return {{"{name}": "{note}", "id": {rng.randint(1, 9999)}}}',
                f'print(f"{note}: {{{name}!r}}")',
                f"const {name} = await client.{name}({{ id: '{rng.randint(1, 999)}' }});",
                f"if {name} is not None and len({name}) > {rng.randint(0, 64)}:",
                f"let {name} = &bytes[start..end]; // {note}",
                f'path = "C:\\\\work\\\\{name}"',
                "",
                "}",
            ]
        )

    def _paragraph(self) -> str:
        rng, roll = self.rng, self.rng.random()
        if roll < 0.55:
            return self._sentence(12, 60) + ("。" if self.profile.cjk else ".")
        if roll < 0.7:
            return "\n".join(
                f"- **{self._sentence(1, 3)}**: {self._sentence(4, 16)}"
                for _ in range(rng.randint(2, 6))
            )
        if roll < 0.8:
            return f"{'#' * rng.randint(1, 4)} {self._sentence(2, 7)}"
        code = "\n".join(self._code_line() for _ in range(rng.randint(3, 16)))
        return f"```{rng.choice(EXTENSIONS)}\n{code}\n```"

    def _output_line(self) -> str:
        rng, roll = self.rng, self.rng.random()
        if roll < 0.18:
            color, note = rng.choice(ANSI), self._sentence(1, 5)
            return f"{color}{note}{ANSI[0]} {self._path()}:{rng.randint(1, 900)}"
        if roll < 0.38:
            return f"{rng.randint(1, 2000):6d}\t{self._code_line()}"
        if roll < 0.52:
            level, note = rng.choice(["info", "warn", "error"]), self._sentence(2, 8)
            return f'{{"level":"{level}","msg":"{note}","ms":{rng.randint(0, 9999)}}}'
        if roll < 0.62:
            return "\t".join(str(rng.randint(0, 10**6)) for _ in range(rng.randint(3, 8)))
        if roll < 0.72:
            return f"{self._path()}:{rng.randint(1, 900)}:{self._code_line()}"
        if roll < 0.8:
            return f"{rng.choice('+- ')}{self._code_line()}"
        if roll < 0.84:
            color, word = rng.choice(ANSI), rng.choice(["PASS", "FAIL", "ok"])
            sign = rng.choice(EMOJI)
            return f"{color}{word}{ANSI[0]} {sign} {self._sentence(2, 6)}"
        if roll < 0.87:
            done, left = "█" * rng.randint(1, 20), "░" * rng.randint(1, 20)
            return f"\r{done}{left} {rng.randint(0, 100)}%"
        if roll < 0.92:
            size, day, minute = rng.randint(64, 9999), rng.randint(1, 28), rng.randint(10, 59)
            return f"drwxr-xr-x  2 dev  dev  {size:6d} Jan {day:2d} 08:{minute} {rng.choice(STEMS)}"
        return self._sentence(3, 18)

    # Entries, as written.

    def _identifier(self, prefix: str) -> bytes:
        if self.profile.short_ids:
            return f"{prefix}-{self.rng.getrandbits(48):012x}".encode()
        h = f"{self.rng.getrandbits(128):032x}"
        return f"{prefix}-{h[:8]}-{h[8:12]}-{h[12:16]}-{h[16:20]}-{h[20:]}".encode()

    def _now(self) -> bytes:
        self.clock += timedelta(milliseconds=self.rng.randint(40, 20_000))
        seconds = self.clock.strftime("%Y-%m-%dT%H:%M:%S.").encode()
        return seconds + b"%03dZ" % (self.clock.microsecond // 1000)

    def _prose(self, size: int) -> bytes:
        return (self.words if size < 400 else self.paragraphs).text(size)

    def _text_entry(self, kind: bytes, size: int) -> bytes:
        tail = b""
        rate = 0.2 if self.profile.short_ids else 0.97
        if kind != b"error" and self.rng.random() < rate:
            tail = b',"source_message_id":"%b"' % self._identifier("message")
        return b'{"kind":"%b","text":"%b","captured_at":"%b","source_line_id":"%b"%b}' % (
            kind,
            self._prose(size),
            self._now(),
            self._identifier(kind.decode()),
            tail,
        )

    def _arguments(self, tool: str, size: int) -> bytes:
        path = twice_escaped(self._path())
        words, lines = self.argument_words.text, self.argument_lines.text
        if tool == "Bash":
            return b'{\\"command\\":\\"%b\\",\\"description\\":\\"%b\\"}' % (words(size), words(24))
        if tool == "Edit":
            return (
                b'{\\"file_path\\":\\"%b\\",\\"old_string\\":\\"%b\\",\\"new_string\\":\\"%b\\"}'
                % (path, lines(size // 2), lines(size // 2))
            )
        if tool == "Write":
            return b'{\\"file_path\\":\\"%b\\",\\"content\\":\\"%b\\"}' % (path, lines(size * 4))
        if tool in ("Grep", "Glob"):
            return b'{\\"pattern\\":\\"%b\\",\\"path\\":\\"%b\\"}' % (words(12), path)
        return b'{\\"file_path\\":\\"%b\\",\\"limit\\":%d}' % (path, self.rng.randint(50, 2000))

    def _tool_call(self) -> bytes:
        rng, profile = self.rng, self.profile
        tool = rng.choice(TOOLS)
        size = profile.result.draw(rng)
        if rng.random() < profile.outlier_rate:
            size = TOOL_RESULT_OUTLIER
        if rng.random() < profile.empty_result_rate:
            result = b""
        elif size < 60:
            result = self.words.text(size)
        else:
            result = self.outputs.text(size)
        if profile.args.median < 40 and rng.random() < 0.7:
            arguments = b"{}"
        else:
            arguments = self._arguments(tool, profile.args.draw(rng))
        outcome = b"true" if rng.random() < 0.93 else b"false"
        return (
            b'{"kind":"tool_call","name":"%b","argsText":"%b","resultText":"%b","resultOk":%b,'
            b'"captured_at":"%b","source_line_id":"%b"}'
            % (tool.encode(), arguments, result, outcome, self._now(), self._identifier("toolu"))
        )

    def turn(self) -> list[bytes]:
        """The lines of the next turn, without their newlines."""
        rng, profile = self.rng, self.profile
        lines = [self._text_entry(b"user", profile.user.draw(rng))]
        for _ in range(round(profile.steps.draw(rng))):
            if rng.random() < profile.reasoning_rate:
                lines.append(self._text_entry(b"reasoning", profile.reasoning.draw(rng)))
            lines.append(self._tool_call())
        if rng.random() < profile.error_rate:
            lines.append(self._text_entry(b"error", 80))
        lines.append(self._text_entry(b"assistant", profile.assistant.draw(rng)))
        return lines


@dataclass(frozen=True)
class Written:
    """What a file holds; the answer that every reader of it must give."""

    bytes: int
    entries: int
    user_entries: int
    error_entries: int
    longest_line: int
    """Bytes, without the LF."""


def write(
    path: Path,
    profile: str,
    size: int,
    seed: int = 1,
    repeat: int = 1,
    result: Size | None = None,
) -> Written:
    """Writes whole turns until there are `size` bytes; all that `repeat` times over.

    Repeated lines have repeated ids, which the format allows; it is a fast way to many lines.
    """
    transcript = Transcript(profile, seed, result)
    total = entries = users = errors = longest = 0
    with path.open("wb") as file:
        pending: list[bytes] = []
        gathered = 0
        while total + gathered < size:
            turn = transcript.turn()
            pending += turn
            entries += len(turn)
            users += 1
            errors += sum(line.startswith(b'{"kind":"error"') for line in turn)
            gathered += sum(map(len, turn)) + len(turn)
            longest = max(longest, *map(len, turn))
            if gathered >= MIN_CHUNK:
                total += file.write(b"\n".join([*pending, b""]))
                pending, gathered = [], 0
        if pending:
            total += file.write(b"\n".join([*pending, b""]))
    if repeat > 1:
        once = path.read_bytes()
        with path.open("ab") as file:
            for _ in range(repeat - 1):
                file.write(once)
    return Written(total * repeat, entries * repeat, users * repeat, errors * repeat, longest)


@dataclass(frozen=True)
class Sample(Written):
    """A file that `sample` keeps, and what it holds."""

    path: Path
    profile: str


def sample(
    profile: str,
    size: int,
    seed: int = 1,
    repeat: int = 1,
    result: Size | None = None,
    folder: Path = FOLDER,
) -> Sample:
    """The file that `write` makes, made once and kept in `folder`.

    What it holds is kept beside it; it is made anew when its size is another or when this
    module has changed since.
    """
    source = hashlib.sha256(Path(__file__).read_bytes()).hexdigest()[:16]
    drawn = f"-{result.median:.0f}" if result else ""
    path = folder / f"{profile}-{size}-{seed}-{repeat}{drawn}.jsonl"
    facts = path.with_suffix(".json")
    try:
        kept = json.loads(facts.read_text())
        if kept.pop("source") == source and path.stat().st_size == kept["bytes"]:
            return Sample(**kept, path=path, profile=profile)
    except FileNotFoundError:
        pass
    folder.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(f".{os.getpid()}.part")
    written = write(part, profile, size, seed, repeat, result)
    part.replace(path)
    facts.write_text(json.dumps({"source": source, **asdict(written)}) + "\n")
    return Sample(**asdict(written), path=path, profile=profile)


def parse_size(text: str) -> int:
    """Bytes of `text`, which may end with K, M or G (1,024 each)."""
    shift = {"K": 10, "M": 20, "G": 30}.get(text[-1:].upper())
    return int(text) if shift is None else int(float(text[:-1]) * (1 << shift))


def main() -> None:
    profile, size, path, *seed = sys.argv[1:]
    written = write(Path(path), profile, parse_size(size), int(seed[0]) if seed else 1)
    print(json.dumps(asdict(written)))


if __name__ == "__main__":
    main()
