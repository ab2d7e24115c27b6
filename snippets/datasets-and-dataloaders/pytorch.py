"""From ten items to batches: transforms, shuffling, workers, errors."""

import math
import sys
import time
from itertools import combinations

import torch
from torch.utils.data import (
    ConcatDataset,
    DataLoader,
    Dataset,
    RandomSampler,
    Subset,
    default_collate,
    random_split,
)

from lesson import note, record, section, timing

torch.set_num_threads(1)

# --8<-- [start:dataset]
ITEMS, FEATURES, BATCH = 10, 3, 4


# --8<-- [part:item]
def sample(k):
    x = [math.sin(0.37 * k + 1.3 * j) for j in range(FEATURES)]
    return torch.tensor(x), k


# --8<-- [part:]
class Waves(Dataset):
    # --8<-- [part:get]
    def __getitem__(self, k):
        if not 0 <= k < ITEMS:
            raise IndexError(f"there is no item {k}")
        return sample(k)

    # --8<-- [part:len]
    def __len__(self):
        return ITEMS


# --8<-- [end:dataset]


# --8<-- [start:batcher]
# --8<-- [part:collate]
def collate(samples):
    """Features (B, FEATURES) and labels (B,)."""
    x = torch.stack([x for x, _ in samples])
    y = torch.tensor([y for _, y in samples])
    return x, y


# --8<-- [part:loader]
def loader(dataset, batch_size=BATCH, **options):
    return DataLoader(dataset, batch_size, collate_fn=collate, **options)


# --8<-- [end:batcher]


# --8<-- [start:labels]
def labels(batches):
    """The labels of each batch of one pass."""
    return [y.tolist() for _, y in batches]


def epoch(batches):
    """All labels of one pass, in the order of arrival."""
    return [label for batch in labels(batches) for label in batch]


# --8<-- [end:labels]


def batches():
    section("batches")
    # --8<-- [start:batches]
    data = Waves()
    # --8<-- [part:lengths]
    print("items in the dataset:", len(data))
    print("len of the loader:", len(loader(data)))
    # --8<-- [part:batches]
    for x, y in loader(data):
        print(list(x.shape), y.tolist())
    # --8<-- [part:full]
    full = loader(data, drop_last=True)
    print("full batches:", labels(full))
    # --8<-- [end:batches]

    note("batches.len", len(loader(data)))
    record("batches.sizes", [len(y) for y in labels(loader(data))])
    record("batches.full", labels(full))
    for i, (x, y) in enumerate(loader(data)):
        record(f"batches.{i}.x", x)
        record(f"batches.{i}.y", y)
    mine, default = loader(data), DataLoader(data, BATCH)
    note(
        "batches.default_collate",
        all(
            torch.equal(a, b)
            for pair in zip(mine, default)
            for a, b in zip(*pair)
        ),
    )


def types():
    section("types")
    # --8<-- [start:types]
    numbers, labels = [0.1, 0.2], [3, 1]
    # --8<-- [part:float]
    print("floats, collated:", default_collate(numbers).dtype)
    # --8<-- [part:float-tensor]
    print("floats, tensor():", torch.tensor(numbers).dtype)
    # --8<-- [part:int]
    print("labels, collated:", default_collate(labels).dtype)
    # --8<-- [part:kept]
    y = torch.tensor(labels, dtype=torch.int32)
    print("labels, asked for:", y.dtype)
    # --8<-- [end:types]
    doubles = default_collate(numbers)
    note("types.collated", doubles)
    record("types.float64", torch.tensor(numbers, dtype=torch.float64))
    record("types.float32", torch.tensor(numbers))
    record("types.labels", default_collate(labels))


def large_label():
    section("large-label")
    # --8<-- [start:large-label]
    y = torch.tensor([3_000_000_000])
    print(y.dtype, y.tolist())
    # --8<-- [end:large-label]


def device():
    section("device")
    # --8<-- [start:device]
    x, _ = next(iter(loader(Waves())))
    print("loaded:", x.device)
    x = x.to("meta")
    print("moved by the loop:", x.device)
    # --8<-- [end:device]


