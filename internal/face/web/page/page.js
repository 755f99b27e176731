"use strict";

// How many events stay on the page.
const shown = 200;

const state = document.getElementById("state");
const events = document.getElementById("events");

// enter exchanges the code in the fragment for a cookie, once.
async function enter() {
  const code = location.hash.slice(1);
  if (code === "") return;
  history.replaceState(null, "", location.pathname);
  await fetch("/login", { method: "POST", body: code });
}

function show(line) {
  const item = document.createElement("li");
  item.textContent = line;
  events.prepend(item);
  while (events.childElementCount > shown) events.lastElementChild.remove();
}

function connect() {
  const scheme = location.protocol === "https:" ? "wss:" : "ws:";
  const socket = new WebSocket(`${scheme}//${location.host}/ws`);
  socket.onopen = () =>
    socket.send(JSON.stringify({ id: 1, op: "session.hello", params: { client: { name: "page", version: "1" } } }));
  socket.onmessage = (frame) => {
    const message = JSON.parse(frame.data);
    if (message.id === 1 && message.ok) {
      state.textContent = `attached to ${message.result.root} as ${message.result.clientId}`;
    } else {
      show(frame.data);
    }
  };
  socket.onclose = () => {
    state.textContent = "not connected; if this stays, ask the core for a fresh URL";
    setTimeout(connect, 2000);
  };
}

enter().finally(connect);
