import { once } from 'node:events';
import { type AddressInfo, type Socket } from 'node:net';
import { createServer, type Server, type TlsOptions } from 'node:tls';
import { BerInput, MessageFrames } from '../../../src/ldap/client/message.js';
import { Entry } from '../../../src/ldap/entry.js';
import { isBelow, normalizeDn, parseDn } from '../../../src/ldap/naming/dn.js';
import { entry, result } from './fake-ldap-server.js';

const BIND = 0x60;
const SEARCH = 0x63;
const CONTROLS = 0xa0;
const ENUMERATED = 0x0a;
const BIND_RESPONSE = 0x61;
const FILTER = { and: 0xa0, or: 0xa1, not: 0xa2, equal: 0xa3, present: 0x87 } as const;
/** Scopes. */
const BASE = 0;
const ONE = 1;
const UNWILLING_TO_PERFORM = 53;
const UNAVAILABLE_CRITICAL_EXTENSION = 12;

/** Attributes that are sent only when they are requested by name. */
export type Attributes = Readonly<Record<string, readonly (string | Buffer)[]>>;

/**
 * Emulates servers that show no changes, such as lldap, the outpost of authentik, Kanidm and Google Secure LDAP: over TLS with a
 * required client certificate, without pages and `>=`, with times of RFC 3339 or none.
 */
export class PolledServer {
  /** The entries by their DN. Tests change them. */
  readonly entries = new Map<string, Attributes>();
  /** Number of entries that were sent with an attribute, by the name of the attribute in lower case. */
  readonly sent = new Map<string, number>();
  private readonly sockets = new Set<Socket>();
  private port = 0;

  private constructor(
    private readonly server: Server,
    /** Attributes of the root DSE. */
    public root: Attributes,
  ) {
    server.on('secureConnection', (socket) => this.accept(socket));
    server.on('tlsClientError', () => undefined);
  }

  static async start(tls: TlsOptions, root: Attributes): Promise<PolledServer> {
    const server = createServer({ ...tls, requestCert: true, rejectUnauthorized: true });
    const emulator = new PolledServer(server, root);
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    emulator.port = (server.address() as AddressInfo).port;
    return emulator;
  }

  get url(): string {
    return `ldaps://127.0.0.1:${this.port}`;
  }

  /** Accepts connections again, on the same port. */
  async resume(): Promise<void> {
    this.server.listen(this.port, '127.0.0.1');
    await once(this.server, 'listening');
  }

  async stop(): Promise<void> {
    for (const socket of this.sockets) socket.destroy();
    await new Promise((resolve) => this.server.close(resolve));
  }

  private accept(socket: Socket): void {
    this.sockets.add(socket.on('error', () => undefined));
    const frames = new MessageFrames();
    socket.on('data', (chunk: Buffer) => {
      for (const frame of frames.push(chunk)) this.answer(socket, frame);
    });
  }

  private answer(socket: Socket, frame: Buffer): void {
    const message = new BerInput(frame).enter();
    const id = message.readInteger();
    if (message.isNext(BIND)) socket.write(result(id, 0, '', BIND_RESPONSE));
    if (!message.isNext(SEARCH)) return;
    const search = message.enter(SEARCH);
    if (message.isNext(CONTROLS)) {
      socket.write(result(id, UNAVAILABLE_CRITICAL_EXTENSION));
      return;
    }
    socket.write(Buffer.concat(this.answersOf(id, search)));
  }

  private answersOf(id: number, search: BerInput): Buffer[] {
    const base = search.readText();
    const scope = search.readInteger(ENUMERATED);
    // Aliases, limits, and whether only types are requested.
    for (let skipped = 0; skipped < 4; skipped++) search.skip();
    try {
      const matches = readFilter(search);
      const list = search.enter();
      const names: string[] = [];
      while (!list.isAtEnd) names.push(list.readText());
      const candidates: (readonly [string, Attributes])[] =
        base === '' && scope === BASE
          ? [['', this.root]]
          : [...this.entries].filter(([dn]) => isIn(dn, base, scope));
      if (scope === BASE && candidates.length === 0) return [result(id, 32)];
      const found = candidates.filter(([dn, attributes]) => matches(entryOf(dn, attributes)));
      return [...found.map(([dn, attributes]) => entry(id, dn, this.select(attributes, names))), result(id)];
    } catch {
      return [result(id, UNWILLING_TO_PERFORM)];
    }
  }

  private select(attributes: Attributes, names: readonly string[]): Record<string, (string | Buffer)[]> {
    const wanted = new Set(names.map((name) => name.toLowerCase()));
    const selected = Object.entries(attributes).filter(
      ([name, values]) => values.length > 0 && (wanted.has('*') || wanted.has(name.toLowerCase())),
    );
    for (const [name] of selected) {
      const key = name.toLowerCase();
      this.sent.set(key, (this.sent.get(key) ?? 0) + 1);
    }
    return Object.fromEntries(selected.map(([name, values]) => [name, [...values]]));
  }
}

function isIn(dn: string, base: string, scope: number): boolean {
  if (scope === BASE) return normalizeDn(dn) === normalizeDn(base);
  return isBelow(dn, base) && (scope !== ONE || parseDn(dn).length === parseDn(base).length + 1);
}

function entryOf(dn: string, attributes: Attributes): Entry {
  return new Entry(
    dn,
    Object.entries(attributes).map(([name, values]) => [name, values.map((value) => Buffer.from(value))]),
  );
}

/** @throws for filters that these servers refuse, such as `>=` */
function readFilter(input: BerInput): (entry: Entry) => boolean {
  const tag = input.nextTag();
  if (tag === FILTER.present) {
    const name = input.readText(tag);
    return (each) => each.bytes(name).length > 0;
  }
  const body = input.enter(tag);
  if (tag === FILTER.equal) {
    const name = body.readText();
    const value = body.readText().toLowerCase();
    return (each) => each.text(name).some((text) => text.toLowerCase() === value);
  }
  if (tag === FILTER.not) {
    const inner = readFilter(body);
    return (each) => !inner(each);
  }
  if (tag !== FILTER.and && tag !== FILTER.or) throw new Error('A filter that is refused');
  const parts: ((entry: Entry) => boolean)[] = [];
  while (!body.isAtEnd) parts.push(readFilter(body));
  return tag === FILTER.and
    ? (each) => parts.every((part) => part(each))
    : (each) => parts.some((part) => part(each));
}
