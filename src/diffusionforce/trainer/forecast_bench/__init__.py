"""`diffusionforce bench forecast`: what was forecast for a job, beside what the cards then showed."""
