// One camera in full.
import { Graph } from './graph.js';
import { Sound, canHear } from './sound.js';
import { clock, count, milliseconds, percent, perSecond, rate } from './units.js';

const element = (id) => document.getElementById(id);

export class Full {
  constructor(feed) {
    this.feed = feed;
    this.graphs = {
      rate: new Graph({ title: 'Bit rate', show: rate, least: 1e5 }),
      loss: new Graph({ title: 'Loss', show: percent, least: 0.01, colour: '#e5645e' }),
      jitter: new Graph({ title: 'Jitter', show: milliseconds, least: 0.001, colour: '#d9a441' }),
      latency: new Graph({
        title: 'Arrival to screen', show: milliseconds, least: 0.02, colour: '#4fbf7a',
      }),
    };
    for (const graph of Object.values(this.graphs)) element('graphs').append(graph.element);
    element('sound').onclick = () => this.toggleSound();
    element('snapshot').onclick = () => this.takeSnapshot();
    element('screen').onclick = () => this.toggleScreen();
    element('screen').hidden = !document.fullscreenEnabled;
  }

  // Shows `camera`, or none.
  show(camera) {
    if (camera === this.camera) return;
    if (this.camera) {
      // The picture goes back to its tile as it is.
      this.camera.picture.frame.style.aspectRatio = '';
      this.camera.tile.prepend(this.camera.picture.frame);
      this.silence();
    }
    this.camera = camera;
    element('full').hidden = !camera;
    element('notice').textContent = '';
    if (!camera) return;
    element('stage').replaceChildren(camera.picture.frame);
    element('stage').classList.toggle('down', camera.figures?.up === false);
    camera.picture.frame.style.aspectRatio = camera.picture.ratio ?? '';
    element('full-name').textContent = camera.name;
    element('full-source').textContent = camera.source;
    element('full-name').focus({ preventScroll: true });
    window.scrollTo(0, 0);
    this.update();
    this.showEvents();
    this.showSets();
  }

  // Shows the figures of this second.
  update() {
    const { camera } = this;
    if (!camera) return;
    for (const [name, graph] of Object.entries(this.graphs)) graph.draw(camera.values[name]);
    const figures = camera.figures ?? {};
    const shown = camera.picture;
    const facts = [
      ['State', figures.state], ['Pictures', figures.format], ['Codec', figures.codec],
      ['Coding', shown.format?.codec], ['Frame rate', perSecond(figures.pictures_per_s)],
      ['Sound', figures.sound ?? 'none'], ['Transport', figures.transport],
      ['Shown by', shown.title],
      // By the camera's clock, which may be wrong.
      ['Capture to screen', Math.abs(shown.delay ?? 1e9) < 60_000 ? milliseconds(shown.delay / 1000) : null],
      ['Packets', count(figures.received)], ['Lost', count(figures.lost)],
      ['Reordered', count(figures.reordered)], ['Repaired', count(figures.repaired)],
      ['Damaged pictures', count(figures.damaged)], ['Reconnected', count(figures.reconnects)],
    ];
    this.setFacts(facts.filter(([, value]) => value));
    element('sound').disabled = !figures.sound;
  }

  setFacts(facts) {
    const list = element('facts');
    while (list.children.length > facts.length) list.lastElementChild.remove();
    facts.forEach(([name, value], index) => {
      let row = list.children[index];
      if (!row) {
        row = document.createElement('div');
        row.append(document.createElement('dt'), document.createElement('dd'));
        list.append(row);
      }
      if (row.firstChild.textContent !== name) row.firstChild.textContent = name;
      if (row.lastChild.textContent !== value) row.lastChild.textContent = value;
    });
  }

  showEvents() {
    element('events').replaceChildren(...[...this.camera.events].reverse().map((event) => {
      const item = document.createElement('li');
      item.className = event.warning ? 'warning' : '';
      const time = document.createElement('time');
      time.dateTime = new Date(event.time).toISOString();
      time.title = time.dateTime;
      time.textContent = clock(event.time);
      const words = document.createElement('span');
      words.textContent = event.text;
      item.append(time, words);
      return item;
    }));
  }

  showSets() {
    const sets = this.camera.picture.format?.sets ?? [];
    element('sets').parentElement.hidden = sets.length === 0;
    element('sets').replaceChildren(...sets.map(({ name, bytes }) => {
      const details = document.createElement('details');
      const summary = document.createElement('summary');
      summary.textContent = `${name.toUpperCase()}, ${bytes.length / 2} bytes`;
      const text = document.createElement('pre');
      text.textContent = bytes.match(/../g)?.join(' ') ?? '';
      details.append(summary, text);
      return details;
    }));
  }

  // MARK: Sound

  toggleSound() {
    if (this.sound) this.silence(); else this.hear();
  }

  hear() {
    element('notice').textContent = '';
    this.sound = new Sound({
      failed: (words) => this.loseSound(`this browser does not decode the sound: ${words}`),
    });
    this.feed.listen(this.camera.name);
    element('sound').setAttribute('aria-pressed', 'true');
  }

  silence() {
    if (!this.sound) return;
    this.sound.close();
    this.sound = null;
    this.feed.listen(null);
    element('sound').setAttribute('aria-pressed', 'false');
  }

  loseSound(words) {
    this.silence();
    element('notice').textContent = words;
  }

  takeSoundFormat(format) {
    if (!this.sound || format.id !== this.camera?.id) return;
    if (!canHear(format)) {
      const why = window.isSecureContext ? 'this browser does not decode' : 'only https or localhost decodes';
      this.loseSound(`${why} ${format.codec}`);
      return;
    }
    this.sound.configure(format);
  }

  pushSound(unit) {
    if (unit.id === this.camera?.id) this.sound?.push(unit);
  }

  // MARK: Snapshot

  async takeSnapshot() {
    const { name } = this.camera;
    const notice = element('notice');
    notice.textContent = 'taking a snapshot';
    try {
      const response = await fetch(`cameras/${name}/snapshot.jpg`);
      if (!response.ok) throw new Error((await response.text()).trim());
      const taken = response.headers.get('X-Capture-Time') ?? new Date().toISOString();
      const age = Number(response.headers.get('X-Picture-Age'));
      const link = document.createElement('a');
      link.href = URL.createObjectURL(await response.blob());
      link.download = `${name}-${taken.replace(/[-:]|\..*/g, '')}Z.jpg`;
      link.click();
      setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
      notice.textContent = `saved ${link.download}, ${milliseconds(age)} old`;
    } catch (error) {
      notice.textContent = `no snapshot: ${error.message}`;
    }
  }

  toggleScreen() {
    if (document.fullscreenElement) document.exitFullscreen();
    else element('stage').requestFullscreen().catch(() => {});
  }
}
