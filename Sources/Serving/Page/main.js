// The page: tiles of all cameras, or one in full, whose name is in the address.
import { Camera } from './camera.js';
import { Feed, JPEG, PICTURE, SOUND } from './feed.js';
import { Full } from './full.js';
import { rate } from './units.js';

const element = (id) => document.getElementById(id);
const cameras = new Map();

// A tile out of sight gets nothing; what is near is on its way already.
const seen = new Set();
const observer = new IntersectionObserver((entries) => {
  for (const { target, isIntersecting } of entries) {
    if (isIntersecting) seen.add(target.dataset.name); else seen.delete(target.dataset.name);
  }
  look();
}, { rootMargin: '100px' });

const feed = new Feed({
  link(isOpen, reason = 'rtp-recv does not answer; trying again') {
    element('link').classList.toggle('open', isOpen);
    element('link').textContent = isOpen ? '' : reason;
    for (const camera of cameras.values()) {
      // All of it comes again.
      if (isOpen) camera.events = []; else camera.picture.stop();
    }
  },
  cameras: (message) => setCameras(message.cameras),
  figures(message) {
    for (const figures of message.cameras) cameras.get(figures.id)?.measure(figures);
    summarize();
    full.update();
  },
  events(message) {
    const camera = cameras.get(message.id);
    camera?.note(message.events);
    if (camera && camera === full.camera) full.showEvents();
  },
  format(message) {
    const camera = cameras.get(message.id);
    camera?.picture.take(message);
    if (camera && camera === full.camera) full.showSets();
  },
  sound: (message) => full.takeSoundFormat(message),
  media(unit) {
    if (unit.kind === SOUND) return full.pushSound(unit);
    const picture = cameras.get(unit.id)?.picture;
    if (unit.kind === PICTURE) picture?.push(unit);
    if (unit.kind === JPEG) picture?.pushJPEG(unit);
  },
});
const full = new Full(feed);
let isFirstList = true;

function setCameras(list) {
  for (const [id, camera] of cameras) {
    // Another run may have given the number to another camera.
    if (list.some((entry) => entry.id === id && entry.name === camera.name)) continue;
    camera.picture.setSeen(false);
    if (camera === full.camera) full.show(null);
    observer.unobserve(camera.tile);
    seen.delete(camera.name);
    camera.tile.remove();
    cameras.delete(id);
  }
  for (const entry of list) {
    let camera = cameras.get(entry.id);
    if (camera) {
      camera.source = entry.source;
      cameras.delete(entry.id);
    } else {
      camera = new Camera(entry, feed);
      observer.observe(camera.tile);
    }
    // In the order of the list.
    cameras.set(entry.id, camera);
    element('tiles').append(camera.tile);
  }
  element('empty').hidden = list.length > 0;
  // One camera alone is shown in full at once; Escape leads to its tile.
  if (isFirstList && list.length === 1 && !location.hash) {
    history.replaceState(null, '', `#${list[0].name}`);
  }
  isFirstList = false;
  navigate();
}

function navigate() {
  const name = location.hash.slice(1);
  const list = [...cameras.values()];
  const camera = list.find((camera) => camera.name === name) ?? null;
  const former = full.camera;
  full.show(camera);
  element('tiles').hidden = camera !== null;
  document.title = camera ? `${camera.name} – rtp-recv` : 'rtp-recv';
  if (!camera && former) former.tile.focus();
  look();
}

function look() {
  for (const camera of cameras.values()) {
    const isSeen = camera === full.camera || (!full.camera && seen.has(camera.name));
    camera.picture.setSeen(isSeen && !document.hidden);
  }
}

function summarize() {
  const list = [...cameras.values()];
  const up = list.filter((camera) => camera.figures?.up).length;
  const bits = list.reduce((sum, camera) => sum + (camera.figures?.bits_per_s ?? 0), 0);
  element('summary').textContent = `${up} of ${list.length} up, ${rate(bits)}`;
}

// The cameras in the order of the tiles, from that in full on.
function step(distance) {
  const list = [...cameras.values()];
  const place = list.indexOf(full.camera);
  location.hash = list[(place + distance + list.length) % list.length].name;
}

addEventListener('hashchange', navigate);
document.addEventListener('visibilitychange', look);
addEventListener('keydown', (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || !full.camera) return;
  const deeds = {
    Escape: () => { if (!document.fullscreenElement) location.hash = ''; },
    ArrowLeft: () => step(-1),
    ArrowRight: () => step(1),
    f: () => full.toggleScreen(),
    m: () => { if (!element('sound').disabled) full.toggleSound(); },
    s: () => full.takeSnapshot(),
  };
  deeds[event.key]?.();
});
