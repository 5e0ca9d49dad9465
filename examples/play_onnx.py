"""Play with an exported policy, without Hogwild: python play_onnx.py policy.onnx [episodes]

pip install onnxruntime gymnasium
"""

import functools
import json
import operator
import sys

import gymnasium
import numpy as np
import onnxruntime


def laid_out(seen, info):
    """An observation as the policy reads it: part behind part, pictures channels first, choices as one-hot vectors."""
    rows = []
    for part in facts["observation"]["parts"]:
        value = np.asarray(functools.reduce(operator.getitem, part["path"], seen))
        if part["choices"]:
            chosen = np.minimum(value.ravel() - part["first"], np.array(part["choices"]) - 1)
            value = np.concatenate([np.eye(n)[k] for n, k in zip(part["choices"], chosen, strict=True)])
        elif len(part["shape"]) == 3 and list(value.shape) != part["shape"]:
            value = np.moveaxis(value, -1, 0)
        rows.append(value.ravel())
    if facts["observation"]["action_mask"]:
        rows.append(np.hstack(info["action_mask"] if "action_mask" in info else seen["action_mask"]))
    return np.concatenate(rows).reshape(1, *facts["observation"]["shape"]).astype(facts["observation"]["dtype"])


sys.path.insert(0, "")  # environments of your own, in this folder
session = onnxruntime.InferenceSession(sys.argv[1], providers=["CPUExecutionProvider"])
facts = json.loads(session.get_modelmeta().custom_metadata_map["hogwild"])
env = gymnasium.make(facts["env"])
returns = []
for episode in range(int(sys.argv[2]) if len(sys.argv) > 2 else 10):
    seen, info = env.reset(seed=episode)
    state, over = np.zeros((1, facts["state_size"]), np.float32), False
    returns.append(0.0)
    while not over:
        question = {"observation": laid_out(seen, info)} | ({"state": state} if facts["state_size"] else {})
        action, _, _, *memory = session.run(None, question)
        state = memory[0] if memory else state
        seen, reward, terminated, truncated, info = env.step(action[0])
        returns[-1], over = returns[-1] + float(reward), terminated or truncated
print(f"mean return of {len(returns)} episodes: {np.mean(returns):.1f}")
