// Searches the reference in the browser: no search text is sent to a server.
/* global document, location */
import MiniSearch from './minisearch.js';

const REFERENCE = new URL('../../', import.meta.url);
const MOST = 12;

const form = document.getElementById('search-form');
const field = document.getElementById('search-field');
const found = document.getElementById('search-count');
const results = document.getElementById('search-results');

/** Words of the text, and parts of names: `from` matches inheritedFrom. */
function tokenize(text, fieldName) {
  const words = text.split(/[^\p{L}\p{N}]+/u);
  const parts = words.flatMap((word) => word.split(/(?<=\p{Ll})(?=\p{Lu})/u));
  return (fieldName === undefined ? parts : [...new Set([...words, ...parts])]).filter((word) => word !== '');
}

async function loadIndex() {
  const response = await fetch(new URL('entries.json', import.meta.url));
  const index = new MiniSearch({
    idField: 'place',
    fields: ['title', 'text'],
    storeFields: ['title', 'kind', 'text'],
    tokenize,
    searchOptions: { boost: { title: 4 }, prefix: true, fuzzy: 0.2, combineWith: 'AND' },
  });
  index.addAll(await response.json());
  return index;
}

let loading = null;
/** Loaded at the first search, and then kept. */
function index() {
  loading ??= loadIndex();
  return loading;
}

function resultItem({ id, title, kind, text }) {
  const name = document.createElement('strong');
  name.textContent = title;
  const about = document.createElement('small');
  about.textContent = text;
  const link = document.createElement('a');
  link.href = new URL(id, REFERENCE).href;
  link.append(name, ` ${kind}`, about);
  const item = document.createElement('li');
  item.append(link);
  return item;
}

async function search() {
  const query = field.value.trim();
  const hits = query === '' ? [] : (await index()).search(query);
  // The search text has changed in the meantime.
  if (query !== field.value.trim()) return;
  results.replaceChildren(...hits.slice(0, MOST).map(resultItem));
  found.textContent = query === '' ? '' : `${hits.length} found`;
}

function close() {
  field.value = '';
  results.replaceChildren();
  found.textContent = '';
}

/** Arrow keys move between the results. */
function move(event) {
  const stops = [field, ...results.querySelectorAll('a')];
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (step === undefined) return;
  event.preventDefault();
  stops[stops.indexOf(document.activeElement) + step]?.focus();
}

field.addEventListener('focus', () => void index());
field.addEventListener('input', () => void search());
form.addEventListener('submit', (event) => {
  event.preventDefault();
  const first = results.querySelector('a');
  if (first !== null) location.assign(first.href);
});
form.addEventListener('keydown', (event) => {
  if (event.key === 'Escape') {
    close();
    field.focus();
  } else move(event);
});
results.addEventListener('click', close);
document.addEventListener('keydown', (event) => {
  const isTyping = /^(INPUT|TEXTAREA|SELECT)$/.test(document.activeElement?.tagName ?? '');
  if (event.key !== '/' || isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  field.focus();
});
form.hidden = false;
