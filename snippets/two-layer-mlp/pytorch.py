"""A model of two linear layers: built, printed, counted, filled by formula; and how its parameters are drawn."""

import math
import sys

import torch
import torch.nn.functional as F
from torch import nn

from lesson import note, record, section

torch.set_num_threads(1)


# --8<-- [start:model]
class Mlp(nn.Module):
    # --8<-- [part:arguments]
    def __init__(self, features, classes, hidden=8):
        # --8<-- [part:layers]
        super().__init__()
        self.fc1 = nn.Linear(features, hidden)
        self.fc2 = nn.Linear(hidden, classes)

    # --8<-- [part:forward]
    def forward(self, x):
        return self.fc2(F.relu(self.fc1(x)))


# --8<-- [end:model]


def show():
    section("print")
    # --8<-- [start:print]
    model = Mlp(4, 3)
    print(model)
    # --8<-- [end:print]
    section("count")
    # --8<-- [start:count]
    print(sum(p.numel() for p in model.parameters()), "parameters")
    for name, parameter in model.named_parameters():
        print(name, list(parameter.shape))
    # --8<-- [end:count]
    record("parameters", sum(p.numel() for p in model.parameters()))
    for name, parameter in model.named_parameters():
        note(f"shape.{name}", list(parameter.shape))


# --8<-- [start:weights]
def wave(f, scale, *shape):
    """scale * f(1), scale * f(2), … computed in float64 and rounded once."""
    values = [scale * f(i + 1) for i in range(math.prod(shape))]
    return torch.tensor(values, dtype=torch.float64).float().reshape(shape)


# --8<-- [part:fill]
@torch.no_grad()
def fill(model):
    sin, cos = math.sin, math.cos
    model.fc1.weight.copy_(wave(sin, 0.3, 8, 4))
    model.fc1.bias.copy_(wave(cos, 0.1, 8))
    model.fc2.weight.copy_(wave(cos, 0.7, 3, 8))
    model.fc2.bias.copy_(wave(sin, 0.1, 3))
    return model


# --8<-- [end:weights]


def forward():
    section("forward")
    # --8<-- [start:forward]
    model = fill(Mlp(4, 3))
    # --8<-- [part:layers]
    x = wave(math.sin, 1.0, 16, 4)
    hidden = F.relu(model.fc1(x))
    logits = model.fc2(hidden)
    tensors = {"x": x, "hidden": hidden, "logits": logits}
    for name, tensor in tensors.items():
        print(name, list(tensor.shape))
    print("first row", [f"{v:.6f}" for v in logits[0]])
    # --8<-- [part:backward]
    loss = logits.square().mean()
    loss.backward()
    slope = model.fc1.weight.grad
    print("gradient of fc1.weight", list(slope.shape))
    # --8<-- [end:forward]
    record("x", x)
    record("hidden", hidden)
    record("logits", logits)
    record("model(x)", model(x))
    record("loss", loss)
    for name, parameter in model.named_parameters():
        record(f"{name}.grad", parameter.grad)
        record(name, parameter)

    section("reductions")
    # --8<-- [start:reductions]
    print("sum of all", list(logits.sum().shape))
    print("sum of each row", list(logits.sum(1).shape))
    # --8<-- [part:shift]
    largest = logits.amax(1, keepdim=True)
    shifted = logits - largest
    print("largest", list(largest.shape), "shifted", list(shifted.shape))
    # --8<-- [part:squeeze]
    row = largest.squeeze(1)
    print("squeezed", list(row.shape))
    # --8<-- [end:reductions]
    record("shifted", shifted)
    record("largest", row)

    section("square")
    # --8<-- [start:square]
    weight = wave(math.sin, 0.3, 4, 4)
    # --8<-- [part:right]
    right = F.linear(x, weight)
    # --8<-- [part:wrong]
    wrong = x @ weight
    # --8<-- [part:]
    for name, y in [("F.linear", right), ("x @ weight", wrong)]:
        print(name, [f"{v:.4f}" for v in y[0]])
    # --8<-- [end:square]
    record("square.right", right)
    record("square.wrong", wrong)


def untransposed():
    section("untransposed")
    # --8<-- [start:untransposed]
    model = Mlp(4, 3)
    weight = wave(math.sin, 0.3, 4, 8)  # burn's layout
    with torch.no_grad():
        model.fc1.weight.copy_(weight)
    print("assigned")
    model(wave(math.sin, 1.0, 16, 4))
    # --8<-- [end:untransposed]


# --8<-- [start:moments]
def moments(x):
    """The largest |x|, the standard deviation and the kurtosis."""
    x = x.detach().double()
    std = x.std(correction=0).item()
    fourth = (x - x.mean()).pow(4).mean().item()
    kurtosis = fourth / std**4 if std > 0 else 0.0
    return x.abs().max().item(), std, kurtosis


# --8<-- [end:moments]


def measure(name, parameter):
    """Note the moments of a parameter."""
    found = moments(parameter)
    note(name, torch.tensor(found, dtype=torch.float64))
    return found


