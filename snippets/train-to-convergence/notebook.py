# %% [markdown] lang="zh"
# # 追查 Adam 的一处差别
#
# 这个笔记本自己训练 PyTorch 的一侧，再和 burn 的记录比较。burn 的数值在构建时写进了下面的一个单元格，所以有 `torch` 就能从头跑到尾。

# %% [markdown] lang="en"
# # Hunting a difference in Adam
#
# This notebook trains the PyTorch side itself and compares it with what burn recorded. burn's numbers were written into a cell below when the site was built, so all it needs is `torch`.

# %%
import math
from itertools import cycle, islice

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

torch.set_num_threads(1)

# %% [markdown] lang="zh"
# ## 任务和模型
#
# 数据和初值都由公式给出，舍入到 `float32` 一次；换到 `float64` 时，用的仍是这些舍入过的数。

# %% [markdown] lang="en"
# ## The task and the model
#
# Data and initial weights come from formulas, rounded to `float32` once; in `float64` the same rounded numbers are used.

# %%
SERIES, POINTS, CLASSES, BATCH, STEPS = 96, 16, 3, 16, 100
CHANNELS, KERNEL = 4, 5
FEATURES = CHANNELS * (POINTS - KERNEL + 1)


def rounded(values, *shape):
    return torch.tensor(values, dtype=torch.float64).float().reshape(shape)


def point(k, t):
    wave = math.sin(0.3 * (k % CLASSES + 1) * t + 0.37 * k)
    return wave + 0.3 * math.sin(2.3 * t + 1.1 * k)


points = [point(k, t) for k in range(SERIES) for t in range(POINTS)]
x = rounded(points, SERIES, 1, POINTS)
y = torch.arange(SERIES) % CLASSES


def build(dtype):
    model = nn.Sequential(
        nn.Conv1d(1, CHANNELS, KERNEL),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(FEATURES, CLASSES),
    )
    conv = [0.4 * math.sin(i + 1) for i in range(CHANNELS * KERNEL)]
    fc = [0.15 * math.cos(i + 1) for i in range(CLASSES * FEATURES)]
    start = {
        "0.weight": rounded(conv, CHANNELS, 1, KERNEL),
        "0.bias": rounded([0.02 * i - 0.03 for i in range(CHANNELS)], CHANNELS),
        "3.weight": rounded(fc, CLASSES, FEATURES),
        "3.bias": torch.zeros(CLASSES),
    }
    model.load_state_dict(start)
    return model.to(dtype)


def train(make_optimizer, dtype=torch.float32):
    """The loss of every step."""
    model = build(dtype)
    optimizer = make_optimizer(model.parameters())
    batches = cycle(zip(x.to(dtype).split(BATCH), y.split(BATCH)))
    losses = []
    for xb, yb in islice(batches, STEPS):
        loss = F.cross_entropy(model(xb), yb)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return np.array(losses)


def sgd(parameters):
    return torch.optim.SGD(parameters, lr=0.5)


def adam(parameters):
    return torch.optim.Adam(parameters, lr=0.01, eps=1e-8)


# %% [markdown] lang="zh"
# ## burn 记录的损失

# %% [markdown] lang="en"
# ## The losses that burn recorded

# %% tags=["captured"]
burn = captured(
    "sgd.losses", "adam.losses", "f64/sgd.losses", "f64/adam.losses"
)

# %% [markdown] lang="zh"
# ## 用 `float32` 比
#
# 只看这一步，两个优化器的差别像是程度不同的舍入。

# %% [markdown] lang="en"
# ## Compared in `float32`
#
# Seen from here alone, the differences of the two optimizers look like more or less rounding.

# %%
for name, optimizer in [("sgd", sgd), ("adam", adam)]:
    distance = np.abs(train(optimizer) - burn[f"{name}.losses"])
    print(f"{name:<5} max |difference of losses| {distance.max():.1e}")

# %% [markdown] lang="zh"
# ## 用 `float64` 比
#
# 如果差别来自舍入，换成 `float64` 就该几乎消失。SGD 是这样，Adam 不是。

# %% [markdown] lang="en"
# ## Compared in `float64`
#
# If rounding made the difference, `float64` should make it all but vanish. For SGD it does, for Adam it does not.

# %%
for name, optimizer in [("sgd", sgd), ("adam", adam)]:
    distance = np.abs(
        train(optimizer, torch.float64) - burn[f"f64/{name}.losses"]
    )
    print(f"{name:<5} max |difference of losses| {distance.max():.1e}")

# %% [markdown] lang="zh"
# ## 复制 burn 的更新
#
# burn 不管张量是什么类型，偏差校正的两个系数都用 `float32` 算。照样算一遍，剩下的距离就只是 `float64` 的舍入了。

# %% [markdown] lang="en"
# ## Replicating burn's update
#
# Whatever the type of the tensors, burn computes the two factors of the bias correction in `float32`. Do the same, and the distance left is the rounding of `float64`.


# %%
def powi(base, exponent):
    """By repeated squaring in the type of the base, as Rust's powi does it."""
    power = type(base)(1)
    while exponent:
        if exponent % 2:
            power *= base
        base *= base
        exponent //= 2
    return power


class BurnAdam(torch.optim.Optimizer):
    """Adam with the factors of its bias correction in float32."""

    def __init__(self, parameters, lr):
        super().__init__(parameters, {"lr": lr})
        self.settings = np.float32([0.9, 0.999, 1e-8])
        self.steps = 0

    @torch.no_grad()
    def step(self):
        self.steps += 1
        beta_1, beta_2, epsilon = self.settings
        correction = np.sqrt(1 - powi(beta_2, self.steps))
        combined = float(correction / (1 - powi(beta_1, self.steps)))
        epsilon = float(epsilon * correction)
        beta_1, beta_2 = float(beta_1), float(beta_2)
        for group in self.param_groups:
            for p in group["params"]:
                state = self.state[p]
                m = beta_1 * state.get("m", 0) + (1 - beta_1) * p.grad
                v = beta_2 * state.get("v", 0) + (1 - beta_2) * p.grad**2
                state["m"], state["v"] = m, v
                p -= group["lr"] * (combined * m / (v.sqrt() + epsilon))


replica = train(lambda p: BurnAdam(p, lr=0.01), torch.float64)
distance = np.abs(replica - burn["f64/adam.losses"])
print(f"replica max |difference of losses| {distance.max():.1e}")
