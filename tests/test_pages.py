"""The checker of page sources: a good site gives no problem, and each fault of the tables is told, with its line."""

from pathlib import Path
from time import process_time
from typing import NamedTuple

import pytest

from scripts.check_pages import check, main, nav
from scripts.pages_mermaid import statements

ZH = """\
---
title: 训练循环
description: 同一个训练循环，PyTorch 与 burn 各写一遍。
---

# 训练循环 { #training-loop }

本页在 [主线](../index.md#main-line) 上。损失是 {{ num(pytorch.loss[0], ".3f") }}，见 [损失](#loss) 与脚注[^adam]。

[^adam]: 优化器的默认值见 [Adam](https://pytorch.org/docs/2.15/generated/torch.optim.Adam.html)。

```mermaid
%%{init: {"theme": "base"}}%%
flowchart LR
    accTitle: 训练的一步
    accDescr: 从批次到参数
    data[批次] --> model["Linear 层<br/>前向"]
    subgraph update["更新"]
      model -- 损失 --> backward{反向}
      backward -->|"梯度"| optimizer([优化器])
    end
    style data fill:#f96,stroke-width:2px
```

## 两个程序 { #programs }

!!! tip "怎样运行"
    先看 `Conv1d` 与 f32，再看下表。

=== "PyTorch"

    {{ output("pytorch", "train") }}

=== "burn"

    {{ output("burn", "train") }}

{{ pair("train",
        title="a } b") }}

| 名称 | PyTorch | burn |
|---|---|---|
| 损失 | {{ num(pytorch.loss[0], ".3f") }} | {{ num(burn.loss[0] | float, ".3f") }} |
| 评估模式 | `model.eval()` | `model.valid()` |

1. 前向：`Tensor<3>` 进，`Tensor<1>`
   出；
2. 反向，然后看 **损失** 下降。

    - `weight` 的梯度
    - `bias` 的梯度（见 [官网](https://burn.dev/0.22)）

![损失曲线](loss.svg "训练与评估"){ width="300" #curve }

## 损失 { #loss }

{{ comparison("pytorch-burn") }}

万一不一致，就看十分之几、百分之几的差在哪里。千万别跳过：第一步、第二步都要看。

??? note "没有蠢问题"
    **问：** 为什么要调用 `model.valid()`？

    **答：** 因为它关掉 Dropout；见 {{ claim("learner-same-bits") }}。

!!! important "动脑筋"
    换成两倍的学习率，损失会怎样？不用动量呢？

    {{ option("faster") }} {{ option("diverges") }} {{ teaser("double-rate") }}

    {{ option("slower") }} {{ option("still") }} {{ teaser("no-momentum") }}

## 动脑筋的答案 { #answers }

### 两倍的学习率 { #double-rate }

{{ option("faster") }} {{ option("diverges") }} {{ answer("double-rate", "diverges") }}

两边都发散，原因在动量。

{{ run("brain-teaser") }}

### 不用动量 { #no-momentum }

损失稳步下降。

{{ option("slower") }} {{ option("still") }} {{ answer("no-momentum", "slower") }}

{{ output("burn", "momentum") }}

## 小结 { #summary }

<div class="grid" markdown>

- 同样的位 :material-check:
- 同样的步骤

</div>

{{ receipt() }}
"""

