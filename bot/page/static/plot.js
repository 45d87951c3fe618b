// What the picture of a context over time shows where one points at it, or has moved to by the keys of its slider.
"use strict";

(() => {
  const known = new WeakMap();
  const read = (plot) => {
    if (!known.has(plot)) {
      const { points, since, until, top } = plot.dataset;
      known.set(plot, { points: JSON.parse(points), since: Number(since), until: Number(until), top: Number(top) });
    }
    return known.get(plot);
  };
  const slider = () => document.getElementById("plot-at");
  const nearest = (points, at) => points.reduce((best, point, number) => (Math.abs(point[0] - at) <= Math.abs(points[best][0] - at) ? number : best), 0);

  const show = (plot, number) => {
    const { points, since, until, top } = read(plot);
    const [at, tokens, told] = points[number];
    const mark = plot.querySelector(".pointed");
    const line = mark.querySelector("line");
    const place = `${Math.min(100, Math.max(0, ((at - since) * 100) / (until - since)))}%`;
    const [high, low] = [Number(line.getAttribute("y1")), Number(line.getAttribute("y2"))];
    for (const name of ["x1", "x2"]) line.setAttribute(name, place);
    mark.querySelector("circle").setAttribute("cx", place);
    mark.querySelector("circle").setAttribute("cy", low - (tokens / top) * (low - high));
    mark.setAttribute("visibility", "visible");
    document.getElementById("plot-told").textContent = told;
    slider().value = at;
    slider().dataset.number = number;
    slider().setAttribute("aria-valuetext", told);
  };
  const pointed = (event) => {
    const plot = event.target.closest?.("#plot");
    if (!plot) return;
    const { points, since, until } = read(plot);
    const { left, width } = plot.getBoundingClientRect();
    show(plot, nearest(points, since + ((event.clientX - left) / width) * (until - since)));
  };
  // The section is made anew when something happens, so nothing is bound to what stands in it now.
  document.addEventListener("pointermove", pointed, { passive: true });
  document.addEventListener("pointerdown", pointed, { passive: true });
  document.addEventListener("input", (event) => {
    if (event.target.id !== "plot-at") return;
    const plot = document.getElementById("plot");
    show(plot, nearest(read(plot).points, Number(event.target.value)));
  });
  // The slider stands below the moment that it tells of; its keys go from one to the next, however far that is.
  const steps = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1, PageDown: -10, PageUp: 10, Home: -Infinity, End: Infinity };
  document.addEventListener("keydown", (event) => {
    if (event.target.id !== "plot-at" || !(event.key in steps)) return;
    event.preventDefault();
    const plot = document.getElementById("plot");
    const last = read(plot).points.length - 1;
    const number = Number(slider().dataset.number ?? last) + steps[event.key];
    show(plot, Math.min(last, Math.max(0, number)));
  });
})();
