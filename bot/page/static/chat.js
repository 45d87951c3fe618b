// The chat page shows what the stream of events says. All HTML in here was
// made by the server, from templates that escape; nothing that somebody wrote is put together to HTML by this script.
// What the person sends is in chat.send.js.
"use strict";

const chatPage = (() => {
  const chat = document.querySelector("[data-chat]");
  const { chat: address, csrf } = chat.dataset;
  const at = (id) => document.getElementById(id);
  const log = at("log");
  const headers = { Accept: "application/json", "X-CSRF-Token": csrf };
  const made = (tag, name, words) => {
    const element = document.createElement(tag);
    if (name) element.className = name;
    if (words) element.textContent = words;
    return element;
  };
  const parsed = (html) => {
    const template = document.createElement("template");
    template.innerHTML = html;
    return [...template.content.children];
  };
  const lineOf = (id) => log.querySelector(`[data-line="${CSS.escape(id)}"]`);
  // What chat.send.js adds: what to do when a message of ours is there, and when the stream is.
  const hooks = { arrived: () => {}, connected: () => {} };

  // The end of the page stays in view for whoever looks at it, and nothing moves for whoever reads further up.

  const page = document.scrollingElement;
  const isAtEnd = () => page.scrollHeight - page.scrollTop - page.clientHeight < 120;
  const toEnd = () => page.scrollTo({ top: page.scrollHeight });
  const newest = at("newest");
  const offerNewest = () => {
    newest.hidden = isAtEnd();
    if (newest.hidden) newest.textContent = "↓ Newest";
  };
  addEventListener("scroll", offerNewest, { passive: true });
  addEventListener("resize", offerNewest, { passive: true });
  newest.addEventListener("click", () => {
    toEnd();
    log.focus({ preventScroll: true });
  });
  // One button stops what one waits for, and says which that is; the status of a compaction has a button of its own.
  const showStop = () => {
    const isWritten = log.querySelector("[data-growing]:not([hidden])");
    const compaction = !isWritten && log.querySelector('button[value="/abort compaction"]');
    const [label, command] = compaction
      ? ["Stop compacting", compaction.value]
      : ["Stop the answer", isWritten ? "/abort answer" : "/abort"];
    const stop = at("stop");
    stop.hidden = at("typing").hidden && !isWritten && !compaction;
    if (stop.value !== command) stop.value = command;
    if (stop.textContent !== label) stop.textContent = label;
  };
  const changing = (change) => {
    const follows = isAtEnd();
    change();
    at("empty").hidden = log.childElementCount > 0;
    showStop();
    if (follows) toEnd();
    offerNewest();
  };

  // Times are those of whoever reads, and an answer or its code can be copied once it is whole.

  const copies = (label, from, source) => {
    const button = made("button", "copy");
    button.type = "button";
    const show = (told, name) => {
      button.textContent = told;
      button.setAttribute("aria-label", name);
    };
    show("Copy", label);
    button.addEventListener("click", async () => {
      try {
        await navigator.clipboard.writeText(source());
        show("Copied", "Copied");
      } catch {
        getSelection().selectAllChildren(from); // a page without https may not use the clipboard
        show("Selected", "Selected");
      }
      setTimeout(() => show("Copy", label), 2000);
    });
    return button;
  };

  const local = (time) => {
    const moment = new Date(time.dateTime);
    const isToday = moment.toDateString() === new Date().toDateString();
    time.title = moment.toLocaleString();
    const clock = { hour: "2-digit", minute: "2-digit" };
    time.textContent = isToday ? moment.toLocaleTimeString([], clock) : moment.toLocaleString([], { dateStyle: "medium", timeStyle: "short" });
  };
  const dress = (line) => {
    line.querySelectorAll("header time").forEach(local);
    if ("growing" in line.dataset) return;
    const whole = line.querySelector("template");
    if (whole?.content.textContent) {
      line.querySelector("header").append(copies("Copy this answer", line.querySelector(".words"), () => whole.content.textContent));
    }
    for (const code of line.querySelectorAll("pre")) {
      const around = made("div", "code");
      code.replaceWith(around);
      around.append(code, copies("Copy this code", code, () => code.textContent));
    }
  };

  // What the stream says

  const put = (line, after) => {
    const old = lineOf(line.dataset.line) || (line.dataset.key && log.querySelector(`[data-sent="${CSS.escape(line.dataset.key)}"]`));
    const had = old && old.contains(document.activeElement);
    if (line.dataset.key) hooks.arrived(line.dataset.key);
    dress(line);
    const before = after && lineOf(after);
    if (old && (!after || old.previousElementSibling === before)) old.replaceWith(line);
    else {
      old?.remove();
      if (before) before.after(line);
      else log.append(line);
    }
    if (had) (line.querySelector("button, a") || log).focus({ preventScroll: true });
  };

  const events = {
    page({ html, before }) {
      const lines = parsed(html);
      const first = lines.length ? lineOf(lines[0].dataset.line) : null;
      if (first) {
        const shown = [...log.querySelectorAll("[data-line]")];
        shown.slice(shown.indexOf(first)).forEach((line) => line.remove());
      } else {
        log.querySelectorAll("[data-line]").forEach((line) => line.remove()); // so much was missed that there is a gap
        setEarlier(before);
      }
      const unsent = [...log.querySelectorAll("[data-sent]")];
      for (const line of lines) put(line, "");
      for (const line of unsent) if (line.isConnected) log.append(line);
    },
    line({ after, html }) {
      if (!isAtEnd()) newest.textContent = "↓ New below";
      for (const line of parsed(html)) put(line, after);
      besideSoon();
    },
    gone({ id }) {
      lineOf(id)?.remove();
    },
    writing({ id, from, blocks }) {
      const line = lineOf(id);
      if (!line) return;
      const words = line.querySelector(".words");
      while (words.childElementCount > from) words.lastElementChild.remove();
      for (const html of blocks) {
        const block = made("div", "block");
        block.append(...parsed(html));
        words.append(block);
      }
      line.hidden = false;
    },
    typing(data) {
      at("typing").hidden = !data.is;
    },
    meter({ html }) {
      at("meter").replaceChildren(...parsed(html));
    },
    book(data) {
      trouble("book", data.is === "there" ? "" : "The database does not answer. What you send is kept here until it does.");
    },
    ended() {
      close();
      loggedOut();
    },
  };

  const troubles = new Map();
  const trouble = (kind, sentence) => {
    if (sentence) troubles.set(kind, sentence);
    else troubles.delete(kind);
    const told = [...troubles.values()][0] || "";
    if (at("offline").textContent !== told) at("offline").textContent = told;
    at("offline").hidden = !told;
  };
  const loggedOut = () => {
    trouble("session", "You are logged out. Load the page anew to log in; what you wrote is kept.");
  };

  let source = null;
  let seen = chat.dataset.seen;
  let waits = 1000;
  let later = 0;
  const close = () => {
    clearTimeout(later);
    source?.close();
    source = null;
  };
  const open = () => {
    close();
    source = new EventSource(`${address}/stream?seen=${encodeURIComponent(seen)}`);
    source.addEventListener("open", () => {
      waits = 1000;
      trouble("stream", "");
      hooks.connected();
    });
    source.addEventListener("error", () => {
      trouble("stream", navigator.onLine ? "The connection is lost. Trying again …" : "You are offline.");
      if (source?.readyState === EventSource.CLOSED) again();
    });
    for (const [kind, apply] of Object.entries(events)) {
      source.addEventListener(kind, (event) => {
        if (event.lastEventId) seen = event.lastEventId;
        changing(() => apply(JSON.parse(event.data)));
      });
    }
  };
  const again = async () => {
    close();
    try {
      const answer = await fetch(`${address}/earlier`, { headers, redirect: "manual" });
      if (answer.status === 401 || answer.type === "opaqueredirect") return loggedOut();
    } catch {
      // The network is away.
    }
    later = setTimeout(open, waits);
    waits = Math.min(waits * 2, 15000);
  };
  // A browser has few connections to one address; a page that nobody sees gives its own back after a while.
  document.addEventListener("visibilitychange", () => {
    if (!document.hidden) {
      clearTimeout(later);
      if (!source) open();
    } else if (source) later = setTimeout(close, 30000);
  });
  addEventListener("online", open);
  addEventListener("offline", () => trouble("stream", "You are offline. What you send is kept here."));
  addEventListener("pagehide", close);
  addEventListener("pageshow", (event) => event.persisted && location.reload());

  // The conversations beside this one: what is new in them is looked up when something was said here, or one comes back.

  let besideLater = 0;
  const besideSoon = () => {
    clearTimeout(besideLater);
    besideLater = setTimeout(async () => {
      try {
        const answer = await fetch(`${address}/beside`, { headers });
        if (!answer.ok) return;
        const { html } = await answer.json();
        const list = at("beside");
        const had = list.contains(document.activeElement) && document.activeElement.getAttribute("href");
        list.replaceChildren(...parsed(html));
        if (had) list.querySelector(`a[href="${CSS.escape(had)}"]`)?.focus({ preventScroll: true });
      } catch {
        // The network is away, which the stream says.
      }
    }, 1000);
  };
  document.addEventListener("visibilitychange", () => document.hidden || besideSoon());

  // What was said before

  const earlier = at("earlier");
  const setEarlier = (before) => {
    earlier.hidden = !before;
    earlier.firstElementChild.dataset.before = before;
    earlier.firstElementChild.href = `${address}?before=${before}`;
  };
  earlier.addEventListener("click", async (event) => {
    event.preventDefault();
    try {
      const answer = await fetch(`${address}/earlier?before=${earlier.firstElementChild.dataset.before}`, { headers });
      const { html, before } = await answer.json();
      const height = page.scrollHeight;
      const lines = parsed(html);
      lines.forEach(dress);
      log.setAttribute("aria-live", "off"); // nobody wants all of that read out
      log.prepend(...lines);
      setEarlier(before);
      page.scrollTop += page.scrollHeight - height;
      requestAnimationFrame(() => log.setAttribute("aria-live", "polite"));
    } catch {
      trouble("stream", "The connection is lost. Trying again …");
    }
  });

  log.querySelectorAll(".line").forEach(dress);
  changing(() => {});
  return { address, headers, mostBytes: chat.dataset.mostBytes, mostFiles: chat.dataset.mostFiles, at, log, made, changing, toEnd, trouble, loggedOut, open, hooks };
})();
