# SPDX-License-Identifier: Apache-2.0
"""Runs a console script and stops it when a pipe ends, as runtimes from 1.14 on do by themselves (--parent-pipe-fd).

    python run-until-pipe-ends.py FD SCRIPT [ARGUMENT...]
"""

import os
import runpy
import signal
import sys
import threading


def stop_at_end_of(fd):
    while os.read(fd, 1):
        pass
    os.kill(os.getpid(), signal.SIGTERM)


_, fd, script, *arguments = sys.argv
threading.Thread(target=stop_at_end_of, args=[int(fd)], daemon=True).start()
sys.argv = [script, *arguments]
sys.path[0] = os.path.dirname(script)
runpy.run_path(script, run_name="__main__")
