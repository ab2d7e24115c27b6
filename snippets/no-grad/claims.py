"""What the page asserts of its runs."""

import numpy as np

from scripts.claims import (
    Agreement,
    Side,
    Verdict,
    at_most,
    claim,
    different,
    equal,
    figure,
    less,
    same_bits,
)

COUNTS = {
    "en": "these are counts and truth values, which no rounding touches",
    "zh": "这些是个数和真假值，与舍入无关",
}

states = Agreement(
    within=0.0,
    because=COUNTS,
    values=(
        *("switches.tracked", "freeze.counts", "graph.after"),
        *("evaluation.off", "evaluation.training"),
    ),
)

same_task = Agreement(
    within=1e-7,
    because={
        "en": "the numbers are computed in float64 and rounded once; two mathematical libraries may differ in the last bit of a sine, which is one float32 step of 6e-8 at most",
        "zh": "这些数用 float64 算好，只舍入一次；两个数学库的正弦可能差最后一位，至多是 float32 的一格 6e-8",
    },
    values=("task.*",),
)

values = Agreement(
    within=1e-6,
    because={
        "en": "the numbers are below 1 and come from sums of at most eight terms: room for 16 float32 steps of 6e-8, while a missing gradient would show in the first digits",
        "zh": "这些数都小于 1，由至多八项的和得来：容得下 16 格 6e-8 的 float32 舍入；梯度若少了一路，头几位数字就不同",
    },
    values=(
        *("switches.y*", "mixed.*", "through.*", "freeze.[lhbg]*"),
        *("target.*", "average.*"),
    ),
)

held = Agreement(
    within=0.0,
    because=COUNTS,
    values=(
        "graph.held",
        "relu.*",
        "evaluation.[di]*",
        "evaluation.total",
        "teacher.*",
    ),
    agrees=False,
)


@claim(
    en="The output of the model has the same bits with tracking and without, on both sides: {left} of {right} numbers",
    zh="不管跟踪与否，模型的输出都逐位相同，两边都是：{right} 个数中的 {left} 个",
)
def same_output(torch: Side, burn: Side) -> Verdict:
    def both(name):
        return np.concatenate([torch[name], burn[name]])

    return same_bits(both("switches.y"), both("switches.y_off"))


@claim(
    en="After valid() and train(), the model is tracked again",
    zh="valid() 再 train() 之后，模型又被跟踪了",
)
def round_trip(torch: Side, burn: Side) -> Verdict:
    return equal(bool(burn["switches.round_trip"][0]), True)


@claim(
    en="freeze() lasts through valid() and train(), and unfreeze() undoes it: {left}",
    zh="freeze() 经过 valid() 和 train() 仍然有效，unfreeze() 撤销它：{left}",
)
def freeze_lasts(torch: Side, burn: Side) -> Verdict:
    names = "freeze", "freeze_train", "unfreeze"
    states = [bool(b) for n in names for b in burn[f"switches.{n}"]]
    return equal(states, [False] * 4 + [True] * 2)


@claim(
    en="Frozen by name, the body asks for no gradient and the head does, on both sides: {left}",
    zh="按名字冻结之后，主体不要梯度，头部要，两边都是：{left}",
)
def by_name(torch: Side, burn: Side) -> Verdict:
    states = [bool(b) for s in (torch, burn) for b in s["switches.by_name"]]
    return equal(states, [False, True] * 2)


@claim(
    en="With the body frozen, the head's gradient has the same bits as without, on both sides: {left} of {right} numbers",
    zh="冻结主体之后，头部的梯度与不冻结时逐位相同，两边都是：{right} 个数中的 {left} 个",
)
def same_head_gradient(torch: Side, burn: Side) -> Verdict:
    def both(name):
        return np.concatenate(
            [torch[f"freeze.gradient.{name}"], burn[f"freeze.gradient.{name}"]]
        )

    return same_bits(both("whole"), both("part"))


