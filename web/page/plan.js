// The plan: form and address on one side, the engine's numbers on the other.

import { $, announce, el, say, show } from "./dom.js";
import { benchNote, useBench } from "./bench.js";
import { needs } from "./kinds.js";
import { answerOf, noAnswer } from "./plan_answer.js";
import { PlanChart } from "./plan_chart.js";
import { showSnippets } from "./plan_lines.js";
import { fieldOf, fields, fromAddress, fromSlider, given, toAddress, toSlider, wantOf } from "./plan_state.js";
import { showLeftOut, showRows } from "./plan_table.js";
import { step, write } from "./state.js";
import { about, bytes, count, keysText, memoryText, odds, rate, rateText } from "./units.js";

const texts = { keys: keysText, rate: rateText, memory: memoryText };

export class PlanView {
  constructor(engine, facts) {
    this.engine = engine;
    this.facts = facts;
    this.turn = 0;
    this.working = null;
    this.chart = new PlanChart(engine, (field, value) => this.pick(field, value));
    this.listen();
  }

  listen() {
    for (const [name, need] of Object.entries(needs))
      $("needs").append(el("label", {}, el("input", { type: "checkbox", name, value: name }), need.label));
    for (const field of fields) $(field).addEventListener("input", () => this.set({ [field]: $(field).value }));
    for (const field of ["keys", "rate", "memory"])
      $(`${field}-slider`).addEventListener("input", (event) => this.slide(field, Number(event.target.value)));
    $("plan-form").addEventListener("submit", (event) => event.preventDefault());
    $("find").addEventListener("change", (event) => this.find(event.target.value));
    $("chart-choice").addEventListener("change", (event) => { step(); this.set({ chart: event.target.value }); });
    $("needs").addEventListener("change", () => {
      step();
      this.set({ needs: [...$("needs").querySelectorAll("input:checked")].map((box) => box.value).join(","), kind: "" });
    });
    $("bench-file").addEventListener("change", (event) => this.take([...event.target.files]));
  }

  /** The address says what to show. */
  enter(values) {
    this.state = fromAddress(values);
    this.fillForm();
    return this.update();
  }

  fillForm() {
    const { state } = this;
    for (const field of fields) if ($(field).value !== state[field]) $(field).value = state[field];
    for (const radio of document.querySelectorAll("input[name=find]")) radio.checked = radio.value === state.find;
    for (const radio of document.querySelectorAll("input[name=chart]")) radio.checked = radio.value === state.chart;
    const wanted = state.needs.split(",");
    for (const box of $("needs").querySelectorAll("input")) box.checked = wanted.includes(box.value);
    if (state.range || state.allow || state.needs) $("more").open = true;
    this.markFollower();
  }

  markFollower() {
    for (const field of ["keys", "rate", "memory"]) {
      const asked = given(this.state, field);
      document.querySelector(`[data-field=${field}]`).classList.toggle("follows", !asked);
      $(field).readOnly = !asked;
      $(`${field}-slider`).disabled = !asked;
    }
    say(document.querySelector("label[for=memory]"), this.state.find === "fit" ? "Memory, at most" : "Memory");
  }

  set(changes) {
    Object.assign(this.state, changes);
    write("plan", toAddress(this.state));
    this.update();
  }

  find(which) {
    const changes = { find: which };
    // What followed until now becomes what is given: rounded as a person would say it.
    for (const field of ["keys", "rate", "memory"])
      if (!given(this.state, field) && which !== field && this.shown?.[field] > 0) changes[field] = texts[field](this.shown[field]);
    step();
    Object.assign(this.state, changes);
    this.fillForm();
    this.set({});
  }

  slide(field, share) {
    const text = texts[field](fromSlider(field, share));
    $(field).value = text;
    this.set({ [field]: text });
  }

  pick(field, value) {
    if (field === "kind") { step(); this.set({ kind: value }); return; }
    if (!given(this.state, field)) return;
    $(field).value = texts[field](value);
    step();
    this.set({ [field]: $(field).value });
  }

  /** A file that was chosen or dropped here: what a bench of this machine says. */
  async take([file]) {
    if (!file) return;
    const refused = useBench(await file.text());
    $("bench-file").value = "";
    say($("bench-note"), refused ?? benchNote());
    $("bench-note").classList.toggle("wrong", refused !== null);
    announce($("bench-note").textContent);
    if (!refused && this.report) this.showPlan();
  }

  /** One plan at a time: while a slider moves, the engine is asked for the newest state only. */
  update() {
    ++this.turn;
    $("view-plan").setAttribute("aria-busy", "true");
    this.working ??= this.work().finally(() => {
      this.working = null;
      $("view-plan").setAttribute("aria-busy", "false");
    });
    return this.working;
  }

  async work() {
    for (let turn = 0; turn !== this.turn;) {
      turn = this.turn;
      await this.plan(turn);
    }
  }

