import type { Config } from '../../config/config.js';
import { escapeHtml, renderDocument } from '../../pages/html.js';
import { type Directives, hashSource } from '../../pages/policy.js';
import { renderSiteHeader, SITE_HEADER_STYLE } from '../../pages/site-header.js';
import { PALETTE, TEXT_STYLE } from '../../pages/style.js';

const STYLE = `${PALETTE}${SITE_HEADER_STYLE}${TEXT_STYLE}
#summary { font-size: 1.125rem; font-weight: 600; }
.trouble { color: var(--alert); }
dl { display: grid; grid-template-columns: max-content 1fr; gap: 0.5rem 1.5rem; margin: 1.5rem 0; }
dt { color: var(--quiet); }
dd { margin: 0; }
figure {
  margin: 1rem 0 0; padding: 1rem 1.25rem; border: 1px solid var(--edge); border-radius: 0.75rem;
  background: var(--card);
}
figcaption { margin-bottom: 0.75rem; }
figcaption span { margin-left: 0.5rem; color: var(--quiet); font-size: 0.875rem; }
svg { display: block; width: 100%; height: 6rem; }
rect { fill: var(--accent); }
line { stroke: var(--line); vector-effect: non-scaling-stroke; }
figure + p { margin-top: 1rem; }
.scale { display: flex; justify-content: space-between; margin: 0.25rem 0 0; }
@media (max-width: 40rem) {
  dl { grid-template-columns: 1fr; gap: 0; }
  dd { margin-bottom: 0.75rem; }
}
`;