@claim(
    en="The gradient through a plain tensor has the bits of the gradient with the body frozen, on both sides: {left} of {right} numbers",
    zh="经过普通张量算出的梯度，与冻结主体时的梯度逐位相同，两边都是：{right} 个数中的 {left} 个",
)
def mixed_as_frozen(torch: Side, burn: Side) -> Verdict:
    def both(name):
        return np.concatenate([torch[name], burn[name]])

    return same_bits(both("mixed.gradient"), both("freeze.gradient.part"))


@claim(
    en="After all steps with weight decay, the frozen weights have their first bits on both sides: {left} of {right}",
    zh="带权重衰减训练完，冻结的权重仍是最初的那些位，两边都是：{right} 个数中的 {left} 个",
)
def frozen_bits(torch: Side, burn: Side) -> Verdict:
    def both(name):
        return np.concatenate([torch[name], burn[name]])

    return same_bits(both("freeze.body"), both("task.body"))


@claim(
    en="The body would have a gradient if it were not frozen: its largest entry, {right}, is above {left}",
    zh="主体若不冻结，本来有梯度：最大的一个数 {right} 大于 {left}",
)
def body_has_gradient(torch: Side, burn: Side) -> Verdict:
    return less(1e-3, float(np.abs(burn["freeze.gradient.body"]).max()))


@claim(
    en="Training the head alone lowers the loss on both sides: the larger ratio of last to first loss is {left}",
    zh="只训练头部，两边的损失都下降：末次与首次之比，较大的一个是 {left}",
)
def head_learns(torch: Side, burn: Side) -> Verdict:
    ratios = [
        side["freeze.losses"][-1] / side["freeze.losses"][0]
        for side in (torch, burn)
    ]
    return at_most(float(max(ratios)), 0.9)


@claim(
    en="For the whole model burn keeps {left} activations more than PyTorch, as many as it has relus ({right})",
    zh="整个模型都训练时，burn 比 PyTorch 多留 {left} 个激活，与 relu 的个数（{right}）相同",
)
def one_for_each_relu(torch: Side, burn: Side) -> Verdict:
    extra = burn["graph.held"][0] - torch["graph.held"][0]
    return equal(int(extra), 2)


@claim(
    en="With the body frozen both keep {left} activation, the input of the head",
    zh="冻结主体后两边都只留 {left} 个激活，即头部的输入",
)
def body_frozen(torch: Side, burn: Side) -> Verdict:
    left, right = (int(s["graph.held"][2]) for s in (torch, burn))
    return equal(left, right)


@claim(
    en="With the head frozen, PyTorch keeps as many activations as before and burn one less: {left} fewer, PyTorch first",
    zh="冻结头部后，PyTorch 留的激活个数不变，burn 少留一个：PyTorch 和 burn 分别少 {left}",
)
def head_frozen(torch: Side, burn: Side) -> Verdict:
    fewer = [
        int(s["graph.held"][0] - s["graph.held"][1]) for s in (torch, burn)
    ]
    return equal(fewer, [0, 1])


@claim(
    en="relu keeps its input alive in burn and its output in PyTorch: {right} blocks against {left}",
    zh="burn 的 relu 让输入留着，PyTorch 的留着输出：{right} 块对 {left} 块",
)
def relu_input(torch: Side, burn: Side) -> Verdict:
    return less(int(torch["relu.alive"][0]), int(burn["relu.alive"][0]))


def counts(side: Side, *names: str) -> list[int]:
    return [int(n) for name in names for n in side[f"evaluation.{name}"]]


@claim(
    en="In PyTorch, with detach() or item() no batch leaves an activation behind: {left}",
    zh="PyTorch 里用 detach() 或 item()，没有一批留下激活：{left}",
)
def torch_releases(torch: Side, burn: Side) -> Verdict:
    return equal(sum(counts(torch, "detach", "item")), 0)


@claim(
    en="In burn neither detach() nor reading the number changes what is left after each batch: {left}",
    zh="burn 里 detach() 和读出数值都不改变每批之后留下的个数：{left}",
)
def burn_keeps(torch: Side, burn: Side) -> Verdict:
    once = counts(burn, "total")
    return equal(counts(burn, "detach", "item"), once + once)


