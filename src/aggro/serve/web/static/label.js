"use strict";

const COMMANDS = "su";
let current = null; // the example that is shown
let classes = [];
let given = []; // ids that were answered in this browser, the newest last
let busy = false;

const place = (id) => document.getElementById(id);
const model = () => place("model").value;

function remember() {
  localStorage.setItem(`aggro-given-${model()}`, JSON.stringify(given.slice(-100)));
}

function recall() {
  given = JSON.parse(localStorage.getItem(`aggro-given-${model()}`) || "[]");
}

function person() {
  const name = place("person").value.trim();
  localStorage.setItem("aggro-person", name); // so that who comes back has it, and goes on where it was
  if (name) return name;
  const made = sessionStorage.getItem("aggro-tab") || `person-${crypto.getRandomValues(new Uint32Array(1))[0].toString(36)}`;
  sessionStorage.setItem("aggro-tab", made);
  return made;
}

function keys() {
  const found = new Map();
  for (const name of classes) {
    const wanted = [...String(name).toLowerCase(), ..."123456789abcdefghijklmnopqrtvwxyz0"];
    const free = wanted.find((key) => /[a-z0-9]/.test(key) && !COMMANDS.includes(key) && !found.has(key));
    if (free) found.set(free, name);
  }
  return found;
}

function highlighted(column, value, reasons) {
  // Each word that speaks for the guess, or against it, is marked where it stands.
  const text = aggro.cell(value);
  const parts = new Map((reasons || []).map((one) => [one.feature, one.part]));
  const mark = (words, part) => aggro.make("mark", { class: part < 0 ? "against" : null, title: `${part >= 0 ? "for" : "against"} the guess: ${aggro.size(part)}` }, words);
  const whole = parts.get(`${column}=${text}`) ?? parts.get(column);
  if (whole !== undefined) return [mark(text, whole)];
  return text.split(/([\p{L}\p{N}]+)/u).filter(Boolean).map((word) => {
    const part = parts.get(column ? `${column}:${word.toLowerCase()}` : word.toLowerCase()); // a text alone has no column
    return part === undefined ? word : mark(word, part);
  });
}

function columns(record) {
  // The parts of a record by their names, as reasons name them.
  if (typeof record === "string") return [["", record]];
  return Array.isArray(record) ? record.map((value, i) => [`x${i}`, value]) : aggro.flat(record);
}

function show(question, waiting) {
  current = question;
  place("question").dataset.id = question ? question.id : "";
  if (!question) {
    const command = `curl ${location.origin}${aggro.path(model())}/ask${aggro.bearer()} \\\n  -d '{"record": {"plan": "team", "age": 40}}'`;
    aggro.replace(place("record"), aggro.make("p", {}, waiting ? "You have skipped the examples that wait, or others are labelling them." : "No example is waiting.",
      " Send records without their labels; the model asks about those that it is not sure of:"),
      aggro.make("pre", { tabindex: "0", "aria-label": "A command that sends a record" }, aggro.make("code", {}, command)));
    place("guess").textContent = "";
    buttons();
    return;
  }
  const reasons = question.reasons ? question.reasons.reasons : [];
  const record = columns(question.record);
  aggro.replace(place("record"), aggro.make("dl", { class: "record" },
    record.map(([name, value]) => [aggro.make("dt", {}, name || "record"), aggro.make("dd", {}, highlighted(name, value, reasons))]).flat()));
  const sure = question.probabilities && question.guess !== null ? question.probabilities[String(question.guess)] : undefined;
  for (const name of question.classes || []) if (!classes.includes(name)) classes.push(name);
  place("guess").textContent = question.guess === null ? `The model has no guess yet.${classes.length ? "" : " Type the right class under “New class”; it gets a key."}` :
    `Guess: ${question.guess}${sure === undefined ? "" : ` (${aggro.share(sure)})`}. Reasons: ${aggro.reasons(reasons, record.map(([name]) => name))}`;
  buttons();
}

function buttons() {
  const make = (key, text, act, disabled) => {
    const button = aggro.make("button", { type: "button", disabled }, key ? aggro.make("kbd", {}, key) : "", text);
    button.onclick = act;
    return button;
  };
  const answers = [...keys()].map(([key, name]) => make(key, String(name), () => answer(name), !current));
  aggro.replace(place("answers"), answers, make("s", "skip", skip, !current), make("u", "undo", undo, !given.length));
}

