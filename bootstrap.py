"""Set DiffusionForce up in a fresh clone: `python3 bootstrap.py demo`, `test` or `engine`.

Written in the syntax that every Python since 2.7 can read, so that an unsuitable Python is told so in a sentence
instead of a syntax error. The work is done by tools/setup_environment.py.
"""

import os
import subprocess
import sys

SUPPORTED = ((3, 11), (3, 12))
HANDED_ON = "DIFFUSIONFORCE_BOOTSTRAP_HANDED_ON"


def python_problem(version):
    """Return why a Python of this version cannot be used, or an empty text."""
    if version[:2] in SUPPORTED:
        return ""
    age = "too old" if version[:2] < SUPPORTED[0] else "too new"
    return "DiffusionForce needs Python 3.11 or 3.12; this is Python {}.{}, which is {}.".format(
        version[0], version[1], age
    )


def suitable_python():
    """Return the command of another Python on this machine that can be used, or an empty list."""
    candidates = [["python{}.{}".format(*version)] for version in reversed(SUPPORTED)]
    if os.name == "nt":
        candidates += [["py", "-{}.{}".format(*version)] for version in reversed(SUPPORTED)]
    check = "import sys, venv; sys.exit(sys.version_info[:2] not in {!r})".format(SUPPORTED)
    for candidate in candidates:
        try:
            probe = subprocess.Popen(
                candidate + ["-c", check],
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
            )
            probe.communicate()
        except OSError:
            continue
        if probe.returncode == 0:
            return candidate
    return []


def main():
    """Hand over to the set-up proper, under a Python that can run it."""
    here = os.path.dirname(os.path.abspath(__file__))
    problem = python_problem(sys.version_info)
    if not problem:
        sys.path.insert(0, os.path.join(here, "tools"))
        import setup_environment

        return setup_environment.main(sys.argv[1:])
    other = [] if os.environ.get(HANDED_ON) else suitable_python()
    if not other:
        sys.stderr.write(problem + " Install Python 3.12 and start bootstrap.py with it.\n")
        return 1
    sys.stderr.write(problem + " Going on with {}.\n".format(" ".join(other)))
    environment = dict(os.environ)
    environment[HANDED_ON] = "1"
    return subprocess.call(other + [os.path.join(here, "bootstrap.py")] + sys.argv[1:], env=environment)


if __name__ == "__main__":
    sys.exit(main())
