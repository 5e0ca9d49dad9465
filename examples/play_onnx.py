"""Play with an exported policy, without Hogwild: python play_onnx.py policy.onnx [episodes]

pip install onnxruntime gymnasium
"""

import json
import sys

import gymnasium
import numpy as np
import onnxruntime

sys.path.insert(0, "")  # environments of your own, in this folder
session = onnxruntime.InferenceSession(sys.argv[1], providers=["CPUExecutionProvider"])
facts = json.loads(session.get_modelmeta().custom_metadata_map["hogwild"])
env = gymnasium.make(facts["env"])
returns = []
for episode in range(int(sys.argv[2]) if len(sys.argv) > 2 else 10):
    seen, _ = env.reset(seed=episode)
    state = np.zeros((1, facts["state_size"]), np.float32)
    score, over = 0.0, False
    while not over:
        question = {"observation": np.asarray(seen, facts["observation"]["dtype"])[None]}
        if facts["state_size"]:
            question["state"] = state
        action, _, _, *memory = session.run(None, question)
        state = memory[0] if memory else state
        seen, reward, terminated, truncated, _ = env.step(action[0])
        score, over = score + float(reward), terminated or truncated
    returns.append(score)
print(f"mean return of {len(returns)} episodes: {np.mean(returns):.1f}")