function progress(found) {
  const [help, why] = found.more_labels_help.split(": ");
  const fact = (name, value) => aggro.make("div", {}, aggro.make("dt", {}, name), aggro.make("dd", {}, value));
  aggro.replace(place("progress"),
    fact("labels", aggro.number(found.labels)), fact("examples waiting", aggro.number(found.waiting)),
    fact("estimated error", aggro.share(found.estimated_error)), fact("would more labels help?", help));
  place("help").textContent = why ? `${why[0].toUpperCase()}${why.slice(1)}.` : "";
  const gain = found.gain.filter((one) => one[0] > found.answered / 20); // the first few say little
  if (gain.length < 2) return aggro.replace(place("gain"));
  const width = 360, height = 120, most = Math.max(...gain.map((one) => one[1])) || 1, last = gain[gain.length - 1][0];
  const line = gain.map(([n, error], i) => `${i ? "L" : "M"}${(38 + (312 * n) / last).toFixed(1)} ${(100 - (86 * error) / most).toFixed(1)}`).join("");
  return aggro.replace(place("gain"), aggro.draw("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `Estimated error against labels: ${aggro.share(gain[0][1])} after ${gain[0][0]}, ${aggro.share(gain[gain.length - 1][1])} after ${last}.` },
    aggro.draw("line", { class: "axis", x1: 38, x2: 350, y1: 100, y2: 100 }), aggro.draw("line", { class: "axis", x1: 38, x2: 38, y1: 14, y2: 100 }),
    aggro.draw("text", { x: 34, y: 18, "text-anchor": "end" }, aggro.share(most)), aggro.draw("text", { x: 350, y: 114, "text-anchor": "end" }, `${last} labels`),
    aggro.draw("path", { class: "recent", d: line })));
}

async function next(message, id) {
  const found = await aggro.post(`${aggro.path(model())}/question`, { person: person(), id });
  show(found.question, found.progress.waiting);
  progress(found.progress);
  if (message !== undefined) place("message").textContent = message;
  if (found.question && document.activeElement === document.body) place("question").focus();
}

async function once(act) {
  if (busy) return;
  busy = true;
  try {
    await act();
  } catch (error) {
    place("message").textContent = error.message;
    if (["unknown_id", "already_learned", "leased"].includes(error.code)) await next();
  } finally {
    busy = false;
  }
}

const answer = (label) => once(async () => {
  if (!current) return;
  const id = current.id;
  await aggro.post(`${aggro.path(model())}/answer`, { id, label, person: person() }, `label-${id}-${given.length}-${Date.now()}`);
  given.push(id);
  remember();
  if (!classes.includes(label)) classes.push(label);
  await next(`Learned: ${label}.`);
});

const skip = () => once(async () => {
  if (!current) return;
  await aggro.post(`${aggro.path(model())}/skip`, { id: current.id, person: person() });
  await next("Skipped: you will see others.");
});

const undo = () => once(async () => {
  if (!given.length) return;
  const id = given[given.length - 1];
  const found = await aggro.post(`${aggro.path(model())}/undo`, { id }).catch((error) => {
    if (!error.code || error.code === "not_stored") throw error; // it may be tried again
    given.pop();
    remember();
    buttons();
    throw error;
  });
  given.pop();
  remember();
  await next(`Taken back: ${found.label}.`, id);
});

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || ["INPUT", "SELECT"].includes(event.target.tagName)) return;
  const name = keys().get(event.key.toLowerCase());
  if (name !== undefined) answer(name);
  else if (event.key.toLowerCase() === "s") skip();
  else if (event.key.toLowerCase() === "u" || event.key === "Backspace") undo();
  else if (event.key === "+") place("new").focus();
  else return;
  event.preventDefault();
});

function added() {
  const name = place("new").value.trim();
  if (!name) return;
  place("new").value = "";
  place("new").blur();
  if (current) answer(name);
  else if (!classes.includes(name)) { classes.push(name); buttons(); }
}

place("add").onclick = added;
place("new").addEventListener("keydown", (event) => { if (event.key === "Enter") added(); });

async function begin() {
  try {
    const { models } = await aggro.get("/v1/models");
    const wanted = new URLSearchParams(location.search).get("model");
    const classifiers = models.filter((one) => one.task === "classification");
    aggro.replace(place("model"), classifiers.map((one) => aggro.make("option", { selected: one.name === wanted }, one.name)));
    place("person").value = localStorage.getItem("aggro-person") || "";
    place("person").onchange = () => once(() => next());
    place("model").onchange = () => once(async () => { classes = []; recall(); await next(""); });
    recall();
    await once(() => next());
  } catch (error) {
    place("message").textContent = error.message;
  }
}

begin();
