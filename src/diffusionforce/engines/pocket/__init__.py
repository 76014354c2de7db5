"""The pocket engine: a tiny diffusion transformer that we wrote, trained and ship."""
