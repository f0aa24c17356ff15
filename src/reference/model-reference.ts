import { Worker } from 'node:worker_threads';
import { Inject, Injectable } from '@nestjs/common';
import { GraphQLSchemaHost } from '@nestjs/graphql';
import type { Config } from '../config/config.js';
import { CONFIG } from '../config/config.module.js';
import { describeSchema } from './described-schema.js';

/** The bundle of tools/reference/, which scripts/build-reference.mjs writes. */
const GENERATOR = new URL('../../dist/reference-generator/main.mjs', import.meta.url);

/** Renders the reference of a schema with a model file. The pages of the built-in schema are files of the build. */
@Injectable()
export class ModelReference {
  private rendered: Promise<ReadonlyMap<string, string>> | null = null;

  constructor(
    @Inject(CONFIG) private readonly config: Config,
    private readonly host: GraphQLSchemaHost,
  ) {}

  /** The files by path. They are rendered on the first request, in a thread, because that takes a second. */
  render(): Promise<ReadonlyMap<string, string>> {
    this.rendered ??= this.start().catch((error: unknown) => {
      this.rendered = null;
      throw error;
    });
    return this.rendered;
  }

  private start(): Promise<ReadonlyMap<string, string>> {
    const worker = new Worker(GENERATOR, {
      workerData: describeSchema(this.host.schema, this.config.scopes),
    });
    return new Promise((resolve, reject) => {
      worker.once('message', (files: Readonly<Record<string, string>>) => {
        resolve(new Map(Object.entries(files)));
      });
      worker.once('error', reject);
      worker.once('exit', () => {
        reject(new Error('The generator of the reference has ended without pages'));
      });
    });
  }
}