  async plan(turn) {
    const want = wantOf(this.state);
    const reply = await this.engine.plan(want);
    if (turn !== this.turn) return;
    this.showError(reply.error);
    if (reply.error) {
      this.report = null;
      this.shown = null;
      noAnswer($("answer"), reply.error);
      for (const field of ["keys", "rate", "memory"]) if (!given(this.state, field)) $(field).value = "";
      showRows($("kinds"), null);
      this.chart.clear();
      $("left-out").replaceChildren();
      $("lines").replaceChildren(el("p", { class: "soft" }, "There is nothing to copy until the plan above is whole."));
      announce(reply.error);
      return;
    }
    this.report = reply.ok;
    this.want = want;
    this.growth = new Map();
    this.choose();
    this.showPlan();
    this.showNotes();
    announce(`${this.row.kind}: ${bytes(this.row.bytes)}, ${rate(this.row.rate)}, ${about(this.row.keys ?? this.report.keys)} keys`);
    await this.showMore(turn);
  }

  /** Which kind: the one that was picked, else the engine's choice, else the smallest that can what it must. */
  choose() {
    const { report, state } = this;
    const wanted = state.needs.split(",").filter((name) => Object.hasOwn(needs, name));
    const lacks = (kind) => wanted.filter((name) => !needs[name].can(this.facts.get(kind) ?? {}));
    for (const row of report.kinds) row.lacks = lacks(row.kind).map((name) => needs[name].not);
    const able = report.kinds.filter((row) => row.lacks.length === 0);
    let best = able.find((row) => row.kind === report.chosen);
    let why = report.why;
    if (!best && able.length > 0) {
      best = able.reduce((one, other) => (other.bytes < one.bytes ? other : one));
      why = able.length === 1 ? "the only kind that does all this" : "the smallest kind that does all this";
    }
    this.best = best ? { row: best, why } : null;
    const picked = report.kinds.find((row) => row.kind === state.kind);
    this.row = picked ?? best ?? report.kinds.find((row) => row.kind === report.chosen);
    this.shown = { keys: this.row.keys ?? report.keys, rate: this.row.rate || report.rate, memory: this.row.bytes };
  }

  showError(sentence) {
    const field = sentence ? fieldOf(sentence, this.state) : null;
    for (const name of fields) {
      const note = $(`${name}-note`);
      const wrong = name === field;
      note.className = wrong ? "error" : "note";
      if (wrong) say(note, sentence);
      if (wrong) $(name).setAttribute("aria-invalid", "true");
      else $(name).removeAttribute("aria-invalid");
    }
    show($("plan-error"), Boolean(sentence) && field === null);
    say($("plan-error"), field === null ? (sentence ?? "") : "");
    if (sentence) for (const name of ["keys", "rate", "memory"]) if (name !== field) say($(`${name}-note`), "");
  }

  showNotes() {
    const { report, state, row } = this;
    const keys = state.find === "keys" ? row.keys : report.keys;
    const asked = state.find === "rate" ? row.rate : report.rate;
    const memory = given(state, "memory") ? report.memory : row.bytes;
    if (state.find === "keys") $("keys").value = count(keys);
    if (state.find === "rate") $("rate").value = asked === 0 ? "never wrong" : rate(asked);
    if (state.find === "memory") $("memory").value = bytes(memory);
    const follows = `follows from the other two, for ${row.kind}`;
    say($("keys-note"), state.find === "keys" ? `${about(keys)}; ${follows}` : about(keys) === count(keys) ? `${count(keys)} different keys` : `${about(keys)} different keys`);
    say($("rate-note"), state.find === "rate" ? follows : `${odds(asked)} absent keys is taken for a member`);
    say($("memory-note"), state.find === "memory" ? follows : `${bytes(memory)}, which is ${count(memory)} bytes`);
    say($("range-note"), "shows the exact maps, too");
    say($("allow-note"), "shows the cascade: a block list and an allow list in one set");
    const shown = { keys, rate: asked, memory };
    const spoken = { keys: about(keys), rate: rate(asked), memory: bytes(memory) };
    for (const field of ["keys", "rate", "memory"]) {
      const slider = $(`${field}-slider`);
      if (document.activeElement !== slider) slider.value = String(shown[field] > 0 ? toSlider(field, shown[field]) : 0);
      slider.setAttribute("aria-valuetext", spoken[field]);
    }
  }

  showPlan() {
    answerOf($("answer"), this);
    showRows($("kinds"), this, (kind) => this.pick("kind", kind));
    showLeftOut($("left-out"), this.report.left_out);
    if (!$("bench-note").classList.contains("wrong")) say($("bench-note"), benchNote());
  }

  async showMore(turn) {
    const { row, want } = this;
    const three = await Promise.all(this.report.kinds.map(({ kind }) => this.engine.growth({ ...want, kind, factors: [1, 3] })));
    if (turn !== this.turn) return;
    this.report.kinds.forEach(({ kind }, i) => this.growth.set(kind, three[i]));
    this.showPlan();
    const lines = await this.engine.lines({ ...want, kind: row.kind });
    if (turn !== this.turn) return;
    showSnippets($("lines"), row.kind, lines);
    await this.chart.show(this, () => turn === this.turn);
  }
}
