// @ts-check

/**
 * @typedef {readonly [attribute: string, value: string | Buffer]} AttributeValue
 * @typedef {{ dn: string, attributes: readonly AttributeValue[] }} Entry
 */

const LINE_WIDTH = 76;

// SAFE-STRING of RFC 2849: ASCII without NUL, LF and CR, and no space, colon or less-than sign in front.
// A space at the end is safe by the grammar, and still asked to be encoded (note 8), because it is easily lost.
// eslint-disable-next-line no-control-regex -- the control characters are what the grammar is about
const SAFE_STRING = /^(?![ :<])[\x01-\x09\x0b\x0c\x0e-\x7f]*(?<! )$/;

/**
 * @param {string} comment one line, after the version
 * @param {readonly Entry[]} entries
 */
export function formatLdif(comment, entries) {
  return `version: 1\n# ${comment}\n\n${entries.map(formatEntry).join('\n')}`;
}

/** @param {Entry} entry */
function formatEntry({ dn, attributes }) {
  return [['dn', dn], ...attributes]
    .map(([attribute, value]) => `${fold(formatLine(/** @type {string} */ (attribute), value))}\n`)
    .join('');
}

/**
 * @param {string} attribute
 * @param {string | Buffer} value
 */
function formatLine(attribute, value) {
  if (typeof value === 'string' && SAFE_STRING.test(value)) return `${attribute}: ${value}`;
  return `${attribute}:: ${Buffer.from(value).toString('base64')}`;
}

/**
 * Only ASCII arrives here, so that a character is a column and a byte.
 * @param {string} line
 */
function fold(line) {
  const lines = [line.slice(0, LINE_WIDTH)];
  for (let start = LINE_WIDTH; start < line.length; start += LINE_WIDTH - 1) {
    lines.push(` ${line.slice(start, start + LINE_WIDTH - 1)}`);
  }
  return lines.join('\n');
}
