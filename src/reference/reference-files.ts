import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Inject, Injectable } from '@nestjs/common';
import type { Config } from '../config/config.js';
import { CONFIG } from '../config/config.module.js';
import { pageHeaders } from '../pages/policy.js';
import { renderSiteHeader, SITE_HEADER_PLACE } from '../pages/site-header.js';
import { ModelReference } from './model-reference.js';
import { type ServedFile, servedFile } from './served-file.js';

/** Output directory of scripts/build-reference.mjs. */
const DIRECTORY = fileURLToPath(new URL('../../dist/reference-pages/', import.meta.url));

const MEDIA_TYPES: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.mjs': 'text/javascript; charset=utf-8',
  '.json': 'application/json',
};

/** A page loads only from its own origin. It loads the search index on first use. */
const PAGE_HEADERS = {
  ...pageHeaders({ 'style-src': [`'self'`], 'script-src': [`'self'`], 'connect-src': [`'self'`] }),
  'cache-control': 'no-cache',
};
/** The names of assets contain their hash. */
const ASSET_CACHE = 'public, max-age=31536000, immutable';

/** The pages and assets, by their path below `/reference`. They are read at once: no part of a request becomes a file name. */
@Injectable()
export class ReferenceFiles {
  private files: ReadonlyMap<string, ServedFile> | null = null;

  constructor(
    @Inject(CONFIG) private readonly config: Config,
    private readonly model: ModelReference,
  ) {}

  /** @param path such as `queries` or `assets/0f3a…/style.css`; empty for the first page */
  async find(path: string): Promise<ServedFile | null> {
    this.files ??= await this.read();
    return this.files?.get(path) ?? null;
  }

  /** Null: the pages have not been written. */
  private async read(): Promise<ReadonlyMap<string, ServedFile> | null> {
    if (!existsSync(DIRECTORY)) return null;
    const includesSchema = this.config.disclosure.introspection;
    const isBuiltIn = this.config.modelFile === null || !includesSchema;
    return serveFiles(isBuiltIn ? readFiles() : await this.model.render(), this.config);
  }
}

function readFiles(): Map<string, string> {
  const files = new Map<string, string>();
  for (const file of readdirSync(DIRECTORY, { recursive: true, encoding: 'utf8' })) {
    // Others are directories.
    if (extname(file) !== '') files.set(file, readFileSync(join(DIRECTORY, file), 'utf8'));
  }
  return files;
}

/** Without disclosure of the schema, there is only the page of errors. */
function serveFiles(files: ReadonlyMap<string, string>, config: Config): Map<string, ServedFile> {
  const includesSchema = config.disclosure.introspection;
  const header = renderSiteHeader(config, includesSchema ? 'Reference' : 'Errors');
  const served = new Map<string, ServedFile>();
  for (const [file, text] of files) {
    const extension = extname(file);
    if (extension !== '.html') {
      if (!includesSchema && extension !== '.css') continue;
      const mediaType = MEDIA_TYPES[extension] ?? 'application/octet-stream';
      served.set(
        file,
        servedFile(Buffer.from(text), { 'content-type': mediaType, 'cache-control': ASSET_CACHE }),
      );
      continue;
    }
    const path = pathOf(file.slice(0, -extension.length), includesSchema);
    const page = Buffer.from(text.replace(SITE_HEADER_PLACE, () => header));
    if (path !== null) served.set(path, servedFile(page, PAGE_HEADERS));
  }
  return served;
}

/** Returns the path of a page. Null: the page is not served. */
function pathOf(page: string, includesSchema: boolean): string | null {
  if (!includesSchema) return page === 'errors-alone' ? 'errors' : null;
  if (page === 'errors-alone') return null;
  return page === 'index' ? '' : page;
}
