import { execFileSync } from 'node:child_process';
import { hash } from 'node:crypto';
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Logger } from '@nestjs/common';
import { ConfigError, readConfig } from '../../src/config/config.js';
import { DocumentStore } from '../../src/graphql/http/persisted-documents.js';
import { buildLdif } from '../support/builders/directory.js';
import { TestProcess } from '../support/clients/command.js';
import { dataOf, get, post, refusalOf, send } from '../support/clients/http.js';
import { findFreePort } from '../support/servers/postgres.mjs';
import { TestService } from '../support/servers/service.js';
import { createDatabase, variable } from '../support/servers/store.js';

const WRITE_MANIFEST = join(__dirname, '../support/clients/write-manifest.mjs');
const LDIF = buildLdif([{ id: 'anna', name: 'Anna' }]);
const ANNA = { user: { name: 'Anna' } };
const REFUSED = [403, 'DOCUMENT_NOT_TRUSTED'];
const QUERY = 'query Name { user(user: {id: "anna"}) { ...Named } } fragment Named on User { name }';
const OTHER = '{ user(user: {id: "anna"}) { name } }';
const INTROSPECTION = '{ __schema { queryType { name } } }';
const sha256Of = (text: string) => hash('sha256', text);
const persisted = (sha256Hash: string) => ({ extensions: { persistedQuery: { version: 1, sha256Hash } } });

const newFile = () => join(mkdtempSync(join(variable('TEST_WORK_DIRECTORY'), 'manifest-')), 'manifest.json');

function writeManifest(documents: unknown): string {
  const file = newFile();
  writeFileSync(file, typeof documents === 'string' ? documents : JSON.stringify(documents));
  return file;
}

/** The manifest of GraphQL Code Generator. */
function generateManifest(
  algorithm: string,
  ...documents: string[]
): { file: string; texts: [string, string][] } {
  const file = newFile();
  execFileSync(process.execPath, [WRITE_MANIFEST, file, algorithm, ...documents], { stdio: 'inherit' });
  return { file, texts: Object.entries(JSON.parse(readFileSync(file, 'utf8')) as Record<string, string>) };
}

function problemsOf(attempt: () => unknown): readonly string[] {
  try {
    attempt();
  } catch (error) {
    if (error instanceof ConfigError) return error.problems;
    throw error;
  }
  return [];
}

describe('TRUSTED_DOCUMENTS', () => {
  it.each([
    ['is missing', join(__dirname, 'missing.json'), ['names a file that cannot be read']],
    ['is not JSON', writeManifest('{'), ['names a file that is not a JSON object of documents by hash']],
    ['is an array', writeManifest([QUERY]), ['names a file that is not a JSON object of documents by hash']],
    ['is empty', writeManifest({}), ['names a file without documents']],
    ['is too large', writeManifest(' '.repeat(10_000_001)), ['names a file of more than 10000000 bytes']],
    [
      'has wrong entries',
      writeManifest({
        'a b': QUERY,
        list: [QUERY],
        empty: '',
        ['0'.repeat(64)]: QUERY,
        [`sha256:${'1'.repeat(64)}`]: QUERY,
        ['2'.repeat(40)]: QUERY,
      }),
      [
        'is not an id',
        '«list» is not the id of a text',
        '«empty» is not the id of a text',
        'is not the sha256 of its document',
        'is not the sha256 of its document',
        'is not the sha1 of its document',
      ],
    ],
  ])('is rejected with all problems if the file %s', (_what, file, expected) => {
    const problems = problemsOf(() => readConfig({ TRUSTED_DOCUMENTS: file }));
    expect(problems).toHaveLength(expected.length);
    for (const each of expected) expect(problems.join('\n')).toContain(each);
    for (const each of problems) expect(each).toMatch(/^TRUSTED_DOCUMENTS /);
  });

  it('turns the explorer off by default, and contradicts EXPLORER=true', () => {
    const TRUSTED_DOCUMENTS = writeManifest({ name: QUERY });
    const TRUSTED_DOCUMENTS_MODE = 'log';
    expect(readConfig({ TRUSTED_DOCUMENTS }).explorer).toBeNull();
    expect(readConfig({ TRUSTED_DOCUMENTS, TRUSTED_DOCUMENTS_MODE }).explorer).not.toBeNull();
    expect(problemsOf(() => readConfig({ TRUSTED_DOCUMENTS, EXPLORER: 'true' }))).toHaveLength(1);
  });

  it('prevents a start with documents that are not valid, with all their errors', async () => {
    const documents = { name: QUERY, wrong: '{ nothing nowhere }', broken: '{', ofOther: '{ user { id } }' };
    const database = await createDatabase();
    try {
      const service = TestProcess.start('main', [], {
        TRUSTED_DOCUMENTS: writeManifest(documents),
        DATABASE_URL: database.url,
        PORT: String(await findFreePort()),
      });
      await service.end();
      const ids = [...service.stderr.matchAll(/TRUSTED_DOCUMENTS: «(\w+)» is not valid: ./g)].map(
        ([, id]) => id,
      );
      expect([service.code, ids]).toEqual([2, ['wrong', 'wrong', 'broken', 'ofOther']]);
    } finally {
      await database.drop();
    }
  });
});

