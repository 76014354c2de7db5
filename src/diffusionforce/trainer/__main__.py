"""`python -m diffusionforce.trainer JOB_FILE`: train one job, speaking the protocol of `diffusionforce.wire`.

Exit codes: 0 done or stopped, 1 failed on something that the user can act on, 2 a bug of ours.
"""

import os
import sys
from pathlib import Path

from diffusionforce.trainer.engines import load_engine
from diffusionforce.trainer.parent import Parent
from diffusionforce.trainer.planning import MakePlan, plan_run
from diffusionforce.trainer.reporter import Reporter
from diffusionforce.trainer.requests import Requests, ignore_signals, listen, stop_on_signals
from diffusionforce.trainer.session import LoadEngine, Session
from diffusionforce.trainer.streams import take_stdin, take_stdout
from diffusionforce.wire import child_environment


def main(job_file: Path, *, load_engine: LoadEngine = load_engine, make_plan: MakePlan = plan_run) -> int:
    """Train a job in this process, which is then good for nothing else, and return the exit code."""
    reporter = Reporter(take_stdout())
    requests = Requests()
    stop_on_signals(requests)
    commands = take_stdin()
    parent = Parent(commands)
    session = Session(reporter=reporter, requests=requests, parent=parent, load_engine=load_engine, make_plan=make_plan)
    listen(commands, requests=requests, warn=session.warn, on_end=parent.note_input_end)
    # For a start by hand; our parents have set it. Much of it counts only before torch is loaded.
    os.environ.update(child_environment())
    code = session.run(job_file)
    ignore_signals()
    return code


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python -m diffusionforce.trainer JOB_FILE")
    sys.exit(main(Path(sys.argv[1])))
