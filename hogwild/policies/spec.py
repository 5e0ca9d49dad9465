"""What a policy has to know of its environment, and facts about encoders; without torch, so that settings load fast."""

from dataclasses import dataclass

from hogwild.config.settings import PolicySettings

SMALLEST_IMAGE = {"a3c": 20, "compact": 17, "nature": 36, "universe": 1, "a3g": 30}  # pixels
LAST_LAYER = {"a3c": 256, "compact": 256, "nature": 512, "universe": 0, "a3g": 0, "mlp": 64}  # units; 0: none


@dataclass(frozen=True)
class PolicySpec:
    """What a policy has to know of its environment."""

    observation_shape: tuple[int, ...]
    observation_dtype: str
    num_actions: int
    first_action: int = 0  # what the environment calls action 0

    @property
    def is_image(self) -> bool:
        """Observations with three axes are pictures, channels first."""
        return len(self.observation_shape) == 3

    @property
    def picture_scale(self) -> float:
        """Largest value of a pixel."""
        return 255.0 if self.observation_dtype == "uint8" else 1.0


def encoder_kind(spec: PolicySpec, settings: PolicySettings) -> str:
    """The encoder that the settings name, or the fitting one if they leave it open."""
    if settings.encoder != "auto":
        return settings.encoder
    return "a3c" if spec.is_image else "mlp"