describe.each(['sha256', 'sha1'])(
  'a service with a manifest of GraphQL Code Generator, with %s',
  (algorithm) => {
    const { file, texts } = generateManifest(algorithm, QUERY);
    const service = TestService.forSuite({ ldif: LDIF, environment: { TRUSTED_DOCUMENTS: file } });
    const [[id, text] = ['', '']] = texts;
    let authorization: string;

    beforeAll(async () => {
      authorization = await service.serviceAccount('read');
    });

    const sendBody = (body: object) => post(service, body, { authorization });

    it('executes its documents by hash, by documentId and by their text, by POST and GET', async () => {
      const plain = id.replace('sha256:', '');
      const bodies = [
        persisted(id),
        persisted(plain),
        { documentId: id },
        { documentId: plain },
        { query: text },
      ];
      for (const body of [
        ...bodies,
        { query: text, ...persisted(id) },
        { query: text, ...persisted(plain) },
      ]) {
        for (let time = 0; time < 3; time++) expect(dataOf(await sendBody(body))).toEqual(ANNA);
      }
      const extensions = JSON.stringify(persisted(id).extensions);
      for (const parameters of [{ extensions }, { documentId: id }, { query: text }] as Record<
        string,
        string
      >[])
        expect(dataOf(await get(service, parameters, { authorization }))).toEqual(ANNA);
    });

    it('refuses all others, introspection included, and registers none', async () => {
      const unknown = sha256Of(OTHER);
      for (const body of [
        { query: OTHER },
        { query: ` ${text}` },
        { query: OTHER, ...persisted(unknown) },
        { query: OTHER, ...persisted(id) },
        persisted(unknown),
        persisted('unknown'),
        { documentId: `sha256:${unknown}` },
        { query: INTROSPECTION },
        { query: '{' },
      ]) {
        expect([body, refusalOf(await sendBody(body))]).toEqual([body, REFUSED]);
      }
    });

    it('has no explorer', async () => {
      expect((await send(service, { path: '/explorer' })).status).toBe(404);
    });
  },
);

describe('a service with TRUSTED_DOCUMENTS_MODE=log', () => {
  const warned = jest.spyOn(Logger.prototype, 'warn');
  const service = TestService.forSuite({
    ldif: LDIF,
    environment: { TRUSTED_DOCUMENTS: writeManifest({ name: QUERY }), TRUSTED_DOCUMENTS_MODE: 'log' },
  });

  it('executes other documents, and logs each once, without its text', async () => {
    const authorization = await service.serviceAccount('read');
    warned.mockClear();
    const bodies = [
      { query: QUERY },
      { documentId: 'name' },
      { query: OTHER, ...persisted(sha256Of(OTHER)) },
      persisted(sha256Of(OTHER)),
    ];
    for (let time = 0; time < 3; time++)
      for (const body of bodies) expect(dataOf(await post(service, body, { authorization }))).toEqual(ANNA);
    const messages = warned.mock.calls.map(([message]) => String(message));
    expect(messages.filter((message) => message.includes('TRUSTED_DOCUMENTS'))).toEqual([
      `A document is not in TRUSTED_DOCUMENTS: SHA-256 ${sha256Of(OTHER)}`,
    ]);
  });

  it('logs a document whose text it learns from its own store', async () => {
    const authorization = await service.serviceAccount('read');
    const text = '{ user(user: {id: "anna"}) { name __typename } }';
    await service.app.get(DocumentStore).keep(sha256Of(text), text, 'another process');
    warned.mockClear();
    await post(service, persisted(sha256Of(text)), { authorization });
    expect(warned.mock.calls.flat().join()).toContain(sha256Of(text));
  });

  it('has other entity tags than a service with another document of the same id', async () => {
    const { database, baseUrl } = service.config;
    const authorization = await service.serviceAccount('read');
    const ask = (to: TestService, headers = {}) =>
      get(to, { documentId: 'name' }, { authorization, ...headers });
    const start = (text: string) =>
      TestService.start({
        environment: {
          TRUSTED_DOCUMENTS: writeManifest({ name: text }),
          DATABASE_URL: database.url,
          BASE_URL: baseUrl,
        },
      });
    const { etag } = (await ask(service)).headers;
    const [same, other] = [await start(QUERY), await start('{ user(user: {id: "anna"}) { id } }')];
    try {
      const known = { 'if-none-match': String(etag) };
      expect((await ask(same, known)).status).toBe(304);
      expect(dataOf(await ask(other, known))).toEqual({ user: { id: 'anna' } });
    } finally {
      await other.stop();
      await same.stop();
    }
  });
});