/** Reads the report and the minutes every five seconds. Text is never inserted as HTML. */
const SCRIPT = `
const base = document.body.querySelector('main').dataset.base;
const byId = (id) => document.getElementById(id);
const STATES = {
  NEVER_RUN: 'The directory has not been read yet',
  IDLE: 'It follows the directory',
  RUNNING: 'A synchronization run is in progress',
  FAILING: 'The directory cannot be read at the moment',
  BLOCKED: 'It is as before the change that the guard holds',
  UNKNOWN: 'Its state cannot be read',
};
const isUp = (part) => part.status === 'up';

function duration(seconds) {
  if (seconds < 120) return seconds + (seconds === 1 ? ' second' : ' seconds');
  if (seconds < 7200) return Math.round(seconds / 60) + ' minutes';
  if (seconds < 172800) return Math.round(seconds / 3600) + ' hours';
  return Math.round(seconds / 86400) + ' days';
}

function rowsOf({ mirror, database, identityProvider, redis }) {
  const rows = [];
  if (mirror) {
    const { state, ageSeconds } = mirror;
    const isAged = typeof ageSeconds === 'number';
    rows.push(['Mirror', STATES[state] ?? state, state === 'IDLE' || state === 'RUNNING']);
    rows.push(['Freshness', isAged ? 'Compared with the directory ' + duration(ageSeconds) + ' ago' : 'Unknown', isAged]);
    const isHeld = state === 'BLOCKED';
    rows.push(['Guard', isHeld ? 'It holds a change that would delete too much, until an operator confirms it' : 'It holds no change', !isHeld]);
  }
  if (database) rows.push(['Database', isUp(database) ? 'It answers' : 'It does not answer, or takes no writes', isUp(database)]);
  if (database?.replicas) {
    const { all, current } = database.replicas;
    rows.push(['Read replicas', current + ' of ' + all + ' are used', current === all]);
  }
  if (identityProvider) {
    const { embedded, reachable } = identityProvider;
    const text = embedded ? 'Embedded, for development only' : reachable ? 'It answers' : 'It does not answer; known keys continue to work';
    rows.push(['Identity provider', text, embedded || reachable]);
  }
  if (redis) rows.push(['Limits', redis.shared ? 'All processes count together' : 'Each process counts alone', redis.shared]);
  return rows;
}

function show({ status, details }) {
  const failed = Object.keys(details).filter((name) => !isUp(details[name]));
  const isReady = status === 'ok';
  const rows = rowsOf(details);
  const isWell = isReady && rows.every(([, , isGood]) => isGood);
  say(isWell ? 'All is well.' : isReady ? 'The service answers, and needs attention.' : 'The service is not ready: ' + failed.join(', '), isWell);
  byId('facts').replaceChildren(...rows.flatMap(([name, text, isGood]) => {
    const term = document.createElement('dt');
    const fact = document.createElement('dd');
    term.textContent = name;
    fact.textContent = text;
    if (!isGood) fact.className = 'trouble';
    return [term, fact];
  }));
}

function say(text, isWell) {
  const summary = byId('summary');
  if (summary.textContent !== text) summary.textContent = text;
  summary.className = isWell ? '' : 'trouble';
}

const SVG = 'http://www.w3.org/2000/svg';
function element(name, attributes) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  return made;
}

/** Draws a bar for each minute of the last hour; a minute without a value has none. */
function draw(id, minutes, valueOf, textOf) {
  const known = minutes.map((minute) => ({ at: minute.at, value: valueOf(minute) })).filter(({ value }) => typeof value === 'number');
  const figure = byId(id);
  figure.hidden = known.length === 0;
  if (figure.hidden) return;
  const most = Math.max(...known.map(({ value }) => value));
  const text = 'at most ' + textOf(most);
  figure.querySelector('span').textContent = text;
  const plot = figure.querySelector('svg');
  plot.setAttribute('aria-label', figure.querySelector('strong').textContent + ': ' + text);
  const last = Date.parse(minutes.at(-1).at);
  plot.replaceChildren(element('line', { x1: 0, x2: 600, y1: 100, y2: 100 }), ...known.map(({ at, value }) => {
    const ago = Math.round((last - Date.parse(at)) / 60000);
    const height = most === 0 ? 0 : Math.max(1, (value / most) * 98);
    const bar = element('rect', { x: 591 - 10 * ago, y: 100 - height, width: 8, height });
    const title = element('title', {});
    title.textContent = new Date(at).toLocaleTimeString([], { hour: '2-digit', minute: '2-digit' }) + ': ' + textOf(value);
    bar.append(title);
    return bar;
  }));
}

async function refresh() {
  try {
    show(await (await fetch(base + '/_readiness')).json());
    const history = await fetch(base + '/status/history');
    if (!history.ok) return;
    const { minutes } = await history.json();
    draw('age', minutes, ({ ageSeconds }) => ageSeconds, duration);
    draw('requests', minutes, ({ requests }) => requests, (count) => String(count));
  } catch {
    say('The service does not answer.', false);
  }
}

(async () => {
  for (;;) {
    if (!document.hidden) await refresh();
    await new Promise((resolve) => setTimeout(resolve, 5000));
  }
})();
`;

export const STATUS_PAGE_DIRECTIVES: Directives = {
  'style-src': [hashSource(STYLE)],
  'script-src': [hashSource(SCRIPT)],
  'connect-src': [`'self'`],
};

/** The page shows what `/_readiness` and the public metrics say. */
export function renderStatusPage(config: Config): string {
  const base = escapeHtml(config.basePath);
  return renderDocument({
    title: 'Status · Directory Service',
    head: `<style>${STYLE}</style>`,
    body: `${renderSiteHeader(config, 'Status')}
<main data-base="${base}">
<h1>Status</h1>
<p id="summary" role="status">The state is being read. This needs JavaScript.</p>
<dl id="facts"></dl>
${renderFigure('age', 'Age of the mirror')}
${renderFigure('requests', 'Requests a minute')}
<p class="quiet">It is read again every five seconds. Programs read <a href="${base}/_readiness">_readiness</a>.</p>
</main>
<script>${SCRIPT}</script>`,
  });
}

function renderFigure(id: string, title: string): string {
  return `<figure id="${id}" hidden>
<figcaption><strong>${title}</strong><span></span></figcaption>
<svg viewBox="0 0 600 101" preserveAspectRatio="none" role="img"></svg>
<p class="scale quiet"><span>an hour ago</span><span>now</span></p>
</figure>`;
}
