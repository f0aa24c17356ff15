import { pictureFields } from '../../common/field.js';
import type { DirectoryMapping } from '../../config/model/mapping.js';
import type { Writer } from '../../database/statements/statement.js';
import type { Application } from './application.js';
import { type Former, pictureColumns } from './former-entries.js';

/** Deletes pictures that no row references any more: those of the former users, or all after a reading of the whole source. */
export async function sweepPictures(
  writer: Writer,
  { plan, covers, mapping }: Pick<Application, 'plan' | 'covers' | 'mapping'>,
  former: readonly Former[],
): Promise<void> {
  const candidates = covers === null ? null : candidatesIn(plan.updatedPeople, mapping, former);
  if (candidates?.length === 0) return;
  const unused = pictureColumns(mapping, 'u').map(
    (column) => `not exists (select from users u where ${column} = p.sha256)`,
  );
  await writer.query(
    `delete from pictures p where ($1::bytea[] is null or p.sha256 = any ($1)) and ${unused.join(' and ')}`,
    [candidates],
  );
}

/** Most changed users keep their pictures. */
function candidatesIn(
  updated: Application['plan']['updatedPeople'],
  { users }: DirectoryMapping,
  former: readonly Former[],
): Buffer[] {
  const names = pictureFields(users.fields).map(({ name }) => name);
  const kept = new Set(
    updated.flatMap(({ value }) => names.map((name) => (value[name] as Buffer | null)?.toString('hex'))),
  );
  return former
    .flatMap(({ pictures }) => pictures ?? [])
    .filter((picture) => picture !== null)
    .filter((picture) => !kept.has(picture.toString('hex')));
}
