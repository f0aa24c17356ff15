import { hash } from 'node:crypto';
import { KINDS } from '../source.js';
import { type IndexedRecord, RecordTable } from './record-table.js';

/** More than a chunk has, and than the first slots. */
const COUNT = 40_000;

const digestOf = (number: number) => hash('sha256', String(number), 'buffer');
const uuidOf = (number: number) => `00000000-0000-4000-8000-${number.toString(16).padStart(12, '0')}`;

function recordOf(number: number): IndexedRecord {
  const kind = [...KINDS, null][number % 3] ?? null;
  return {
    kind,
    uuid: kind === null ? null : uuidOf(number),
    dnKey: `${number.toString(16).padStart(8, '0')}-0000-4000-8000-000000000000`,
    // Beyond 32 bits.
    start: number * 1_000_000,
    length: number + 1,
  };
}

describe('a table of records', () => {
  const numbers = Array.from({ length: COUNT }, (_, number) => number);
  const table = new RecordTable();
  for (const number of numbers) table.add(digestOf(number), recordOf(number));

  it('keeps and finds each record', () => {
    expect(table.size).toBe(COUNT);
    const records = numbers.map(recordOf);
    expect(numbers.map((row) => table.get(row))).toEqual(records);
    expect(numbers.map((number) => table.find(digestOf(number)))).toEqual(numbers);
    const named = numbers.map((number) => (records[number]?.kind === null ? null : number));
    expect(numbers.map((number) => table.findUuid(uuidOf(number)))).toEqual(named);
    expect(numbers.every((row) => table.digestOf(row).equals(digestOf(row)))).toBe(true);
  });

  it('finds nothing else', () => {
    expect([table.find(digestOf(COUNT)), table.findUuid(uuidOf(COUNT)), table.findUuid('')]).toEqual([
      null,
      null,
      null,
    ]);
  });

  it('copies records to other places of a file', () => {
    const later = new RecordTable();
    expect(numbers.toReversed().every((number) => later.copy(table, number, number))).toBe(true);
    const copied = numbers.map((number) => later.get(later.find(digestOf(number)) ?? COUNT));
    expect(copied).toEqual(numbers.map((number) => ({ ...recordOf(number), start: number })));
  });

  it.each<[what: string, added: IndexedRecord, of: number]>([
    ['bytes', { ...recordOf(COUNT), dnKey: uuidOf(COUNT) }, 5],
    ['DN', { ...recordOf(COUNT), dnKey: recordOf(5).dnKey }, COUNT],
    ['UUID', { ...recordOf(COUNT), kind: 'person', uuid: uuidOf(6) }, COUNT],
  ])('says that a record has the %s of another one', (_, added, of) => {
    const copy = new RecordTable();
    for (const number of numbers.slice(0, 10)) copy.copy(table, number, number);
    expect(copy.add(digestOf(of), added)).toBe(false);
  });

  it('keeps comments, which may be repeated and have no name', () => {
    const comments = new RecordTable();
    expect([1, 2, 1].map((number) => comments.add(digestOf(number), null))).toEqual([true, true, true]);
    expect([comments.get(0), comments.find(digestOf(2))]).toEqual([null, 1]);
    expect(comments.findUuid(uuidOf(0))).toBeNull();
  });
});
