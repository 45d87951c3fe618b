"use strict";

// A page that waits for something that happens elsewhere is asked for again until it waits no more.
(() => {
  const EVERY_MS = 1000;

  async function again() {
    try {
      const answer = await fetch(location.href);
      if (answer.ok) {
        const page = new DOMParser().parseFromString(await answer.text(), "text/html");
        const there = document.querySelector("main");
        const then = page.querySelector("main");
        if (then && then.innerHTML !== there.innerHTML) there.replaceChildren(...then.childNodes);
      }
    } catch {
      // The program has ended, or just now does not answer.
    }
    if (document.querySelector("[data-waits]")) setTimeout(again, EVERY_MS);
  }

  if (document.querySelector("[data-waits]")) setTimeout(again, EVERY_MS);
})();
