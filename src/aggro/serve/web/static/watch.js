"use strict";

const EVERY = 2000; // milliseconds
const seen = new Map(); // by name: rows, predictions and time of the last look

function chart(history) {
  const width = 360, height = 150, left = 38, right = 8, top = 14, bottom = 22;
  const curve = history.curve;
  if (curve.length < 2) return aggro.make("p", { class: "soft" }, "The curve begins with the second prediction that meets its label.");
  const last = curve[curve.length - 1].judged;
  const regression = history.task === "regression";
  const settled = curve.filter((one) => one.judged > last / 20); // the first few say little, and would make the rest small
  const most = Math.max(...settled.map((one) => Math.max(one.error, one.recent_error))) || 1;
  const x = (judged) => left + ((width - left - right) * judged) / last;
  const y = (error) => height - bottom - ((height - top - bottom) * Math.min(error, most)) / most;
  const line = (name) => curve.map((one, i) => `${i ? "L" : "M"}${x(one.judged).toFixed(1)} ${y(one[name]).toFixed(1)}`).join("");
  const shown = (value) => (regression ? aggro.number(value) : aggro.share(value));
  const offset = history.rows - history.judged;
  const alarms = history.alarms.map((one) => {
    const at = x(Math.max(0, one.row - offset)).toFixed(1);
    return [
      aggro.draw("line", { class: "alarm", x1: at, x2: at, y1: top, y2: height - bottom }),
      aggro.draw("text", { class: "alarm", x: at, y: top - 3, "text-anchor": "middle" }, "drift"),
    ];
  });
  const now = curve[curve.length - 1];
  const told = `Error over ${aggro.number(last)} predictions: ${shown(now.error)} so far, ${shown(now.recent_error)} over the last thousand; ${history.alarms.length} drift alarms.`;
  return aggro.draw(
    "svg",
    { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": told },
    aggro.draw("line", { class: "axis", x1: left, x2: width - right, y1: height - bottom, y2: height - bottom }),
    aggro.draw("line", { class: "axis", x1: left, x2: left, y1: top, y2: height - bottom }),
    aggro.draw("text", { x: left - 4, y: top + 4, "text-anchor": "end" }, shown(most)),
    aggro.draw("text", { x: left - 4, y: height - bottom, "text-anchor": "end" }, "0"),
    aggro.draw("text", { x: width - right, y: height - 6, "text-anchor": "end" }, `${aggro.number(last)} predictions`),
    aggro.draw("text", { x: left, y: height - 6 }, "— recent   - - so far"),
    aggro.draw("path", { class: "all", d: line("error") }),
    aggro.draw("path", { class: "recent", d: line("recent_error") }),
    ...alarms,
  );
}

function verdict(model, history) {
  if (!history.judged) return ["", "Too early to say: no prediction has met its label yet."];
  const latest = history.alarms[history.alarms.length - 1];
  if (latest && model.rows - latest.row < 2000) return ["bad", `The error rose at example ${aggro.number(latest.row)}: the data have changed.`];
  if (history.task === "regression") return ["good", "Doing well: no drift was seen lately."];
  const worse = history.recent_error > 1.5 * history.error && history.judged > 500;
  if (worse) return ["bad", "The recent error is well above the error so far."];
  return ["good", `Doing well: ${aggro.share(1 - history.recent_error)} of the last predictions were right.`];
}

function rate(model) {
  const before = seen.get(model.name);
  const now = { rows: model.rows, predictions: model.predictions, time: performance.now() };
  seen.set(model.name, now);
  if (!before || now.time <= before.time) return "–";
  const per = (name) => Math.max(0, (1000 * (now[name] - before[name])) / (now.time - before.time)).toFixed(0);
  return `${per("rows")} / ${per("predictions")}`;
}

function fact(name, value) {
  return aggro.make("div", {}, aggro.make("dt", {}, name), aggro.make("dd", {}, value));
}

function table(caption, heads, rows) {
  if (!rows.length) return "";
  const head = aggro.make("tr", {}, heads.map((one) => aggro.make("th", { scope: "col" }, one)));
  const body = rows.map((row) => aggro.make("tr", {}, row.map((cell) => aggro.make("td", {}, cell))));
  return [
    aggro.make("h3", {}, caption),
    aggro.make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": caption },
      aggro.make("table", { class: heads.length > 3 ? "wide" : null }, aggro.make("thead", {}, head), aggro.make("tbody", {}, body))),
  ];
}

function panel(model, history, weights) {
  const [kind, words] = verdict(model, history);
  const error = history.task === "regression" ? aggro.number : aggro.share;
  return [
    aggro.make("h2", {}, `${model.name} `, aggro.make("span", { class: "soft" }, model.learner)),
    aggro.make("p", { class: `verdict ${kind}` }, words),
    aggro.make("dl", { class: "facts" },
      fact("learned", aggro.number(model.rows)),
      fact("recent error", error(history.recent_error)),
      fact("error so far", error(history.error)),
      fact("learned / predicted per second", rate(model)),
      fact("updates", aggro.number(model.updates)),
      fact("waiting for a label", aggro.number(model.waiting)),
      fact("drift alarms", aggro.number(model.drifts)),
      fact("in the learning queue", aggro.number(model.queue))),
    chart(history),
    ...table("Classes", ["class", "examples", "mistakes"],
      Object.entries(history.classes).map(([name, one]) => [name, aggro.number(one.examples), aggro.share(one.examples ? one.mistakes / one.examples : null)])),
    ...table("Last mistakes", ["record", "label", "predicted", "reasons"],
      history.mistakes.slice(0, 5).map((one) => [aggro.record(one.record), one.label, one.prediction, aggro.reasons(one.reasons)])),
    ...table("Largest weights", ["feature", "class", "weight"],
      weights.slice(0, 8).map((one) => [one.feature, one.class === null ? "–" : one.class, one.weight.toFixed(3)])),
  ];
}

async function look() {
  const status = document.getElementById("status");
  try {
    const { models, failed } = await aggro.get("/v1/models");
    const place = document.getElementById("models");
    const names = new Set(models.map((one) => one.name));
    for (const old of [...place.children]) if (!names.has(old.dataset.model)) old.remove();
    for (const { name } of models) {
      const [model, history, { weights }] = await Promise.all([
        aggro.get(aggro.path(name)), aggro.get(`${aggro.path(name)}/history`), aggro.get(`${aggro.path(name)}/weights`),
      ]);
      let section = [...place.children].find((one) => one.dataset.model === name);
      if (!section) {
        section = aggro.make("section", { class: "panel model", "data-model": name, "aria-label": `Model ${name}` });
        place.append(section);
      }
      if (!section.contains(document.activeElement)) aggro.replace(section, panel(model, history, weights));
    }
    const lost = Object.keys(failed);
    status.textContent = lost.length ? `Cannot be restored: ${lost.join(", ")}. The server's log says why.` : "Live: refreshed every two seconds.";
  } catch (error) {
    status.textContent = `The server does not answer: ${error.message}`;
  }
  setTimeout(look, EVERY);
}

look();
