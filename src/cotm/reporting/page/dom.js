// Elements and numbers. What comes from data becomes text or an attribute, never markup.

const SVG = "http://www.w3.org/2000/svg";

/** An element; attributes that are functions listen, those that are false or null are left out. */
export function el(name, attributes = {}, ...children) {
  return filled(document.createElement(name), attributes, children);
}

/** The same of a drawing. */
export function svg(name, attributes = {}, ...children) {
  return filled(document.createElementNS(SVG, name), attributes, children);
}

function filled(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(name, value);
    else if (name === "style") setProperties(element, value);
    else if (value !== false && value !== null && value !== undefined) {
      element.setAttribute(name, value === true ? "" : value);
    }
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined));
  return element;
}

function setProperties(element, values) {
  for (const [name, value] of Object.entries(values)) element.style.setProperty(name, value);
}

export const byId = (id) => document.getElementById(id);

/** A number with thousands apart. */
export const whole = (value) => value.toLocaleString("en");

/** A share as percent. */
export const percent = (share, digits = 1) => `${(share * 100).toFixed(digits)} %`;

/** A number in few digits. */
export function short(value) {
  if (Number.isInteger(value)) return whole(value).replace("-", "−");
  return Number(value.toPrecision(5))
    .toLocaleString("en", { maximumFractionDigits: 8 })
    .replace("-", "−");
}

/** Votes, with their sign. */
export function signed(value, digits = 0) {
  const text = Math.abs(value).toLocaleString("en", {
    minimumFractionDigits: digits,
    maximumFractionDigits: digits,
  });
  if (/^[0.]*$/.test(text)) return text;
  return `${value < 0 ? "−" : "+"}${text}`;
}

/** A table whose head and rows are lists of cells, texts or elements; numbers go to the right. */
export function table(caption, head, rows, { numeric = [], kind = "" } = {}) {
  const side = (column) => (numeric.includes(column) ? { class: "number" } : {});
  return el(
    "table",
    { class: kind },
    el("caption", {}, caption),
    el(
      "thead",
      {},
      el(
        "tr",
        {},
        head.map((text, k) => el("th", { scope: "col", ...side(k) }, text)),
      ),
    ),
    el(
      "tbody",
      {},
      rows.map((cells) =>
        el(
          "tr",
          {},
          cells.map((cell, k) =>
            k ? el("td", side(k), cell) : el("th", { scope: "row", ...side(k) }, cell),
          ),
        ),
      ),
    ),
  );
}

/** A bar from one value to another, where the place for it goes from low to high, with a line at 0. */
export function bar(from, to, low, high) {
  const place = (x) => (100 * (x - low)) / (high - low || 1);
  const [left, right] = [Math.min(place(from), place(to)), Math.max(place(from), place(to))];
  return el(
    "span",
    { class: "bar", "aria-hidden": "true", style: { "--zero": `${place(0).toFixed(3)}%` } },
    el("span", {
      class: to < from ? "against" : "for",
      style: { left: `${left.toFixed(3)}%`, width: `${(right - left).toFixed(3)}%` },
    }),
  );
}

/** A bar to the right of a middle line, or to the left of it. */
export const votesBar = (value, span) => bar(0, value, -span, span);

/** Draw something as wide as its place, again whenever that changes. */
export function drawn(place, draw) {
  let width = 0;
  const redraw = () => {
    const now = Math.round(place.clientWidth);
    if (!now || now === width) return;
    width = now;
    place.replaceChildren(draw(width));
  };
  new ResizeObserver(redraw).observe(place);
  redraw();
}
