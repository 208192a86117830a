// An image to look at and to paint on, and beside it where the votes come from.

import { el, short } from "./dom.js";

const SIDE = 300;

/** Draws values as an image; channels beyond three are added up to gray. */
function painted(canvas, [height, width, channels], value, alpha = 255) {
  const small = document.createElement("canvas");
  [small.width, small.height] = [width, height];
  const context = small.getContext("2d");
  const data = context.createImageData(width, height);
  for (let k = 0; k < height * width; ++k) {
    const parts = Array.from({ length: channels }, (_, c) => value(k * channels + c));
    const gray = parts.reduce((a, b) => a + b, 0) / channels;
    const rgb = channels === 3 ? parts : [gray, gray, gray];
    data.data.set([...rgb.map((part) => Math.round(255 * part)), alpha], 4 * k);
  }
  context.putImageData(data, 0, 0);
  const target = canvas.getContext("2d");
  target.imageSmoothingEnabled = false;
  target.clearRect(0, 0, canvas.width, canvas.height);
  target.drawImage(small, 0, 0, canvas.width, canvas.height);
}

function sized([height, width], side, attributes) {
  const scale = Math.max(1, Math.floor(side / Math.max(height, width)));
  return el("canvas", { width: width * scale, height: height * scale, ...attributes });
}

/** What values of images are white, and what black, in the examples. */
export function rangeOf(rows) {
  let [low, high] = [0, 1];
  for (const row of rows) {
    for (const value of row) {
      if (value < low) low = value;
      if (value > high) high = value;
    }
  }
  return [low, high];
}

/** A small image that can be pressed. */
export function thumbnail(shape, range, row, attributes) {
  const canvas = sized(shape, 36, { "aria-hidden": "true" });
  painted(canvas, shape, (k) => (row[k] - range[0]) / (range[1] - range[0]));
  return el("button", { type: "button", class: "thumbnail", ...attributes }, canvas);
}

/** The image in large, where pixels can be painted, and its heat map. */
export class ImageFields {
  constructor(shape, range, changed) {
    Object.assign(this, {
      shape,
      range,
      changed,
      cursor: [Math.floor(shape[0] / 2), Math.floor(shape[1] / 2)],
    });
    this.brush = el(
      "select",
      { id: "brush" },
      [
        ["1", "light"],
        ["0", "dark"],
      ].map(([value, text]) => el("option", { value }, text)),
    );
    this.canvas = sized(shape, SIDE, {
      tabindex: 0,
      role: "application",
      "aria-label": "The image. Arrow keys move to a pixel, the space bar paints it.",
      pointerdown: (event) => this.stroke(event),
      pointermove: (event) => event.buttons && this.stroke(event),
      keydown: (event) => this.key(event),
      focus: () => this.draw(),
      blur: () => this.draw(),
    });
    this.where = el("p", { class: "note", role: "status" });
    this.heat = sized(shape, SIDE, { role: "img" });
    this.caption = el("figcaption", {});
    this.element = el(
      "div",
      { class: "images" },
      el(
        "figure",
        {},
        this.canvas,
        el(
          "figcaption",
          {},
          "The image; paint on it. ",
          el("label", { for: "brush" }, "Brush: ", this.brush),
        ),
        this.where,
      ),
      el("figure", {}, this.heat, this.caption),
    );
  }

  show(row) {
    this.row = row;
    this.draw();
  }

  level = (k) => (this.row[k] - this.range[0]) / (this.range[1] - this.range[0]);

  draw() {
    painted(this.canvas, this.shape, this.level);
    if (document.activeElement !== this.canvas || !this.byKeys) return;
    const scale = this.canvas.width / this.shape[1];
    const context = this.canvas.getContext("2d");
    context.strokeStyle = "#e69f00";
    context.lineWidth = 2;
    context.strokeRect(this.cursor[1] * scale, this.cursor[0] * scale, scale, scale);
  }