EN = """\
---
title: Training loop
description: One training loop, written in PyTorch and in burn.
---

# Training loop { #training-loop }

This page is on the [main line](../index.md#main-line). The loss is {{ num(pytorch.loss[0],   ".3f") }},
see [the loss](#loss) and the footnote.[^adam]

[^adam]: The optimizer's defaults are those of [Adam](https://pytorch.org/docs/2.15/generated/torch.optim.Adam.html).

```mermaid
%%{init: {"theme": "base"}}%%
flowchart LR
    accTitle: One step of training
    accDescr: From a batch to parameters
    data[batch] --> model["Linear layer<br/>forward"]
    subgraph update["update"]
      model -- loss --> backward{backward}
      backward -->|"gradients"| optimizer([optimizer])
    end
    style data fill:#f96,stroke-width:2px
```

## Two programs { #programs }

!!! tip "How to run it"
    See `Conv1d` and f32 first, then the table.

=== "PyTorch"

    {{ output("pytorch", "train") }}

=== "burn"

    {{ output("burn", "train") }}

{{ pair("train", title="a } b") }}

| Name | PyTorch | burn |
|---|---|---|
| loss | {{ num(pytorch.loss[0], ".3f") }} | {{ num(burn.loss[0]|float, ".3f") }} |
| evaluation | `model.eval()` | `model.valid()` |

1. Forward: `Tensor<3>` goes in, `Tensor<1>` comes out;
2. backward, and then **the loss** falls.

    - the gradient of `weight`
    - the gradient of `bias` (see [the site](https://burn.dev/0.22))

![The loss curve](loss.svg "Training and evaluation"){ width="300" #curve }

## Loss { #loss }

{{ comparison("pytorch-burn") }}

If they differ, see where two or three tenths come from; GPT-2 and utf-8 are names. Never skip: see both steps.

??? note "No dumb questions"
    **Q:** Why call `model.valid()`?

    **A:** Because it turns Dropout off; see {{ claim("learner-same-bits") }}.

!!! important "Brain-teaser"
    What does the loss do at twice the learning rate? And without momentum?

    {{ option("faster") }} {{ option("diverges") }} {{ teaser("double-rate") }}

    {{ option("slower") }} {{ option("still") }} {{ teaser("no-momentum") }}

## Answers { #answers }

### Twice the learning rate { #double-rate }

{{ option("faster") }} {{ option("diverges") }} {{ answer("double-rate", "diverges") }}

Both diverge, because of momentum.

{{ run("brain-teaser") }}

### Without momentum { #no-momentum }

The loss falls steadily.

{{ option("slower") }} {{ option("still") }} {{ answer("no-momentum", "slower") }}

{{ output("burn", "momentum") }}

## Summary { #summary }

<div class="grid" markdown>

- the same bits :material-check:
- the same steps

</div>

{{ receipt() }}
"""

HOME_ZH = """\
---
description: 从 PyTorch 到 burn
---

# 首页 { #home }

## 主线 { #main-line }

[English](index.md)：见 [训练循环](main-line/training-loop.md#loss)。
"""

HOME_EN = """\
---
description: From PyTorch to burn
---

# Home { #home }

## Main line { #main-line }

[中文](index.md): see [the training loop](main-line/training-loop.md#loss).
"""

MKDOCS = """\
site_name: From PyTorch to burn
markdown_extensions:
  - pymdownx.superfences:
      custom_fences: [{name: mermaid, class: mermaid, format: !!python/name:scripts.diagrams.fence }]
extra: {version: !ENV [VERSION, none]}
nav:
  - index.md
  - Main line:
      - Training loop: main-line/training-loop.md
  - Source: https://example.org/source
"""
Z, E = "docs/main-line/training-loop.zh.md", "docs/main-line/training-loop.en.md"


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """A good site of two pages, one of them a lesson."""
    files = {
        Z: ZH,
        E: EN,
        "docs/index.zh.md": HOME_ZH,
        "docs/index.en.md": HOME_EN,
        "mkdocs.yml": MKDOCS,
        "snippets/training-loop/pytorch.py": "model.eval()\n",
        "snippets/training-loop/burn.rs": "fn forward(x: Tensor<3>) -> Tensor<1> {}\nlet lr =\n    rate(0.15);\n",
        "snippets/training-loop/captured/train.txt": "epoch 3: loss 0.25\n",
    }
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return tmp_path


def problems(site: Path) -> list[str]:
    return [str(problem) for problem in check(site, nav(site))]


def test_good_site_has_no_problem(site):
    assert problems(site) == []


class Fault(NamedTuple):
    """In `page`, `old` is replaced by `new`; a problem that says `told` must name the line of `at`, else of `new`.

    Any other problem may only be that the languages part, or say `also`.
    """

    page: str
    old: str
    new: str
    told: str
    at: str = ""
    also: str = "the languages part here"


