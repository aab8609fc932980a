// A camera: what is known of it, its picture, and its tile.
import { Picture } from './picture.js';
import { percent, perSecond, rate } from './units.js';

const MOST_VALUES = 600, MOST_EVENTS = 200;

export class Camera {
  constructor({ id, name, source }, feed) {
    Object.assign(this, { id, name, source });
    this.picture = new Picture(name, feed);
    this.figures = null;
    this.events = [];
    this.values = { rate: [], loss: [], jitter: [], latency: [] };
    this.makeTile();
  }

  makeTile() {
    this.tile = document.createElement('a');
    this.tile.className = 'tile';
    this.tile.href = `#${this.name}`;
    this.tile.dataset.name = this.name;
    this.strip = document.createElement('div');
    this.strip.className = 'strip';
    const part = (className) => {
      const element = document.createElement('span');
      element.className = className;
      this.strip.append(element);
      return element;
    };
    part('dot').setAttribute('aria-hidden', 'true');
    // Names and words of others are text, whatever they hold.
    part('name').textContent = this.name;
    this.shown = { loss: part('figure'), pictures: part('figure'), rate: part('figure') };
    this.tile.append(this.picture.frame, this.strip);
    this.say('connecting');
  }

  say(words) {
    this.picture.words.textContent = words;
    this.tile.setAttribute('aria-label', `${this.name}: ${words || 'receiving'}`);
  }

  measure(figures) {
    this.figures = figures;
    const { up, state } = figures;
    this.tile.classList.toggle('up', up);
    this.tile.classList.toggle('down', !up);
    this.picture.frame.parentElement?.classList.toggle('down', !up);
    this.say(up ? (this.picture.count === 0 && this.picture.isSeen ? 'waiting for a key picture' : '') : state);
    this.shown.rate.textContent = up ? rate(figures.bits_per_s) : '';
    this.shown.pictures.textContent = up ? perSecond(figures.pictures_per_s) : '';
    const hasLost = figures.loss > 0;
    this.shown.loss.textContent = hasLost ? `${percent(figures.loss)} lost` : '';
    this.shown.loss.classList.toggle('bad', hasLost);
    const isShown = up && performance.now() - (this.picture.paintedAt ?? -1e9) < 2000;
    const add = (list, value) => {
      list.push(value ?? null);
      if (list.length > MOST_VALUES) list.shift();
    };
    add(this.values.rate, figures.bits_per_s);
    add(this.values.loss, up ? figures.loss : null);
    add(this.values.jitter, up ? figures.jitter_s : null);
    add(this.values.latency,
      isShown && this.picture.latency !== null ? this.picture.latency / 1000 : null);
  }

  note(events) {
    this.events.push(...events);
    this.events.splice(0, Math.max(0, this.events.length - MOST_EVENTS));
  }
}
