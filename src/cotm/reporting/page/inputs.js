// What an example is made of: cells of a table to be changed, or bits to be switched on and off.

import { el, short, whole } from "./dom.js";

/** Fields, or words, that are elements at a time. */
const MOST_FIELDS = 60;
const DAY = 86400;
const SECONDS = ["date", "duration", "time"];

/** What is known of each column of a table: its tests, and the values that occur. */
export function columnsOf(input, rows) {
  const columns = input.columns.map(({ name, type }, k) => ({
    k,
    name,
    type,
    thresholds: [],
    categories: [],
    missing: false,
  }));
  for (const [k, op, value] of input.bits) {
    if (op === "missing") columns[k].missing = true;
    else if (op === "=") columns[k].categories.push(value);
    else columns[k].thresholds.push(value);
  }
  for (const column of columns) {
    if (column.type === "bit" || column.type === "category") continue;
    const seen = rows.map((row) => row[column.k]).filter((value) => typeof value === "number");
    const low = Math.min(...column.thresholds, ...seen);
    const high = Math.max(...column.thresholds, ...seen);
    const known = Number.isFinite(low);
    column.whole = known && seen.length > 0 && seen.every(Number.isInteger);
    const room = known && !seen.length ? (high - low || Math.abs(high) || 1) * 0.1 : 0;
    [column.low, column.high] = known ? [low - room, high + room] : [0, 1];
    const step = 10 ** Math.floor(Math.log10((column.high - column.low || 1) / 200));
    column.days =
      column.type === "date" && [...column.thresholds, ...seen].every((value) => value % DAY === 0);
    column.step = column.days ? DAY : column.whole ? Math.max(1, step) : step;
  }
  return columns;
}

/** A cell in words. */
export function cellText(column, value) {
  if (value === null || value === undefined) return "missing";
  if (typeof value !== "number") return `${value}`;
  if (column.type === "bit") return value ? "yes" : "no";
  if (column.type === "date") {
    const day = new Date(value * 1000);
    return Number.isNaN(day.getTime())
      ? `${value} s`
      : day
          .toISOString()
          .replace(/T00:00:00\.000Z$/, "")
          .replace(/\.?0*Z$/, "")
          .replace("T", " ");
  }
  if (SECONDS.includes(column.type)) return durationText(value);
  return short(value);
}

/** Seconds as rules have them: ``2 days 03:00:00``, ``-51:00:00``, ``00:00:01.5``. */
function durationText(seconds) {
  const two = (part) => `${part}`.padStart(2, "0");
  const micro = Math.round(Math.abs(seconds) * 1e6);
  const [rest, fraction] = [Math.floor(micro / 1e6), micro % 1e6];
  const alone = seconds < 0 && micro % (DAY * 1e6) !== 0; // else it is unclear what the sign is of
  const days = alone ? 0 : Math.floor(rest / DAY);
  const hours = Math.floor((rest - days * DAY) / 3600);
  const decimals = fraction ? `.${`${fraction}`.padStart(6, "0").replace(/0+$/, "")}` : "";
  const clock = `${two(hours)}:${two(Math.floor(rest / 60) % 60)}:${two(rest % 60)}${decimals}`;
  const sign = seconds < 0 ? "-" : "";
  if (!days) return `${sign}${clock}`;
  const span = `${sign}${days} day${days > 1 ? "s" : ""}`;
  return clock === "00:00:00" ? span : `${span} ${clock}`;
}

/** Fields for the columns of a table. `changed` is called with the number of a column and a cell. */
export class TableFields {
  constructor(columns, changed) {
    Object.assign(this, { columns, changed });
    this.filter = el("input", {
      type: "search",
      id: "field-search",
      autocomplete: "off",
      spellcheck: "false",
      input: () => this.show(this.row),
    });
    this.list = el("div", { class: "inputs", id: "inputs" });
    this.note = el("p", { class: "note" });
    const search =
      columns.length > 12 ? el("label", { for: "field-search" }, "Find a column", this.filter) : null;
    this.element = el("div", {}, search, this.list, this.note);
  }

  show(row) {
    this.row = row;
    const words = this.filter.value.toLowerCase();
    const found = this.columns.filter(({ name }) => name.toLowerCase().includes(words));
    this.fields = new Map(found.slice(0, MOST_FIELDS).map((column) => [column.k, this.field(column)]));
    this.list.replaceChildren(...[...this.fields.values()].map(({ element }) => element));
    this.note.textContent =
      found.length > MOST_FIELDS
        ? `${whole(MOST_FIELDS)} of ${whole(found.length)} columns; find others by their names.`
        : "";
    for (const [k, { set }] of this.fields) set(row[k]);
  }

  field(column) {
    const id = `field-${column.k}`;
    const change = (value) => {
      this.row[column.k] = value;
      this.fields.get(column.k).set(value);
      this.changed(column.k);
    };
    const control =
      column.type === "bit"
        ? bitField(id, change)
        : column.type === "category"
          ? categoryField(id, column, change)
          : numberField(id, column, change);
    const absent = el("input", {
      type: "checkbox",
      id: `${id}-missing`,
      change: () => change(absent.checked ? null : control.usual(this.row.original?.[column.k])),
    });
    const element = el(
      "div",
      { class: "field", role: "group", "aria-label": column.name },
      el("label", { for: id, class: "name" }, column.name),
      el("div", { class: "control" }, control.elements),
      el("label", { class: "missing", for: `${id}-missing` }, absent, "missing"),
    );
    return {
      element,
      set: (value) => {
        const gone = value === null || value === undefined;
        absent.checked = gone;
        element.classList.toggle("absent", gone);
        control.set(gone ? null : value);
      },
    };
  }
}

