"""What a trained agent would do in a person's place."""

from typing import Any

import torch

from hogwild.agent import Agent


class AgentAdviser:
    """A trained agent that looks on; with its memory, if it has one."""

    def __init__(self, agent: Agent) -> None:
        self.agent = agent
        self.start()

    def start(self) -> None:
        """A new game begins."""
        self.memory, self.first = self.agent.policy.initial_state(1), True

    def carried(self) -> dict[str, float]:
        """What its preprocessing had learned."""
        return self.agent.carried[0] if self.agent.carried else {}

    @torch.no_grad()
    def advise(self, observation: Any, mask: Any = None) -> dict[str, Any]:
        """Probabilities of all actions, and the value."""
        batch, _ = self.agent.batch_of(observation, mask)
        out = self.agent.policy(torch.from_numpy(batch)[None], self.memory, torch.tensor([[self.first]]))
        self.memory, self.first = out.state, False
        probabilities = [round(float(p), 4) for p in self.agent.policy.actions.shown(out.parameters[0, 0])]
        return {"probabilities": probabilities, "value": round(float(out.value[0, 0]), 4)}