P, Q = "两边都发散", "Both diverge"  # where a paragraph begins
TYPED = "typed by hand"
ID, CALL = "double-rate", '{{ answer("double-rate", "diverges") }}'
ONE, OTHER = (
    " ".join(f'{{{{ {call}("{name}") }}}}' for call, name in zip(("option", "option", "teaser"), names))
    for names in (("faster", "diverges", ID), ("slower", "still", "no-momentum"))
)
TWO = f"{ONE}\n\n    {OTHER}"
HOME, RECEIPT = "../index.md#main-line", "{{ receipt() }}\n"
DESCRIBED = "description: 同一个训练循环，PyTorch 与 burn 各写一遍。\n"
SWAPPED = f"{OTHER}\n\n    {ONE}"

FAULTS = [
    # Both languages have the same: here is what the Chinese page has, and what the English page has.
    Fault(Z, "## 损失 { #loss }", "### 损失 { #loss }", f"`### … {{ #loss }}` “损失”, but {E}:54 has heading `##"),
    Fault(Z, '{{ pair("train",', '{{ pair("x",', f'call `{{{{ pair("x", title="a }} b") }}}}`, but {E}:39 has'),
    Fault(Z, "num(burn.loss[0] | float", "num(burn.loss[1] | float", f"in row 2, cell 3, in table, but {E}:43"),
    Fault(Z, '；见 {{ claim("learner-same-bits") }}', "", f"but {E}:63 has macro", at="!!! imp"),
    Fault(Z, "??? note", "???+ note", f"callout `???+ note`, but {E}:60 has callout `??? note`"),
    Fault(Z, "!!! tip", "!!! info", "callout `!!! info`, but"),
    Fault(Z, '=== "PyTorch"', '=== "Torch"', 'content tab `=== "Torch"`, but'),
    Fault(Z, HOME, "../index.md", "link `../index.md`, but"),
    Fault(Z, "loss.svg", "train.svg", "image `train.svg`, but"),
    Fault(Z, "| 评估模式 | `model.eval()` | `model.valid()` |\n", "", "`2 rows × 3 columns`, but", at="| 名称"),
    Fault(Z, "|---|---|---|", "|---|---|", "Markdown does not know this line: |---|---|"),
    Fault(Z, "    - `weight` 的梯度\n", "", "bullet list `1 item`, in list item, in list, but", at="    - `bias`"),
    Fault(Z, "脚注[^adam]", "脚注", "nothing refers to the footnote [^adam]", at="[^adam]:"),
    Fault(Z, "脚注[^adam]", "脚注[^sgd]", "the footnote [^sgd] is not defined", also="nothing refers to"),
    Fault(Z, "data[批次] -->", "batch[批次] -->", "diagram line `batch[…] --> model[…]`, in mermaid, but"),
    Fault(Z, 'subgraph update["更新"]', 'subgraph one["更新"]', "`subgraph one[…]`, in mermaid, but"),
    Fault(Z, P, f"先看结果。\n\n{P}", f"paragraph “两边都发散，原因在动量。”, but {E}:80 has macro call", at=P),
    Fault(Z, '<div class="grid" markdown>', '<section class="grid" markdown>', "HTML `<section>`, but"),
    Fault(Z, P, f"{{% set x = 1 %}} {P}", "Jinja statement `{% set x = 1 %}`, but"),
    Fault(Z, "title: 训练循环\n", "", "front matter: ['description'] here, but", at="---"),
    # What Python-Markdown reads otherwise.
    Fault(Z, "    - `weight`", "  - `weight`", "a list item is not indented enough", at="    - `bias`"),
    Fault(Z, "\n1. 前向", "\n怎样：\n1. 前向", "the list follows a paragraph at once", at="1. 前向"),
    Fault(Z, "    先看", "先看", "the callout is empty", at="!!! tip"),
    Fault(Z, '!!! important "动', "!!! important 动", "Markdown does not know this line", also="{{ teaser("),
    Fault(Z, "## 小结", "##小结", "Markdown does not know this line: ##小结"),
    # Headings.
    Fault(Z, "## 损失 { #loss }", "## 损失", "heading `##` “损失” has no id", also="has no id `loss`"),
    Fault(Z, "#summary }", "#Summary }", "`Summary` is no id"),
    Fault(Z, "#summary }", "#_1 }", "`_1` is no id"),
    Fault(Z, "#summary }", "#小结 }", "`小结` is no id"),
    Fault(Z, "#summary }", "#answers }", "the id `answers` is used at line 73 already"),
    Fault(Z, "## 小结", "# 小结", "the page has 2 headings of level 1"),
    Fault(Z, "# 训练循环 {", "## 训练循环 {", "the page has 0 headings of level 1", at="---", also="is of"),
    Fault(Z, "### 两倍", "#### 两倍", "is of level 4 after a heading of level 2"),
    # Jinja.
    Fault(Z, P, f"{{## {P}", "Jinja can't read the page: Missing end of comment tag"),
    Fault(Z, P, f"{{{{ num( }}}}{P}", "Jinja can't read the page: unexpected '}'"),
    Fault(Z, P, f"{P} {{{{ num\n", "Jinja can't read the page", at="，原因在动量。"),
    # Language.
    Fault(E, Q, f"{Q}（发散）", "Chinese on an English page: （发散）"),
    Fault(E, "data[batch]", "data[批次]", "Chinese on an English page: 批次 (diagram label)"),
    Fault(E, "[Adam](https", "[优化器](https", "Chinese on an English page: 优化器"),
    Fault(E, "The loss curve", "曲线", "Chinese on an English page: 曲线 (alternative text)"),
    Fault(E, "data[batch]", "批次[batch]", "Chinese in a diagram line, which is the same in both languages: 批次"),
    Fault(E, 'title="a } b"', 'title="损失"', "Chinese in a macro call, which is the same in both languages: 损失"),
    Fault(Z, P + "，原因在动量。", "Both of them diverge.", "untranslated on a Chinese page: Both of them diverge"),
    Fault(Z, "- 同样的步骤", "- the same steps", "untranslated on a Chinese page: the same steps"),
    Fault(Z, "| 评估模式 |", "| the eval mode |", "untranslated on a Chinese page: the eva"),
    Fault(Z, "没有蠢问题", "No dumb questions", "untranslated on a Chinese page: No dumb questions (callout title)"),
    Fault(Z, "[批次]", "[batch of data]", "untranslated on a Chinese page: batch of data (diagram label)"),
    Fault(Z, "## 小结", "## What we saw", "untranslated on a Chinese page: What we saw (heading)"),
    Fault(Z, '!!! important "动脑筋"', "!!! important", "the callout has no title and would show its English type"),
    # Typography.
    Fault(Z, "发散，原因", "发散,原因", "half-width `,` beside a Chinese character: 两边都发散,原因在动量。"),
    Fault(Z, "怎样？不", "怎样?不", "half-width `?` beside"),
    Fault(Z, "**问：** ", "**问:** ", "half-width `:` beside"),
    Fault(Z, "动量。", "动量.", "half-width `.` beside"),
    Fault(Z, "出；", "出;", "half-width `;` beside"),
    Fault(Z, "因为它关掉", " (因为) 它关掉", "half-width parenthesis in Chinese: 答： (因为) 它关"),
    Fault(Z, "两倍的学习率，", "两倍的学习率(lr)，", "half-width parenthesis", also="parenthesis"),
    Fault(Z, "关掉 Dropout", "关掉Dropout", "no space between Chinese and other text: 答： 因为它关掉Dropout；见"),
    Fault(Z, "见 {{ claim", "见{{ claim", "no space between Chinese and other text: "),
    Fault(Z, "先看 `Conv1d` 与", "先看 `Conv1d`与", "no space between Chinese and other text: 先看 `Conv1d`与 f32"),
    Fault(Z, "在 [主线]", "在 burn[主线]", "no space between Chinese and other text: 本页在 burn主线 上"),
    # Figures.
    Fault(Z, P, f"走 18 步，{P}", f"the figure `18` is {TYPED}: 走 18 步，两边都发散"),
    Fault(Z, P, f"第 1 个参数：{P}", f"the figure `1` is {TYPED}"),
    Fault(E, Q, "It is 3.5×", f"the figure `3.5×` is {TYPED}: It is 3.5×, because"),
    Fault(E, "because of momentum", "since\nit is 1e-6", f"the figure `1e-6` is {TYPED}", at="it is 1e-6"),
    Fault(E, Q, "In burn 0.22.1", f"the figure `0.22.1` is {TYPED}"),
    Fault(E, Q, "In v0.22", f"the figure `22` is {TYPED}"),
    Fault(E, Q, "In 2D", f"the figure `2D` is {TYPED}"),
    Fault(E, Q, "By −0.1%", f"the figure `−0.1%` is {TYPED}"),
    Fault(E, Q, "In ninety-six steps", f"the number “ninety-six” is {TYPED}"),
    Fault(E, Q, "At the twelfth step", f"the number “twelfth” is {TYPED}"),
    Fault(E, Q, "In a thousand steps", f"the number “thousand” is {TYPED}"),
    Fault(E, Q, "In eighteen steps", f"the number “eighteen” is {TYPED}"),
    Fault(Z, P, f"过了十八步，{P}", f"the number “十八” is {TYPED}"),
    Fault(Z, P, f"九十六个参数，{P}", f"the number “九十六” is {TYPED}"),
    Fault(Z, P, f"三千万个参数，{P}", f"the number “三千万” is {TYPED}"),
    Fault(Z, P, f"百分之二十，{P}", f"the number “二十” is {TYPED}"),
    Fault(Z, "## 小结", "## 小结 2", f"the figure `2` is {TYPED}: 小结 2 (heading)"),
    Fault(Z, '"怎样运行"', '"怎样运行 2 次"', "(callout title)"),
    Fault(Z, "| 评估模式 |", "| 评估 2 次 |", "(table row)"),
    Fault(Z, "[批次]", "[批次 12]", "(diagram label)"),
    Fault(Z, "![损失曲线]", "![损失 0.2]", "(alternative text)"),
    Fault(Z, '"训练与评估"', '"训练 18 步"', "(title of the image)"),
    Fault(Z, "description: 同", "description: 第 2 个同", "(description)"),
    Fault(Z, "<div", "<p>第 2 个</p>\n\n<div", "(HTML text)"),
    Fault(Z, P, f"用 `18` 步，{P}", f"the figure `18` is {TYPED}, as code"),
    Fault(Z, P, f"用 `1e-6`，{P}", f"the figure `1e-6` is {TYPED}, as code"),
    Fault(Z, P, f"用 `rate(0.1)`，{P}", "the code `rate(0.1)` has a figure, and no program or capture has"),
    Fault(Z, "`Tensor<3>`", "`Tensor<4>`", "the code `Tensor<4>` has a figure"),
    Fault(Z, P, f"用 `loss 0.2`，{P}", "the code `loss 0.2` has a figure"),
    # Code by hand.
    Fault(Z, P, f"```python\nmodel.train()\n```\n\n{P}", "fenced block `python` is written by hand"),
    Fault(Z, P, f"```\nstep\n```\n\n{P}", "fenced block `without language` is written by hand"),
    Fault(Z, P, f"~~~text\nstep\n~~~\n\n{P}", "fenced block `text` is written by hand"),
    Fault(Z, P, f"    model.train()\n\n{P}", "indented code “model.train()” is written by hand"),
    Fault(Z, "    换成", "        model.train()\n\n    换成", "indented code “model.train()”, in `!!! imp"),
    Fault(Z, RECEIPT, "```mermaid\n{{ receipt() }}\n", "the fence ```mermaid is never closed"),
    Fault(Z, P, f'--8<-- "burn.rs:train"\n\n{P}', "an include by hand", also="the figure"),
    Fault(Z, P, f"<script>alert()</script>\n\n{P}", "a tag that runs, styles or loads: <script>"),
    Fault(Z, P, f"看 <iframe src='x.html'></iframe>{P}", "a tag that runs, styles or loads: <iframe"),
    Fault(Z, P, f"<style>\n</style>\n\n{P}", "a tag that runs, styles or loads: <style>"),
    Fault(Z, P, f'看 <b onclick="go()">看</b>{P}', "an attribute that runs or loads something: <b onclick"),
    Fault(Z, '{ width="300" #curve }', '{ onload="go()" #curve }', "an attribute that runs or loads something"),
    Fault(Z, P, f'看 <img alt="" src="https://example.org/x.png">{P}', "an attribute that runs or loads something"),
    Fault(Z, "(loss.svg", "(https://example.org/loss.svg", "comes from another site"),
    # Brain-teasers, sections, lessons.
    Fault(Z, f'teaser("{ID}")', 'teaser("x")', 'has no {{ answer("x") }}', also=f'no {{{{ teaser("{ID}")'),
    Fault(Z, CALL, "", f'in `!!! important` has no {{{{ answer("{ID}") }}}}', at="{{ teaser("),
    Fault(
        Z,
        '"faster") }} {{ option("diverges") }} {{ teaser',
        '"faster") }} {{ teaser',
        "has no options to choose from",
        also="does not say which option",
    ),
    Fault(
        Z,
        '{{ option("faster") }} {{ option("diverges") }} {{ answer',
        '{{ option("faster") }} {{ answer',
        "does not explain the option diverges",
    ),
    Fault(Z, f'{ID}", "diverges")', f'{ID}")', "does not say which option is right"),
    Fault(Z, f'{ID}", "diverges")', f'{ID}", "nothing")', "does not say which option is right"),
    Fault(Z, P, f"{CALL}\n\n{P}", f"`{CALL}` is there 2 times", also="is there 2 times"),
    Fault(Z, "万一", f"{CALL}\n\n万一", f"macro call `{CALL}` is before macro call `{{{{ teaser(", also=ID),
    Fault(Z, TWO, SWAPPED, "the answers are in the order double-rate, no-momentum, the teasers in", at=CALL),
    Fault(Z, '!!! important "', '!!! tip "', "is in no callout `!!! important`", at="{{ teaser(", also="is in no"),
    Fault(Z, '{{ run("brain-teaser") }}', "", f"the section of macro call `{CALL}` shows no output", at=CALL),
    Fault(Z, P + "，原因在动量。", "", f"the section of macro call `{CALL}` explains nothing", at=CALL),
    Fault(Z, P + "，原因在动量。", "TODO", "a text that is still to be written: TODO"),
    Fault(Z, P, f"待补。{P}", "a text that is still to be written: 待补"),
    Fault(Z, P, f"<!-- FIXME -->\n\n{P}", "a text that is still to be written: <!-- FIXME"),
    Fault(Z, "## 小结", "## 空 { #empty }\n\n## 小结", "nothing stands under heading `## … { #empty }` “空”"),
    Fault(Z, RECEIPT, RECEIPT + "\n结束。\n", "is not the last of its section: paragraph “结束。” f"),
    Fault(Z, RECEIPT, "", "the lesson has 0 times {{ receipt() }}", at="---"),
    Fault(Z, RECEIPT, RECEIPT + "\n{{  receipt() }}\n", "the lesson has 2 times", "{{  receipt", "last"),
    Fault(Z, '{{ comparison("pytorch-burn") }}', "", "the lesson has no {{ comparison(…) }}", at="---"),
    Fault(Z, "{{ pair(", "{{ both(", "the lesson has no {{ pair(…) }}", at="---"),
    Fault(Z, "??? note", "??? tip", "the lesson has no callout `note`", at="---"),
    Fault(Z, "```mermaid", "```text", "the lesson has no diagram (```mermaid)", at="---", also="written by hand"),
    Fault(Z, TWO, "{{ ask() }}", "the lesson has no brain-teaser", at="---", also="has no {{ teaser("),
    # Links.
    Fault(Z, HOME, "../index.zh.md#main-line", "names a language. To mend: write `../index.md`"),
    Fault(Z, "loss.svg", "loss.en.svg", "image `loss.en.svg` names a language. To mend: write `loss.svg`"),
    Fault(Z, HOME, "../home.md", "leads nowhere: there is no docs/home.zh.md", also="home.en"),
    Fault(Z, HOME, "../index.md#x", "leads nowhere: docs/index.en.md has no id `x`", also="no id"),
    Fault(Z, HOME, "../index.md#%E4%B8%BB", "the anchor of link `../index.md#%E4%B8%BB` is not ASCII"),
    Fault(Z, HOME, "../index.md#主线", "the anchor of link `../index.md#主线` is not ASCII"),
    Fault(Z, "](#loss)", "](#lost)", "link `#lost` leads nowhere: docs/main-line/training-", also="no id"),
    Fault(Z, HOME, "/index.md", "link `/index.md` is not the relative path of a file"),
    Fault(Z, HOME, "../index/", "link `../index/` is not the relative path of a file"),
    # Front matter.
    Fault(Z, DESCRIBED, "", "has no description", at="---", also="front matter"),
    Fault(Z, DESCRIBED, "description: ''\n", "is empty or no text: ''", at="---"),
    Fault(Z, DESCRIBED, "description: burn\n", "is not Chinese: burn", at="---"),
    Fault(E, "description: One", "description: 一", "Chinese on an English page: 一 (description)"),
    Fault(Z, "title: 训", "title: [训", "the front matter is no YAML", at="---", also="front matter"),
    Fault(Z, "title: 训练循环", "title: '{{ title }}'", "a Jinja tag in the front matter is never run", at="---"),
]


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: f"{fault.new[:30]}: {fault.told[:40]}")
def test_fault_is_told(site, fault):
    path = site / fault.page
    before, found, after = path.read_text(encoding="utf-8").partition(fault.old)
    assert found
    text = before + fault.new + after
    at = text.index(fault.at) if fault.at else len(before) + len(fault.new) - len(fault.new.lstrip())
    path.write_text(text, encoding="utf-8")
    where = f"{fault.page}:{text.count(chr(10), 0, at) + 1}: "
    told, others = [], []
    for problem in problems(site):
        (told if problem.startswith(where) and fault.told in problem else others).append(problem)
    assert told, "\n".join([f"expected {where}", *others])
    assert not [problem for problem in others if fault.also not in problem and "the languages part" not in problem]


