"""One small network into files and out of them, PyTorch's own and burn's.

Run in this folder, it writes the files in `from_pytorch/` anew, which the burn program reads.
"""

import copy
import json
import math
import sys
import zipfile
from pathlib import Path

import torch
import torch.nn.functional as F
from safetensors.torch import load_file, save_file
from torch import nn

from lesson import note, record, section

torch.set_num_threads(1)
HERE = Path(__file__).parent
OUT = Path("from_pytorch")  # what the burn program gets
OUT.mkdir(exist_ok=True)


# --8<-- [start:model]
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(4, 8)
        self.norm = nn.BatchNorm1d(8)
        self.fc2 = nn.Linear(8, 3)

    def forward(self, x):
        return self.fc2(F.relu(self.norm(self.fc1(x))))


# --8<-- [end:model]


# --8<-- [start:values]
# --8<-- [part:formula]
def wave(f, k, shape):
    """f(100 k) / 2, f(100 k + 1) / 2, … in float64, rounded once."""
    values = [f(100 * k + i) / 2 for i in range(math.prod(shape))]
    return torch.tensor(values, dtype=torch.float64).float().reshape(shape)


# --8<-- [part:values]
def build(f):
    """f is the sine; the cosine makes a second network."""
    model = Net().eval()
    for k, (name, tensor) in enumerate(model.state_dict().items()):
        if name == "norm.running_var":
            tensor.copy_(wave(lambda i: f(i) + 2, k, tensor.shape))
        elif name == "norm.num_batches_tracked":
            tensor.fill_(7)
        else:
            tensor.copy_(wave(f, k, tensor.shape))
    return model


# --8<-- [end:values]


def small(divisor=1, dtype=torch.float32):
    linear = nn.Linear(2, 2, dtype=dtype)
    weight = torch.tensor([[1.0, 2.0], [3.0, 4.0]], dtype=dtype) / divisor
    linear.load_state_dict({"weight": weight, "bias": torch.zeros(2)})
    return linear


def batch():
    return wave(lambda i: math.sin(0.37 * i), 0, (5, 4))


def fingerprint(data):
    """FNV-1a, 64 bits, as a signed integer."""
    found = 0xCBF29CE484222325
    for byte in data:
        found = (found ^ byte) * 0x100000001B3 % 2**64
    return torch.tensor(found - 2**64 * (found >> 63))


def own():
    model = build(math.sin)
    section("names")
    # --8<-- [start:names]
    for name, tensor in model.state_dict().items():
        dtype = str(tensor.dtype).removeprefix("torch.")
        print(f"{name:<24} {dtype:<8} {list(tensor.shape)}")
    # --8<-- [end:names]

    section("own")
    # --8<-- [start:own]
    # --8<-- [part:save]
    torch.save(model.state_dict(), OUT / "model.pt")

    # --8<-- [part:load]
    again = Net()
    print(again.load_state_dict(torch.load(OUT / "model.pt")))
    again.eval()
    # --8<-- [end:own]
    x = batch()
    record("x", x)
    record("own.logits", model(x))
    note("own.again", again(x))
    for name, tensor in model.state_dict().items():
        if tensor.is_floating_point():
            record(f"tensor.{name}", tensor)

    # --8<-- [start:safetensors]
    save_file(model.state_dict(), OUT / "model.safetensors")
    # --8<-- [end:safetensors]
    return model


def inside():
    section("inside")
    # --8<-- [start:inside]
    data = (OUT / "model.safetensors").read_bytes()
    length = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + length])
    print("model.safetensors:", 8, "+", length, "+", len(data) - 8 - length)
    for name in ("norm.num_batches_tracked", "fc1.bias"):
        print(" ", name, header[name]["dtype"], header[name]["data_offsets"])

    archive = zipfile.ZipFile(OUT / "model.pt")
    print("model.pt: a zip with", len(archive.namelist()), "entries")
    for name in ("data.pkl", "data/0"):
        print(" ", name, archive.getinfo(f"model/{name}").file_size)
    # --8<-- [end:inside]
    note("safetensors.size", len(data))
    note("safetensors.header", length)
    floats = 8 + length + header["fc1.bias"]["data_offsets"][0]
    record("safetensors.floats", fingerprint(data[floats:]))
    record("safetensors.float_bytes", len(data) - floats)
    file = (OUT / "model.pt").read_bytes()
    note("pt.size", len(file))
    tensors = [e for e in archive.infolist() if "/data/" in e.filename]
    note("pt.tensors", sum(e.file_size for e in tensors))
    # a local header: 30 bytes, of which the last 4 are the lengths of the
    # name and of the padding that follow it
    starts = []
    for entry in tensors:
        local = file[entry.header_offset :][:30]
        lengths = [int.from_bytes(local[i : i + 2], "little") for i in (26, 28)]
        starts.append(entry.header_offset + 30 + sum(lengths))
    note("pt.starts", starts)
    pickle = archive.read("model/data.pkl")
    note("pt.pickle", len(pickle))


def for_burn(model):
    """The other files that burn reads; what PyTorch makes of them."""
    # --8<-- [start:checkpoint]
    parallel = nn.DataParallel(model)  # prefixes every name: module.…
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    checkpoint = {
        "epoch": 3,
        "model": parallel.state_dict(),
        "optimizer": optimizer.state_dict(),
    }
    torch.save(checkpoint, OUT / "checkpoint.pt")
    # --8<-- [end:checkpoint]

    save_file(small().state_dict(), OUT / "square.safetensors")
    double = small(3, torch.float64).state_dict()
    torch.save(double, OUT / "double.pt")
    save_file(double, OUT / "double.safetensors")

    # --8<-- [start:sequential]
    net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3))
    # --8<-- [end:sequential]
    with torch.no_grad():
        net[0].weight.copy_(model.fc1.weight)
        net[0].bias.copy_(model.fc1.bias)
        net[2].weight.copy_(model.fc2.weight)
        net[2].bias.copy_(model.fc2.bias)
    state = {f"layers.{k}": v for k, v in net.state_dict().items()}
    torch.save(state, OUT / "sequential.pt")
    save_file(state, OUT / "sequential.safetensors")
    record("sequential.logits", net(batch()))


