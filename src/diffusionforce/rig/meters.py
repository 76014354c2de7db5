"""Live values of the cards, cheap enough to be read several times a second.

Connecting to the driver takes tens of milliseconds, asking it takes a few; so the connection is made once and kept.
"""

from functools import cache

from diffusionforce.rig.cards import Reading, Traffic
from diffusionforce.rig.driver import Driver, open_driver


@cache
def _driver() -> Driver | None:
    return open_driver()


def read() -> tuple[Reading, ...]:
    """Return memory, load, temperature and power of every card; empty on a machine without NVIDIA cards."""
    driver = _driver()
    return () if driver is None else driver.readings()


def traffic() -> tuple[Traffic, ...]:
    """Return what goes over the link of every card, which takes 40 ms a card; empty without NVIDIA cards."""
    driver = _driver()
    return () if driver is None else driver.traffic()
