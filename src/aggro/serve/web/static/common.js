// What the pages share: requests with the token, if there is one, and elements made without any HTML of the data.
"use strict";

const aggro = {
  token: sessionStorage.getItem("aggro-token") || "",

  async call(method, path, body, key) {
    const headers = { Accept: "application/json" };
    if (aggro.token) headers.Authorization = `Bearer ${aggro.token}`;
    if (body !== undefined) headers["Content-Type"] = "application/json";
    if (key) headers["Idempotency-Key"] = key;
    const answer = await fetch(path, { method, headers, body: body === undefined ? undefined : JSON.stringify(body) });
    const found = await answer.json();
    if (answer.status === 401) {
      aggro.refused = true;
      aggro.askForToken();
    }
    if (!answer.ok) {
      const error = new Error(found.error ? found.error.message : `Status ${answer.status}`);
      error.code = found.error ? found.error.code : "";
      throw error;
    }
    return found;
  },

  get(path) {
    return aggro.call("GET", path);
  },

  post(path, body, key) {
    return aggro.call("POST", path, body, key);
  },

  bearer() {
    // What curl needs beside the path, where tokens are needed.
    return aggro.token || aggro.refused ? " \\\n  -H 'Authorization: Bearer TOKEN'" : "";
  },

  path(name) {
    return `/v1/models/${encodeURIComponent(name)}`;
  },

  askForToken() {
    const panel = document.getElementById("token");
    if (!panel.hidden) return;
    panel.hidden = false;
    const field = document.getElementById("token-field");
    field.focus();
    const save = () => {
      aggro.token = field.value.trim();
      sessionStorage.setItem("aggro-token", aggro.token);
      panel.hidden = true;
      location.reload();
    };
    document.getElementById("token-save").onclick = save;
    field.onkeydown = (event) => { if (event.key === "Enter") save(); };
  },

  make(tag, attributes, ...inside) {
    const made = document.createElement(tag);
    aggro.fill(made, attributes, inside);
    return made;
  },

  draw(tag, attributes, ...inside) {
    const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
    aggro.fill(made, attributes, inside);
    return made;
  },

  fill(made, attributes, inside) {
    for (const [name, value] of Object.entries(attributes || {})) {
      if (value !== undefined && value !== null && value !== false) made.setAttribute(name, value === true ? "" : value);
    }
    for (const one of inside.flat()) made.append(one instanceof Node ? one : String(one));
  },

  replace(place, ...inside) {
    place.replaceChildren(...inside.flat().map((one) => (one instanceof Node ? one : String(one))));
  },

  number(value) {
    return value === null || value === undefined ? "–" : Number(value).toLocaleString("en", { maximumFractionDigits: 4 });
  },

  size(value) {
    return String(Number(value.toPrecision(2)));
  },

  share(value) {
    return value === null || value === undefined ? "–" : `${(100 * value).toFixed(value < 0.1 ? 1 : 0)}%`;
  },

  words(feature, columns) {
    // "plan=basic" and "note:refund" as a person would say them, where the column is known.
    for (const name of [...columns].sort((a, b) => b.length - a.length)) {
      if (feature.startsWith(`${name}=`)) return `${name} is ${feature.slice(name.length + 1)}`;
      if (feature.startsWith(`${name}:`)) return `“${feature.slice(name.length + 1)}” in ${name}`;
    }
    return feature;
  },

  reasons(reasons, columns) {
    if (!reasons || !reasons.length) return "–";
    return reasons.slice(0, 5).map((one) => `${aggro.words(one.feature, columns)} ${one.part >= 0 ? "+" : "−"}${aggro.size(Math.abs(one.part))}`).join(", ");
  },

  cell(value) {
    if (value === null) return "–";
    return typeof value === "object" ? JSON.stringify(value) : String(value);
  },

  flat(record, before = "") {
    // Fields of objects inside a record are columns with a dot in their names.
    return Object.entries(record).flatMap(([name, value]) =>
      value !== null && typeof value === "object" && !Array.isArray(value) ? aggro.flat(value, `${before}${name}.`) : [[before + name, value]]);
  },

  record(record) {
    if (typeof record === "string") return record;
    const short = (value) => (typeof value === "number" ? Number(value.toPrecision(4)) : aggro.cell(value));
    if (Array.isArray(record)) return record.map(short).join(", ");
    return aggro.flat(record).map(([name, value]) => `${name}: ${short(value)}`).join(" · ");
  },
};
