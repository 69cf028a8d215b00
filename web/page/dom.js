// Elements, without a framework: el("p", { class: "note" }, "text", child).

const svgSpace = "http://www.w3.org/2000/svg";

const present = (child) => child !== null && child !== undefined && child !== false;

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (name === "value" || name === "checked") node[name] = value;
    else node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.flat(Infinity).filter(present));
  return node;
}

export function el(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

export function svg(tag, attributes = {}, ...children) {
  return fill(document.createElementNS(svgSpace, tag), attributes, children);
}

/** Replaces what a node holds. */
export function put(node, ...children) {
  node.replaceChildren(...children.flat(Infinity).filter(present));
}

export const $ = (id) => document.getElementById(id);

/** Changes a text only if it differs, so that a screen reader is not told twice. */
export function say(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

export function show(node, yes) {
  node.hidden = !yes;
}

let announced;
/** Says a sentence to those who do not see the page; of several in quick succession the last. */
export function announce(text) {
  clearTimeout(announced);
  announced = setTimeout(() => say($("announcer"), text), 400);
}

/** Runs at most once a frame, with the last arguments. */
export function perFrame(work) {
  let waiting = null;
  return (...given) => {
    if (waiting === null) requestAnimationFrame(() => { const last = waiting; waiting = null; work(...last); });
    waiting = given;
  };
}

/** textOf gives the text; shown, the node that shows it, to be selected where copying is not allowed. */
export function copyButton(textOf, what, shown) {
  const button = el("button", { type: "button", class: "copy", "aria-label": `Copy ${what}` }, "Copy");
  button.addEventListener("click", async () => {
    const done = await copyText(textOf(), button);
    if (!done) getSelection().selectAllChildren(shown());
    button.textContent = done ? "Copied" : "Press Ctrl+C";
    announce(done ? `${what} copied` : "The text is selected; press Control C to copy it");
    setTimeout(() => { button.textContent = "Copy"; }, 1600);
  });
  return button;
}

// A page from a file may not use the clipboard of some browsers; the older way works everywhere.
async function copyText(text, button) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const area = el("textarea", { class: "offscreen", "aria-label": "text to copy" });
    area.value = text;
    document.body.append(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    button.focus();
    return done;
  }
}
