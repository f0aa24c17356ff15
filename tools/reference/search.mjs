// Searches the reference in the browser: no search text is sent to a server.
/* global document, location */
import MiniSearch from './minisearch.js';

const REFERENCE = new URL('../../', import.meta.url);
const MOST = 12;

const form = document.getElementById('search-form');
const field = document.getElementById('search-field');
const found = document.getElementById('search-count');
const results = document.getElementById('search-results');

/** The parts of a name in camel case. */
function partsOf(word) {
  return word.split(/(?<=\p{Ll})(?=\p{Lu})/u);
}

/** What follows each part of a name: `NextPage` of hasNextPage. */
function endsOf(word) {
  return partsOf(word).map((_part, index, parts) => parts.slice(index).join(''));
}

/** Words of the text, and parts of names: `from` matches inheritedFrom, and `nextpage` matches hasNextPage. */
function tokenize(text, fieldName) {
  const words = text.split(/[^\p{L}\p{N}]+/u);
  const parts = words.flatMap(partsOf);
  const terms = fieldName === undefined ? parts : new Set([...parts, ...words.flatMap(endsOf)]);
  return [...terms].filter((word) => word !== '');
}

/** `members` and `member` are the same word. */
function processTerm(term) {
  const word = term.toLowerCase();
  return word.length > 3 && word.endsWith('s') && !word.endsWith('ss') ? word.slice(0, -1) : word;
}

/** The last part of a title: `members` of `Group.members`. */
function nameOf({ title }) {
  return title.slice(title.lastIndexOf('.') + 1);
}

/** What readers look for most often is first. All other kinds have the weight 1. */
const WEIGHTS = { query: 3, object: 3, field: 2, mutation: 2, error: 2, input: 1.5 };
/** Of entries whose whole name is the word. */
const WHOLE_NAME = 4;

/** The number of wrong letters that a word may have. Two letters in the wrong order are two of them. */
function allowedErrors(term) {
  if (term.length < 3) return false;
  return term.length < 5 ? 1 : 2;
}

async function loadIndex() {
  const response = await fetch(new URL('entries.json', import.meta.url));
  const index = new MiniSearch({
    idField: 'place',
    fields: ['name', 'title', 'text'],
    storeFields: ['title', 'kind', 'text'],
    extractField: (entry, field) => (field === 'name' ? nameOf(entry) : entry[field]),
    tokenize,
    processTerm,
    searchOptions: {
      boost: { name: 6, title: 3 },
      boostDocument: (_place, term, entry) =>
        (WEIGHTS[entry.kind] ?? 1) * (processTerm(nameOf(entry)) === term ? WHOLE_NAME : 1),
      prefix: true,
      fuzzy: allowedErrors,
      weights: { prefix: 0.4, fuzzy: 0.1 },
      combineWith: 'AND',
    },
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

function nothingFound(query) {
  const item = document.createElement('li');
  item.className = 'nothing';
  item.textContent = `Nothing found for “${query}”`;
  return item;
}

/** The entry of a whole title, such as `Group.members`, is what its reader looks for. */
function exactFirst(hits, query) {
  const isExact = ({ title }) => title.toLowerCase() === query.toLowerCase();
  return [...hits.filter(isExact), ...hits.filter((hit) => !isExact(hit))];
}

async function search() {
  const query = field.value.trim();
  const hits = query === '' ? [] : (await index()).search(query);
  // The search text has changed in the meantime.
  if (query !== field.value.trim()) return;
  const items = exactFirst(hits, query).slice(0, MOST).map(resultItem);
  results.replaceChildren(...(query !== '' && items.length === 0 ? [nothingFound(query)] : items));
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
