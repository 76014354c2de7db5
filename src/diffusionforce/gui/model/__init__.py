"""What the window knows, in plain Python: no Qt, so that it can be tested without a screen."""
