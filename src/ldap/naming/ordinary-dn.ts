const TYPE_CHARACTER = 1;
const VALUE_CHARACTER = 2;

/** For each ASCII code, where the character may stand in an ordinary DN. */
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
 * Whether a DN is ASCII without escapes, several values in one RDN or insignificant spaces, so that lowering
 * its case is all there is to normalising it. False says nothing: such a text may be malformed or merely rare.
 *
 * A loop over character codes, because the obvious regular expression takes several times as long.
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

/** A space or a hash that begins a value needs the full parser, and so does a second space in a row. */
function mayFollow(code: number, previous: number): boolean {
  return (
    (code !== SPACE || (previous !== SPACE && previous !== EQUALS)) && (code !== HASH || previous !== EQUALS)
  );
}
