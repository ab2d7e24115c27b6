"""A training loop by hand: three epochs, validation after each, a checkpoint after each."""

import math
import sys
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from lesson import note, record, section, timing

torch.set_num_threads(1)

# --8<-- [start:task]
# --8<-- [part:sizes]
TRAIN, VALID, FEATURES, CLASSES = 96, 24, 4, 3
BATCH, EPOCHS, LR = 16, 3, 0.1


# --8<-- [part:]
def samples():
    """Features (N, FEATURES), rounded from float64 once; labels (N,)."""
    # --8<-- [part:features]
    x = torch.tensor(
        [
            [math.sin(0.37 * k + 1.3 * j) for j in range(FEATURES)]
            for k in range(TRAIN + VALID)
        ],
        dtype=torch.float64,
    ).float()
    # --8<-- [part:labels]
    scores = torch.stack(
        [x[:, 0] + x[:, 1], x[:, 2] - x[:, 3], x[:, 3] - x[:, 0]], dim=1
    )
    return x, scores.argmax(dim=1)


# --8<-- [part:loaders]
x, y = samples()
train = DataLoader(TensorDataset(x[:TRAIN], y[:TRAIN]), batch_size=BATCH)
valid = DataLoader(TensorDataset(x[TRAIN:], y[TRAIN:]), batch_size=BATCH)
# --8<-- [end:task]


# --8<-- [start:model]
HIDDEN = 8


# --8<-- [part:layers]
class Mlp(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(FEATURES, HIDDEN)
        self.fc2 = nn.Linear(HIDDEN, CLASSES)

    # --8<-- [part:forward]
    def forward(self, x):
        return self.fc2(F.relu(self.fc1(x)))


# --8<-- [part:formula]
def wave(f, scale, *shape):
    """scale * f(1), scale * f(2), … computed in float64 and rounded once."""
    values = [scale * f(i + 1) for i in range(math.prod(shape))]
    return torch.tensor(values, dtype=torch.float64).float().reshape(shape)


# --8<-- [part:build]
def build():
    model = Mlp()
    with torch.no_grad():
        model.fc1.weight.copy_(wave(math.sin, 0.3, HIDDEN, FEATURES))
        model.fc1.bias.zero_()
        model.fc2.weight.copy_(wave(math.cos, 0.7, CLASSES, HIDDEN))
        model.fc2.bias.zero_()
    return model


# --8<-- [end:model]


# --8<-- [start:train]
def train_epoch(model, optimizer, batches):
    model.train()
    losses = []
    for xb, yb in batches:
        # --8<-- [part:forward]
        loss = F.cross_entropy(model(xb), yb)
        # --8<-- [part:keep]
        losses.append(loss.item())
        # --8<-- [part:backward]
        optimizer.zero_grad()
        loss.backward()
        # --8<-- [part:update]
        optimizer.step()
    # --8<-- [part:]
    return losses


# --8<-- [end:train]


# --8<-- [start:validate]
def validate(model, batches):
    """Loss averaged per batch and per sample, accuracy in %."""
    # --8<-- [part:mode]
    model.eval()
    # --8<-- [part:]
    total = weighted = correct = samples = 0
    # --8<-- [part:mode]
    with torch.no_grad():
        # --8<-- [part:]
        for xb, yb in batches:
            # --8<-- [part:forward]
            logits = model(xb)
            loss = F.cross_entropy(logits, yb).item()
            # --8<-- [part:averages]
            total += loss
            weighted += loss * len(yb)
            # --8<-- [part:accuracy]
            correct += (logits.argmax(dim=1) == yb).sum().item()
            # --8<-- [part:averages]
            samples += len(yb)
    return total / len(batches), weighted / samples, 100 * correct / samples


# --8<-- [end:validate]


# --8<-- [start:loop]
def fit(model, train, valid, checkpoints=None):
    # --8<-- [part:optimizer]
    optimizer = torch.optim.SGD(model.parameters(), lr=LR)
    # --8<-- [part:]
    losses, scores = [], []
    for epoch in range(1, EPOCHS + 1):
        # --8<-- [part:train]
        losses += train_epoch(model, optimizer, train)
        # --8<-- [part:validate]
        scores.append(validate(model, valid))
        # --8<-- [part:checkpoint]
        if checkpoints:
            checkpoint = {
                "epoch": epoch,
                "model": model.state_dict(),
                "optimizer": optimizer.state_dict(),
            }
            torch.save(checkpoint, checkpoints / f"epoch-{epoch}.pt")
    # --8<-- [part:]
    return losses, scores


# --8<-- [end:loop]


def hand_written():
    section("start")
    checkpoints = Path("checkpoints")
    checkpoints.mkdir(exist_ok=True)
    # --8<-- [start:start]
    # --8<-- [part:fit]
    model = build()
    losses, scores = fit(model, train, valid, checkpoints)
    # --8<-- [part:print]
    for epoch, (per_batch, per_sample, accuracy) in enumerate(scores, start=1):
        print(f"epoch {epoch}  accuracy {accuracy:.2f} %")
        print(f"  loss per batch {per_batch:.4f}, per sample {per_sample:.4f}")
    # --8<-- [end:start]

    sizes = {"train": TRAIN, "valid": VALID, "batch": BATCH, "epochs": EPOCHS}
    for name, n in sizes.items():
        record(f"task.{name}", n)
    record("task.x", x)
    record("task.y", y)
    record("task.lr", LR)
    record("task.parameters", sum(p.numel() for p in model.parameters()))
    record("train_loss", losses)
    record("valid_per_batch", [s[0] for s in scores])
    record("valid_per_sample", [s[1] for s in scores])
    record("valid_accuracy", [s[2] for s in scores])
    for name, parameter in model.named_parameters():
        record(f"params.{name}", parameter)
    return model


def trained(model):
    section("trained")
    # --8<-- [start:trained]
    model.eval()
    print("after eval(), requires_grad:", model.fc1.weight.requires_grad)
    # --8<-- [end:trained]


def brain_teaser():
    section("brain-teaser")
    # --8<-- [start:brain-teaser]
    model = build()
    fit(model, train, valid)
    model.eval().requires_grad_(False)

    xb, yb = next(iter(train))
    loss = F.cross_entropy(model(xb), yb)
    print(f"loss {loss.item():.4f}")
    loss.backward()
    # --8<-- [end:brain-teaser]


def shuffled():
    # --8<-- [start:shuffled]
    shuffled_train = DataLoader(
        TensorDataset(x[:TRAIN], y[:TRAIN]),
        batch_size=BATCH,
        shuffle=True,
        generator=torch.Generator().manual_seed(7),
    )
    # --8<-- [end:shuffled]
    losses, _ = fit(build(), shuffled_train, valid)
    note("train_loss", losses)


def cost():
    checkpoints = Path("checkpoints")
    checkpoints.mkdir(exist_ok=True)
    fit(build(), train, valid)
    timing("by-hand", 5, lambda: fit(build(), train, valid))
    timing("by-hand.saving", 5, lambda: fit(build(), train, valid, checkpoints))


match sys.argv[1:]:
    case []:
        trained(hand_written())
    case ["brain-teaser"]:
        brain_teaser()
    case ["shuffled"]:
        shuffled()
    case ["cost"]:
        cost()