  paint(y, x) {
    const [height, width, channels] = this.shape;
    if (y < 0 || x < 0 || y >= height || x >= width) return;
    const value = this.range[Number(this.brush.value)];
    const first = (y * width + x) * channels;
    let other = false;
    for (let k = first; k < first + channels; ++k) {
      other ||= this.row[k] !== value;
      this.row[k] = value;
    }
    this.draw();
    if (other) this.changed();
  }

  stroke(event) {
    event.preventDefault();
    this.canvas.focus();
    this.byKeys = false;
    const box = this.canvas.getBoundingClientRect();
    const [height, width] = this.shape;
    this.paint(
      Math.floor(((event.clientY - box.top) / box.height) * height),
      Math.floor(((event.clientX - box.left) / box.width) * width),
    );
  }

  key(event) {
    const [height, width] = this.shape;
    const [y, x] = this.cursor;
    const to = {
      ArrowUp: [y - 1, x],
      ArrowDown: [y + 1, x],
      ArrowLeft: [y, x - 1],
      ArrowRight: [y, x + 1],
      " ": [y, x],
    }[event.key];
    if (!to) return;
    event.preventDefault();
    this.byKeys = true;
    this.cursor = [Math.min(height - 1, Math.max(0, to[0])), Math.min(width - 1, Math.max(0, to[1]))];
    if (event.key === " ") this.paint(...this.cursor);
    this.draw();
    const channels = this.shape[2];
    const at = (this.cursor[0] * width + this.cursor[1]) * channels;
    const values = this.row
      .slice(at, at + channels)
      .map(short)
      .join(", ");
    this.where.textContent = `row ${this.cursor[0]}, column ${this.cursor[1]}: ${values}`;
  }

  /** Shows the votes of each pixel, or cell, for a label. */
  showHeat(values, [rows, columns], label) {
    const style = getComputedStyle(document.documentElement);
    const dark = style.colorScheme.startsWith("dark");
    painted(this.heat, this.shape, (k) =>
      dark ? 0.08 + 0.27 * this.level(k) : 1 - 0.25 * this.level(k),
    );
    const most = values.reduce((a, b) => Math.max(a, Math.abs(b)), 0) || 1;
    const context = this.heat.getContext("2d");
    const [wide, tall] = [this.heat.width / columns, this.heat.height / rows];
    for (let k = 0; k < rows * columns; ++k) {
      if (!values[k]) continue;
      context.globalAlpha = 0.95 * Math.sqrt(Math.abs(values[k]) / most);
      context.fillStyle = style.getPropertyValue(values[k] > 0 ? "--heat-for" : "--heat-against");
      context.fillRect((k % columns) * wide, Math.floor(k / columns) * tall, wide, tall);
    }
    context.globalAlpha = 1;
    const top = values.indexOf(values.reduce((a, b) => Math.max(a, b)));
    this.heat.setAttribute(
      "aria-label",
      `Votes for ${label} by pixel: most of them from row ${Math.floor(top / columns)}, column ${top % columns}.`,
    );
    this.caption.replaceChildren(
      "Votes for ",
      el("b", {}, label),
      " by where they come from: ",
      el("span", { class: "key for" }),
      "for, ",
      el("span", { class: "key against" }),
      `against; the strongest pixel has ${short(Number(most.toFixed(2)))}.`,
    );
  }

  /** Frames on the heat map: patches of this size with these corners. */
  showPatches(corners, [height, width], [rows, columns]) {
    const context = this.heat.getContext("2d");
    const [wide, tall] = [this.heat.width / columns, this.heat.height / rows];
    context.strokeStyle = getComputedStyle(document.documentElement).getPropertyValue("--text");
    context.lineWidth = 2;
    for (const [y, x] of corners) {
      context.strokeRect(x * wide + 1, y * tall + 1, width * wide - 2, height * tall - 2);
    }
  }
}
