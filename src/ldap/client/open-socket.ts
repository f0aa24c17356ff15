import { on, once } from 'node:events';
import { connect as connectTcp, isIP, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect as connectTls, createSecureContext, type SecureContext } from 'node:tls';
import { ExtendedRequest } from 'ldapts';
import { MessageFrames, parseMessage } from './message.js';
import {
  LdapClosedError,
  LdapConnectError,
  LdapError,
  LdapProtocolError,
  LdapTimeoutError,
  LdapTlsError,
  resultCodeName,
  StartTlsRefusedError,
} from './ldap-error.js';

type TlsMode = 'none' | 'starttls' | 'ldaps';

export interface SocketOptions {
  readonly host: string;
  readonly port: number;
  readonly tls: TlsMode;
  /** Certificates (PEM) of the trusted authorities, which the settings have checked. Defaults to those that Node trusts. */
  readonly ca?: Buffer | string | undefined;
  /** Client certificate with its chain, and its key (PEM). */
  readonly client?: { readonly cert: Buffer | string; readonly key: Buffer | string } | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** The longest wait for the connection, for TLS and for the bind, in milliseconds: after a minute, it is tried again. */
export const STEP_TIMEOUT = 10_000;

/** Idle time before TCP keep-alive starts. The operating system then sends ten probes, one per second. */
const KEEP_ALIVE_MILLISECONDS = 30_000;
const START_TLS = '1.3.6.1.4.1.1466.20037';
const START_TLS_ID = 1;
/** Bound on the StartTLS response, which normally has a few dozen bytes. */
const MAXIMUM_ANSWER_BYTES = 65_536;

/**
 * Opens a socket, with TLS if configured. The certificate and the host name are then verified.
 * @throws {LdapError} when the connection or the handshake fails; the signal's reason
 */
export async function openSocket(options: SocketOptions): Promise<Socket> {
  const { host, port, signal } = options;
  const socket = await openTcp(options);
  if (options.tls === 'none') return socket;
  const tooLate = `No TLS with ${host}:${port} within ${STEP_TIMEOUT} ms`;
  try {
    return await within({ milliseconds: STEP_TIMEOUT, tooLate, signal }, secure(socket, options));
  } catch (error) {
    discard(socket);
    throw error;
  }
}

async function openTcp({ host, port, signal }: SocketOptions): Promise<Socket> {
  const socket = connectTcp({
    host,
    port,
    noDelay: true,
    keepAlive: true,
    keepAliveInitialDelay: KEEP_ALIVE_MILLISECONDS,
  });
  const tooLate = `No connection to ${host}:${port} within ${STEP_TIMEOUT} ms`;
  try {
    await within({ milliseconds: STEP_TIMEOUT, tooLate, signal }, once(socket, 'connect'));
    return socket;
  } catch (error) {
    discard(socket);
    if (error instanceof LdapError || signal?.aborted === true) throw error;
    const { code, message } = error as NodeJS.ErrnoException;
    throw new LdapConnectError(`No connection to ${host}:${port}: ${code ?? message}`, { cause: error });
  }
}

async function secure(socket: Socket, options: SocketOptions): Promise<Socket> {
  if (options.tls === 'starttls') await startTls(socket);
  const secured = wrapInTls(socket, options);
  try {
    await once(secured, 'secureConnect');
    return secured;
  } catch (error) {
    discard(secured);
    throw toTlsError(error as Error, options.host);
  }
}

function wrapInTls(socket: Socket, { host, ca, client }: SocketOptions): Socket {
  return connectTls({
    socket,
    secureContext: contextOf(ca, client),
    host,
    // An explicit value takes precedence over the environment (NODE_TLS_REJECT_UNAUTHORIZED).
    rejectUnauthorized: true,
    // An IP address is not a valid server name (RFC 6066 §3). The certificate is still checked against it.
    ...(isIP(host) === 0 ? { servername: host } : {}),
  });
}

function contextOf(ca: SocketOptions['ca'], client: SocketOptions['client']): SecureContext {
  try {
    return createSecureContext({ ca, ...client });
  } catch (error) {
    throw new LdapTlsError('The client certificate or its key cannot be used', { cause: error });
  }
}

/** Destroys a socket and ignores its later errors. */
function discard(socket: Socket): void {
  socket.on('error', () => undefined).destroy();
}

/** Converts a TLS error to one whose message states what the operator can correct. */
function toTlsError(error: NodeJS.ErrnoException, host: string): LdapTlsError {
  const { code = '', message } = error;
  const isOther = code === 'ERR_TLS_CERT_ALTNAME_INVALID';
  const reason = isOther ? `its certificate is not for ${host}` : message;
  return new LdapTlsError(`No TLS with ${host}: ${reason}${code === '' ? '' : ` (${code})`}`, {
    cause: error,
  });
}

/**
 * Requests StartTLS (RFC 4511 §4.14) as the first operation on a connection. On return, the socket is paused
 * until the handshake. Bytes that arrive with the response could be injected by an attacker, and are
 * rejected.
 * @throws {StartTlsRefusedError} {LdapProtocolError | LdapClosedError}
 */
async function startTls(socket: Socket): Promise<void> {
  socket.write(new ExtendedRequest({ messageId: START_TLS_ID, oid: START_TLS }).write());
  const message = parseMessage(await readOnlyFrame(socket));
  if (message.kind !== 'result' || message.of !== 'extended')
    throw new LdapProtocolError('an invalid response to StartTLS');
  if (message.id !== START_TLS_ID) throw new LdapClosedError('The directory server ended the connection');
  const { code } = message.result;
  if (code !== 0) {
    throw new StartTlsRefusedError(
      `The directory server refuses StartTLS: ${resultCodeName(code)} (${code})`,
    );
  }
}

/** Waits for one message that no other bytes follow. */
async function readOnlyFrame(socket: Socket): Promise<Buffer> {
  const frames = new MessageFrames(MAXIMUM_ANSWER_BYTES);
  for await (const [chunk] of on(socket, 'data', { close: ['close'] }) as AsyncIterable<[Buffer]>) {
    const [frame, ...others] = [...frames.push(chunk)];
    if (frame === undefined) continue;
    // The socket is paused before more data can arrive: the following bytes belong to TLS.
    socket.pause();
    if (others.length > 0 || !frames.isEmpty)
      throw new LdapProtocolError('more data than the response to StartTLS before TLS');
    return frame;
  }
  throw new LdapClosedError('The directory server closed the connection before TLS');
}

interface Deadline {
  /** The longest wait in milliseconds; 0 means no limit. */
  readonly milliseconds: number;
  readonly tooLate: string;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Settles with the result of the work, unless the time runs out or the signal is aborted first. The work
 * itself is not canceled; the caller has to stop it.
 * @throws {LdapTimeoutError} or the signal's reason
 */
export async function within<Value>(
  { milliseconds, tooLate, signal }: Deadline,
  work: Promise<Value>,
): Promise<Value> {
  const over = new AbortController();
  const limits: Promise<never>[] = [];
  const late = () => {
    throw new LdapTimeoutError(tooLate);
  };
  const stop = () => {
    throw signal?.reason as Error;
  };
  if (milliseconds > 0) limits.push(sleep(milliseconds, undefined, { signal: over.signal }).then(late));
  if (signal?.aborted === true) limits.push(Promise.reject(signal.reason as Error));
  else if (signal !== undefined) limits.push(once(signal, 'abort', { signal: over.signal }).then(stop));
  try {
    return await Promise.race([...limits, work]);
  } finally {
    over.abort();
  }
}
