import type { Change } from '../change.model.js';
import type { LogPart, PartFilter } from '../change-log.js';

/** A change as clients outside of GraphQL receive it: the fields of `Change` that are values. */
export function describeChange(change: Change): object {
  const { id, kind, at, userId, userNodeId, groupId, groupNodeId, previousId, roleBefore, roleAfter } =
    change;
  const subjects = { userId, userNodeId, groupId, groupNodeId, previousId };
  return { id, kind, at: at.toISOString(), ...subjects, roleBefore, roleAfter };
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

  /** The events that a filter selects, and the number of changes of users among them. */
  select({ kinds, groupKey = null }: PartFilter): { bytes: Buffer; users: number } {
    if (!kinds && groupKey === null) return { bytes: this.all, users: this.allUsers };
    const selected = this.part.changes.map(
      ({ change }) =>
        (!kinds || kinds.includes(change.kind)) && (groupKey === null || change.groupKey === groupKey),
    );
    const texts = this.each.filter((_, index) => selected[index]);
    const users = this.part.changes.filter(({ change }, index) => selected[index] && change.userId !== null);
    return { bytes: Buffer.from(texts.join('')), users: users.length };
  }
}
