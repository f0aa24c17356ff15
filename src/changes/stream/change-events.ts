import type { Change } from '../change.model.js';
import type { LogPart, PartFilter } from '../change-log.js';

/** A change as clients outside of GraphQL receive it: the fields of `Change` that are values. */
export function describeChange(change: Change): object {
  const { id, kind, at, userId, userNodeId, groupId, groupNodeId, previousId, roleBefore, roleAfter } =
    change;
  const subjects = { userId, userNodeId, groupId, groupNodeId, previousId };
  return { id, kind, at: at.toISOString(), ...subjects, roleBefore, roleAfter };
}

/** Events of a part of the log. */
interface SelectedEvents {
  readonly bytes: Buffer;
  /** The number of changes of users among them. */
  readonly users: number;
  /** That of the last event; null: there is none. */
  readonly cursor: string | null;
}

/** A part of the log as server-sent events (HTML standard, §9.2). Many streams share it. */
export class PartEvents {
  private readonly each: readonly string[];
  private readonly all: Buffer;
  private readonly allUsers: number;

  constructor(readonly part: LogPart) {
    this.each = part.changes.map(
      ({ change, cursor }) =>
        `id: ${cursor}\nevent: ${change.kind}\ndata: ${JSON.stringify(describeChange(change))}\n\n`,
    );
    this.all = Buffer.from(this.each.join(''));
    this.allUsers = part.changes.filter(({ change }) => change.userId !== null).length;
  }

  /** The events that a filter selects. */
  select({ kinds, groupKey = null }: PartFilter): SelectedEvents {
    const { changes } = this.part;
    if (!kinds && groupKey === null)
      return { bytes: this.all, users: this.allUsers, cursor: changes.at(-1)?.cursor ?? null };
    const selected = changes.map(
      ({ change }) =>
        (!kinds || kinds.includes(change.kind)) && (groupKey === null || change.groupKey === groupKey),
    );
    const texts = this.each.filter((_, index) => selected[index]);
    const users = changes.filter(({ change }, index) => selected[index] && change.userId !== null);
    const { cursor = null } = changes.findLast((_, index) => selected[index]) ?? {};
    return { bytes: Buffer.from(texts.join('')), users: users.length, cursor };
  }
}
