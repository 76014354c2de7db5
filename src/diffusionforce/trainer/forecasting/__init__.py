"""The forecast of a job: what caching, training and sampling will need of every card and of RAM, and the fastest way.

This is where the parts meet: the engine says what it would run, the tracer what that needs, the rig what there is, and
the planner which of all ways fits and is fastest. `forecast_job` is the way in; the process
`python -m diffusionforce.trainer.forecasting` gives its answer to the window and the command line.

- `rigs`: the cards that are here, or a rig out of the catalogue.
- `traces`: footprints, remembered in the data folder.
- `card_speeds`, `measuring`: what the cards here were measured to deliver.
- `speeds`: a model's seconds on the cards.
- `judging`: the pipeline's clock and the walked forecast, for the placements that the planner likes best.
- `smaller`: other settings with which a job needs less, and which of them are enough.
- `answer`: the result as the record that window and command line read.
- `standby`: one forecast after another by a process that stays, for the window.
"""

from diffusionforce.trainer.forecasting.joining import JobForecast, forecast_job

__all__ = ["JobForecast", "forecast_job"]