def nested():
    section("nested")
    # --8<-- [start:nested]
    # --8<-- [part:key]
    state = torch.load(OUT / "checkpoint.pt")["model"]
    # --8<-- [part:rename]
    state = {k.removeprefix("module."): v for k, v in state.items()}
    # --8<-- [part:load]
    again = Net()
    print(again.load_state_dict(state))
    # --8<-- [end:nested]
    record("nested.logits", again.eval()(batch()))


def from_burn():
    section("from_burn")
    # --8<-- [start:from_burn]
    state = load_file(HERE / "from_burn" / "model.safetensors")
    model = Net()
    print(len(state), "tensors;", model.load_state_dict(state))
    model.eval()
    # --8<-- [end:from_burn]
    record("from_burn.logits", model(batch()))
    note("from_burn.tracked", model.norm.num_batches_tracked)
    data = (HERE / "from_burn" / "model.safetensors").read_bytes()
    length = int.from_bytes(data[:8], "little")
    record("from_burn.data", fingerprint(data[8 + length :]))
    note("from_burn.size", len(data))
    note("from_burn.header", length)


# --8<-- [start:strict]
# --8<-- [part:cases]
CASES = {  # what is saved, what it is loaded into
    "missing": (nn.Linear(3, 2, bias=False), nn.Linear(3, 2)),
    "unexpected": (nn.Linear(3, 2), nn.Linear(3, 2, bias=False)),
    "shape": (nn.Linear(3, 4), nn.Linear(3, 2)),
}


# --8<-- [part:try]
def loads(target, state, strict):
    try:
        target.load_state_dict(state, strict=strict)
    except RuntimeError:
        return False
    return True


# --8<-- [end:strict]


def strict():
    for name, (saved, target) in CASES.items():
        for option in (True, False):
            loaded = loads(target, saved.state_dict(), option)
            note(f"strict.{name}.{option}", loaded)


def half_loaded():
    section("half")
    # --8<-- [start:half]
    # --8<-- [part:try]
    target = nn.Linear(3, 2)
    state = {"weight": torch.full((2, 3), 5.0)}  # and no bias
    try:
        target.load_state_dict(state)
    except RuntimeError as error:
        print(str(error).splitlines()[1].strip())

    # --8<-- [part:look]
    print("weight:", target.weight.flatten().tolist())
    # --8<-- [end:half]
    record("half.weight", target.weight)


def copies():
    section("copies")
    # --8<-- [start:copies]
    # --8<-- [part:copy]
    original = build(math.cos)
    before = original.norm.running_mean.clone()
    copied = copy.deepcopy(original)
    copied.load_state_dict(torch.load(OUT / "model.pt"))

    # --8<-- [part:look]
    after = original.norm.running_mean
    print("weight kept:", not original.fc1.weight.equal(copied.fc1.weight))
    print("running mean kept:", after.equal(before))
    # --8<-- [end:copies]
    note("copies.mean_kept", after.equal(before))


def statistics():
    section("statistics")
    # --8<-- [start:statistics]
    # --8<-- [part:forward]
    model = build(math.cos).train()
    before = model.norm.running_mean.clone()
    model(batch())

    # --8<-- [part:saved]
    torch.save(model.state_dict(), "trained.pt")
    mean = torch.load("trained.pt")["norm.running_mean"]
    print("saved at once, as before:", mean.equal(before))
    # --8<-- [end:statistics]
    note("statistics.early", mean)
    record("statistics.mean", mean)


def dtype():
    section("dtype")
    # --8<-- [start:dtype]
    linear = nn.Linear(2, 2)
    linear.load_state_dict(torch.load(OUT / "double.pt"))
    print(linear.weight.dtype)
    # --8<-- [end:dtype]
    record("dtype.weight", linear.weight)


def files():
    for path in sorted(OUT.iterdir()):
        record(f"file.{path.name}", fingerprint(path.read_bytes()))


def everything():
    model = own()
    inside()
    for_burn(model)
    nested()
    from_burn()
    strict()
    half_loaded()
    copies()
    statistics()
    dtype()
    files()


def square():
    section("square")
    # --8<-- [start:square]
    # --8<-- [part:saved]
    x = torch.tensor([1.0, 0.0])
    saved = small()(x)
    print("saved: ", saved.tolist())

    # --8<-- [part:loaded]
    linear = nn.Linear(2, 2)
    path = HERE / "from_burn" / "square.safetensors"
    print(linear.load_state_dict(load_file(path)))
    loaded = linear(x)
    print("loaded:", loaded.tolist())
    # --8<-- [end:square]
    record("square.saved", saved)
    record("square.loaded", loaded)


def double():
    section("double")
    save = small(3, torch.float64).state_dict()
    linear = nn.Linear(2, 2)
    # --8<-- [start:double]
    linear.load_state_dict(save)
    print(linear(torch.tensor([1.0, 0.0])))
    # --8<-- [end:double]


match sys.argv[1:]:
    case []:
        everything()
    case ["square"]:
        square()
    case ["double"]:
        double()
