/**
 * From where a directory can be followed: the cookies of content synchronisation, or what a later look is compared
 * with. Kept as text beside the revision that it belongs to.
 */
export type Position =
  | { readonly kind: 'cookies'; readonly person: Buffer; readonly group: Buffer }
  | {
      readonly kind: 'look';
      /** The server's word for its state; null where it has none. */
      readonly token: string | null;
      /** Whatever was changed before has been seen; by the directory's clock, as it writes it. */
      readonly since: string;
      /**
       * The latest change that was seen. Of what changed while entries were read some came too late to be seen, and may
       * be older: only from another look on is nothing older than this missing.
       */
      readonly latest: string;
    };

export function formatPosition(position: Position): string {
  return JSON.stringify(
    position.kind === 'cookies'
      ? { person: position.person.toString('base64'), group: position.group.toString('base64') }
      : { token: position.token, since: position.since, latest: position.latest },
  );
}

/** Null for what was not written by formatPosition. */
export function parsePosition(text: string | null): Position | null {
  if (text === null) return null;
  const value = parse(text);
  const { person, group, token, since, latest } = value;
  if (typeof person === 'string' && typeof group === 'string') {
    return { kind: 'cookies', person: Buffer.from(person, 'base64'), group: Buffer.from(group, 'base64') };
  }
  if (typeof since !== 'string' || typeof latest !== 'string') return null;
  return { kind: 'look', token: typeof token === 'string' ? token : null, since, latest };
}

function parse(text: string): Record<string, unknown> {
  try {
    return (JSON.parse(text) ?? {}) as Record<string, unknown>;
  } catch {
    return {};
  }
}
