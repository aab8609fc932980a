// The picture of a camera: chooses how it comes, and asks for it only while it is seen.
import { CodecsPlayer, canDecode } from './codecs.js';
import { JPEGPlayer } from './jpeg.js';
import { MSEPlayer, canPlay } from './mse.js';

// `?player=mse` and `?player=jpeg` try the others.
const chosen = new URLSearchParams(location.search).get('player');
// So many failures in this many milliseconds, and the next way is tried; of some, one is enough.
const MOST_FAILURES = 3, FAILURE_TIME = 15_000;
const FINAL_FAILURES = ['pictures are reordered', 'nothing was shown'];
// Some decoders take everything and show nothing: Chrome's MSE of a stream without IDR pictures, or
// H.265 that a browser only says it decodes. Others hold back as many pictures as a level allows, or
// need a while, in milliseconds, to begin.
const MOST_UNSEEN = 16, LONGEST_UNSEEN = 10_000;

export class Picture {
  constructor(name, feed) {
    this.name = name;
    this.feed = feed;
    this.method = chosen === 'jpeg' ? 'jpeg' : 'coded';
    this.refused = new Set(chosen === 'mse' ? ['codecs'] : []);
    this.failures = [];
    this.frame = document.createElement('div');
    this.frame.className = 'frame';
    this.words = document.createElement('p');
    this.words.className = 'words';
    this.frame.append(this.words);
    this.latency = null;
    this.count = 0;
  }

  // Whether anybody sees it.
  setSeen(isSeen) {
    if (isSeen === this.isSeen) return;
    this.isSeen = isSeen;
    if (!isSeen) this.stop();
    this.feed.want(this.name, isSeen ? (this.method === 'jpeg' ? 'jpeg' : 'watch') : null);
  }

  stop() {
    this.player?.close();
    this.player = null;
    this.waiting = null;
  }

  async take(format) {
    this.format = format;
    // What comes while the browser is asked waits.
    const waiting = this.waiting = [];
    const isDecodable = !this.refused.has('codecs') && await canDecode(format);
    if (this.waiting !== waiting || !this.isSeen) return;
    this.waiting = null;
    if (isDecodable) this.use(CodecsPlayer, 'WebCodecs', 'canvas');
    else if (!this.refused.has('mse') && canPlay(format)) this.use(MSEPlayer, 'MSE', 'video');
    else return this.askForJPEG();
    this.player.configure(format);
    for (const picture of waiting) this.push(picture);
  }

  use(Player, title, tag) {
    if (this.player instanceof Player) return;
    this.player?.close();
    this.frame.querySelector('canvas, video')?.remove();
    const element = document.createElement(tag);
    if (tag === 'canvas') element.setAttribute('role', 'img');
    if (tag === 'video') element.playsInline = true;
    element.setAttribute('aria-label', `Live picture of ${this.name}`);
    this.frame.prepend(element);
    this.title = title;
    this.unseen = null;
    this.player = new Player({
      canvas: element, video: element,
      painted: (picture) => this.note(picture), failed: (words) => this.fail(words),
    });
  }

  askForJPEG() {
    this.method = 'jpeg';
    this.feed.want(this.name, 'jpeg');
  }

  push(picture) {
    if (!this.isSeen) return;
    if (this.waiting) {
      this.waiting.push(picture);
      return;
    }
    this.player?.push(picture);
    // Unless that failed.
    if (this.player) this.watch(picture.isKey);
  }

  // Gives up a player that shows nothing from a key picture on.
  watch(isKey) {
    const now = performance.now();
    if (isKey) this.unseen ??= { since: now, count: 0 };
    if (!this.unseen) return;
    this.unseen.count += 1;
    if (this.unseen.count > MOST_UNSEEN && now - this.unseen.since > LONGEST_UNSEEN) {
      this.fail('nothing was shown');
    }
  }

  pushJPEG(picture) {
    if (!this.isSeen || this.method !== 'jpeg') return;
    this.use(JPEGPlayer, 'JPEG', 'canvas');
    this.player.push(picture);
  }

  note({ width, height, arrival, captured }) {
    this.count += 1;
    this.unseen = null;
    this.paintedAt = performance.now();
    this.delay = captured ? Date.now() - captured : null;
    if (arrival !== undefined) {
      const latency = this.paintedAt - arrival;
      // The pictures with which a viewer begins are old.
      if (latency < 3000) this.latency = latency;
    }
    if (width && `${width}/${height}` !== this.ratio) {
      this.ratio = `${width}/${height}`;
      this.frame.style.aspectRatio = this.frame.parentElement?.id === 'stage' ? this.ratio : '';
      this.onsize?.();
    }
  }

  fail(words) {
    const now = performance.now();
    this.failures = this.failures.filter((time) => now - time < FAILURE_TIME);
    this.failures.push(now);
    console.warn(`${this.name}: ${this.title}: ${words}`);
    if (this.failures.length >= MOST_FAILURES || FINAL_FAILURES.includes(words)) {
      this.refused.add(this.title === 'MSE' ? 'mse' : 'codecs');
      this.failures = [];
    }
    this.player?.close();
    this.player = null;
    if (!this.isSeen) return;
    // Begins again, with the last key picture.
    this.feed.want(this.name, null);
    this.feed.want(this.name, 'watch');
  }
}