@claim(
    en="burn's count grows by the same number with every batch, {left}",
    zh="burn 每批增加的个数都一样：{left}",
)
def burn_grows(torch: Side, burn: Side) -> Verdict:
    steps = np.diff(burn["evaluation.item"])
    return equal(
        f"{steps.min()} to {steps.max()}",
        "{0} to {0}".format(burn["graph.held"][0]),
    )


@claim(
    en="With every tensor dropped, burn still holds {left} activations, as many as after the last batch ({right})",
    zh="所有张量都丢弃之后，burn 还留着 {left} 个激活，与最后一批之后（{right} 个）一样多",
)
def dropped_and_held(torch: Side, burn: Side) -> Verdict:
    return equal(
        int(burn["evaluation.item.dropped"][0]),
        int(burn["evaluation.item"][-1]),
    )


@claim(
    en="One backward of the same model later, nothing is left: {left}",
    zh="同一个模型再做一次 backward，就一个不剩：{left}",
)
def swept(torch: Side, burn: Side) -> Verdict:
    ways = "total", "detach", "item"
    return equal(sum(counts(burn, *(f"{w}.swept" for w in ways))), 0)


@claim(
    en="With valid() and plain inputs nothing grows in 1000 forward passes: {left} bytes",
    zh="用 valid() 和普通输入，一千次前向什么也没有增加：{left} 字节",
)
def nothing_grows(torch: Side, burn: Side) -> Verdict:
    return equal(int(burn["growth.both"][0]), 0)


