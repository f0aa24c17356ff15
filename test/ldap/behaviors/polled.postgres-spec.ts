import { hash } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { createServer, type Server } from 'node:tls';
import { BerInput, MessageFrames } from '../../../src/ldap/client/message.js';
import { groupDn } from '../../support/builders/directory.js';
import { parseDump } from '../../support/builders/ldap-content.js';
import { modelSetting } from '../../support/builders/model-file.js';
import { entry, result } from '../../support/servers/fake-ldap-server.js';
import type { Ended, LdapQuery } from '../../support/servers/ldap-tools.mjs';
import {
  MIRROR_DN,
  MIRROR_PASSWORD,
  startSlapd,
  SUFFIX,
  type TestSlapd,
} from '../../support/servers/slapd.mjs';
import { type BehaviorServer, OldCopy, type Vocabulary } from './behavior-directory.js';
import { describeBehaviors } from './behaviors.js';
import { DISABLING_MODEL, openldapVocabulary } from './openldap-vocabulary.js';

const SEARCH = 0x63;
const CONTROLS = 0xa0;
const ENUMERATED = 0x0a;
const FILTER = { and: 0xa0, or: 0xa1, not: 0xa2, greaterOrEqual: 0xa5 } as const;
const UNAVAILABLE_CRITICAL_EXTENSION = 12;
const UNWILLING_TO_PERFORM = 53;

/** The root DSE of such a server. */
const ROOT = { objectClass: ['top'], vendorName: ['LLDAP'], namingContexts: [SUFFIX] };
/** The account of the mirror does not see when an entry has changed. */
const ACL = [
  'access to attrs=userPassword by anonymous auth by * none',
  'access to attrs=entryCSN,modifyTimestamp by * none',
  `access to * by dn.exact="${MIRROR_DN}" read by * none`,
];
/** It changes with the photo. */
const PHOTO_STAMP = 'description';

/**
 * slapd behind what makes it like servers that show no changes, such as lldap, the outpost of authentik, Kanidm and Google Secure
 * LDAP: over TLS with a required client certificate, without pages and `>=`. Tools of OpenLDAP change and show it directly.
 */
class PolledDirectory implements BehaviorServer {
  private constructor(
    private readonly slapd: TestSlapd,
    private readonly server: Server,
  ) {}

  static async start(): Promise<PolledDirectory> {
    const slapd = await startSlapd({ tls: true, syncprov: false, acl: ACL });
    const [key, cert, ca] = ['server.key', 'server.pem', 'ca.pem'].map((name) =>
      readFileSync(join(slapd.directory, name)),
    );
    const server = createServer({ key, cert, ca, requestCert: true, rejectUnauthorized: true }, (client) =>
      emulate(client, slapd.port),
    );
    server.on('tlsClientError', () => undefined).listen(0, '127.0.0.1');
    await once(server, 'listening');
    return new PolledDirectory(slapd, server);
  }

