"""The pocket engine: a tiny diffusion transformer that we wrote, trained and ship, and the training of its LoRAs.

It has what the large models have, so that the whole product can be used, tested and understood on any computer:

- `world`: draws the pictures and captions that the base was trained on, and the demo characters.
- `config`, `layers`, `model`, `words`, `text`, `files`, `weights`: the transformer and its text encoder.
- `objective`, `sampler`, `precision`: the loss, and pictures from noise.
- `lora`: what is trained.
- `dataset`, `preparation`, `batches`: from a folder to batches.
- `division`, `devices`, `paging`, `microbatches`: where the blocks lie, and how a step runs over several devices.
- `subjects`, `tracing`: what a run would do, for its forecast.
- `beginning`, `schedule`, `stepper`, `results`, `training`: the run.
- `progress`, `resuming`: what a checkpoint holds, and a run that goes on from it.

`training.PocketEngine` is the way in. Importing this package loads nothing; its modules load torch.
"""
