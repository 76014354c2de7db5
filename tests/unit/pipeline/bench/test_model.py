import torch

from diffusionforce.pipeline.bench.model import BenchmarkModel, BenchmarkShape, random_batch, trained_parameters

SMALL = BenchmarkShape(
    num_blocks=2, width=32, feed_forward_width=64, num_heads=2, num_text_tokens=3, lora_rank=2, dtype=torch.float32
)
CPU = torch.device("cpu")


def test_checkpointing_changes_no_gradient():
    found = []
    for checkpointing in (True, False):
        torch.manual_seed(0)
        model = BenchmarkModel(SMALL, home=CPU, checkpointing=checkpointing)
        model.loss(random_batch(SMALL, num_tokens=4, device=CPU)).backward()
        found.append([parameter.grad for parameter in trained_parameters(model)])
    assert len(found[0]) == 2 * 10 * 2
    assert all(torch.equal(one, other) for one, other in zip(*found, strict=True))


def test_only_lora_is_trained_and_blocks_are_made_where_they_belong():
    model = BenchmarkModel(SMALL, home=CPU, device_of_block=[CPU, torch.device("meta")])
    assert {name.rsplit(".", 1)[1] for name, p in model.named_parameters() if p.requires_grad} == {
        "lora_down",
        "lora_up",
    }
    assert {p.device.type for p in model.blocks[1].parameters()} == {"meta"}
