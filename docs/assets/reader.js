// What the reader can do with a page. Without it everything can be read; this is what makes it quick.

const all = (selector, within = document) => [...within.querySelectorAll(selector)]
const kept = name => __md_get(name) ?? undefined
const keep = (name, value) => __md_set(name, value)

// Which side to show: both, PyTorch or burn. The choice stands on <html>, where early.js puts it before anything is drawn.

function show(side) {
  document.documentElement.dataset.sides = side
  for (const button of all(".sides button")) button.setAttribute("aria-pressed", button.value === side)
  if (side === "both") return
  for (const label of all(".pair:not(.alone) .tabbed-labels > label")) {
    if (label.textContent.trim() === side) document.getElementById(label.htmlFor).checked = true
  }
}

for (const button of all(".sides button")) {
  button.addEventListener("click", () => {
    keep("__sides", button.value)
    show(button.value)
  })
}
show(kept("__sides") ?? "both")

// The theme links tabs by the labels that are shown, so a pair in a folded box, or one that is not laid out yet, misses
// the reader's choice: it catches up.

function follow(within) {
  const [chosen] = kept("__tabs") ?? []
  for (const label of all(".tabbed-labels > label", within)) {
    const input = document.getElementById(label.htmlFor)
    if (label.textContent.trim() === chosen && !input.checked) {
      label.setAttribute("data-md-switching", "")
      input.click()
    }
  }
}

document.addEventListener("toggle", ({ target }) => follow(target), true)

// Corresponding parts of a pair light up together while one is pointed at or in focus, and stay lit when one is pressed.

function lines(code) {
  const found = [document.createDocumentFragment()]
  const nodes = [...code.childNodes]
  code.replaceChildren()
  for (const node of nodes) {
    if (node.nodeType !== Node.TEXT_NODE) {
      found.at(-1).append(node)
      continue
    }
    node.textContent.split(/(?<=\n)/).forEach(text => {
      found.at(-1).append(text)
      if (text.endsWith("\n")) found.push(document.createDocumentFragment())
    })
  }
  return found
}

function divide(code, parts) {
  const rows = lines(code)
  const starts = new Map(Object.entries(parts).flatMap(([name, ranges]) => ranges.map(([from, to]) => [from, [name, to]])))
  for (let row = 0; row < rows.length; ) {
    const [name, end] = starts.get(row) ?? [null, row + 1]
    if (name === null) {
      code.append(rows[row])
    } else {
      const part = document.createElement("span")
      part.className = "part"
      part.dataset.part = name
      part.tabIndex = 0
      part.role = "group"
      part.ariaLabel = name
      part.append(...rows.slice(row, end))
      code.append(part)
    }
    row = end
  }
}

for (const pair of all(".pair[data-parts]")) {
  const blocks = all(".tabbed-block", pair)
  JSON.parse(pair.dataset.parts).forEach((parts, side) => divide(blocks[side].querySelector("pre > code"), parts))
  let pressed = null
  const light = name => {
    for (const part of all(".part", pair)) part.classList.toggle("lit", part.dataset.part === (name ?? pressed))
  }
  const over = handler => ({ target }) => handler(target.closest?.(".part")?.dataset.part ?? null)
  pair.addEventListener("pointerover", over(light))
  pair.addEventListener("pointerleave", () => light(null))
  pair.addEventListener("focusin", over(light))
  pair.addEventListener("focusout", () => light(null))
  pair.addEventListener("click", over(name => {
    if (String(getSelection())) return
    pressed = name === pressed ? null : name
    light(null)
  }))
}

// Long outputs show their beginning until all of it is asked for.

for (const button of all(".unfold")) {
  button.addEventListener("click", () => {
    const { parentElement: below } = button
    below.previousElementSibling.querySelector("code").tabIndex = -1
    below.previousElementSibling.querySelector("code").focus()
    below.remove()
  })
}

// Code is copied as it stands in its program.

for (const button of all("button.copy")) {
  const { textContent } = button
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(button.closest("p").nextElementSibling.querySelector("pre > code").textContent.trimEnd())
    button.textContent = button.dataset.done
    setTimeout(() => { button.textContent = textContent }, 1500)
  })
}

// Brain-teasers: the reader commits to an option, and only then sees which is right, and what there is to say of theirs.

