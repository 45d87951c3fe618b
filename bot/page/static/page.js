// What the page does by itself: it shows what is new without being loaded anew. Everything else works without this.
"use strict";

(() => {
  document.documentElement.dataset.script = ""; // what is of use with it alone is shown
  const told = document.getElementById("told");
  const say = (text) => {
    told.textContent = text;
    told.hidden = !text;
  };

  // Parts that are marked as live are taken from the page as the server makes it now, and put in place of the old ones.
  let busy = false;
  let again = false;
  const typing = () => {
    const at = document.activeElement;
    return at && at.matches("input, textarea, select") && at.closest("[data-live]");
  };
  const keep = (old, fresh) => {
    for (const one of old.querySelectorAll("details[id][open]")) {
      const other = fresh.querySelector(`#${CSS.escape(one.id)}`);
      if (other) other.open = true;
    }
  };
  async function refresh() {
    if (busy) {
      again = true;
      return;
    }
    busy = true;
    try {
      const answer = await fetch(location.href, { headers: { Accept: "text/html" }, redirect: "follow" });
      if (new URL(answer.url).pathname === "/login") {
        say("You are logged out. Load the page anew to log in.");
        return;
      }
      if (!answer.ok) return;
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      const focus = document.activeElement && document.activeElement.id;
      for (const old of document.querySelectorAll("[data-live]")) {
        const fresh = page.getElementById(old.id);
        if (!fresh || old.innerHTML === fresh.innerHTML || typing() === old) continue;
        keep(old, fresh);
        old.replaceWith(document.adoptNode(fresh));
        fresh.classList.add("changed");
      }
      if (focus && (!document.activeElement || document.activeElement === document.body)) {
        document.getElementById(focus)?.focus({ preventScroll: true });
      }
    } catch {
      // The network is away; the stream says so, and comes back by itself.
    } finally {
      busy = false;
      if (again) {
        again = false;
        refresh();
      }
    }
  }

  const live = document.querySelector("[data-stream]");
  if (live && "EventSource" in window) {
    const sign = document.getElementById("live-sign");
    const show = (state, text) => {
      if (!sign) return;
      sign.dataset.state = state;
      sign.textContent = text;
    };
    let source = null;
    const open = () => {
      source = new EventSource(live.dataset.stream);
      source.addEventListener("open", () => show("live", "live"));
      source.addEventListener("changed", refresh);
      source.addEventListener("ended", () => {
        close();
        show("off", "logged out");
        say("You are logged out. Load the page anew to log in.");
      });
      source.addEventListener("error", () => {
        const closed = source && source.readyState === EventSource.CLOSED;
        show("off", closed ? "not live" : "reconnecting …");
        if (closed) setTimeout(refresh, 1000);
      });
    };
    const close = () => {
      source?.close();
      source = null;
    };
    // A browser has few connections to one address: a page that nobody sees needs none of them.
    document.addEventListener("visibilitychange", () => {
      if (document.hidden) close();
      else if (!source) {
        refresh();
        open();
      }
    });
    addEventListener("pagehide", close);
    addEventListener("pageshow", (event) => event.persisted && location.reload());
    if (!document.hidden) open();
  }

  // A command is given once; what came of it is shown as soon as the stream says so.
  document.addEventListener("submit", (event) => {
    if (!event.target.matches("form[data-once]")) return;
    const button = event.target.querySelector("button");
    if (button.getAttribute("aria-disabled") === "true") event.preventDefault();
    else button.setAttribute("aria-disabled", "true");
  });
})();
