"use strict";

const here = location.origin;
const path = `${here}/v1/models/default`;
const example = { record: { plan: "basic", age: 31, note: "wants a refund" }, label: "leaves" };

function commands() {
  const json = `${aggro.bearer()} -H 'Content-Type: application/json' \\\n  -d `;
  for (const link of aggro.bearer() ? document.querySelectorAll("a[data-api]") : []) {
    // A browser that follows a link sends no token.
    link.replaceWith(`${link.textContent} (`, aggro.make("code", {}, `curl ${link.href}${aggro.bearer()}`), ")");
  }
  const token = aggro.bearer() ? ', token="TOKEN"' : "";
  document.getElementById("learn").textContent = `curl ${path}/learn${json}'${JSON.stringify(example)}'`;
  document.getElementById("predict").textContent = `curl ${path}/predict${json}'{"record":{"plan":"pro","note":"happy with it"}}'`;
  document.getElementById("python").textContent =
    `from aggro.client import Client\n\nmodel = Client("${here}"${token}).model("default")\n` +
    `model.learn({"plan": "basic", "age": 31, "note": "wants a refund"}, "leaves")\n` +
    `print(model.predict({"plan": "basic", "age": 28}))`;
}

async function count() {
  const { rows } = await aggro.get("/v1/models/default");
  if (rows) document.getElementById("title").textContent = `The model default has learned ${aggro.number(rows)} example${rows === 1 ? "" : "s"}`;
}

async function told(act) {
  const place = document.getElementById("sent");
  try {
    place.textContent = await act();
  } catch (error) {
    place.textContent = error.message;
  }
  commands();
}

document.getElementById("send").onclick = () => told(async () => {
  await aggro.post("/v1/models/default/learn", example);
  await count();
  return "Learned.";
});

commands();
told(async () => {
  await count();
  return "";
});