def defaults():
    section("defaults")
    torch.manual_seed(0)
    # --8<-- [start:defaults]
    layer = nn.Linear(64, 4096)
    for name in ["weight", "bias"]:
        parameter = getattr(layer, name)
        largest, std, kurtosis = measure(f"linear.{name}", parameter)
        print(f"{name}: largest {largest:.4f}, std {std:.4f}")
        print(f"  kurtosis {kurtosis:.2f}")
    # --8<-- [end:defaults]

    # --8<-- [start:layers]
    # --8<-- [part:conv]
    conv = nn.Conv2d(16, 1024, 3)
    # --8<-- [part:embedding]
    embedding = nn.Embedding(1024, 64)
    # --8<-- [part:recurrent]
    lstm = nn.LSTM(64, 256)
    gru = nn.GRU(64, 256)
    # --8<-- [part:attention]
    attention = nn.MultiheadAttention(256, 4)
    # --8<-- [end:layers]
    measure("conv2d.weight", conv.weight)
    measure("conv2d.bias", conv.bias)
    measure("embedding.weight", embedding.weight)
    measure("lstm.weight", lstm.weight_ih_l0)
    measure("lstm.bias", lstm.bias_ih_l0)
    measure("gru.weight", gru.weight_ih_l0)
    measure("gru.bias", gru.bias_ih_l0)
    measure("attention.weight", attention.in_proj_weight[:256])
    measure("attention.bias", attention.in_proj_bias[:256])
    for name, module in [
        ("lstm", lstm),
        ("gru", gru),
        ("attention", attention),
    ]:
        total = sum(p.numel() for p in module.parameters())
        record(f"{name}.parameters", total)


def recipes():
    torch.manual_seed(1)
    # --8<-- [start:recipes]
    layer, both = nn.Linear(64, 4096), nn.Linear(64, 4096)
    # --8<-- [part:he]
    nn.init.kaiming_normal_(layer.weight, nonlinearity="relu")
    nn.init.zeros_(layer.bias)
    # --8<-- [part:both]
    nn.init.normal_(both.weight, std=0.02)
    nn.init.normal_(both.bias, std=0.02)
    # --8<-- [part:lstm]
    lstm = nn.LSTM(64, 256)
    # --8<-- [part:reverse]
    own = nn.LSTM(64, 256)
    for name, parameter in own.named_parameters():
        fan_in = 64 if "_ih_" in name else 256
        std = math.sqrt(2 / (fan_in + 256))
        nn.init.normal_(parameter, std=std)
    # --8<-- [end:recipes]
    gains = {
        "relu": nn.init.calculate_gain("relu"),
        "unset": nn.init.calculate_gain("leaky_relu", 0),
        "default": nn.init.calculate_gain("leaky_relu", math.sqrt(5)),
    }
    for name, gain in gains.items():
        record(f"gain.{name}", torch.tensor([gain], dtype=torch.float64))
    for end in ["weight", "bias"]:
        measure(f"recipe.he.{end}", getattr(layer, end))
        measure(f"recipe.normal.{end}", getattr(both, end))
        measure(f"recipe.lstm.{end}", getattr(lstm, f"{end}_ih_l0"))
        measure(f"recipe.reverse.{end}", getattr(own, f"{end}_ih_l0"))


def seeds():
    section("streams")
    # --8<-- [start:streams]
    torch.manual_seed(0)
    draws = torch.rand(4)
    print([f"{v:.4f}" for v in draws])
    # --8<-- [end:streams]
    note("stream", draws)

    section("lazy")
    # --8<-- [start:lazy]
    torch.manual_seed(3)
    layer = nn.Linear(2, 2)
    torch.manual_seed(99)
    weight = layer.weight
    # --8<-- [part:again]
    for seed in [3, 99]:
        torch.manual_seed(seed)
        fresh = nn.Linear(2, 2).weight
        print(f"that of seed {seed}:", torch.equal(fresh, weight))
    # --8<-- [end:lazy]

    def of(seed):
        torch.manual_seed(seed)
        return nn.Linear(2, 2).weight

    one, two = of(0), of(0)
    note("twins.seeded", torch.equal(one, two))
    note("lazy.weight", weight)
    note("lazy.seed-3", of(3))
    note("lazy.seed-99", of(99))


# --8<-- [start:brain-teaser]
def drawn(printing):
    torch.manual_seed(0)
    model = Mlp(4, 3)
    if printing:
        print(model)
    model(torch.ones(1, 4))
    return dict(model.named_parameters())


# --8<-- [end:brain-teaser]


def brain_teaser():
    section("brain-teaser")
    silent = drawn(False)
    printed = drawn(True)
    for name in silent:
        print(name, "the same:", torch.equal(silent[name], printed[name]))
        note(f"silent.{name}", silent[name])
        note(f"printed.{name}", printed[name])


match sys.argv[1:]:
    case []:
        show()
        forward()
        defaults()
        recipes()
        seeds()
    case ["untransposed"]:
        untransposed()
    case ["brain-teaser"]:
        brain_teaser()
