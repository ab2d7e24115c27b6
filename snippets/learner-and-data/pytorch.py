"""Stop early, keep the right checkpoints, resume: by hand."""

import math
import os
import shutil
import sys
from dataclasses import dataclass
from functools import partial
from itertools import count
from pathlib import Path
from threading import Event

import torch
import torch.nn.functional as F
from torch import nn
from torch.optim.lr_scheduler import ExponentialLR
from torch.utils.data import DataLoader

from lesson import note, record, section

torch.set_num_threads(1)

TRAIN, VALID, FEATURES, CLASSES, HIDDEN, BATCH = 60, 20, 4, 3, 16, 16
EPOCHS, PATIENCE, LR, GAMMA, SEED = 12, 2, 0.05, 0.95, 7


def features():
    """(TRAIN + VALID, FEATURES), rounded from float64 once."""
    rows = [
        [math.sin(0.37 * k + 1.3 * j) for j in range(FEATURES)]
        for k in range(TRAIN + VALID)
    ]
    return torch.tensor(rows, dtype=torch.float64).float()


def labels(x):
    """The largest of three sums; every seventh one is moved on by one."""
    scores = torch.stack(
        [x[:, 0] + x[:, 1], x[:, 2] - x[:, 3], x[:, 3] - x[:, 0]], dim=1
    )
    moved = torch.arange(len(x)) % 7 == 0
    return (scores.argmax(dim=1) + moved) % CLASSES


x = features()
y = labels(x)


# --8<-- [start:data]
def loader(rows, shuffle=False, on_batch=lambda rows: None):
    # --8<-- [part:batch]
    def collate(rows):
        on_batch(rows)
        return x[rows], y[rows]

    # --8<-- [part:loader]
    return DataLoader(
        rows,
        batch_size=BATCH,
        collate_fn=collate,
        # --8<-- [part:shuffle]
        shuffle=shuffle,
        generator=torch.Generator().manual_seed(SEED),
    )


# --8<-- [end:data]


train_rows = partial(loader, range(TRAIN))
valid = loader(range(TRAIN, TRAIN + VALID))


