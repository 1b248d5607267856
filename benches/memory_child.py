"""Opens one transcript in a fresh process and says how much memory that took, as JSON.

    python memory_child.py native|pure open|entries PATH

Linux only: the peak of the process's own memory is the `VmHWM` of the kernel; `ru_maxrss`
would include what the parent had when it started this.
"""

import sys


def resident(name: str) -> int:
    with open("/proc/self/status") as file:
        for line in file:
            if line.startswith(name):
                return int(line.split()[1]) << 10
    raise OSError(name)


def main() -> None:
    bare = resident("VmRSS:")
    backend, action, path = sys.argv[1:]

    import os

    os.environ["LETTAFAST_BACKEND"] = backend
    import json

    import lettafast

    imported = resident("VmRSS:")
    with lettafast.open_transcript(path) as transcript:
        opened = resident("VmHWM:")
        entries = transcript.summary.entries
        page = len(transcript.page_json()) if action == "open" else 0
        if action == "entries":
            entries = sum(1 for _ in transcript.entries())
        peak = resident("VmHWM:")
    print(
        json.dumps(
            {
                "bare": bare,
                "imported": imported,
                "opened": opened,
                "peak": peak,
                "entries": entries,
                "page": page,
            }
        )
    )


if __name__ == "__main__":
    main()
