"""The engine's own model classes as they are trained and as they make samples, ready to be traced.

One module a kind of model, each with `training_subject` and `sampling_subject`. `parts` has what they share.
"""
