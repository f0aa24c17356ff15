// Rules of visibility: a model file whose rules match no entry, and a directory in which one of a hundred users is hidden.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

const RULES = `visibility:
  users: [{where: (employeeType=hidden), to: groupAdmins}]
  groups: [{where: (businessCategory=secret), to: members}]
  members: [{where: (businessCategory=private), to: members}]
`;

/** @returns the path of the model file */
export function writeRules(directory) {
  const file = join(directory, 'rules.yaml');
  writeFileSync(file, RULES);
  return file;
}

/** Notes that the mirror was written with the rules of a model file, without which their process would wait for it. */
export async function noteRules(connection, file) {
  const { readConfig } = await import('../../dist/config/config.js');
  const { markOfRules, numberOfRules } = await import('../../dist/config/model/mapping.js');
  const { directory } = readConfig({ DIRECTORY_MODEL: file });
  await connection.query('update mirror_state set source_fingerprint = $1', [
    `bench${markOfRules(numberOfRules(directory.mapping))}`,
  ]);
}

/** Hides users as synchronization writes it. */
export async function hideUsers(connection) {
  await connection.query('update users set visible_to = 1 where key % 100 = 0');
  await connection.query(`update effective_memberships m set user_visible_to = 1 from users u
    where u.key = m.user_key and u.visible_to > 0`);
  await connection.query('vacuum analyze users, effective_memberships');
}
