// Draws the ratios on a logarithmic scale: bars to the right of 1 mean faster, to the left slower, and a mark shows the goal.

const WIDTH = 860;
const LEFT = 290;
const RIGHT = 80;
const ROW = 26;
const TOP = 74;
const BOTTOM = 40;
const MIN_VALUE = 0.05;
const TICKS = [0.1, 0.2, 0.5, 1, 2, 5, 10, 20];

/** The picture has its own backbackground, because that of the page is unknown. */
const STYLE = `
  .background { fill: #ffffff; stroke: #d0d7de }
  text { fill: #1f2328; font: 13px system-ui, sans-serif }
  .title { font-weight: 600; font-size: 15px }
  .quiet { fill: #59636e; font-size: 12px }
  .grid { stroke: #d8dee4 }
  .even { stroke: #59636e }
  .met { fill: #1a7f37 }
  .missed { fill: #bc4c00 }
  .goal { stroke: #1f2328; stroke-width: 2 }
  @media (prefers-color-scheme: dark) {
    .background { fill: #151b23; stroke: #3d444d }
    text { fill: #f0f6fc }
    .quiet { fill: #9198a1 }
    .grid { stroke: #2f3742 }
    .even { stroke: #9198a1 }
    .met { fill: #3fb950 }
    .missed { fill: #f0883e }
    .goal { stroke: #f0f6fc }
  }`;

/** @param goals evaluated goals; those with `chart` that were measured are drawn */
export function drawChart(goals) {
  const shown = goals.filter(({ chart, value }) => chart === true && value !== null);
  const height = TOP + shown.length * ROW + BOTTOM;
  const max = Math.max(30, ...shown.map(({ value }) => value * 1.2));
  const at = (value) =>
    LEFT +
    (Math.log(Math.max(value, MIN_VALUE) / MIN_VALUE) / Math.log(max / MIN_VALUE)) * (WIDTH - LEFT - RIGHT);
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" role="img" aria-labelledby="title">`,
    `<title id="title">Responses per second of the service, compared with others</title>`,
    `<style>${STYLE}</style>`,
    `<rect class="background" x="0.5" y="0.5" width="${WIDTH - 1}" height="${height - 1}" rx="8"/>`,
    `<text class="title" x="20" y="28">Responses per second: the service ÷ others</text>`,
    `<text class="quiet" x="20" y="48">To the right of 1 the service is faster, to the left slower. The vertical mark is the goal.</text>`,
    ...TICKS.map((tick) => drawTick(tick, at(tick), height)),
    ...shown.map((goal, index) => drawBar(goal, TOP + index * ROW, at)),
    '</svg>',
    '',
  ].join('\n');
}

function drawTick(tick, x, height) {
  const kind = tick === 1 ? 'even' : 'grid';
  return (
    `<line class="${kind}" x1="${round(x)}" y1="${TOP - 8}" x2="${round(x)}" y2="${height - BOTTOM + 4}"/>` +
    `<text class="quiet" x="${round(x)}" y="${height - BOTTOM + 20}" text-anchor="middle">${tick}</text>`
  );
}

function drawBar({ label, value, atLeast, isMet }, y, at) {
  const even = at(1);
  const end = at(value);
  const goal = round(at(atLeast));
  const number = value < 10 ? value.toPrecision(2) : value.toFixed(1);
  return [
    `<text x="${LEFT - 12}" y="${y + 13}" text-anchor="end">${label}</text>`,
    `<rect class="${isMet ? 'met' : 'missed'}" x="${round(Math.min(even, end))}" y="${y}" width="${round(Math.abs(end - even))}" height="${ROW - 8}" rx="2"/>`,
    `<line class="goal" x1="${goal}" y1="${y - 3}" x2="${goal}" y2="${y + ROW - 5}"/>`,
    `<text x="${round(Math.max(even, end, at(atLeast)) + 8)}" y="${y + 13}">${number}</text>`,
  ].join('');
}

const round = (value) => Math.round(value * 10) / 10;
