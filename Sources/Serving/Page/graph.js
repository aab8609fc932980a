// A small graph of the last minutes, one value a second.

const SPAN = 180;

export class Graph {
  // `show` makes words of a value; `least` is what the graph reaches up to at least.
  constructor({ title, show, least, colour = '#6cb6ff' }) {
    this.show = show;
    this.least = least;
    this.colour = colour;
    this.element = document.createElement('figure');
    this.element.className = 'graph';
    const caption = document.createElement('figcaption');
    const name = document.createElement('span');
    name.className = 'quiet';
    name.textContent = title;
    this.now = document.createElement('span');
    this.now.className = 'now';
    caption.append(name, this.now);
    this.canvas = document.createElement('canvas');
    this.canvas.setAttribute('role', 'img');
    this.title = title;
    this.element.append(caption, this.canvas);
  }

  // Draws `values`, the newest last; `null` where there is none.
  draw(values) {
    const recent = values.slice(-SPAN);
    const last = recent.at(-1);
    this.now.textContent = last === null || last === undefined ? '–' : this.show(last);
    const greatest = Math.max(this.least, ...recent.map((value) => value ?? 0));
    this.canvas.setAttribute(
      'aria-label', `${this.title}: now ${this.now.textContent}, at most ${this.show(greatest)}`);
    const scale = window.devicePixelRatio || 1;
    const { clientWidth: width, clientHeight: height } = this.canvas;
    if (width === 0) return;
    this.canvas.width = width * scale;
    this.canvas.height = height * scale;
    const context = this.canvas.getContext('2d');
    context.scale(scale, scale);
    const top = 12, bottom = height - 4;
    const x = (index) => width - (recent.length - 1 - index) * width / (SPAN - 1);
    const y = (value) => bottom - value / greatest * (bottom - top);
    context.strokeStyle = '#242a32';
    context.beginPath();
    context.moveTo(0, bottom + .5);
    context.lineTo(width, bottom + .5);
    context.stroke();
    context.fillStyle = '#8a95a3';
    context.font = '10px system-ui, sans-serif';
    context.textBaseline = 'top';
    context.fillText(this.show(greatest), 9, 1);
    context.strokeStyle = this.colour;
    context.fillStyle = `${this.colour}26`;
    context.lineWidth = 1.25;
    let run = [];
    const finish = () => {
      if (run.length > 0) {
        context.beginPath();
        run.forEach(([left, up], index) => context[index ? 'lineTo' : 'moveTo'](left, up));
        context.stroke();
        context.lineTo(run.at(-1)[0], bottom);
        context.lineTo(run[0][0], bottom);
        context.fill();
      }
      run = [];
    };
    recent.forEach((value, index) => {
      if (value === null || value === undefined) finish();
      else run.push([x(index), y(value)]);
    });
    finish();
  }
}
