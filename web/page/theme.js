// Light or dark: as the system says, until somebody presses the button.

import { $, announce } from "./dom.js";

const key = "bloomery-theme";
const dark = matchMedia("(prefers-color-scheme: dark)");

function stored() {
  try {
    const theme = localStorage.getItem(key);
    return theme === "dark" || theme === "light" ? theme : null;
  } catch {
    return null; // a page from a file may have no storage
  }
}

function apply(theme) {
  document.documentElement.dataset.theme = theme;
  dispatchEvent(new Event("themechange"));
  $("theme").setAttribute("aria-label", theme === "dark" ? "Use light colours" : "Use dark colours");
}

export function startTheme() {
  const system = () => (dark.matches ? "dark" : "light");
  apply(stored() ?? system());
  dark.addEventListener("change", () => { if (!stored()) apply(system()); });
  $("theme").addEventListener("click", () => {
    const theme = document.documentElement.dataset.theme === "dark" ? "light" : "dark";
    apply(theme);
    announce(`${theme} colours`);
    try {
      localStorage.setItem(key, theme);
    } catch { /* it holds until the page is closed */ }
  });
}