@claim(
    en="With valid() alone and an input on the autodiff device the bookkeeping grows by at least {left} bytes a pass",
    zh="只用 valid()，而输入在带 autodiff 的设备上，每次前向至少多出 {left} 字节的登记",
)
def bookkeeping_grows(torch: Side, burn: Side) -> Verdict:
    least = min(burn["growth.valid"][0], burn["growth.no_grad"][0])
    return less(1000, int(least) // 1000)


@claim(
    en="For the tracked model a plain input makes no difference: the growth is within {right} of the one with the input on the autodiff device, {left}",
    zh="模型被跟踪，输入不带 autodiff 也一样：增长的差别为 {left}，不超过 {right}",
)
def input_is_no_help(torch: Side, burn: Side) -> Verdict:
    tracked, plain = (int(burn[f"growth.{n}"][0]) for n in ("model", "input"))
    return at_most(abs(plain - tracked) / tracked, 0.05)


@claim(
    en="An operation without a tracked input leaves more behind than one with, since it gets a graph of its own: {right} bytes against {left}, for a product with a number",
    zh="输入都不被跟踪的运算自成一图，比输入被跟踪的留下得多：乘一个数，{right} 字节对 {left} 字节",
)
def graph_of_its_own(torch: Side, burn: Side) -> Verdict:
    tracked, alone = (
        int(burn[f"growth.{n}"][0] / burn["growth.passes"][0])
        for n in ("tracked", "untracked")
    )
    return less(tracked, alone)


@claim(
    en="The next backward takes it all away: less than {right} bytes are left of the growth, {left}",
    zh="下一次 backward 全部清掉：剩下 {left} 字节，少于 {right}",
)
def growth_swept(torch: Side, burn: Side) -> Verdict:
    return less(int(burn["growth.left"][0]), 10_000)


@claim(
    en="A tracked teacher holds more in burn after every step: {left}",
    zh="burn 里没有关掉的教师，每一步之后都留得更多：{left}",
)
def teacher_grows(torch: Side, burn: Side) -> Verdict:
    steps = np.diff(burn["teacher.tracked"])
    return equal(
        [int(n) for n in steps], [int(burn["graph.held"][0])] * len(steps)
    )


@claim(
    en="Once a backward has gone through the teacher, it holds nothing after the student's: {left}",
    zh="只要教师自己做过一次 backward，学生的 backward 之后它就什么也不留：{left}",
)
def teacher_trained(torch: Side, burn: Side) -> Verdict:
    return equal(int(burn["teacher.trained"].sum()), 0)


@claim(
    en="In PyTorch the same teacher holds nothing: {left}",
    zh="PyTorch 里同样的教师什么也不留：{left}",
)
def torch_teacher(torch: Side, burn: Side) -> Verdict:
    return equal(int(torch["teacher.tracked"].sum()), 0)


@claim(
    en="After valid(), burn's teacher adds nothing: the count stays at {left}",
    zh="做过 valid() 的教师不再增加：个数停在 {left}",
)
def teacher_valid(torch: Side, burn: Side) -> Verdict:
    off = [int(n) for n in burn["teacher.valid"]]
    return equal(f"{min(off)} to {max(off)}", "{0} to {0}".format(off[0]))


@claim(
    en="Without the snapshot the gradient is another: {left} against {right}",
    zh="不取快照，梯度就是另一个：{left} 对 {right}",
)
def forgotten_differs(torch: Side, burn: Side) -> Verdict:
    right, forgotten = burn["target.right"], burn["target.forgotten"]
    return different(f"{right[0, 0]:.4f}", f"{forgotten[0, 0]:.4f}")


@claim(
    en="The tracked average has the same bits as the plain one on both sides",
    zh="被跟踪的平均与普通的平均逐位相同，两边都是",
)
def same_average(torch: Side, burn: Side) -> Verdict:
    same = [bool(s["average.same"].item()) for s in (torch, burn)]
    return equal(same, [True, True])


@claim(
    en="detach() alone shares memory with the parameter in PyTorch, val() in burn keeps the old numbers",
    zh="PyTorch 里单有 detach() 与参数共用内存；burn 的 val() 留着旧的数",
)
def shares_memory(torch: Side, burn: Side) -> Verdict:
    followed = [bool(s["average.followed"].item()) for s in (torch, burn)]
    return equal(followed, [True, False])


@claim(
    en="In PyTorch the tracked average drags more than three nodes for each step behind it: {right}, which is more than {left}",
    zh="PyTorch 里被跟踪的平均，每步拖着的节点不止三个：共 {right} 个，多于 {left}",
)
def chain_grows(torch: Side, burn: Side) -> Verdict:
    steps = int(torch["freeze.losses"].size)
    return less(3 * steps, int(torch["average.nodes"].item()))


@claim(
    en="Frozen after backward, PyTorch's layer moves by {right}, more than {left}",
    zh="backward 之后才冻结，PyTorch 的这一层移动了 {right}，大于 {left}",
)
def late_torch(torch: Side, burn: Side) -> Verdict:
    return less(1e-3, float(torch.run("late")["late.moved"].item()))


@claim(
    en="Frozen after backward, burn's layer moves by {left}",
    zh="backward 之后才冻结，burn 的这一层移动了 {left}",
)
def late_burn(torch: Side, burn: Side) -> Verdict:
    return equal(float(burn.run("late")["late.moved"].item()), 0.0)


@claim(
    en="Frozen after from_grads, burn's layer moves as PyTorch's does: within {right} of it",
    zh="from_grads 之后才冻结，burn 的这一层与 PyTorch 的移动得一样多：相差不超过 {right}",
)
def later_burn(torch: Side, burn: Side) -> Verdict:
    left = torch.run("late")["late.moved"].item()
    right = burn.run("late")["later.moved"].item()
    return at_most(abs(left - right), 1e-6)


@claim(
    en="With the gradients of the frozen part discarded, PyTorch's layer moves by {left}",
    zh="把冻结部分的梯度清掉，PyTorch 的这一层移动了 {left}",
)
def mended_torch(torch: Side, burn: Side) -> Verdict:
    return equal(float(torch.run("late")["mended.moved"].item()), 0.0)


@figure
def growth_alone(torch: Side, burn: Side) -> float:
    """Kilobytes that one operation without a tracked input leaves in the registry."""
    return float(burn["growth.untracked"][0] / burn["growth.passes"][0]) / 1024


@figure
def growth_each(torch: Side, burn: Side) -> float:
    """Kilobytes of bookkeeping for each forward pass of a model after no_grad()."""
    return float(burn["growth.no_grad"][0]) / 1000 / 1024
