// The WebSocket to rtp-recv: what comes on it, and what is asked for.
// ViewerMessage in Sources/Serving says how messages look.

const HEAD = 24;
export const PICTURE = 1, JPEG = 2, SOUND = 3;
const KEY = 1, DAMAGED = 2, SKIPPED = 4;
const FIRST_PAUSE = 500, LONGEST_PAUSE = 10_000;

export class Feed {
  // `handlers` has a function for each type of text message, `media` for binary ones, and `link`,
  // which is told whether there is a connection.
  constructor(handlers) {
    this.handlers = handlers;
    this.wanted = new Map();
    this.listened = null;
    this.pause = FIRST_PAUSE;
    this.open();
  }

  open() {
    const address = new URL('live', location.href);
    address.protocol = address.protocol === 'https:' ? 'wss:' : 'ws:';
    address.search = address.hash = '';
    const socket = new WebSocket(address);
    socket.binaryType = 'arraybuffer';
    socket.onopen = () => {
      this.pause = FIRST_PAUSE;
      this.socket = socket;
      this.handlers.link(true);
      for (const [name, word] of this.wanted) this.say(`${word} ${name}`);
      if (this.listened) this.say(`listen ${this.listened}`);
    };
    socket.onmessage = ({ data }) => this.take(data);
    socket.onclose = () => {
      const hasOpened = this.socket === socket;
      this.socket = null;
      this.handlers.link(false);
      this.askWhy(hasOpened);
      setTimeout(() => this.open(), this.pause);
      this.pause = Math.min(2 * this.pause, LONGEST_PAUSE);
    };
  }

  // A WebSocket is not told why there is none: a server that began anew may have another token, and
  // a proxy may pass on too little.
  async askWhy(hasOpened) {
    try {
      const answer = await fetch('live', { cache: 'no-store' });
      const words = answer.status === 401
        ? 'this address is no longer valid; open the one that rtp-recv says now'
        : [403, 421].includes(answer.status) ? (await answer.text()).trim()
        // What allows everything but a WebSocket.
        : answer.status === 404 && !hasOpened
          ? 'rtp-recv answers, but no WebSocket comes through; a proxy has to pass on Upgrade, and Host with its port'
          : null;
      if (words && !this.socket) this.handlers.link(false, words);
    } catch {
      // It does not answer, as is said already.
    }
  }

  // Asks for pictures of a camera: `watch` for coded ones, `jpeg`, or `null` for none.
  want(name, word) {
    if ((this.wanted.get(name) ?? null) === word) return;
    if (word) this.wanted.set(name, word); else this.wanted.delete(name);
    this.say(`${word ?? 'stop'} ${name}`);
  }

  // Asks for the sound of one camera, or of none.
  listen(name) {
    this.listened = name;
    this.say(name ? `listen ${name}` : 'mute');
  }

  say(text) { this.socket?.send(text); }

  take(data) {
    if (typeof data === 'string') {
      const message = JSON.parse(data);
      this.handlers[message.type]?.(message);
      return;
    }
    const view = new DataView(data);
    const flags = view.getUint8(1);
    this.handlers.media({
      kind: view.getUint8(0),
      isKey: (flags & KEY) !== 0,
      isDamaged: (flags & DAMAGED) !== 0,
      hasSkipped: (flags & SKIPPED) !== 0,
      id: view.getUint16(2),
      // When its last packet came to rtp-recv, by the clock of this page.
      arrival: performance.now() - view.getUint32(4) / 1000,
      time: Number(view.getBigInt64(8)),
      captured: Number(view.getBigInt64(16)),
      data: new Uint8Array(data, HEAD),
    });
  }
}

export function bytesOf(hexadecimal) {
  return Uint8Array.from(hexadecimal.match(/../g) ?? [], (pair) => parseInt(pair, 16));
}
