"use strict";
// Draws every chart of the page, and draws those that a control concerns anew when it moves.
const specs = JSON.parse(document.getElementById("specs").textContent);
const controls = [...document.querySelectorAll("#controls input")];

function value(control) {
  const values = control.dataset.values;
  return values ? JSON.parse(values)[Number(control.value)] : Number(control.value);
}

Promise.all(
  Object.entries(specs).map(([id, spec]) =>
    vegaEmbed("#" + id, spec, { renderer: "svg", actions: false, mode: "vega-lite" }).then((found) => ({
      view: found.view,
      names: spec.params.map((param) => param.name),
    })),
  ),
).then((charts) => {
  async function redraw() {
    for (const control of controls) control.nextElementSibling.value = value(control);
    for (const chart of charts) {
      const mine = controls.filter((control) => chart.names.includes(control.name));
      for (const control of mine) chart.view.signal(control.name, value(control));
      if (mine.length) await chart.view.runAsync();
    }
    document.body.dataset.drawn = String(Number(document.body.dataset.drawn || 0) + 1);
  }
  for (const control of controls) control.addEventListener("input", redraw);
  return redraw();
});
