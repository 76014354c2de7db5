"""Prompts become numbers without a vocabulary."""

import torch
from tests.support.pocket_models import tiny_text_encoder

from diffusionforce.engines.pocket.config import MAX_WORDS, VOCABULARY
from diffusionforce.engines.pocket.text import TextFeatures, tokenise
from diffusionforce.engines.pocket.words import words_of


def test_words_that_say_nothing_are_dropped() -> None:
    assert words_of("Close-up of a Girl with the red hat, and the cat's hat") == [
        "closeup",
        "girl",
        "red",
        "hat",
        "cat's",
        "hat",
    ]


def test_numbers_of_known_words_never_change() -> None:
    # The shipped weights were trained with these numbers.
    assert tokenise(["LoRAnne fox"])[0, :3].tolist() == [[1307, 371], [1345, 1058], [0, 0]]


def test_a_made_up_word_has_a_number_of_its_own() -> None:
    first, second = tokenise(["blorptrix", "blorptrax"])[:, 0].tolist()
    assert first != second
    assert all(0 < number < VOCABULARY for number in (*first, *second))


def test_an_empty_prompt_is_all_zeros() -> None:
    assert not tokenise([""]).any()


def test_words_beyond_the_limit_are_cut_off() -> None:
    prompt = " ".join(f"word{index}" for index in range(MAX_WORDS + 5))
    assert tokenise([prompt]).shape == (1, MAX_WORDS, 2)


def test_features_of_a_prompt_do_not_depend_on_its_neighbours() -> None:
    encoder = tiny_text_encoder()
    together = encoder.encode(["a red fox", "a blue frog in space", ""])
    alone = encoder.encode(["a blue frog in space"])
    picked = together.pick([1])
    assert torch.allclose(picked.context, alone.context, atol=1e-6)
    assert torch.allclose(picked.pooled, alone.pooled, atol=1e-6)


def test_joining_keeps_the_order() -> None:
    encoder = tiny_text_encoder()
    first, second = encoder.encode(["a fox"]), encoder.encode(["a frog"])
    joined = TextFeatures.join([first, second])
    assert len(joined) == 2
    assert torch.equal(joined.pick([1, 0]).pooled, torch.cat([second.pooled, first.pooled]))
