"""The parts that pages are made of, one kind a module."""