INNER = "docs/main-line/index.zh.md"
FILES = [
    # What is written to a file (None: it is removed), the problem's place, what it says.
    ({E: None}, Z, f"the page has no English side, {E}"),
    ({Z: None}, E, f"the page has no Chinese side, {Z}"),
    ({"docs/about.md": "# About"}, "docs/about.md", "the page's name does not say its language"),
    ({"docs/about.fr.md": "# A"}, "docs/about.fr.md", "the page's name does not say its language"),
    ({"docs/about.markdown": "# A"}, "docs/about.markdown", "the page's name does not say its language"),
    ({"docs/index.md": "# A"}, "docs/index.md", "docs/index.md and docs/index.zh.md would have the same address /"),
    ({"docs/en/index.zh.md": ""}, "docs/en/index.zh.md", "docs/en/index.zh.md and docs/index.en.md would"),
    ({"docs/main-line.zh.md": "", INNER: ""}, INNER, "docs/main-line.zh.md would have the same address /main-line"),
    ({"docs/Index.zh.md": ""}, "docs/Index.zh.md", "docs/Index.zh.md and docs/index.zh.md would have"),
    ({"mkdocs.yml": "nav: [index.md]"}, E, "nav does not list the page"),
    ({"mkdocs.yml": MKDOCS + "  - index.md\n"}, "docs/index.en.md", "nav lists the page 2 times"),
    ({"mkdocs.yml": MKDOCS + "  - about.md\n"}, "mkdocs.yml nav about.md", "docs/ has no page of this name"),
    ({"mkdocs.yml": MKDOCS + "  - index.en.md\n"}, "mkdocs.yml nav index.en.md", "nav names pages without language"),
    ({E: "\udcff"}, f"{E}:1", "the page is not UTF-8"),
]