  get url(): string {
    return `ldaps://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  get directory(): string {
    return this.slapd.directory;
  }

  async modify(ldif: string): Promise<Ended> {
    const ended = await this.slapd.modify(ldif);
    const photos = await this.slapd.search({ filter: '(jpegPhoto=*)', attributes: ['jpegPhoto'] });
    const stamps = parseDump(photos).map(({ dn, values }) => {
      const stamp = hash('sha256', values.get('jpegphoto')?.[0] ?? '');
      return `dn: ${dn}\nchangetype: modify\nreplace: ${PHOTO_STAMP}\n${PHOTO_STAMP}: ${stamp}\n`;
    });
    if (stamps.length > 0) await this.slapd.modify(stamps.join('\n'));
    return ended;
  }

  search(query?: Partial<LdapQuery>): Promise<string> {
    return this.slapd.search(query);
  }

  start(): Promise<void> {
    return this.slapd.start();
  }

  stop(signal?: NodeJS.Signals): Promise<void> {
    return this.slapd.stop(signal);
  }

  async remove(): Promise<void> {
    this.server.close();
    await this.slapd.remove();
  }
}

/** Forwards requests to slapd except for those that the emulated server refuses or answers differently. */
function emulate(client: Socket, port: number): void {
  const slapd = connect(port, '127.0.0.1');
  const [requests, answers] = [new MessageFrames(), new MessageFrames()];
  client.on('data', (chunk: Buffer) => {
    for (const request of requests.push(chunk)) {
      const answer = answerTo(request);
      if (answer === null) slapd.write(request);
      else client.write(answer);
    }
  });
  slapd.on('data', (chunk: Buffer) => {
    for (const answer of answers.push(chunk)) client.write(answer);
  });
  client.on('error', () => undefined).on('close', () => slapd.destroy());
  slapd.on('error', () => undefined).on('close', () => client.destroy());
}

/** The answer of the emulated server; null: that of slapd. */
function answerTo(request: Buffer): Buffer | null {
  const message = new BerInput(request).enter();
  const id = message.readInteger();
  if (!message.isNext(SEARCH)) return null;
  const search = message.enter(SEARCH);
  if (message.isNext(CONTROLS)) return result(id, UNAVAILABLE_CRITICAL_EXTENSION);
  const isRoot = search.readText() === '';
  const isBase = search.readInteger(ENUMERATED) === 0;
  if (isRoot && isBase) return Buffer.concat([entry(id, '', ROOT), result(id)]);
  // Aliases, limits, and whether only types are requested.
  for (let skipped = 0; skipped < 4; skipped++) search.skip();
  return compares(search) ? result(id, UNWILLING_TO_PERFORM) : null;
}

/** Whether a filter has `>=`. */
function compares(filter: BerInput): boolean {
  const tag = filter.nextTag();
  if (tag === FILTER.greaterOrEqual) return true;
  if (tag !== FILTER.and && tag !== FILTER.or && tag !== FILTER.not) {
    filter.skip();
    return false;
  }
  const parts = filter.enter(tag);
  while (!parts.isAtEnd) if (compares(parts)) return true;
  return false;
}

const vocabulary: Vocabulary = {
  ...openldapVocabulary,
  members: ['uniquemember'],
  // Servers of this kind name the class person.
  person: (id, person) =>
    openldapVocabulary.person(id, person).replace('objectClass: ', 'objectClass: person\nobjectClass: '),
  group(id, members) {
    const lines = [
      'objectClass: groupOfUniqueNames',
      `cn: ${id}`,
      ...members.map((dn) => `uniqueMember: ${dn}`),
    ];
    return `dn: ${groupDn(id)}\nchangetype: add\n${lines.join('\n')}\n`;
  },
  queries: {
    ...openldapVocabulary.queries,
    groups: { base: `ou=groups,${SUFFIX}`, filter: '(objectClass=groupOfUniqueNames)' },
  },
};

// It shows no times, so that it cannot be known whether it lags: the mirror follows the server that answers.
describe('An emulated server without times, numbers, pages and comparisons', () => {
  describeBehaviors(async () => {
    const server = await PolledDirectory.start();
    const file = (name: string) => join(server.directory, name);
    return {
      server,
      vocabulary,
      showsLag: false,
      // The whole server is read by each poll, which then rests nine times as long.
      crowdSize: 60,
      lag: OldCopy.lagOf(server),
      settings: {
        DIRECTORY_URL: server.url,
        DIRECTORY_BASE_DN: SUFFIX,
        DIRECTORY_CA_FILE: file('ca.pem'),
        DIRECTORY_CERT_FILE: file('server.pem'),
        DIRECTORY_KEY_FILE: file('server.key'),
        DIRECTORY_BIND_DN: MIRROR_DN,
        DIRECTORY_BIND_PASSWORD: MIRROR_PASSWORD,
        ...modelSetting(DISABLING_MODEL.replace('}', `, photoStamp: ${PHOTO_STAMP}}`)),
      },
    };
  });
});
