import { keyOfDn } from '../../ldap/naming/dn-key.js';
import type { ContentEvent } from '../../ldap/sync/sync-stage.js';

/**
 * Notices when a container of people or groups is added, deleted or renamed. An entry of any class is one that has entries
 * below it. The people and groups below it may have moved as well, and the server reports none of them.
 */
export class ContainerWatch {
  private moved = false;
  /** The DN of each container, as keyOfDn, by entryUUID. */
  private readonly dnKeys = new Map<string, string>();

  get hasMoved(): boolean {
    return this.moved;
  }

  /** Returns hasMoved, and resets it. */
  takeMoved(): boolean {
    const { moved } = this;
    this.moved = false;
    return moved;
  }

  note(event: ContentEvent): void {
    if (event.kind === 'deleted') {
      for (const uuid of event.uuids) this.moved = this.dnKeys.delete(uuid) || this.moved;
    }
    if (event.kind === 'entry') {
      const dnKey = keyOfDn(event.entry.dn);
      this.moved ||= this.dnKeys.get(event.uuid) !== dnKey;
      this.dnKeys.set(event.uuid, dnKey);
    }
  }
}