@pytest.mark.parametrize(("files", "where", "told"), FILES, ids=lambda value: str(value)[:40])
def test_fault_of_files_is_told(site, files, where, told):
    for name, text in files.items():
        path = site / name
        path.parent.mkdir(exist_ok=True)
        path.unlink() if text is None else path.write_text(text, encoding="utf-8", errors="surrogateescape")
    found = problems(site)
    assert [problem for problem in found if problem.startswith(f"{where}: ") and told in problem], "\n".join(found)


@pytest.mark.parametrize(
    "text",
    [
        "万一十分之一出错，千万别慌，统一万物，成千上万，百科，一一对应，数百万次，几十万个。",
        "用 f32、fc1、Conv1d、x86_64、GPT-2 和 β1，见 <https://burn.dev/0.22> 与 https://burn.dev/0.22 。",
        "写法是 `u8`、`rate(0.15)` 和 `loss 0.25`，共 {{ num(n, '18') }} 步。",
        "问：为什么？答：**因为 `model.valid()`** 与[主线](../index.md)不同（见 {{ x }}）。",
        "<span class='x1' data-n=\"18\">中文</span>与 :material-numeric-1-circle: 图标。",
        "Adam 与 burn。[English](../index.md)",
        "{## 草稿 18 ##}",
        "## 另一节 {#other}\n\n内容。",
        '!!! note "多行"\n    中文 {{ num(x,\n      18,\n\n  18) }} 之后\n\n    仍在其中',
        "第一行\n第二行 {{ num(x,\n  18) }} 第三行",
    ],
)
def test_no_false_alarm(site, text):
    page = site / Z
    page.write_text(ZH.replace("万一不一致", f"{text}\n\n万一不一致"), encoding="utf-8")
    assert [problem for problem in problems(site) if "the languages part" not in problem] == []


