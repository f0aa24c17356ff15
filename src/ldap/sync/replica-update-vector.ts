/** A line of nsds50ruv: the replica, and its first and its newest change. A replica without changes has none. */
const REPLICA = /^\{replica (\d+)(?: [^}]*)?\} [0-9a-f]{20} ([0-9a-f]{20})/i;
const GENERATION = /^\{replicageneration\} ([0-9a-f]{20})/i;
/** Hexadecimal digits of the time and of the number within its second, which order the changes of a replica. */
const ORDER_DIGITS = 12;

/**
 * Parses which changes of each replica a database of 389 Directory Server includes (pure): the values of nsds50ruv.
 * @returns by the generation of the data and the number of the replica, the order of its newest change; null when the values are
 *   not a vector
 */
export function parseReplicaUpdateVector(values: readonly string[]): ReadonlyMap<string, number> | null {
  const [generation] = values.flatMap((value) => GENERATION.exec(value)?.[1] ?? []);
  if (generation === undefined) return null;
  const replicas = values.flatMap((value) => {
    const [, replica, newest] = REPLICA.exec(value) ?? [];
    if (replica === undefined || newest === undefined) return [];
    return [[`${generation}/${replica}`, Number.parseInt(newest.slice(0, ORDER_DIGITS), 16)] as const];
  });
  return new Map(replicas);
}
