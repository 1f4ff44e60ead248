"use strict";

const here = location.origin;
const path = `${here}/v1/models/default`;
const example = { record: { plan: "basic", age: 31, note: "wants a refund" }, label: "leaves" };
document.getElementById("learn").textContent =
  `curl ${path}/learn -H 'Content-Type: application/json' \\\n  -d '${JSON.stringify(example)}'`;
document.getElementById("predict").textContent =
  `curl ${path}/predict -H 'Content-Type: application/json' \\\n  -d '{"record":{"plan":"pro","note":"happy with it"}}'`;
document.getElementById("python").textContent =
  `from aggro.client import Client\n\nmodel = Client("${here}").model("default")\n` +
  `model.learn({"plan": "basic", "age": 31, "note": "wants a refund"}, "leaves")\n` +
  `print(model.predict({"plan": "basic", "age": 28}))`;

document.getElementById("send").onclick = async () => {
  const place = document.getElementById("sent");
  try {
    await aggro.post("/v1/models/default/learn", example);
    const found = await aggro.get("/v1/models/default");
    place.textContent = `Learned. The model knows ${aggro.number(found.rows)} example${found.rows === 1 ? "" : "s"}.`;
  } catch (error) {
    place.textContent = error.message;
  }
};