DIAGRAM_LINES = [
    # The kind of diagram, a line of it, what must be equal in both languages, what is read.
    ("flowchart LR", "a --- b --- c & d", "a --- b --- c & d", []),
    ("flowchart LR", "a -- so --> b == x ==> c -. y .-> d", "a -- … --> b == … ==> c -. … .-> d", ["so", "x", "y"]),
    ("flowchart LR", 'a(("x (y)")) -->|z| b[[q<br>r]]', "a((…)) -->|…| b[[…]]", ["x (y)", "z", "q r"]),
    ("flowchart LR", "a>flag] --> b[/slanted/]:::big", "a>…] --> b[/…/]:::big", ["flag", "slanted"]),
    ("flowchart LR", "subgraph Two words", "subgraph …", ["Two words"]),
    ("flowchart LR", "linkStyle 0 stroke-width:2px", "linkStyle 0 stroke-width:2px", []),
    ("sequenceDiagram", "participant a as Model a", "participant a as …", ["Model a"]),
    ("sequenceDiagram", "a->>b: the loss", "a->>b: …", ["the loss"]),
    ("sequenceDiagram", "loop every step", "loop …", ["every step"]),
    ("stateDiagram-v2", 'state "Very still" as still', "state … as still", ["Very still"]),
]


@pytest.mark.parametrize(("kind", "line", "skeleton", "labels"), DIAGRAM_LINES)
def test_diagram_is_taken_apart(kind, line, skeleton, labels):
    _, statement = statements(f"{kind}\n\n  %% a comment\n  {line}\n")
    assert (statement.line, statement.skeleton, sorted(statement.labels)) == (3, skeleton, sorted(labels))


def test_command(site, capsys):
    assert main(site) == 0
    (site / E).unlink()
    assert main(site) == 1
    assert f"{Z}: the page has no English side" in capsys.readouterr().err


def test_sixty_pages_are_checked_in_two_seconds(site):
    for i in range(30):
        for page, text in ((Z, ZH), (E, EN)):
            name = page.replace("loop", f"loop-{i}")
            (site / name).write_text(text + text[text.index("\n## ") :], encoding="utf-8")
    start = process_time()
    check(site, nav(site))
    assert process_time() - start < 2
