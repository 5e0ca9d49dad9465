"""Play with an exported policy, without Hogwild: python play_onnx.py policy.onnx [episodes]"""

import json
import sys
from functools import reduce
from operator import getitem

import gymnasium
import numpy as np
import onnxruntime

sys.path.insert(0, "")  # environments of your own, in this folder
session = onnxruntime.InferenceSession(sys.argv[1], providers=["CPUExecutionProvider"])
facts = json.loads(session.get_modelmeta().custom_metadata_map["hogwild"])


def _told(space, name="action"):  # what the graph answers, in the form of the environment's actions
    if isinstance(space, gymnasium.spaces.Dict):
        return {key: _told(part, f"{name}.{key}") for key, part in space.items()}
    if isinstance(space, gymnasium.spaces.Tuple):
        return tuple(_told(part, f"{name}.{number}") for number, part in enumerate(space))
    return answer[name][0]


env, returns = gymnasium.make(facts["env"]), []
for episode in range(int(sys.argv[2]) if len(sys.argv) > 2 else 10):
    (seen, info), over, total = env.reset(seed=episode), False, 0.0
    answer = {"next_state": np.zeros((1, facts["state_size"]), np.float32)}
    while not over:
        asked = {"state": answer["next_state"]} if facts["state_size"] else {}
        for part in facts["observation"]:  # each as the environment shows it, in a batch of one
            asked[part["input"]] = np.array([reduce(getitem, part["path"], seen)], part["dtype"])
        if facts["action_mask"]:
            mask = (info if "action_mask" in info else seen)["action_mask"]
            masks = [np.hstack(reduce(getitem, path, mask)) for path in facts["action"]["masked"]]
            asked["action_mask"] = np.array([np.hstack(masks)], np.uint8)
        answer = dict(zip([each.name for each in session.get_outputs()], session.run(None, asked), strict=True))
        seen, reward, terminated, truncated, info = env.step(_told(env.action_space))
        over, total = terminated or truncated, total + float(reward)
    returns.append(total)
print(f"mean return of {len(returns)} episodes: {np.mean(returns):.1f}")
