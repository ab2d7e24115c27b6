"""One small model trained to convergence, with SGD and with Adam; then the hunt for what keeps two Adams apart."""

import math
import sys
from itertools import cycle, islice

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.utils import parameters_to_vector
from torch.optim import SGD, Adam, Optimizer

from lesson import note, record, section

torch.set_num_threads(1)

# --8<-- [start:task]
# --8<-- [part:sizes]
SERIES, POINTS, CLASSES, BATCH, STEPS = 96, 16, 3, 16, 100
TABLE = (1, 2, 5, *range(10, STEPS + 1, 10))


# --8<-- [part:formula]
def point(k, t):
    """Series k at time t: the class sets the frequency of its first wave."""
    frequency = 0.3 * (k % CLASSES + 1)
    return math.sin(frequency * t + 0.37 * k) + 0.3 * math.sin(
        2.3 * t + 1.1 * k
    )


# --8<-- [part:rounded]
def rounded(values, *shape):
    """Numbers computed in float64, rounded to float32 once."""
    return torch.tensor(values, dtype=torch.float64).float().reshape(shape)


# --8<-- [part:data]
x = rounded(
    [point(k, t) for k in range(SERIES) for t in range(POINTS)],
    SERIES,
    1,
    POINTS,
)
y = torch.arange(SERIES) % CLASSES
# --8<-- [end:task]

# --8<-- [start:model]
# --8<-- [part:sizes]
CHANNELS, KERNEL = 4, 5
FEATURES = CHANNELS * (POINTS - KERNEL + 1)


