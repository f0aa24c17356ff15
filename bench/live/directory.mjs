// slapd and PostgreSQL as processes, with the settings of a service that mirrors the directory.
import { chmodSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Attribute, Change, Client } from 'ldapts';
import { findFreePort, startPostgres } from '../../test/support/servers/postgres.mjs';
import {
  MIRROR_DN,
  MIRROR_PASSWORD,
  ROOT_DN,
  ROOT_PASSWORD,
  startSlapd,
} from '../../test/support/servers/slapd.mjs';
import { BASE } from '../large-directory.mjs';

/** @param work receives the settings of a service, the process ID of its database server and a directory for files */
export async function withDatabase(work) {
  const directory = mkdtempSync(join(tmpdir(), 'directory-live-'));
  chmodSync(directory, 0o755);
  const postgres = await startPostgres(join(directory, 'postgres'));
  try {
    return await work({
      directory,
      database: Number(readFileSync(join(postgres.data, 'postmaster.pid'), 'utf8').split('\n')[0]),
      environment: {
        PORT: String(await findFreePort()),
        DATABASE_URL: postgres.url('postgres'),
        LIMIT_REQUESTS_PER_MINUTE: '999999999',
        LIMIT_POINTS_PER_HOUR: '999999999',
      },
    });
  } finally {
    await postgres.stop();
    rmSync(directory, { recursive: true, force: true });
  }
}

/** @param records the lines of each record */
export async function withDirectory(records, work) {
  const text = [];
  for (const lines of records) text.push(lines.join('\n'));
  return withDatabase(async ({ directory, database, environment }) => {
    const slapd = await startSlapd({ directory: join(directory, 'slapd'), ldif: `${text.join('\n\n')}\n` });
    const client = new Client({ url: slapd.url });
    try {
      await client.bind(ROOT_DN, ROOT_PASSWORD);
      const settings = {
        DIRECTORY_URL: slapd.url,
        DIRECTORY_BASE_DN: BASE,
        DIRECTORY_BIND_DN: MIRROR_DN,
        DIRECTORY_BIND_PASSWORD: MIRROR_PASSWORD,
      };
      return await work({ environment: { ...environment, ...settings }, client, database });
    } finally {
      await client.unbind();
      await slapd.remove();
    }
  });
}

export function modify(client, dn, operation, type, ...values) {
  return client.modify(dn, [new Change({ operation, modification: new Attribute({ type, values }) })]);
}
