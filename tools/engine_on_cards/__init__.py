"""The engine's real models at their real size on two cards: trained by the product, and by the engine alone.

    python -m tools.engine_on_cards wan --folder DIR

makes random weights of full size and a few pictures in DIR, trains by the product with samples in the middle, goes on
from the state that it saved, trains by the engine itself on one card with its own block swap, and writes what each took
to DIR/wan.json and DIR/wan.md. Rows are named in `rows`. With `--tiny` the same is done on a processor with small
sizes, in some minutes.

Only two things are not what a user has: the weights are random, and what a text encoder would say of a caption is too,
because an encoder needs a tokeniser that is not ours to make up. Everything else is the product as it is: its trainer
process, forecast, plan, preparation of pictures, hooks, telemetry and files.
"""
