"use strict";
// Puts in what a run that goes on shows next, and says where its page is when it has ended.
(() => {
  const live = document.getElementById("live");
  const note = document.getElementById("live-note");
  if (!live || !note || !window.EventSource) return;
  const events = new EventSource(live.dataset.events);
  const say = (text) => {
    if (note.textContent !== text) note.textContent = text;
  };
  events.addEventListener("state", (event) => {
    say("It goes on by itself, each second.");
    live.innerHTML = event.data;
  });
  events.addEventListener("ended", (event) => {
    events.close();
    const link = document.createElement("a");
    link.href = event.data;
    link.textContent = "its page";
    note.replaceChildren("The run has ended: ", link, ".");
  });
  events.addEventListener("error", () => say("The server does not answer; what stands here is the last that it said."));
})();
