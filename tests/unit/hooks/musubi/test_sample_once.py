"""One pass of samples for one step."""

from types import SimpleNamespace

from diffusionforce.hooks.musubi.sample_once import sample_once


def test_the_end_of_an_epoch_does_not_sample_again_what_its_last_step_sampled() -> None:
    # The trainer makes the same samples twice where an epoch ends on a sampled step.
    asked = sample_once().wrap(lambda args, steps, epoch=None: steps % args.every == 0)
    args = SimpleNamespace(every=2)
    assert asked(args, 2)
    assert asked(args, 2), "the pass itself asks once more"
    assert not asked(args, 2, 1), "the end of the epoch"
    assert not asked(args, 3, 1)
    assert asked(args, 4)


def test_an_epoch_samples_where_its_last_step_did_not() -> None:
    asked = sample_once().wrap(lambda args, steps, epoch=None: epoch is not None)
    assert not asked(None, 2)
    assert asked(None, 2, 1)
    assert asked(None, 2, 1)
