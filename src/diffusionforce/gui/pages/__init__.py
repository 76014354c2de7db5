"""The places of the window, one a module, and the faces of the Run place."""
