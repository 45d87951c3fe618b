// What the person sends from the chat page: without loading it anew, shown at once, and kept until it has arrived.
"use strict";

(() => {
  const { address, headers, mostBytes, mostFiles, at, log, made, changing, toEnd, trouble, loggedOut, open, hooks } = chatPage;
  const text = at("text");
  const kept = `palimpsest:${address}`;
  const hex = (byte) => byte.toString(16).padStart(2, "0");
  const newKey = () => Array.from(crypto.getRandomValues(new Uint8Array(16)), hex).join("");

  // One after the other, and again with the same key until the server has answered.

  const outgoing = [];
  let sending = false;
  const keep = () => {
    const texts = outgoing.filter((one) => !one.files.length).map(({ key, words }) => ({ key, words }));
    try {
      sessionStorage.setItem(kept, JSON.stringify({ draft: text.value, texts }));
    } catch {
      // Private windows may have no storage.
    }
  };
  const forget = (key) => {
    const known = outgoing.findIndex((one) => one.key === key);
    if (known >= 0) outgoing.splice(known, 1);
    keep();
  };
  const show = (one) => {
    const line = made("article", "line person sending");
    line.dataset.sent = one.key;
    const header = made("header");
    header.append(made("b", "", "You"));
    line.append(header);
    if (one.words) {
      const words = made("div", "words plain", one.words);
      words.dir = "auto";
      line.append(words);
    }
    for (const file of one.files) line.append(made("p", "state", `📎 ${file.name}`));
    line.append(made("p", "state", "sending …"));
    one.line = line;
    changing(() => log.append(line));
    toEnd();
  };
  const failed = (one, sentence, isFinal) => {
    one.line.classList.add("unsent");
    const state = one.line.lastElementChild;
    state.replaceChildren(`Not sent: ${sentence} `);
    const act = (label, what) => {
      const button = made("button", "quiet", label);
      button.type = "button";
      button.addEventListener("click", what);
      state.append(button);
    };
    one.rests = isFinal;
    act("Send again", () => {
      one.rests = false;
      sendAll();
    });
    act("Take back", () => {
      one.line.remove();
      forget(one.key);
      text.value = text.value ? `${one.words}\n${text.value}` : one.words;
      choose(one.files);
      text.focus();
      keep();
    });
  };
  const post = async (fields, files = []) => {
    const form = new FormData();
    for (const [name, value] of Object.entries(fields)) form.append(name, value);
    for (const file of files) form.append("files", file, file.name);
    const answer = await fetch(address, { method: "POST", body: form, headers, redirect: "manual" });
    if (answer.ok) return "";
    if (answer.status === 401) loggedOut();
    const said = await answer.json().catch(() => ({}));
    const error = new Error(said.error || `the server says ${answer.status}.`);
    error.isFinal = answer.status < 500;
    throw error;
  };
  const sendAll = async () => {
    if (sending) return;
    sending = true;
    for (const one of [...outgoing]) {
      if (one.rests) continue;
      one.line.classList.remove("unsent");
      one.line.lastElementChild.textContent = "sending …";
      try {
        await post({ key: one.key, text: one.words }, one.files);
        one.line.lastElementChild.textContent = "";
        if (!one.line.isConnected) forget(one.key);
        else one.rests = true; // the stream shows it, and takes this one away
      } catch (error) {
        if (!one.line.isConnected) continue; // it had arrived
        failed(one, error.isFinal === undefined ? "no connection. It is tried again." : error.message, error.isFinal === true);
        if (error.isFinal !== true) break; // what comes after it keeps its place
      }
    }
    sending = false;
    keep();
  };
  const send = () => {
    const words = text.value.trim() ? text.value.replace(/\s+$/, "") : "";
    if (!words && !chosen.length) return text.focus();
    const one = { key: newKey(), words, files: chosen };
    outgoing.push(one);
    text.value = "";
    choose([], true);
    show(one);
    keep();
    sendAll();
  };

  const composer = at("composer");
  const coarse = matchMedia("(pointer: coarse)").matches; // on a phone's keyboard, Enter is a new line
  if (coarse) text.setAttribute("enterkeyhint", "enter");
  composer.addEventListener("submit", (event) => {
    event.preventDefault();
    if (event.submitter === at("stop")) press(at("stop").value, at("stop"));
    else if (event.submitter === at("compact")) press("/compact", at("compact"));
    else send();
  });
  text.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing || coarse) return;
    event.preventDefault();
    send();
  });
  text.addEventListener("input", keep);

  const press = async (command, button) => {
    if (button.getAttribute("aria-disabled") === "true") return;
    button.setAttribute("aria-disabled", "true");
    try {
      await post({ key: newKey(), press: command });
      trouble("press", "");
      if (log.contains(button)) return; // it is used; the message that it stands below changes with what comes of it
    } catch (error) {
      trouble("press", `That did not arrive: ${error.isFinal === undefined ? "there is no connection." : error.message}`);
    }
    setTimeout(() => button.removeAttribute("aria-disabled"), 1000);
  };
  log.addEventListener("submit", (event) => {
    if (!event.target.matches("[data-press]")) return;
    event.preventDefault();
    press(event.submitter.value, event.submitter);
  });

  // Files: chosen, dropped, or pasted

  let chosen = [];
  const choose = (files, instead = false) => {
    const tooLarge = [...files].find((file) => file.size > mostBytes);
    if (tooLarge) trouble("file", `${tooLarge.name} is too large: at most ${Math.floor(mostBytes / 1e6)} MB go.`);
    else trouble("file", "");
    chosen = [...(instead ? [] : chosen), ...[...files].filter((file) => file.size <= mostBytes)];
    if (chosen.length > mostFiles) trouble("file", `At most ${mostFiles} files go with one message.`);
    chosen = chosen.slice(0, mostFiles);
    at("chosen").hidden = !chosen.length;
    at("chosen").replaceChildren(...chosen.map((file) => {
      const item = made("li");
      const button = made("button", "", "✕");
      button.type = "button";
      button.setAttribute("aria-label", `Do not send ${file.name}`);
      button.addEventListener("click", () => {
        choose(chosen.filter((one) => one !== file), true);
        text.focus();
      });
      item.append(made("span", "", file.name), button);
      return item;
    }));
  };
  at("files").addEventListener("change", () => {
    choose(at("files").files);
    at("files").value = "";
    text.focus();
  });
  text.addEventListener("paste", (event) => {
    if (!event.clipboardData.files.length) return;
    event.preventDefault();
    choose(event.clipboardData.files);
  });
  const carriesFiles = (event) => event.dataTransfer && [...event.dataTransfer.types].includes("Files");
  addEventListener("dragover", (event) => {
    if (!carriesFiles(event)) return;
    event.preventDefault();
    composer.classList.add("over");
  });
  addEventListener("dragleave", (event) => event.relatedTarget || composer.classList.remove("over"));
  addEventListener("drop", (event) => {
    composer.classList.remove("over");
    if (!carriesFiles(event)) return;
    event.preventDefault();
    choose(event.dataTransfer.files);
  });

  // Begin

  hooks.arrived = forget;
  hooks.connected = sendAll;
  try {
    const { draft, texts } = JSON.parse(sessionStorage.getItem(kept) || '{"draft": "", "texts": []}');
    text.value = text.value || draft;
    for (const one of texts) {
      if (log.querySelector(`[data-key="${CSS.escape(one.key)}"]`)) continue;
      outgoing.push({ ...one, files: [] });
      show(outgoing.at(-1));
    }
  } catch {
    // Nothing was kept.
  }
  toEnd();
  open();
})();
