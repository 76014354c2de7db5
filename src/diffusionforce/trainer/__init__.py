"""The trainer process: the only place that joins job, engine, run folder and protocol."""
