import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { connect as connectTcp, isIP, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { within } from './deadline.js';
import { LdapConnectError, LdapError, LdapTlsError } from './ldap-error.js';
import { startTls } from './start-tls.js';
import { toTlsError } from './tls-error.js';

/** How a connection is kept from being read on its way. */
export type TlsMode = 'none' | 'starttls' | 'ldaps';

export interface SocketOptions {
  readonly host: string;
  readonly port: number;
  readonly tls: TlsMode;
  /** Certificates (PEM) of the authorities to trust; without them, those that Node trusts. */
  readonly ca?: Buffer | string | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** How long to wait for a connection and for TLS, in milliseconds. */
export interface SocketTimeouts {
  readonly connect: number;
  readonly tls: number;
}

/** After this silence the operating system asks ten times, once a second, whether the other side is still there. */
const KEEP_ALIVE_MILLISECONDS = 30_000;
const CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g;

/**
 * A connected socket, with TLS where that is asked for: then the certificate and the host name are verified.
 *
 * @throws {LdapError} when it cannot be had; the signal's reason
 */
export async function openSocket(options: SocketOptions, timeouts: SocketTimeouts): Promise<Socket> {
  const socket = await openTcp(options, timeouts.connect);
  if (options.tls === 'none') return socket;
  const { host, port, signal } = options;
  const tooLate = `No TLS with ${host}:${port} within ${timeouts.tls} ms`;
  try {
    return await within({ milliseconds: timeouts.tls, tooLate, signal }, secure(socket, options));
  } catch (error) {
    discard(socket);
    throw error;
  }
}

async function openTcp({ host, port, signal }: SocketOptions, milliseconds: number): Promise<Socket> {
  const socket = connectTcp({
    host,
    port,
    noDelay: true,
    keepAlive: true,
    keepAliveInitialDelay: KEEP_ALIVE_MILLISECONDS,
  });
  const tooLate = `No connection to ${host}:${port} within ${milliseconds} ms`;
  try {
    await within({ milliseconds, tooLate, signal }, once(socket, 'connect'));
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

function wrapInTls(socket: Socket, { host, ca }: SocketOptions): Socket {
  return connectTls({
    socket,
    host,
    // Said here, it is not for the environment to change (NODE_TLS_REJECT_UNAUTHORIZED).
    rejectUnauthorized: true,
    // An address is no server name (RFC 6066 §3). The certificate is compared with it all the same.
    ...(isIP(host) === 0 ? { servername: host } : {}),
    ...(ca === undefined ? {} : { ca: readCertificates(ca.toString()) }),
  });
}

/** Node passes over what is no certificate in silence, and then trusts nobody. */
function readCertificates(pem: string): string[] {
  const certificates = pem.match(CERTIFICATE) ?? [];
  try {
    for (const certificate of certificates) new X509Certificate(certificate);
  } catch (error) {
    throw new LdapTlsError('A certificate of the authorities to trust cannot be read', { cause: error });
  }
  if (certificates.length === 0)
    throw new LdapTlsError('There is no certificate (PEM) of an authority to trust');
  return certificates;
}

/** Ends a socket of which nothing more is wanted, its last errors included. */
function discard(socket: Socket): void {
  socket.on('error', () => undefined).destroy();
}
