import fc from 'fast-check';

/** Texts that YAML, JavaScript, GraphQL or LDAP read in a special way. */
const PIECES = [
  ...[
    '"\\ud800"',
    '"\\0"',
    '\u0007',
    '\0',
    '\ufeff',
    '\u202e',
    '😀',
    '\t',
    '\r',
    '\n',
    '\n---\n',
    '%YAML 1.1\n',
    '%YAML 9.9\n',
  ],
  ...['__proto__', 'constructor', 'toString', 'then', '__typename', '<<: *a', '&a ', '*a', '!foo ', '!!set '],
  ...['{', '}', '[', ']', ': ', '- ', '? ', '|', '"', "'", '#', '~', 'yes', '1e999', '[[[[', '('.repeat(200)],
  ...['(!(a=b))', 'type: User', 'reverse: reports', 'access: read', 'editable: true', 'visibleTo: self'],
];

interface Edit {
  readonly kind: 'insert' | 'remove' | 'repeat a line' | 'replace a value' | 'replace a key';
  /** The position as a share of the text. */
  readonly at: number;
  readonly piece: string;
  readonly length: number;
}

/** Model files with a few changes, most of which make them invalid. */
export function mutatedModels(files: readonly string[]): fc.Arbitrary<string> {
  const edit = fc.record<Edit>({
    kind: fc.constantFrom('insert', 'remove', 'repeat a line', 'replace a value', 'replace a key'),
    at: fc.double({ min: 0, max: 1, noNaN: true }),
    piece: fc.constantFrom(...PIECES),
    length: fc.integer({ min: 1, max: 12 }),
  });
  return fc
    .tuple(fc.constantFrom(...files), fc.array(edit, { minLength: 1, maxLength: 3 }))
    .map(([file, edits]) => edits.reduce(apply, file));
}

function apply(text: string, { kind, at, piece, length }: Edit): string {
  const offset = Math.floor(at * text.length);
  if (kind === 'insert') return text.slice(0, offset) + piece + text.slice(offset);
  if (kind === 'remove') return text.slice(0, offset) + text.slice(offset + length);
  const lines = text.split('\n');
  const index = Math.min(lines.length - 1, Math.floor(at * lines.length));
  const line = lines[index] ?? '';
  if (kind === 'repeat a line') return lines.toSpliced(index, 0, line).join('\n');
  const changed =
    kind === 'replace a value'
      ? line.replace(/:.*/, () => `: ${piece}`)
      : line.replace(/[\w-]+:/, () => `${piece}:`);
  return lines.with(index, changed).join('\n');
}
