import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Inject, Injectable } from '@nestjs/common';
import type { Config } from '../config/config.js';
import { CONFIG } from '../config/config.module.js';
import { pageHeaders } from '../pages/policy.js';
import { type ServedFile, servedFile } from './served-file.js';

/** Output directory of tools/reference/write-reference.ts. */
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

  constructor(@Inject(CONFIG) private readonly config: Config) {}

  /** @param path such as `queries` or `assets/0f3a…/style.css`; empty for the first page */
  find(path: string): ServedFile | null {
    this.files ??= readFiles(this.config.disclosure.introspection);
    return this.files?.get(path) ?? null;
  }
}

/** Without disclosure of the schema, there is only the page of errors. Null: the pages have not been written. */
function readFiles(includesSchema: boolean): Map<string, ServedFile> | null {
  if (!existsSync(DIRECTORY)) return null;
  const files = new Map<string, ServedFile>();
  for (const file of readdirSync(DIRECTORY, { recursive: true, encoding: 'utf8' })) {
    const extension = extname(file);
    if (extension === '') continue; // A directory.
    const bytes = readFileSync(join(DIRECTORY, file));
    if (extension !== '.html') {
      if (!includesSchema && extension !== '.css') continue;
      const mediaType = MEDIA_TYPES[extension] ?? 'application/octet-stream';
      files.set(file, servedFile(bytes, { 'content-type': mediaType, 'cache-control': ASSET_CACHE }));
      continue;
    }
    const path = pathOf(file.slice(0, -extension.length), includesSchema);
    if (path !== null) files.set(path, servedFile(bytes, PAGE_HEADERS));
  }
  return files;
}

/** Returns the path of a page. Null: the page is not served. */
function pathOf(page: string, includesSchema: boolean): string | null {
  if (!includesSchema) return page === 'errors-alone' ? 'errors' : null;
  if (page === 'errors-alone') return null;
  return page === 'index' ? '' : page;
}