function bitField(id, change) {
  const box = el("input", { type: "checkbox", id, change: () => change(box.checked ? 1 : 0) });
  return {
    elements: [box],
    set: (value) => (box.checked = Boolean(value)),
    usual: () => 0,
  };
}

function categoryField(id, column, change) {
  const options = [...column.categories];
  const select = el("select", { id, change: () => change(options[Number(select.value)] ?? other) });
  // A value that training did not see; one that is told apart from all that it saw.
  let other = "(another)";
  while (options.includes(other)) other += "·";
  const fill = () =>
    select.replaceChildren(
      ...options.map((value, k) => el("option", { value: k }, `${value}`)),
      el("option", { value: options.length }, "another, not seen in training"),
    );
  fill();
  return {
    elements: [select],
    set: (value) => {
      if (value !== null && value !== other && !options.includes(value)) {
        options.push(value);
        fill();
      }
      select.disabled = value === null;
      if (value !== null) select.value = value === other ? options.length : options.indexOf(value);
    },
    usual: (original) => original ?? options[0] ?? other,
  };
}

function numberField(id, column, change) {
  const { low, high, step } = column;
  const slider = el("input", {
    type: "range",
    id,
    min: low,
    max: high,
    step: "any",
    input: () => change(rounded(Number(slider.value))),
    keydown: (event) => {
      const by = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1, PageUp: 10, PageDown: -10 }[
        event.key
      ];
      if (!by || slider.disabled) return;
      event.preventDefault();
      change(rounded(Math.min(high, Math.max(low, Number(slider.value) + by * step))));
    },
  });
  const rounded = (value) => Number((Math.round(value / step) * step).toPrecision(12));
  const exact = column.type === "date" ? dateInput(column) : numberInput(column);
  exact.input.addEventListener("change", () => exact.value !== null && change(exact.value));
  const shown = ["duration", "time"].includes(column.type) ? el("output", { for: id }) : null;
  return {
    elements: [slider, exact.input, shown],
    set: (value) => {
      slider.disabled = exact.input.disabled = value === null;
      if (value !== null) slider.value = value;
      if (exact.value !== value) exact.value = value;
      slider.setAttribute("aria-valuetext", cellText(column, value));
      if (shown) shown.textContent = value === null ? "" : cellText(column, value);
    },
    usual: (original) => original ?? rounded((low + high) / 2),
  };
}

/** A field for a number of any precision. */
function numberInput({ name }) {
  const input = el("input", { type: "number", step: "any", "aria-label": `${name}, as a number` });
  return {
    input,
    get value() {
      return input.value === "" ? null : Number(input.value);
    },
    set value(value) {
      input.value = value ?? "";
    },
  };
}

/** A field for a date, in seconds since 1970. */
function dateInput({ name, days }) {
  const type = days ? "date" : "datetime-local";
  const input = el("input", { type, step: days ? 1 : 0.001, "aria-label": `${name}, as a date` });
  return {
    input,
    get value() {
      return Number.isNaN(input.valueAsNumber) ? null : input.valueAsNumber / 1000;
    },
    set value(value) {
      if (value === null) input.value = "";
      else input.valueAsNumber = value * 1000;
    },
  };
}

/** Bits of a table that holds nothing else: those that are set, and a search for more. */
export class BitFields {
  constructor(columns, changed) {
    Object.assign(this, { columns, changed });
    this.search = el("input", {
      type: "search",
      id: "bit-search",
      autocomplete: "off",
      spellcheck: "false",
      input: () => this.find(),
    });
    this.set = el("ul", {
      class: "chips",
      id: "bits-set",
      "aria-label": "Switched on; press one to switch it off",
    });
    this.found = el("ul", {
      class: "chips",
      id: "bits-found",
      "aria-label": "Found; press one to switch it on",
    });
    this.count = el("p", { class: "note", role: "status" });
    this.element = el(
      "div",
      {},
      el("label", { for: "bit-search" }, "Switch on: search by name", this.search),
      this.found,
      this.count,
      this.set,
    );
  }

  show(row) {
    this.row = row;
    const on = this.columns.filter(({ k }) => row[k]);
    const shown = on.slice(0, 4 * MOST_FIELDS).map((column) => this.chip(column, 0));
    this.set.replaceChildren(...shown);
    this.count.textContent = `${whole(on.length)} of ${whole(this.columns.length)} are on. Press one to switch it off.`;
    this.find();
  }

  find() {
    const words = this.search.value.toLowerCase();
    const found = words
      ? this.columns.filter(({ k, name }) => !this.row[k] && name.toLowerCase().includes(words))
      : [];
    this.found.replaceChildren(...found.slice(0, MOST_FIELDS).map((column) => this.chip(column, 1)));
    if (found.length > MOST_FIELDS)
      this.found.append(el("li", {}, `and ${whole(found.length - MOST_FIELDS)} more`));
  }

  chip(column, value) {
    const press = () => {
      this.row[column.k] = value;
      this.changed(column.k);
      this.show(this.row);
      this.search.focus();
    };
    return el(
      "li",
      {},
      el(
        "button",
        { type: "button", "aria-pressed": value ? "false" : "true", click: press },
        column.name,
      ),
    );
  }
}
