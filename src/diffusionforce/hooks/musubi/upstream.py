"""The revision of Musubi Tuner that the hooks are written for, and what they use of its trainer."""

from typing import TYPE_CHECKING, Any

from diffusionforce.hooks.hook import Target
from diffusionforce.hooks.musubi.assignment import Assignment

REVISION = "30c658c4f4b0bf05038b3346eff9670259b10fc7"
"""Version 0.3.4."""


def method(name: str, fingerprint: str) -> tuple[Target, str]:
    """A method of the class that all of the engine's trainers are made from, with its fingerprint."""
    return Target(module="musubi_tuner.training.trainer_base", attribute=f"NetworkTrainer.{name}"), fingerprint


class EngineTrainer:
    """What the hooks use of the trainer that they are mixed into, and of each other.

    The trainer's own methods are declared for the type checker only: at run time they come from the engine's class,
    which is behind all hooks in the order in which methods are looked up.
    """

    assignment: Assignment
    """What this run is to do; set when the trainer has been made."""
    is_running_pieces = False
    """Whether micro-batches are at work."""
    saved_step = 0
    """The last step that a LoRA file was written of, or that the run began with."""

    def release(self) -> None:
        """Give back what the hooks put in place on the model. Called at the end of a run, however it ended."""

    def return_to_finished(self) -> int:
        """Put random numbers and losses back to the end of the last finished step; gives its number."""
        return 0

    def keep_finished(self, args: Any, accelerator: Any) -> None:
        """Save the LoRA and the state of the last finished step, unless they are saved."""

    def switch_expert(self, args: Any, accelerator: Any, transformer: Any) -> None:
        """Bring in the weights that the noise levels just drawn are for, in a model that has two sets of them."""

    def needs_other_expert(self) -> bool:
        """Whether `switch_expert` would change the weights."""
        return False

    def before_samples(self, args: Any, accelerator: Any, transformer: Any) -> None:
        """Called before blocks step aside for samples."""

    if TYPE_CHECKING:

        def load_transformer(
            self,
            accelerator: Any,
            args: Any,
            dit_path: str,
            attn_mode: str,
            split_attn: bool,
            loading_device: Any,
            dit_weight_dtype: Any,
        ) -> Any: ...
        def load_vae(self, args: Any, vae_dtype: Any, vae_path: str) -> Any: ...
        def process_sample_prompts(self, args: Any, accelerator: Any, sample_prompts: str) -> Any: ...
        def on_transformer_loaded(self, args: Any, accelerator: Any, transformer: Any) -> None: ...
        def on_train_start(
            self, args: Any, accelerator: Any, network: Any, transformer: Any, optimizer: Any
        ) -> None: ...
        def on_post_optimizer_step(
            self, args: Any, accelerator: Any, network: Any, transformer: Any, sync_gradients: bool, global_step: int
        ) -> None: ...
        def on_post_save(
            self,
            args: Any,
            accelerator: Any,
            network: Any,
            transformer: Any,
            ckpt_name: str,
            save_dtype: Any,
            metadata: Any,
            force_sync_upload: bool,
        ) -> None: ...
        def process_batch(
            self,
            args: Any,
            accelerator: Any,
            transformer: Any,
            network: Any,
            batch: dict[str, Any],
            latents: Any,
            noise: Any,
            noise_scheduler: Any,
            dit_dtype: Any,
            network_dtype: Any,
            vae: Any,
            global_step: int,
        ) -> tuple[Any, dict[str, float]]: ...
        def get_noisy_model_input_and_timesteps(
            self,
            args: Any,
            noise: Any,
            latents: Any,
            timesteps: Any,
            noise_scheduler: Any,
            device: Any,
            dtype: Any,
        ) -> tuple[Any, Any]: ...
        def call_dit(
            self,
            args: Any,
            accelerator: Any,
            transformer: Any,
            latents: Any,
            batch: dict[str, Any],
            noise: Any,
            noisy_model_input: Any,
            timesteps: Any,
            network_dtype: Any,
        ) -> Any: ...
        def compute_loss(
            self,
            args: Any,
            output: Any,
            timesteps: Any,
            noise_scheduler: Any,
            dit_dtype: Any,
            network_dtype: Any,
            global_step: int,
        ) -> tuple[Any, dict[str, float]]: ...
        def scale_shift_latents(self, latents: Any) -> Any: ...
        def convert_weight_keys(self, weights_sd: Any, network_module: Any) -> Any: ...
        def sample_images(
            self,
            accelerator: Any,
            args: Any,
            epoch: int | None,
            steps: int,
            vae: Any,
            transformer: Any,
            sample_parameters: Any,
            dit_dtype: Any,
        ) -> None: ...
        def sample_image_inference(
            self,
            accelerator: Any,
            args: Any,
            transformer: Any,
            dit_dtype: Any,
            vae: Any,
            save_dir: str,
            sample_parameter: dict[str, Any],
            epoch: int | None,
            steps: int,
        ) -> None: ...
        def _build_dataset(self, args: Any) -> Any: ...
        def _build_network(self, args: Any, accelerator: Any, transformer: Any, vae: Any, weight_dtype: Any) -> Any: ...
        def _prepare_with_accelerator(self, args: Any, accelerator: Any, transformer: Any, *rest: Any) -> Any: ...
        def _register_hooks_and_resume(self, args: Any, accelerator: Any, network: Any) -> None: ...
        def _run_training_loop(self, *args: Any) -> None: ...
