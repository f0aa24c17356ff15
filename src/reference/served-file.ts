import { createHash } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { type Coding, compressed, compressionFor } from '../graphql/http/compression.js';
import { matchesEtag } from '../http/entity-tags.js';

/** A file that is the same for all clients while the process runs. */
export interface ServedFile {
  readonly bytes: Buffer;
  readonly etag: string;
  readonly headers: Readonly<Record<string, string>>;
  /** The compressed bytes, by coding, once a client has asked for them. */
  readonly compressed: Partial<Record<Coding, Buffer>>;
}

export function servedFile(bytes: Buffer, headers: Readonly<Record<string, string>>): ServedFile {
  const digest = createHash('sha256').update(bytes).digest('base64url').slice(0, 22);
  return { bytes, etag: `"${digest}"`, headers, compressed: {} };
}

/** Sends the file, or 304 when the client already has it (RFC 9110 §13.1.2). */
export async function sendFile(
  file: ServedFile,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<void> {
  const { bytes, etag, compressed: known } = file;
  const compression = compressionFor(request.raw);
  // The CORS handler may have set the header before.
  const vary = [reply.getHeader('vary') ?? [], 'Accept-Encoding'].flat().join(', ');
  // The tag is weak, because it is that of all codings.
  void reply.headers({ ...file.headers, vary, etag: `W/${etag}` });
  if (matchesEtag(request.headers['if-none-match'], etag)) {
    void reply.code(304).send();
    return;
  }
  const keep = (coding: Coding, compressedBytes: Buffer) => {
    known[coding] = compressedBytes;
  };
  const plain = { headers: {}, body: bytes as string | Buffer };
  const { headers, body } =
    compression === null ? plain : await compressed(plain, compression, { known, keep });
  void reply.headers(headers).send(body);
}
