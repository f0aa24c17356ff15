import { createHash } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { matchesEtag } from '../http/entity-tags.js';

/** A file that is the same for all clients while the process runs. */
export interface ServedFile {
  readonly bytes: Buffer;
  readonly etag: string;
  readonly headers: Readonly<Record<string, string>>;
}

export function servedFile(bytes: Buffer, headers: Readonly<Record<string, string>>): ServedFile {
  const digest = createHash('sha256').update(bytes).digest('base64url').slice(0, 22);
  return { bytes, etag: `"${digest}"`, headers };
}

/** Sends the file, or 304 when the client already has it (RFC 9110 §13.1.2). */
export function sendFile(file: ServedFile, request: FastifyRequest, reply: FastifyReply): void {
  void reply.headers({ ...file.headers, etag: file.etag });
  if (matchesEtag(request.headers['if-none-match'], file.etag)) void reply.code(304).send();
  else void reply.send(file.bytes);
}
