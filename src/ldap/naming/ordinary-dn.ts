const TYPE_CHARACTER = 1;
const VALUE_CHARACTER = 2;

/** For each ASCII code, the positions in which the character may occur in an ordinary DN. */
const CLASSES = Uint8Array.from({ length: 128 }, (_, code) => {
  const character = String.fromCharCode(code);
  const inType = /[A-Za-z0-9-]/.test(character) ? TYPE_CHARACTER : 0;
  const inValue = /[\x20-\x7e]/.test(character) && !/["+,;<>\\]/.test(character) ? VALUE_CHARACTER : 0;
  return inType | inValue;
});

const SPACE = 0x20;
const HASH = 0x23;
const COMMA = 0x2c;
const EQUALS = 0x3d;
const LAST_DIGIT = 0x39;

/**
 * Whether a DN is ASCII without escapes, multi-valued RDNs or insignificant spaces, so that converting it to
 * lower case normalizes it completely. False is inconclusive: the text may be malformed, or valid and
 * unusual.
 *
 * The function loops over character codes because the equivalent regular expression takes several times as
 * long.
 */
export function isOrdinaryDn(text: string): boolean {
  let inType = true;
  let previous = COMMA;
  for (let index = 0; index < text.length; index += 1) {
    const code = text.charCodeAt(index);
    const classes = CLASSES[code] ?? 0;
    if (inType) {
      if (code === EQUALS && previous !== COMMA) {
        inType = false;
      } else if ((classes & TYPE_CHARACTER) === 0 || (previous === COMMA && code <= LAST_DIGIT)) {
        return false;
      }
    } else if (code === COMMA) {
      if (previous === SPACE) {
        return false;
      }
      inType = true;
    } else if ((classes & VALUE_CHARACTER) === 0 || !mayFollow(code, previous)) {
      return false;
    }
    previous = code;
  }
  return text === '' || (!inType && previous !== SPACE);
}

/** Values that begin with a space or a hash, or contain two spaces in a row, need the full parser. */
function mayFollow(code: number, previous: number): boolean {
  return (
    (code !== SPACE || (previous !== SPACE && previous !== EQUALS)) && (code !== HASH || previous !== EQUALS)
  );
}