for (const teaser of all("a.teaser:not([data-right])")) {
  const answer = document.getElementById(`${teaser.id}-answer`)
  const callout = teaser.closest(".admonition")
  if (!answer?.dataset.right || !callout) continue
  const options = all("b.option", callout)
  const verdict = document.createElement("div")
  verdict.className = "verdict"
  verdict.setAttribute("aria-live", "polite")
  teaser.closest("p").after(verdict)

  const explanation = name => {
    const mentions = all(`a.option[data-option="${name}"]`)
    return (mentions.find(mention => mention.closest("li")) ?? mentions[0]).closest("li, p")
  }
  const reveal = chosen => {
    for (const option of options) {
      const button = option.closest("li").querySelector("button")
      button.setAttribute("aria-pressed", option.dataset.option === chosen)
      option.closest("li").dataset.is = option.dataset.option === answer.dataset.right ? "right" : "wrong"
    }
    const told = new Set([chosen, answer.dataset.right])
    verdict.replaceChildren(...[...told].map(name => {
      const box = document.createElement("div")
      box.append(...explanation(name).cloneNode(true).childNodes)
      for (const named of all("[id]", box)) named.removeAttribute("id")
      return box
    }))
  }

  for (const option of options) {
    const button = document.createElement("button")
    button.type = "button"
    button.className = "choose"
    button.ariaPressed = "false"
    option.replaceWith(button)
    button.append(option)
    button.addEventListener("click", () => {
      keep("__teasers", { ...kept("__teasers"), [`${location.pathname}#${teaser.id}`.replace(/\/en\//, "/")]: option.dataset.option })
      reveal(option.dataset.option)
    })
  }
  const before = kept("__teasers")?.[`${location.pathname}#${teaser.id}`.replace(/\/en\//, "/")]
  if (options.some(option => option.dataset.option === before)) reveal(before)
}

// On the page of all brain-teasers: a tick behind those that were answered.

for (const link of all("a.asked")) {
  const { pathname, hash } = new URL(link.href)
  if (kept("__teasers")?.[`${pathname}${hash}`.replace(/\/en\//, "/")]) link.classList.add("done")
}

// A table that sorts by a column and filters by what is typed.

for (const box of all(".sortable")) {
  const body = box.querySelector("tbody")
  const rows = all("tr", body)
  const input = box.querySelector("input")
  const filter = () => {
    const words = input.value.toLowerCase().split(/\s+/)
    for (const row of rows) row.hidden = !words.every(word => row.textContent.toLowerCase().includes(word))
    box.querySelector("[role=status]").textContent = `${rows.filter(row => !row.hidden).length} / ${rows.length}`
  }
  input.addEventListener("input", filter)
  filter()

  const superscripts = "⁰¹²³⁴⁵⁶⁷⁸⁹"
  const value = cell => {
    const text = cell.textContent.trim()
    const plain = text.replace(/⁻/g, "-").replace(/[⁰¹²³⁴⁵⁶⁷⁸⁹]/g, digit => superscripts.indexOf(digit))
    const power = plain.match(/^(?:([\d.]+)\s*×\s*)?10(-?\d+)$/)
    return power ? (power[1] ?? 1) * 10 ** power[2] : text === "" ? -1 : Number.isNaN(Number(text)) ? text : Number(text)
  }
  all("thead th", box).forEach((head, column) => {
    head.querySelector("button").addEventListener("click", () => {
      const down = head.ariaSort === "ascending"
      for (const other of all("thead th", box)) other.removeAttribute("aria-sort")
      head.ariaSort = down ? "descending" : "ascending"
      rows.sort((a, b) => {
        const [x, y] = [a, b].map(row => value(row.cells[column]))
        const order = typeof x === typeof y && typeof x === "number" ? x - y : String(x).localeCompare(String(y))
        return down ? -order : order
      })
      body.append(...rows)
    })
  })
}

// The language switch keeps the section that is being read.

document.addEventListener("click", ({ target }) => {
  const link = target.closest?.("a[hreflang]")
  if (!link) return
  const above = all("article :is(h2, h3)[id]").filter(heading => heading.getBoundingClientRect().top < 100)
  link.hash = above.length ? above.at(-1).id : ""
}, true)

// What the theme leaves out for those who read with a keyboard or a screen reader.

document.querySelector(".md-search").ariaLabel = document.querySelector(".md-search__input").placeholder
// Until the theme has looked at a piece of code, when it comes into sight, it counts as one that scrolls.
for (const code of all("pre > code")) code.tabIndex = 0
addEventListener("load", () => {
  for (const box of all(".md-typeset__scrollwrap, .diagram > div, .notebook pre > code")) {
    box.tabIndex = 0
    box.role = "group"
  }
})

// What was not laid out while the page loaded is laid out now, piece by piece, when the browser has nothing else to do.

addEventListener("load", () => {
  const idle = window.requestIdleCallback ?? setTimeout
  const waiting = all(".stretch")
  const next = () => {
    const stretch = waiting.shift()
    if (stretch === undefined) return
    stretch.classList.add("done")
    follow(stretch)
    requestAnimationFrame(() => idle(next))
  }
  idle(next)
})

// The colour of the header, for browsers that carry it on.

const tint = document.head.appendChild(document.createElement("meta"))
tint.name = "theme-color"
const colour = () => { tint.content = getComputedStyle(document.querySelector(".md-header")).backgroundColor }
addEventListener("load", () => {
  colour()
  new MutationObserver(colour).observe(document.body, { attributeFilter: ["data-md-color-scheme"] })
})

// What is folded is printed too.

addEventListener("beforeprint", () => {
  for (const box of all("article details:not([open])")) {
    box.open = true
    addEventListener("afterprint", () => { box.open = false }, { once: true })
  }
})
