"use strict";

const EVERY = 2000; // milliseconds
const EARLY = 30; // predictions that have met their label, below which nothing is said
const HARDLY = 0.9; // of the error of who never looks at a record: a model that has more is hardly better
const seen = new Map(); // by name: rows, predictions and time of the last look

function drawing(points, { last, unit, shown, told, alarms = [] }) {
  // Lines through points {x, all, recent} with x from 0 to 1.
  const width = 360, height = 150, left = 44, right = 8, top = 14, bottom = 22;
  const most = Math.max(...points.filter((one) => !one.early).flatMap((one) => [one.all, one.recent])) || 1;
  const x = (share) => left + (width - left - right) * share;
  const y = (value) => height - bottom - ((height - top - bottom) * Math.min(value, most)) / most;
  const line = (name) => points.map((one, i) => `${i ? "L" : "M"}${x(one.x).toFixed(1)} ${y(one[name]).toFixed(1)}`).join("");
  return aggro.draw(
    "svg",
    { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": told },
    aggro.draw("line", { class: "axis", x1: left, x2: width - right, y1: height - bottom, y2: height - bottom }),
    aggro.draw("line", { class: "axis", x1: left, x2: left, y1: top, y2: height - bottom }),
    aggro.draw("text", { x: left - 4, y: top + 4, "text-anchor": "end" }, shown(most)),
    aggro.draw("text", { x: left - 4, y: height - bottom, "text-anchor": "end" }, "0"),
    aggro.draw("text", { x: width - right, y: height - 6, "text-anchor": "end" }, `${aggro.number(last)} ${unit}`),
    aggro.draw("text", { x: left, y: height - 6 }, "— recent   - - so far"),
    aggro.draw("path", { class: "all", d: line("all") }),
    aggro.draw("path", { class: "recent", d: line("recent") }),
    alarms.map((at) => [
      aggro.draw("line", { class: "alarm", x1: x(at), x2: x(at), y1: top, y2: height - bottom }),
      aggro.draw("text", { class: "alarm", x: x(at), y: top - 3, "text-anchor": "middle" }, "drift"),
    ]).flat(),
  );
}

function errors(history) {
  const curve = history.curve;
  if (curve.length < 2) return aggro.make("p", { class: "soft" }, "The curve begins with the second prediction that meets its label.");
  const now = curve[curve.length - 1], last = now.judged;
  const shown = history.task === "regression" ? aggro.size : aggro.share;
  const offset = history.rows - history.judged;
  return drawing(curve.map((one) => ({ x: one.judged / last, all: one.error, recent: one.recent_error, early: one.judged <= last / 20 })), {
    last, unit: "predictions", shown,
    told: `Error over ${aggro.number(last)} predictions: ${shown(now.error)} so far, ${shown(now.recent_error)} over the last thousand; ${history.alarms.length} drift alarms.`,
    alarms: history.alarms.map((one) => Math.max(0, one.row - offset) / last),
  });
}

function losses(history) {
  // The learner notes its mean loss at 1, 2, 4, 8 … examples, so the axis is logarithmic.
  const marks = history.losses.filter((one) => one.loss !== null);
  if (marks.length < 4) return "";
  const points = marks.map((one, i) => {
    const before = i ? marks[i - 1] : { rows: 0, loss: 0 };
    return { x: i / (marks.length - 1), all: one.loss, recent: (one.rows * one.loss - before.rows * before.loss) / (one.rows - before.rows), early: i < 3 };
  });
  const now = marks[marks.length - 1];
  return [
    aggro.make("h3", {}, "Loss"),
    drawing(points, { last: now.rows, unit: "examples, log scale", shown: aggro.size,
      told: `Mean loss after ${aggro.number(now.rows)} examples: ${aggro.size(now.loss)} so far, ${aggro.size(points[points.length - 1].recent)} over the later half of them.` }),
  ];
}

function verdict(model, history) {
  if (!model.rows) return ["", "No example yet. The page Start says how to send the first one."];
  if (!history.judged) return ["", "Too early to say: no prediction has met its label yet."];
  const error = history.recent_error;
  if (history.task === "outlier") return ["", `${aggro.share(error)} of the last records were called outliers.`];
  const latest = history.alarms[history.alarms.length - 1];
  if (latest && model.rows - latest.row < 2000) return ["bad", `The error rose at example ${aggro.number(latest.row)}: the data have changed.`];
  if (history.judged < EARLY) return ["", `Too early to say: ${history.judged} prediction${history.judged === 1 ? " has" : "s have"} met ${history.judged === 1 ? "its label" : "their labels"}.`];
  const useless = history.plain_error !== null && error > HARDLY * history.plain_error;
  if (history.task === "regression") {
    const told = `the last predictions are off by ${aggro.size(error)} on average, the mean of all labels by ${aggro.size(history.plain_error)}.`;
    return useless ? ["bad", `Hardly better than no model: ${told}`] : ["good", `Doing well: ${told}`];
  }
  const told = `${aggro.share(1 - error)} of the last predictions were right; always “${history.commonest}” would be right for ${aggro.share(1 - history.plain_error)}.`;
  if (useless) return ["bad", `Hardly better than no model: ${told}`];
  if (error > 1.5 * history.error && history.judged > 500) return ["bad", `The recent error is well above the error so far: ${told}`];
  return ["good", `Doing well: ${told}`];
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
      aggro.make("table", {}, aggro.make("thead", {}, head), aggro.make("tbody", {}, body))),
  ];
}

function mistakes(history, columns) {
  if (!history.mistakes.length) return "";
  const one = (mistake) => aggro.make("li", {},
    aggro.make("div", {}, aggro.record(mistake.record)),
    aggro.make("div", {}, "predicted ", aggro.make("strong", {}, aggro.cell(mistake.prediction)), ", was ", aggro.make("strong", {}, aggro.cell(mistake.label))),
    aggro.make("div", { class: "soft" }, `because of: ${aggro.reasons(mistake.reasons, columns)}`));
  return [aggro.make("h3", {}, "Last mistakes"), aggro.make("ul", { class: "mistakes" }, history.mistakes.slice(0, 5).map(one))];
}

function speaks(weight, model) {
  // What a weight says, in words.
  if (weight.class === null) return model.task === "regression" ? (weight.weight > 0 ? "raises the number" : "lowers the number") : "–";
  if (weight.weight > 0) return `for ${weight.class}`;
  const others = model.classes.map(String).filter((name) => name !== weight.class);
  return others.length === 1 ? `for ${others[0]}` : `against ${weight.class}`;
}

function panel(model, history, weights) {
  const [kind, words] = verdict(model, history);
  const error = history.task === "regression" ? aggro.number : aggro.share;
  const columns = Object.keys(model.columns);
  const higher = (feature) => (model.columns[feature] === "number" ? `higher ${feature}` : aggro.words(feature, columns));
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
    aggro.make("h3", {}, "Error"),
    errors(history),
    losses(history),
    ...table("Classes", ["class", "examples", "mistakes"],
      Object.entries(history.classes).map(([name, one]) => [name, aggro.number(one.examples), aggro.share(one.examples ? one.mistakes / one.examples : null)])),
    mistakes(history, columns),
    ...table("Largest weights", ["what", "speaks", "weight"],
      weights.slice(0, 8).map((one) => [higher(one.feature), speaks(one, model), Math.abs(one.weight).toPrecision(3)])),
  ].flat();
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
    status.textContent = error.code ? error.message : `The server does not answer: ${error.message}`;
  }
  setTimeout(look, EVERY);
}

look();
