"use strict";
(function () {
  const data = JSON.parse(document.getElementById("data").textContent);
  const frames = data.frames;
  const at = (id) => document.getElementById(id);
  const root = document.documentElement;
  const wish = new URLSearchParams(location.hash.slice(1));

  /* Light and dark: the system's choice until the reader makes his own. */
  const system = matchMedia("(prefers-color-scheme: dark)");
  let theme = wish.get("theme");
  try { theme = theme || localStorage.getItem("videorestore-theme"); } catch (error) { /* from disk there may be no storage */ }
  function dress() {
    const dark = theme ? theme === "dark" : system.matches;
    root.dataset.theme = dark ? "dark" : "light";
    at("theme").textContent = dark ? "light" : "dark";
  }
  function turn() {
    theme = root.dataset.theme === "dark" ? "light" : "dark";
    try { localStorage.setItem("videorestore-theme", theme); } catch (error) { /* see above */ }
    dress();
  }
  system.addEventListener("change", dress);
  at("theme").addEventListener("click", turn);
  dress();

  at("copy").addEventListener("click", () => {
    const text = at("record").querySelector("pre").textContent;
    if (navigator.clipboard) navigator.clipboard.writeText(text).then(() => { at("copy").textContent = "copied"; });
  });

  if (!frames.length) { root.dataset.ready = "empty"; return; }

  const withBefore = frames.some((frame) => frame.before);
  const names = data.verb === "compare" ? ["A", "B"] : ["before", "after"];
  const modes = withBefore ? ["slider", "before", "after"] : ["after"];
  if (data.scales.change) modes.push("change");
  if (data.scales.sd) modes.push("sd");
  let mode = modes[0], here = 0, split = 50, boxes = true;

  const stage = at("stage"), divider = at("divider");
  at("viewer").hidden = false;
  at("closer").hidden = false;
  at("tag-left").textContent = names[0];
  at("tag-right").textContent = names[1];
  for (const button of document.querySelectorAll(".modes button")) {
    if (!modes.includes(button.dataset.mode)) { button.remove(); continue; }
    if (button.dataset.mode === "before" || button.dataset.mode === "after") {
      const name = names[button.dataset.mode === "before" ? 0 : 1];
      button.textContent = name[0].toUpperCase() + name.slice(1);
    }
    button.addEventListener("click", () => show(here, button.dataset.mode));
  }
  if (modes.length < 2) document.querySelector(".modes").hidden = true;
  at("key-modes").hidden = modes.length < 2;
  at("key-slider").hidden = !withBefore;
  at("key-boxes").hidden = !frames.some((frame) => frame.boxes);

  /* The stage keeps the picture's shape and never grows beyond the window. */
  function shape(width, height) {
    stage.style.aspectRatio = width + " / " + height;
    stage.style.maxWidth = "calc(max(40vh, 240px) * " + width / height + ")";
  }
  if (data.size[0] && data.size[1]) shape(data.size[0], data.size[1]);
  else at("after").addEventListener("load", (event) => shape(event.target.naturalWidth, event.target.naturalHeight), { once: true });

  const scrub = at("scrub");
  scrub.max = frames.length - 1;
  scrub.addEventListener("input", () => show(Number(scrub.value), mode));
  at("previous").addEventListener("click", () => show(here - 1, mode));
  at("next").addEventListener("click", () => show(here + 1, mode));

  const next = (wanted) => {
    for (let step = 1; step <= frames.length; step += 1) {
      const k = (here + step) % frames.length;
      if (wanted(frames[k])) { show(k, mode); return; }
    }
  };
  const isDamaged = (frame) => Boolean(frame.boxes) || ["mended", "damaged", "corrupt"].includes(frame.origin);
  const isMade = (frame) => ["filled", "interpolated", "missing", "black", "dropped"].includes(frame.origin);
  at("damaged").hidden = at("key-damaged").hidden = !frames.some(isDamaged);
  at("made").hidden = at("key-made").hidden = !frames.some(isMade);
  at("flip").hidden = !withBefore;
  at("play").hidden = frames.length < 2;
  at("damaged").addEventListener("click", () => next(isDamaged));
  at("made").addEventListener("click", () => next(isMade));
  const flip = () => { if (withBefore) show(here, mode === "before" ? "after" : "before"); };
  at("flip").addEventListener("click", flip);
  let playing = 0;
  function play() {
    if (playing) { clearInterval(playing); playing = 0; }
    else playing = setInterval(() => show((here + 1) % frames.length, mode), 160);
    at("play").textContent = playing ? "Stop" : "Play";
  }
  at("play").addEventListener("click", play);

  const middle = (frame) => 100 * (frame.place + 0.5) / data.n;
  const cursors = [];
  for (const track of document.querySelectorAll(".track")) {
    const cursor = document.createElement("div");
    cursor.className = "cursor";
    track.append(cursor);
    cursors.push(cursor);
    const seek = (event) => {
      const box = track.getBoundingClientRect();
      show(nearest((event.clientX - box.left) / box.width * data.n - 0.5), mode);
    };
    track.addEventListener("pointerdown", (event) => { track.setPointerCapture(event.pointerId); seek(event); });
    track.addEventListener("pointermove", (event) => { if (event.buttons) seek(event); });
  }
  for (const frame of frames) {
    const tick = document.createElement("i");
    tick.style.left = middle(frame) + "%";
    at("samples").append(tick);
  }
  for (const dot of document.querySelectorAll(".curve .dot")) {
    dot.addEventListener("click", () => show(nearest(Number(dot.dataset.index)), mode));
  }
  function nearest(place) {
    let best = 0;
    frames.forEach((frame, k) => { if (Math.abs(frame.place - place) < Math.abs(frames[best].place - place)) best = k; });
    return best;
  }

  function cut(percent) {
    split = Math.max(0, Math.min(100, percent));
    stage.style.setProperty("--split", split + "%");
    divider.setAttribute("aria-valuenow", Math.round(split));
  }
  const drag = (event) => {
    const box = stage.getBoundingClientRect();
    cut(100 * (event.clientX - box.left) / box.width);
  };
  stage.addEventListener("pointerdown", (event) => {
    if (mode !== "slider") return;
    stage.setPointerCapture(event.pointerId);
    drag(event);
  });
  stage.addEventListener("pointermove", (event) => { if (mode === "slider" && event.buttons) drag(event); });

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (step && event.target.tagName !== "PRE") {
      if (event.shiftKey || event.target === divider) cut(split + 4 * step);
      else show(here + step, mode);
    } else if (event.key === "Home" && event.target.tagName !== "PRE") show(0, mode);
    else if (event.key === "End" && event.target.tagName !== "PRE") show(frames.length - 1, mode);
    else if (event.key >= "1" && event.key <= "5") {
      const chosen = ["slider", "before", "after", "change", "sd"][event.key - 1];
      if (!modes.includes(chosen)) return;
      show(here, chosen);
    } else if (event.key === "t") { turn(); return; }
    else if (event.key === "f") flip();
    else if (event.key === "p") play();
    else if (event.key === "d") next(isDamaged);
    else if (event.key === "n") next(isMade);
    else if (event.key === "b") { boxes = !boxes; show(here, mode); }
    else return;
    event.preventDefault();
  });

  function pill(state) {
    const mark = document.createElement("span");
    mark.className = "pill s-" + state;
    mark.textContent = state;
    return mark;
  }
  function say(frame) {
    const caption = at("caption");
    const parts = [];
    if (frame.time_s !== undefined) parts.push(frame.time_s.toFixed(3) + " s");
    if (frame.source !== undefined && frame.source !== frame.index) parts.push("source frame " + frame.source);
    if (frame.other !== undefined && frame.other !== frame.index) parts.push("frame " + frame.other + " of B");
    if (frame.psnr !== undefined) parts.push("PSNR " + frame.psnr.toFixed(2) + " dB", "SSIM " + frame.ssim.toFixed(4));
    if (frame.x !== undefined) parts.push("x " + frame.x.toFixed(4));
    if (frame.sd !== undefined) parts.push("sd " + frame.sd);
    const name = document.createElement("b");
    name.textContent = "frame " + frame.index;
    caption.replaceChildren(name);
    if (data.verb !== "compare") caption.append(" ", pill(frame.origin));
    caption.append(parts.length ? " \u00b7 " + parts.join(" \u00b7 ") : "");
    if (frame.notes) caption.append(" \u00b7 " + frame.notes.join("; "));
  }

  function outline(x, y, w, h, words, kind) {
    const box = document.createElement("i");
    box.className = kind;
    box.style.left = 100 * x / data.size[0] + "%";
    box.style.top = 100 * y / data.size[1] + "%";
    box.style.width = 100 * w / data.size[0] + "%";
    box.style.height = 100 * h / data.size[1] + "%";
    if (words) { const label = document.createElement("b"); label.textContent = words; label.className = x > 0.6 * data.size[0] ? "last" : ""; box.append(label); }
    at("boxes").append(box);
  }

  function show(k, wanted) {
    here = Math.max(0, Math.min(frames.length - 1, k));
    mode = modes.includes(wanted) ? wanted : modes[0];
    const frame = frames[here];
    const before = frame.before || (frame.same ? frame.after : null);
    const map = mode === "change" || mode === "sd" ? frame[mode + "_map"] : null;
    const sliding = mode === "slider";
    at("after").src = frame.after;
    at("after").alt = names[1] + ", frame " + frame.index;
    if (before) at("before").src = before;
    at("before").alt = names[0] + ", frame " + frame.index;
    at("nothing").hidden = Boolean(before);
    at("before").hidden = !before;
    at("cover").hidden = !(sliding || mode === "before");
    at("cover").style.clipPath = mode === "before" ? "none" : "";
    at("cover").style.display = sliding || mode === "before" ? "" : "none";
    at("map").hidden = !map;
    if (map) { at("map").src = map; at("map").alt = mode === "sd" ? "standard deviation" : "difference"; }
    divider.hidden = !sliding;
    stage.classList.toggle("still", !sliding);
    at("tag-left").hidden = !(sliding || mode === "before") || !withBefore;
    at("tag-right").hidden = !(sliding || mode === "after") || !withBefore;
    let message = "";
    if (mode === "change" && !map) message = frame.same ? "not changed" : before ? "made anew: no difference to show" : "not in the source";
    if (mode === "sd" && !map) message = "kept as it was: no uncertainty";
    at("message").hidden = !message;
    at("message").textContent = message;
    const scale = data.scales[mode];
    at("scale").hidden = !scale;
    at("scale").className = "scale " + mode;
    if (scale) {
      at("scale-low").textContent = mode === "sd" ? "sd 0" : "\u2212" + scale;
      at("scale-high").textContent = (mode === "sd" ? "" : "+") + scale + " of 255";
    }
    at("boxes").replaceChildren();
    if (boxes && frame.boxes && data.size[0]) {
      for (const [x, y, w, h, words] of frame.boxes) outline(x, y, w, h, words, "");
    }
    const part = frame.loupe;
    at("loupe").hidden = !part;
    if (part) {
      if (boxes && data.size[0]) outline(part.x, part.y, part.w, part.h, "", "part");
      const zoom = window.innerWidth < 720 ? 1 : 2;
      for (const side of ["before", "after"]) {
        const image = at("loupe-" + side);
        image.hidden = !part[side];
        if (part[side]) image.src = part[side];
        image.width = part.w * zoom;
        image.alt = side + " in true pixels";
      }
      at("loupe-words").textContent = (zoom > 1 ? "Every pixel of the clip, enlarged " + zoom + " times: " : "Every pixel of the clip: ") + (part.before ? "before and after, " : "") +
        part.w + " \u00d7 " + part.h + " at " + part.x + ", " + part.y + (boxes ? " (dashed above)" : "") + ".";
    }
    for (const button of document.querySelectorAll(".modes button")) {
      button.setAttribute("aria-pressed", button.dataset.mode === mode);
    }
    scrub.value = here;
    scrub.setAttribute("aria-valuetext", "frame " + frame.index);
    for (const cursor of cursors) cursor.style.left = middle(frame) + "%";
    for (const value of document.querySelectorAll(".chart .value")) {
      const number = frame[value.dataset.key];
      value.textContent = number === undefined ? "" : String(number);
    }
    for (const dot of document.querySelectorAll(".curve .dot")) dot.classList.toggle("here", Number(dot.dataset.index) === frame.place);
    say(frame);
    root.dataset.frame = frame.index;
    root.dataset.mode = mode;
    try { history.replaceState(null, "", "#frame=" + frame.index + "&mode=" + mode); } catch (error) { /* some viewers forbid it */ }
  }

  cut(Number(wish.get("split") || 50));
  const asked = wish.get("frame");
  /* It opens on the frame that changed most. */
  let most = 0;
  frames.forEach((frame, k) => { if (frame.changed > frames[most].changed) most = k; });
  show(asked === null ? most : nearest(Number(asked)), wish.get("mode") || mode);
  root.dataset.ready = "yes";
})();
