"""Which blocks go to which card: measured costs, a model of the step, an exact search, reasons in words."""