def transforms():
    section("transforms")

    # --8<-- [start:transforms]
    def shown(dataset):
        return [y for _, y in dataset]

    data = Waves()
    # --8<-- [part:range]
    head = Subset(data, range(6))
    print("a range:", shown(head))
    # --8<-- [part:selection]
    picked = Subset(data, [7, 2, 2])
    print("a selection:", shown(picked))
    # --8<-- [part:joined]
    both = ConcatDataset([head, picked])
    print("joined:", shown(both))
    # --8<-- [part:split]
    seed = torch.Generator().manual_seed(7)
    train, valid = random_split(data, [8, 2], generator=seed)
    print("split:", shown(train), shown(valid))
    # --8<-- [end:transforms]

    section("mapper")

    # --8<-- [start:mapper]
    # --8<-- [part:map]
    class Flipped(Dataset):
        """The features in reverse order."""

        def __init__(self, inner):
            self.inner = inner

        def __getitem__(self, k):
            x, y = self.inner[k]
            return x.flip(0), y

        def __len__(self):
            return len(self.inner)

    flipped = Flipped(data)
    # --8<-- [part:window]
    windows = torch.arange(ITEMS).unfold(0, 4, 1)
    # --8<-- [part:]
    print("flipped:", torch.equal(flipped[1][0], data[1][0].flip(0)))
    print("windows:", len(windows), windows[0].tolist())
    # --8<-- [end:mapper]

    record("transforms.range", shown(head))
    record("transforms.selection", shown(picked))
    record("transforms.joined", shown(both))
    record("transforms.split.together", sorted(shown(train) + shown(valid)))
    record("transforms.split.sizes", [len(train), len(valid)])
    note("transforms.split.valid", shown(valid))
    record("transforms.flipped", torch.stack([x for x, _ in flipped]))
    record("transforms.windows", windows)


def sampling():
    section("sampler")
    # --8<-- [start:sampler]
    data = Waves()
    # --8<-- [part:make]
    sampler = RandomSampler(
        data,
        num_samples=15,
        generator=torch.Generator().manual_seed(7),
    )
    # --8<-- [part:draw]
    drawn = epoch(loader(data, sampler=sampler))
    # --8<-- [part:show]
    print("drawn:", drawn)
    print("distinct in the first ten:", len(set(drawn[:10])))
    # --8<-- [end:sampler]
    record("sampler.drawn", len(drawn))
    record("sampler.times", sorted(drawn.count(k) for k in range(ITEMS)))
    note("sampler.first", drawn)
    note("sampler.first_distinct", len(set(drawn[:10])))
    note(
        "sampler.reread_differs",
        sum(data[0][1] != data[0][1] for _ in range(100)),
    )
    note("sampler.replaces_by_default", RandomSampler(data).replacement)


def shuffling():
    section("shuffle")

    # --8<-- [start:shuffle]
    # --8<-- [part:loader]
    def shuffled(seed, **options):
        generator = torch.Generator().manual_seed(seed)
        return loader(Waves(), shuffle=True, generator=generator, **options)

    # --8<-- [part:use]
    batches = shuffled(7)
    first, second = epoch(batches), epoch(batches)
    print("epoch 1:", first)
    print("epoch 2:", second)
    print("same seed again:", epoch(shuffled(7)) == first)
    # --8<-- [end:shuffle]

    section("global-seed")

    # --8<-- [start:global-seed]
    def order(draw):
        torch.manual_seed(7)
        if draw:
            torch.rand(3)  # such as weights or dropout
        return epoch(loader(Waves(), shuffle=True))

    same = order(draw=False) == order(draw=True)
    print("a draw in between, same order:", same)
    # --8<-- [end:global-seed]

    record("shuffle.first.items", sorted(first))
    record("shuffle.second.items", sorted(second))
    record("shuffle.epochs_differ", first != second)
    record("shuffle.same_seed", epoch(shuffled(7)) == first)
    record("shuffle.other_seed", epoch(shuffled(8)) == first)
    note("shuffle.first", first)
    note("shuffle.second", second)
    note("shuffle.same_despite_draw", same)
    with_workers = epoch(shuffled(7, **workers(2)))
    note("shuffle.same_with_workers", with_workers == first)
    note("shuffle.with_workers", with_workers)


# --8<-- [start:workers]
# --8<-- [part:workers]
def workers(n):
    """Options for n worker processes that live on."""
    if n == 0:
        return {}
    return {
        "num_workers": n,
        "persistent_workers": True,
        "multiprocessing_context": "fork",
    }


# --8<-- [part:slow]
class SlowStart(Waves):
    def __getitem__(self, k):
        if k == 0:
            time.sleep(0.05)
        return super().__getitem__(k)