# --8<-- [part:layers]
class Cnn(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv1d(1, CHANNELS, KERNEL)
        self.fc = nn.Linear(FEATURES, CLASSES)

    # --8<-- [part:forward]
    def forward(self, x):
        features = F.relu(self.conv(x))
        return self.fc(features.flatten(start_dim=1))


# --8<-- [part:build]
def build():
    model = Cnn()
    start = {
        "conv.weight": rounded(
            [0.4 * math.sin(i + 1) for i in range(CHANNELS * KERNEL)],
            CHANNELS,
            1,
            KERNEL,
        ),
        "conv.bias": rounded(
            [0.02 * i - 0.03 for i in range(CHANNELS)], CHANNELS
        ),
        "fc.weight": rounded(
            [0.15 * math.cos(i + 1) for i in range(CLASSES * FEATURES)],
            CLASSES,
            FEATURES,
        ),
        "fc.bias": torch.zeros(CLASSES),
    }
    model.load_state_dict(start)
    return model


# --8<-- [end:model]


# --8<-- [start:train]
def train(model, optimizer, x, y):
    """Every loss, and a row of all parameters after each step of the table."""
    batches = cycle(zip(x.split(BATCH), y.split(BATCH)))
    losses, trajectory = [], []
    for step, (xb, yb) in enumerate(islice(batches, STEPS), start=1):
        # --8<-- [part:forward]
        loss = F.cross_entropy(model(xb), yb)
        # --8<-- [part:backward]
        optimizer.zero_grad()
        loss.backward()
        # --8<-- [part:update]
        optimizer.step()
        # --8<-- [part:keep]
        losses.append(loss.detach())
        if step in TABLE:
            trajectory.append(parameters_to_vector(model.parameters()).detach())
    # --8<-- [part:]
    return torch.stack(losses), torch.stack(trajectory)


# --8<-- [end:train]


# --8<-- [start:evaluate]
@torch.no_grad()
def evaluate(model, x, y):
    """The loss over all series, and how many the model gets right."""
    # --8<-- [part:forward]
    logits = model(x)
    return F.cross_entropy(logits, y), (logits.argmax(dim=1) == y).sum()


# --8<-- [end:evaluate]


# --8<-- [start:optimizers]
SGD_OPTIONS = {"lr": 0.5}
ADAM_OPTIONS = {"lr": 0.01, "eps": 1e-8}
# --8<-- [end:optimizers]


# --8<-- [start:run]
def run(name, optimizer, keep=record, dtype=torch.float32, **options):
    """Train a fresh model, from the same float32 numbers whatever the type."""
    model, inputs = build().to(dtype), x.to(dtype)
    losses, trajectory = train(
        model, optimizer(model.parameters(), **options), inputs, y
    )
    loss, correct = evaluate(model, inputs, y)

    shown = [f"{losses[i]:.6f}" for i in (0, STEPS // 2 - 1, STEPS - 1)]
    print(f"{name:<14}loss {', '.join(shown)}")
    print(f"{'all series':>13} {loss:.6f}, {correct} right")
    keep(f"{name}.losses", losses)
    keep(f"{name}.trajectory", trajectory)
    keep(f"{name}.final.loss", loss)
    keep(f"{name}.final.correct", correct)
    for path, parameter in model.named_parameters():
        keep(f"{name}.params.{path}", parameter)


# --8<-- [end:run]


# --8<-- [start:small-gradient]
def small_gradient(dtype=torch.float32):
    """The fc weight with the smallest gradient, and Adam's first step on it."""
    model = build().to(dtype)
    optimizer = Adam(model.parameters(), **ADAM_OPTIONS)
    F.cross_entropy(model(x[:BATCH].to(dtype)), y[:BATCH]).backward()
    before = model.fc.weight.detach().clone()
    optimizer.step()

    place = divmod(model.fc.weight.grad.abs().argmin().item(), FEATURES)
    gradient = model.fc.weight.grad[place]
    update = (model.fc.weight - before)[place]
    print(
        f"fc.weight{list(place)}: gradient {gradient:.6e}, update {update:.10f}"
    )
    record("small.place", place)
    record("small.gradient", gradient)
    record("small.update", update)


# --8<-- [end:small-gradient]


# --8<-- [start:factors]
SETTINGS = np.array([0.9, 0.999, 1e-8])  # beta 1, beta 2, epsilon


def powi(base, exponent):
    """By repeated squaring in the type of the base, as Rust's powi does it."""
    power = type(base)(1)
    while exponent:
        if exponent % 2:
            power *= base
        base *= base
        exponent //= 2
    return power


def factors(settings, step):
    """burn's combined factor and corrected epsilon, in the type of the settings."""
    beta_1, beta_2, epsilon = settings
    correction = np.sqrt(1 - powi(beta_2, step))
    return correction / (1 - powi(beta_1, step)), epsilon * correction


# --8<-- [end:factors]


# --8<-- [start:replica]
class BurnAdam(Optimizer):
    """burn's update, its factors in the type of `settings`."""

    def __init__(self, parameters, lr, settings):
        super().__init__(parameters, {"lr": lr, "settings": settings})

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            beta_1, beta_2, _ = group["settings"].tolist()
            for p in group["params"]:
                state = self.state[p] or {
                    "step": 0,
                    "m": torch.zeros_like(p),
                    "v": torch.zeros_like(p),
                }
                step = state["step"] + 1
                m = beta_1 * state["m"] + (1 - beta_1) * p.grad
                v = beta_2 * state["v"] + (1 - beta_2) * p.grad**2
                combined, epsilon = map(float, factors(group["settings"], step))
                p -= group["lr"] * (combined * m / (v.sqrt() + epsilon))
                self.state[p] = {"step": step, "m": m, "v": v}


# --8<-- [end:replica]


def compare_factors():
    settings = SETTINGS.astype(np.float32)
    steps = range(1, STEPS + 1)
    single = np.array([factors(settings, step) for step in steps])
    double = np.array(
        [factors(settings.astype(np.float64), step) for step in steps]
    )
    error = np.abs(single[:, 0] / double[:, 0] - 1)
    print(
        f"largest relative error {error.max():.2e}, at step {error.argmax() + 1}"
    )
    record("factors.f32", single)
    record("factors.f64", double)


match sys.argv[1:]:
    case []:
        record("task.x", x)
        record("task.y", y)
        record(
            "task.sizes",
            [SERIES, POINTS, CLASSES, BATCH, STEPS, CHANNELS, KERNEL],
        )
        record("task.table", TABLE)
        record("task.lr", [SGD_OPTIONS["lr"], ADAM_OPTIONS["lr"]])
        record("task.epsilon", ADAM_OPTIONS["eps"])
        section("trainings")
        run("sgd", SGD, **SGD_OPTIONS)
        run("adam", Adam, **ADAM_OPTIONS)
        section("small-gradient")
        small_gradient()
    case ["f64"]:
        section("f64")
        run("sgd", SGD, dtype=torch.float64, **SGD_OPTIONS)
        run("adam", Adam, dtype=torch.float64, **ADAM_OPTIONS)
        section("f64-small-gradient")
        small_gradient(torch.float64)
    case ["factors"]:
        section("factors")
        compare_factors()
    case ["replica"]:
        run(
            "adam",
            BurnAdam,
            dtype=torch.float64,
            lr=ADAM_OPTIONS["lr"],
            settings=SETTINGS.astype(np.float32),
        )
    case ["mend"]:
        run("mended", Adam, dtype=torch.float64, **ADAM_OPTIONS)
    case ["mend-f32"]:
        run("mended", Adam, **ADAM_OPTIONS)
    case ["defaults"]:
        section("defaults")
        print("epsilon", Adam(build().parameters()).defaults["eps"])
        run("adam", Adam, lr=ADAM_OPTIONS["lr"])
    case ["teaser"]:
        section("teaser")
        run("half-lr", Adam, lr=0.005, eps=1e-8)
        run("large-epsilon", Adam, lr=0.01, eps=1e-3)
    case ["threads"]:
        # --8<-- [start:threads]
        for kernels in ("onednn", "native"):
            torch.backends.mkldnn.enabled = kernels == "onednn"
            for threads in (1, 2, 4):
                torch.set_num_threads(threads)
                run(f"{kernels}-{threads}", SGD, note, **SGD_OPTIONS)
        # --8<-- [end:threads]
