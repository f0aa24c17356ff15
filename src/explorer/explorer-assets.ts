import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { fastifyStatic } from '@fastify/static';
import { Injectable, Logger, type OnModuleInit } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { z } from 'zod';

/** Outside of the build directory of the server, which its build empties. */
const BUILT = new URL('../../web/explorer/dist/', import.meta.url);

/** The used part of the manifest that Vite writes for its entry point. */
const Manifest = z.object({
  'source/main.tsx': z.object({ file: z.string(), css: z.array(z.string()).default([]) }),
});

/** Script and style sheets of the page, as paths below `/explorer/`. */
export interface ExplorerEntryPoint {
  readonly script: string;
  readonly styles: readonly string[];
}

/** Serves the output of `npm run compile` for web/explorer. */
@Injectable()
export class ExplorerAssets implements OnModuleInit {
  private readonly logger = new Logger(ExplorerAssets.name);
  /** Null: the explorer was not built. */
  readonly entry = readEntry();

  constructor(private readonly host: HttpAdapterHost) {}

  async onModuleInit(): Promise<void> {
    // The command line loads the modules too, but has no HTTP server.
    const adapter = this.host.httpAdapter as FastifyAdapter | null;
    if (!(adapter instanceof FastifyAdapter)) return;
    if (this.entry === null) {
      this.logger.warn('The explorer has not been built: npm run compile does');
      return;
    }
    await adapter.getInstance().register(fastifyStatic, {
      root: fileURLToPath(new URL('assets/', BUILT)),
      prefix: '/explorer/assets/',
      // Registers each file as a route. No request causes another lookup on the disk.
      wildcard: false,
      globIgnore: ['**/*.br'],
      // The names of the files contain a hash of their contents.
      immutable: true,
      maxAge: '1y',
      index: false,
      decorateReply: false,
      preCompressed: true,
    });
  }
}

function readEntry(): ExplorerEntryPoint | null {
  let text: string;
  try {
    text = readFileSync(new URL('manifest.json', BUILT), 'utf8');
  } catch {
    return null;
  }
  const { file, css } = Manifest.parse(JSON.parse(text))['source/main.tsx'];
  return { script: file, styles: css };
}