# --8<-- [end:workers]


def arrival():
    section("arrival")
    # --8<-- [start:arrival]
    data = SlowStart()
    for n in [0, 2]:
        arrived = labels(loader(data, **workers(n)))
        print(f"{n} workers:", arrived)
    # --8<-- [end:arrival]
    note(
        "arrival.first",
        [labels(loader(data, **workers(n)))[0][0] for n in (0, 2)],
    )
    free = loader(data, in_order=False, **workers(2))
    labels(free)  # from here on both workers are up
    note("arrival.free", labels(free)[0][0])
    plain = loader(Waves(), **workers(2))
    by_number = sorted(plain, key=lambda batch: batch[1][0].item())
    for i, (x, y) in enumerate(by_number):
        record(f"workers.{i}.x", x)
        record(f"workers.{i}.y", y)


# --8<-- [start:mix]
def mix(batches, batch_size):
    """Over 100 epochs: pairs that met in a batch, items of short batches."""
    met, last = set(), set()
    for _ in range(100):
        for y in labels(batches):
            met.update(combinations(sorted(y), 2))
            if len(y) < batch_size:
                last.update(y)
    return len(met), len(last)


# --8<-- [end:mix]


def mixing():
    section("mixing")

    # --8<-- [start:mixing]
    # --8<-- [part:loader]
    def shuffled(items, batch_size, n):
        generator = torch.Generator().manual_seed(7)
        data = Subset(Waves(), range(items))
        options = {"shuffle": True, "generator": generator}
        return loader(data, batch_size, **options, **workers(n))

    # --8<-- [part:mixed]
    def mixed(n):
        met, _ = mix(shuffled(8, 2, n), 2)
        _, last = mix(shuffled(10, 4, n), 4)
        return met, last

    # --8<-- [part:print]
    results = {n: mixed(n) for n in [0, 2]}
    for n, (met, last) in results.items():
        print(f"{n} workers: {met} pairs met, {last} items in the short batch")
    # --8<-- [end:mixing]

    for n, (met, last) in results.items():
        note(f"mixing.{n}.met", met)
        note(f"mixing.{n}.last", last)


def unreadable():
    # --8<-- [start:torn]
    class Torn(Waves):
        """Item 5 can't be read."""

        def __getitem__(self, k):
            if k == 5:
                raise OSError(f"item {k} is torn")
            return super().__getitem__(k)

    # --8<-- [end:torn]

    section("errors")
    # --8<-- [start:errors]
    batches = iter(loader(Torn()))
    for _ in range(5):
        try:
            _, y = next(batches)
            print("batch", y.tolist())
        except OSError as error:
            print("error:", error)
        except StopIteration:
            print("end")
            break
    # --8<-- [end:errors]

    def counted(batches):
        good = bad = 0
        for _ in range(1000):
            try:
                next(batches)
                good += 1
            except OSError:
                bad += 1
            except StopIteration:
                break
        return [good, bad]

    for n in (0, 2):
        note(f"errors.{n}", counted(iter(loader(Torn(), **workers(n)))))


def broken_batcher():
    # --8<-- [start:broken-batcher]
    def broken(samples):
        x, y = collate(samples)
        assert 5 not in y, "label 5 has no class"
        return x, y

    section("broken-batcher")
    batches = DataLoader(Waves(), BATCH, collate_fn=broken, **workers(2))
    for epoch in [1, 2]:
        seen = 0
        try:
            for _, y in batches:
                seen += len(y)
        except AssertionError as error:
            print(str(error).splitlines()[0])
            sys.exit(f"epoch {epoch} stopped after {seen} items")
        print(f"epoch {epoch} ended after {seen} items")
    # --8<-- [end:broken-batcher]


def cost():
    kept = loader(Waves(), **workers(2))
    labels(kept)
    timing("none", 20, lambda: labels(loader(Waves())))
    timing("kept", 20, lambda: labels(kept))
    timing("new", 5, lambda: labels(loader(Waves(), **workers(2))))


match sys.argv[1:]:
    case []:
        batches()
        types()
        device()
        transforms()
        sampling()
        shuffling()
        arrival()
        mixing()
        unreadable()
    case ["large-label"]:
        large_label()
    case ["broken-batcher"]:
        broken_batcher()
    case ["cost"]:
        cost()
