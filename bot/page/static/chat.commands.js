// The menu of commands: it opens above the field when one begins a message with a slash, and is used by arrows, Enter,
// Tab and Escape, or by pointing. The list is the server's.
"use strict";

(() => {
  const { at } = chatPage;
  const text = at("text");
  const menu = at("commands");
  const options = [...menu.children];
  let active = null;

  const shown = () => options.filter((option) => !option.hidden);
  const choose = (option) => {
    active?.setAttribute("aria-selected", "false");
    active = option;
    if (!option) return text.removeAttribute("aria-activedescendant");
    option.setAttribute("aria-selected", "true");
    option.scrollIntoView({ block: "nearest" });
    text.setAttribute("aria-activedescendant", option.id);
  };
  const close = () => {
    menu.hidden = true;
    at("commands-told").textContent = "";
    choose(null);
  };
  const offer = () => {
    const begun = /^\/[a-z_]*$/i.test(text.value) ? text.value.toLowerCase() : "";
    for (const option of options) option.hidden = !begun || !option.dataset.command.startsWith(begun);
    const found = shown();
    if (!found.length || (found.length === 1 && found[0].dataset.command === begun)) return close();
    menu.hidden = false;
    choose(found[0]);
    at("commands-told").textContent = found.length === 1 ? "1 command" : `${found.length} commands`;
  };
  const take = (option) => {
    text.value = `${option.dataset.command} `;
    text.dispatchEvent(new Event("input", { bubbles: true }));
    text.focus();
  };
  const keys = {
    ArrowDown: () => choose(shown()[(shown().indexOf(active) + 1) % shown().length]),
    ArrowUp: () => choose(shown().at(shown().indexOf(active) - 1)),
    Escape: close,
    Tab: () => take(active),
    Enter: () => take(active),
  };

  text.addEventListener("input", offer);
  text.addEventListener("blur", close);
  // Before the listener that sends: while one chooses, Enter takes what is chosen; what is typed in full is sent.
  text.addEventListener("keydown", (event) => {
    const isWhole = event.key === "Enter" && options.some((option) => option.dataset.command === text.value);
    if (isWhole) close();
    if (menu.hidden || event.isComposing || event.shiftKey || !(event.key in keys)) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    keys[event.key]();
  }, { capture: true });
  menu.addEventListener("mousedown", (event) => event.preventDefault()); // the field keeps the focus
  menu.addEventListener("click", (event) => {
    const option = event.target.closest("[data-command]");
    if (option) take(option);
  });
})();
