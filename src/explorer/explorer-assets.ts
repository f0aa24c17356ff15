import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { fastifyStatic } from '@fastify/static';
import { Injectable, Logger, type OnModuleInit } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { z } from 'zod';

/** Beside the compiled code and the sources alike: the build of the server empties its own directory. */
const BUILT = new URL('../../web/explorer/dist/', import.meta.url);

/** What Vite writes down of its entry point, as far as the page needs it. */
const Manifest = z.object({
  'source/main.tsx': z.object({ file: z.string(), css: z.array(z.string()).default([]) }),
});

/** Script and style sheets that the page begins with, as paths below `/explorer/`. */
export interface Entry {
  readonly script: string;
  readonly styles: readonly string[];
}

/** Serves what `npm run compile` has made of web/explorer. */
@Injectable()
export class ExplorerAssets implements OnModuleInit {
  private readonly logger = new Logger(ExplorerAssets.name);
  /** Null: it was not built. */
  readonly entry = readEntry();

  constructor(private readonly host: HttpAdapterHost) {}

  async onModuleInit(): Promise<void> {
    // The command line has the modules too, and nothing to listen on.
    const adapter = this.host.httpAdapter as FastifyAdapter | null;
    if (!(adapter instanceof FastifyAdapter)) return;
    if (this.entry === null) {
      this.logger.warn('The explorer has not been built: npm run compile does');
      return;
    }
    await adapter.getInstance().register(fastifyStatic, {
      root: fileURLToPath(new URL('assets/', BUILT)),
      prefix: '/explorer/assets/',
      // Each file is a route, and nothing else is looked for on the disk.
      wildcard: false,
      globIgnore: ['**/*.br'],
      // Their names have a hash of what is in them.
      immutable: true,
      maxAge: '1y',
      index: false,
      decorateReply: false,
      preCompressed: true,
    });
  }
}

function readEntry(): Entry | null {
  let text: string;
  try {
    text = readFileSync(new URL('manifest.json', BUILT), 'utf8');
  } catch {
    return null;
  }
  const { file, css } = Manifest.parse(JSON.parse(text))['source/main.tsx'];
  return { script: file, styles: css };
}
