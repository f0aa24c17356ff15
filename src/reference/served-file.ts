import { createHash } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { compressed, compressionFor } from '../graphql/http/compression.js';
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
export async function sendFile(
  file: ServedFile,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<void> {
  const { bytes, etag } = file;
  const compression = compressionFor(request.raw);
  // The CORS handler may have set the header before.
  const vary = [reply.getHeader('vary') ?? [], 'Accept-Encoding'].flat().join(', ');
  // The tag is weak, because it is that of all codings.
  void reply.headers({ ...file.headers, vary, etag: `W/${etag}` });
  if (matchesEtag(request.headers['if-none-match'], etag)) {
    void reply.code(304).send();
    return;
  }
  const plain = { headers: {}, body: bytes as string | Buffer };
  const { headers, body } = compression === null ? plain : await compressed(plain, compression);
  void reply.headers(headers).send(body);
}
