"""The desktop window. It shows and asks; it never computes, and torch is never loaded into its process.

`tokens` and `model` are plain Python. `theme`, `style`, `paint` and `icons` turn the tokens into what Qt wants,
`widgets` holds one small widget or painter a file, `pages` one place of the window a file, and `shell` joins them.
`child` runs the trainer, `follower` watches a run that somebody else started; `session` makes the two look alike.
"""
