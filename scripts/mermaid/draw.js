/**
 * Draws one diagram in the browser and makes it small enough to stand in a page.
 *
 * id: the root's id; every id inside holds it. source: the text of the fence. config: what mermaid.initialize takes.
 * Returns the SVG as XML, equal bytes for equal arguments. Throws mermaid's own error for a source that it can't read.
 */
async ({ id, source, config }) => {
  const round = (text) => text.replace(/-?\d+\.\d{3,}/g, (number) => String(Math.round(number * 100) / 100 || 0));

  mermaid.initialize(config);
  document.body.innerHTML = (await mermaid.render(id, source)).svg;
  const svg = document.body.firstElementChild;
  const all = (selector) => [...svg.querySelectorAll(selector)];

  // Rough.js, which draws some shapes, fills one path and strokes another of the same outline, each line of it a curve.
  const straight = (d) => {
    const [start, ...curves] = d.split("C").map((part) => part.match(/-?[\d.]+(e-?\d+)?/g).map(Number));
    let [x, y] = start;
    return curves.reduce((path, [ax, ay, bx, by, cx, cy]) => {
      const off = (px, py) => Math.abs((px - x) * (cy - y) - (py - y) * (cx - x)) > 0.1 * Math.hypot(cx - x, cy - y);
      const curve = off(ax, ay) || off(bx, by) ? `C${ax} ${ay} ${bx} ${by} ${cx} ${cy}` : `L${cx} ${cy}`;
      const still = cx === x && cy === y;
      [x, y] = [cx, cy];
      return still ? path : path + curve;
    }, `M${x} ${y}`);
  };
  for (const stroke of all('path[fill="none"]')) {
    const fill = stroke.previousElementSibling;
    if (!fill?.matches('path[stroke="none"]')) continue;
    for (const name of ["stroke", "stroke-width"]) fill.setAttribute(name, stroke.getAttribute(name));
    const d = fill.getAttribute("d");
    if (/^M[^A-Z]+(C[^A-Z]+)+$/.test(d)) fill.setAttribute("d", `${straight(d)}Z`);
    stroke.remove();
  }

  // Mermaid gives each word a tspan of its own; equal neighbours become one, and a plain one its row's own text.
  for (const span of all("tspan.text-inner-tspan")) {
    const before = span.previousElementSibling;
    const same = (name) => before.getAttribute(name) === span.getAttribute(name);
    if (!before || !same("font-style") || !same("font-weight")) continue;
    before.append(span.textContent);
    before.normalize();
    span.remove();
  }
  for (const span of all('tspan.text-inner-tspan[font-style="normal"][font-weight="normal"]:only-child')) {
    span.replaceWith(span.textContent);
  }

  // Rows 1.3 em apart instead of 1.1, about the same middle.
  for (const text of all("text:has(> tspan.row + tspan.row)")) {
    const more = 0.2 * parseFloat(getComputedStyle(text).fontSize) * (text.children.length - 1);
    const box = text.parentElement.querySelector(":scope > rect.background[height]");
    box?.setAttribute("y", box.y.baseVal.value - more / 2);
    box?.setAttribute("height", box.height.baseVal.value + more);
    text.setAttribute("y", text.y.baseVal[0].value - more / 2);
    [...text.children].forEach((row, index) => row.setAttribute("y", `${(1.3 * index - 0.1).toFixed(1)}em`));
  }

  // Between texts, and between rows of words, a space for whoever searches or copies; it takes no room.
  for (const text of all("text, title, desc")) text.after("\n");
  for (const row of all("tspan.row:has(+ tspan.row)")) {
    if (!/[!-\u024f]$/.test(row.textContent) || !/^[!-\u024f]/.test(row.nextElementSibling.textContent)) continue;
    const space = row.appendChild(document.createElementNS(svg.namespaceURI, "tspan"));
    space.setAttribute("font-size", "0");
    space.textContent = " ";
  }

  // The titles of subgraphs to the left, where fewer edges cross them.
  for (const title of all(".cluster > .cluster-label")) {
    const box = title.parentElement.querySelector("rect");
    const top = title.transform.baseVal[0].matrix.f;
    if (box) title.setAttribute("transform", `translate(${box.x.baseVal.value + 12}, ${top})`);
  }

  // Of the style sheet, the rules that reach something.
  const style = svg.querySelector("style");
  const sheet = [...style.sheet.cssRules];
  const reaches = (selector) => document.querySelector(selector);
  const rules = sheet.filter((rule) => rule.selectorText && reaches(rule.selectorText));
  const moving = rules.some((rule) => rule.style.animationName);
  const kept = sheet.filter((rule) => rules.includes(rule) || (moving && rule instanceof CSSKeyframesRule));
  for (const rule of rules) rule.selectorText = rule.selectorText.split(/,(?![^(]*\))/).filter(reaches).join(",");
  style.textContent = kept.map((rule) => round(rule.cssText).replace(/\s*([{};:,])\s+/g, "$1")).join("");

  // What nothing refers to, what has no size, what says nothing, and digits that no eye sees.
  const reference = /(?:url\(|href=)(?:"|&quot;)?#([^"&)]+)|aria-(?:labelledby|describedby)="([^"]+)"/g;
  const references = [...new XMLSerializer().serializeToString(svg).matchAll(reference)];
  const used = new Set([id, ...references.map(([, target, words]) => target ?? words)]);
  for (const part of all("marker, filter, linearGradient")) if (!used.has(part.id)) part.remove();
  for (const rect of all("rect:not([width])")) rect.remove();
  for (const part of all("defs, g").reverse()) if (!part.childNodes.length) part.remove();
  for (const part of all("*")) {
    for (const { name, value } of [...part.attributes]) {
      const idle = name === "id" ? !used.has(value) : name.startsWith("data-") || ["", ";"].includes(value.trim());
      if (idle) part.removeAttribute(name);
      else if (name === "class") part.setAttribute(name, [...part.classList].join(" "));
      else if (!["id", "href"].includes(name)) part.setAttribute(name, round(value));
    }
  }
  const alien = all("[id]").find((part) => !part.id.includes(id));
  if (alien) throw new Error(`the id ${alien.id} could stand on a page twice`);

  // Never wider than drawn; on a narrow screen never so small that it can't be read: there the figure scrolls.
  const width = svg.viewBox.baseVal.width;
  svg.setAttribute("viewBox", round(svg.getAttribute("viewBox")));
  svg.setAttribute("style", `max-width:${Math.ceil(width)}px;min-width:${Math.floor(width * 0.7)}px`);
  svg.setAttribute("role", "img");
  svg.removeAttribute("aria-roledescription");
  return new XMLSerializer().serializeToString(svg) + "\n";
};
