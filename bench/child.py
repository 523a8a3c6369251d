"""Runs one command and says what it took, as a line of JSON: wall and processor seconds, peak memory.

    python -m bench.child COMMAND...

Imports next to nothing: Linux counts the memory of the process that starts a child into that child's peak, so that one
must be small. The command's own output goes to standard error, but for what it writes last: that is in `out`.
"""

import json
import os
import subprocess
import sys
import time


def main() -> int:
    """Run the command; exits with 0 whatever the command's own code, which is in the line."""
    began = time.perf_counter()
    process = subprocess.Popen(sys.argv[1:], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
    assert process.stdout is not None
    out = process.stdout.read().decode("utf-8", "replace")
    _, status, used = os.wait4(process.pid, 0)
    measured = {
        "wall_s": time.perf_counter() - began,
        "cpu_s": used.ru_utime + used.ru_stime,
        "peak_mb": used.ru_maxrss / 1024,
        "code": os.waitstatus_to_exitcode(status),
        "out": out,
    }
    print(json.dumps(measured))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
