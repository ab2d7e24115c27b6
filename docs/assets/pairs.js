// The theme links tabs by the labels that are shown, so a pair in a folded box misses the reader's choice: catch up when
// it is unfolded.
document.addEventListener("toggle", ({ target }) => {
  const [chosen] = __md_get("__tabs") || []
  for (const label of target.querySelectorAll(".tabbed-labels > label")) {
    const input = document.getElementById(label.htmlFor)
    if (label.textContent.trim() === chosen && !input.checked) {
      label.setAttribute("data-md-switching", "")
      input.click()
    }
  }
}, true)
