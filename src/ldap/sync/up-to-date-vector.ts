/** Bytes before the cursors: version, reserved, count, reserved. */
const HEADER_BYTES = 16;
/** Bytes of an invocationId (GUID). The number of changes follows it. */
const ID_BYTES = 16;
/** Bytes of a cursor, by version: invocationId, number, and since version 2 the time of the last replication. */
const CURSOR_BYTES: ReadonlyMap<number, number> = new Map([
  [1, 24],
  [2, 32],
]);

/**
 * Parses which changes of other domain controllers a naming context includes (pure): replUpToDateVector of its suffix ([MS-ADA3]
 * 2.194; the elements are those of [MS-DRSR] 5.166).
 * @returns by invocationId, in hexadecimal, the number up to which the changes of this controller are included; null when the bytes
 *   are not a vector
 */
export function parseUpToDateVector(bytes: Buffer): ReadonlyMap<string, number> | null {
  const size = bytes.length < HEADER_BYTES ? undefined : CURSOR_BYTES.get(bytes.readUInt32LE(0));
  if (size === undefined) return null;
  const count = bytes.readUInt32LE(8);
  if (bytes.length < HEADER_BYTES + count * size) return null;
  const cursors = Array.from({ length: count }, (_, index) => {
    const start = HEADER_BYTES + index * size;
    const number = Number(bytes.readBigUInt64LE(start + ID_BYTES));
    return [bytes.toString('hex', start, start + ID_BYTES), number] as const;
  });
  return new Map(cursors);
}
