"""`diffusionforce bench forecast`: forecast memory and step time, then run the same jobs and compare.

A forecast is only worth something if it can be seen to be true. Every job here is first planned and forecast from the
model's own code on fake tensors, without looking at a card; then the same plan runs, and the most that PyTorch
allocated on each card, and the median step, stand beside what was forecast.

Run it as a module: `python -m diffusionforce.trainer.forecast_bench forecast --device cpu,cpu --small`.
"""

import importlib
import os
import sys
from collections.abc import Sequence

from diffusionforce.errors import UserError
from diffusionforce.wire import child_environment


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark and return the exit code: 0 done, 1 a problem to act on.

    Args:
        arguments: What follows `diffusionforce bench`; None takes it from the process.
    """
    # Before the rest, which is loaded by name after it: PyTorch reads its settings when it is loaded.
    os.environ.update(child_environment())
    options = importlib.import_module("diffusionforce.trainer.forecast_bench.options")
    table = importlib.import_module("diffusionforce.trainer.forecast_bench.table")
    try:
        table.ForecastTable(options.parse(sys.argv[1:] if arguments is None else arguments)).run()
    except UserError as error:
        sys.stderr.write("".join(f"{line}\n" for line in (error.sentence, error.hint) if line))
        return 1
    except OSError as error:
        sys.stderr.write(f"{error.filename or 'The output'} cannot be written: {error.strerror}.\n")
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
