import { on } from 'node:events';
import type { Socket } from 'node:net';
import { ExtendedRequest } from 'ldapts';
import { LdapClosedError, LdapProtocolError, StartTlsRefusedError } from './ldap-error.js';
import { parseMessage } from './message.js';
import { MessageFrames } from './message-frames.js';
import { resultCodeName } from './result-code.js';

const START_TLS = '1.3.6.1.4.1.1466.20037';
const MESSAGE_ID = 1;
/** Bound on the StartTLS response, which normally has a few dozen bytes. */
const MAXIMUM_ANSWER_BYTES = 65_536;

/**
 * Requests StartTLS (RFC 4511 §4.14) as the first operation on a connection. On return, the socket is paused
 * until the handshake. Bytes that arrive with the response could be injected by an attacker, and are
 * rejected.
 * @throws {StartTlsRefusedError} {LdapProtocolError | LdapClosedError}
 */
export async function startTls(socket: Socket): Promise<void> {
  socket.write(new ExtendedRequest({ messageId: MESSAGE_ID, oid: START_TLS }).write());
  const message = parseMessage(await readOnlyFrame(socket));
  if (message.kind !== 'result' || message.of !== 'extended') {
    throw new LdapProtocolError('an invalid response to StartTLS');
  }
  if (message.id !== MESSAGE_ID) throw new LdapClosedError('The directory server ended the connection');
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
    if (others.length > 0 || !frames.isEmpty) {
      throw new LdapProtocolError('more data than the response to StartTLS before TLS');
    }
    return frame;
  }
  throw new LdapClosedError('The directory server closed the connection before TLS');
}