class Mlp(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(FEATURES, HIDDEN)
        self.fc2 = nn.Linear(HIDDEN, CLASSES)

    def forward(self, x):
        return self.fc2(F.relu(self.fc1(x)))


def wave(f, scale, *shape):
    """scale * f(1), scale * f(2), … computed in float64 and rounded once."""
    values = [scale * f(i + 1) for i in range(math.prod(shape))]
    return torch.tensor(values, dtype=torch.float64).float().reshape(shape)


def build():
    model = Mlp()
    with torch.no_grad():
        model.fc1.weight.copy_(wave(math.sin, 0.3, HIDDEN, FEATURES))
        model.fc1.bias.zero_()
        model.fc2.weight.copy_(wave(math.cos, 0.7, CLASSES, HIDDEN))
        model.fc2.bias.zero_()
    return model


# --8<-- [start:steps]
# --8<-- [part:step]
def train_step(model, xb, yb):
    loss = F.cross_entropy(model(xb), yb)
    loss.backward()
    return loss.item()


# --8<-- [part:validate]
@torch.no_grad()
def valid_step(model, xb, yb):
    return F.cross_entropy(model(xb), yb).item()


# --8<-- [end:steps]


sgd = partial(torch.optim.SGD, lr=LR, momentum=0.9)
adam = partial(torch.optim.Adam, lr=LR)


# --8<-- [start:state]
class State:
    """All that a resumed training needs."""

    def __init__(self, optimizer=sgd):
        self.model = build()
        self.optimizer = optimizer(self.model.parameters())
        self.scheduler = ExponentialLR(self.optimizer, GAMMA)
        self.epoch, self.history = 0, {}  # history: epoch -> loss

    def save(self, folder, train):
        saved = {
            "model": self.model.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "scheduler": self.scheduler.state_dict(),
            "history": self.history,
            "order": train.generator.get_state(),
        }
        torch.save(saved, Path(folder, f"epoch-{self.epoch}.pt"))

    # --8<-- [end:state]

    # --8<-- [start:load]
    def load(self, folder, epoch, train=None):
        saved = torch.load(Path(folder, f"epoch-{epoch}.pt"))
        self.model.load_state_dict(saved["model"])
        self.optimizer.load_state_dict(saved["optimizer"])
        self.scheduler.load_state_dict(saved["scheduler"])
        self.epoch, self.history = epoch, saved["history"]
        if train:
            train.generator.set_state(saved["order"])
        return self

    # --8<-- [end:load]


@dataclass
class Fit:
    """What became of a training."""

    state: State
    losses: list
    rates: list


NEVER = Event()


def train_epoch(state, batches, stop, done):
    # --8<-- [start:step]
    for xb, yb in batches:
        state.optimizer.zero_grad()
        loss = train_step(state.model, xb, yb)
        rate = state.scheduler.get_last_lr()[0]
        state.optimizer.step()
        state.scheduler.step()
        done.losses.append(loss)
        done.rates.append(rate)
        if stop.is_set():
            break
    # --8<-- [end:step]


def validate(model):
    """The mean loss per batch and per sample."""
    losses = [valid_step(model, xb, yb) for xb, yb in valid]
    sizes = [len(yb) for _, yb in valid]
    return averages(losses, sizes)


# --8<-- [start:averages]
def averages(losses, sizes):
    weighted = sum(loss * n for loss, n in zip(losses, sizes))
    return {
        "per batch": sum(losses) / len(losses),
        "per sample": weighted / sum(sizes),
    }


# --8<-- [end:averages]


# --8<-- [start:fit]
# --8<-- [part:state]
def fit(folder, train, state, epochs=EPOCHS, by="per batch", stop=NEVER):
    # --8<-- [part:]
    done = Fit(state, [], [])
    # --8<-- [part:epochs]
    while state.epoch < epochs:
        state.epoch += 1
        train_epoch(state, train, stop, done)
        if stop.is_set():
            break
        # --8<-- [part:validate]
        state.history[state.epoch] = validate(state.model)
        # --8<-- [part:save]
        state.save(folder, train)
        best = min(state.history, key=lambda e: state.history[e][by])
        keep = {best, state.epoch - 1, state.epoch}
        for old in state.history.keys() - keep:
            Path(folder, f"epoch-{old}.pt").unlink(missing_ok=True)
        # --8<-- [part:stop]
        if state.epoch - best >= PATIENCE:
            break
    # --8<-- [part:]
    return done


# --8<-- [end:fit]


def new(folder):
    Path(folder).mkdir()
    return folder


def kept(folder):
    """The epochs whose checkpoints are there."""
    paths = Path(folder).glob("epoch-*.pt")
    return sorted(int(path.stem.removeprefix("epoch-")) for path in paths)


def told(name, folder):
    """What became of a training, in a line."""
    epochs = kept(folder)
    return f"{name}: last epoch {epochs[-1]}, kept {' '.join(map(str, epochs))}"


def parameters(model):
    return torch.cat([p.detach().flatten() for p in model.parameters()])


def same(left, right):
    equal = sum(a == b for a, b in zip(left, right))
    return f"{equal} of {max(len(left), len(right))} equal"


def doubles(values):
    return torch.tensor(values, dtype=torch.float64)


def whole():
    # --8<-- [start:whole]
    done = fit(new("whole"), train_rows(), State())
    # --8<-- [end:whole]
    history = done.state.history
    section("whole")
    for epoch, loss in history.items():
        a, b = loss["per batch"], loss["per sample"]
        print(f"epoch {epoch}  per batch {a:.4f}, sample {b:.4f}")
    print(told("whole", "whole"))
    record("whole.train_loss", done.losses)
    record("whole.per_batch", [h["per batch"] for h in history.values()])
    record("whole.per_sample", [h["per sample"] for h in history.values()])
    record("whole.kept", kept("whole"))
    record("whole.params", parameters(done.state.model))
    record("whole.rates", doubles(done.rates))
    record("task.train", [TRAIN])
    record("task.valid", [VALID])
    record("task.batch", [BATCH])
    record("task.epochs", [EPOCHS])
    record("task.patience", [PATIENCE])
    record("task.lr", doubles([LR]))
    record("task.gamma", doubles([GAMMA]))
    return done


def weighted():
    # --8<-- [start:weighted]
    # --8<-- [part:keep]
    by = "per sample"
    # --8<-- [part:fit]
    fit(new("weighted"), train_rows(), State(), by=by)
    # --8<-- [end:weighted]
    section("weighted")
    print(told("per batch", "whole"))
    print(told("per sample", "weighted"))
    two = averages([1.0, 6.0], [4, 1])
    record("two_batches.per_batch", [two["per batch"]])
    record("two_batches.per_sample", [two["per sample"]])
    record("weighted.kept", kept("weighted"))


def resumed(whole):
    # --8<-- [start:resume]
    # --8<-- [part:first]
    first = fit(new("resumed"), train_rows(), State(), epochs=3)
    # --8<-- [part:second]
    state = State().load("resumed", 3)
    second = fit("resumed", train_rows(), state)
    # --8<-- [end:resume]
    section("resume")
    print(told("whole", "whole"))
    print(told("resumed", "resumed"))
    print("losses:", same(whole.losses[len(first.losses) :], second.losses))
    note("resumed.kept", kept("resumed"))
    note("resumed.after", [len(first.losses)])
    record("resumed.train_loss", first.losses + second.losses)
    record("resumed.rates", doubles(first.rates + second.rates))
    record("resumed.params", parameters(state.model))

    four = partial(fit, epochs=4)
    uninterrupted = four(new("adam"), train_rows(), State(adam))
    first = fit(new("adam-resumed"), train_rows(), State(adam), epochs=2)
    state = State(adam).load("adam-resumed", 2)
    second = four("adam-resumed", train_rows(), state)
    record("adam.train_loss", uninterrupted.losses)
    record("adam-resumed.train_loss", first.losses + second.losses)


def by_hand():
    losses = []
    # --8<-- [start:by-hand]
    # --8<-- [part:load]
    state = State().load("whole", 5)
    # --8<-- [part:step]
    for xb, yb in train_rows():
        state.optimizer.zero_grad()
        losses.append(train_step(state.model, xb, yb))
        state.optimizer.step()
        state.scheduler.step()
    # --8<-- [end:by-hand]
    record("by_hand.train_loss", losses)


def shuffled():
    def watched():
        seen = []
        return train_rows(shuffle=True, on_batch=seen.extend), seen

    train, order = watched()
    whole = fit(new("shuffled"), train, State(), epochs=4)
    fit(new("naive"), watched()[0], State(), epochs=2)
    train, naive = watched()
    resumed = fit("naive", train, State().load("naive", 2), epochs=4)
    fit(new("restored"), watched()[0], State(), epochs=2)
    train, restored = watched()
    # --8<-- [start:shuffled]
    state = State().load("restored", 2, train)
    again = fit("restored", train, state, epochs=4)
    # --8<-- [end:shuffled]

    def line(name, rows):
        print(f"{name:18}{rows[:6]} …")

    last = whole.losses[len(whole.losses) // 2 :]
    section("order")
    line("whole, epoch 1", order)
    line("whole, epoch 3", order[2 * TRAIN :])
    line("resumed, epoch 3", naive)
    print("losses:", same(last, resumed.losses))
    section("shuffled")
    line("resumed, epoch 3", restored)
    print("losses:", same(last, again.losses))
    note("shuffled.rows", order)
    note("naive.rows", naive)
    note("restored.rows", restored)
    note("shuffled.train_loss", last)
    note("naive.train_loss", resumed.losses)
    note("restored.train_loss", again.losses)


def interrupted(whole):
    # --8<-- [start:interrupt]
    # --8<-- [part:handle]
    stop, batches = Event(), count(1)

    # --8<-- [part:ask]
    def ask(rows):
        if next(batches) == 10:
            stop.set()

    # --8<-- [part:fit]
    train = train_rows(on_batch=ask)
    done = fit(new("interrupted"), train, State(), stop=stop)
    # --8<-- [end:interrupt]
    section("interrupt")
    print(told("stopped", "interrupted"))
    record("interrupted.train_loss", done.losses[8:])
    record("interrupted.kept", kept("interrupted"))
    record("interrupted.params", parameters(done.state.model))
    again = fit("interrupted", train_rows(), State().load("interrupted", 2))
    print("resumed at 2: losses", same(whole.losses[8:], again.losses))
    note("interrupted.again", again.losses)


def devices():
    # --8<-- [start:devices]
    # --8<-- [part:halves]
    half = TRAIN // 2
    halves = [loader(range(half)), loader(range(half, TRAIN))]
    state = State()
    # --8<-- [part:fit]
    for _ in range(2):
        for batches in zip(*halves):
            state.optimizer.zero_grad()
            for xb, yb in batches:
                train_step(state.model, xb, yb)  # .grad adds up
            state.optimizer.step()
            state.scheduler.step()
    # --8<-- [end:devices]
    record("devices.params", parameters(state.model))

    state = State()
    for _ in range(2):
        for batches in zip(*halves):
            state.optimizer.zero_grad()
            for xb, yb in batches:
                (F.cross_entropy(state.model(xb), yb) / len(batches)).backward()
            state.optimizer.step()
            state.scheduler.step()
    note("devices.mean", parameters(state.model))


def second_patience():
    # --8<-- [start:second-patience]
    # --8<-- [part:first]
    fit(new("again"), train_rows(), State(), epochs=6)
    # --8<-- [part:second]
    state = State().load("again", 6)
    state.history = {}  # patience begins anew
    fit("again", train_rows(), state)
    # --8<-- [end:second-patience]
    history = state.history
    fit(new("logs"), train_rows(), State(), epochs=6)
    state = State().load("logs", 6)
    earlier = list(state.history.values())
    fit("logs", train_rows(), state)
    section("second-patience")
    print(told("again", "again"))
    print(told("from the history", "logs"))
    record("again.last", kept("again")[-1:])
    record("logs.last", kept("logs")[-1:])
    losses = [h["per batch"] for h in [*earlier, *history.values()]]
    record("again.per_batch", losses)


def clear(folder):
    """Go to an empty folder: a training goes by what an earlier one has left."""
    shutil.rmtree(folder, ignore_errors=True)
    Path(folder).mkdir(parents=True)
    os.chdir(folder)


clear("trainings/pytorch")
match sys.argv[1:]:
    case []:
        done = whole()
        weighted()
        resumed(done)
        by_hand()
        shuffled()
        interrupted(done)
        devices()
    case ["second-patience"]:
        second_patience()
