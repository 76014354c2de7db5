"""In which order chunks run: schedules as data, a clock for them, a validator. Without torch."""
