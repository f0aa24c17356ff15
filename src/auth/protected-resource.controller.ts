import { Controller, Get, Header, Inject, Req } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import type { Config } from '../config/config.js';
import { CONFIG } from '../config/config.module.js';
import { PROTECTED_PATHS, RESOURCE_METADATA_PATH } from '../http/challenges.js';
import { RejectionError } from '../http/rejection.js';
import { Public } from './access.js';

const PATHS: readonly string[] = ['', ...PROTECTED_PATHS];

/** The metadata of a protected resource (RFC 9728 §2): who issues tokens for it. The path of a document ends with that of its resource. */
@Public()
@Controller(RESOURCE_METADATA_PATH)
export class ProtectedResourceController {
  constructor(@Inject(CONFIG) private readonly config: Config) {}

  @Get(['', '*'])
  @Header('cache-control', 'public, max-age=300')
  getMetadata(@Req() request: FastifyRequest): object {
    const { baseUrl, basePath, auth, scopes } = this.config;
    const { '*': rest = '' } = request.params as { '*'?: string };
    const suffix = rest === '' ? '' : `/${rest}`;
    // RFC 9728 §3.1 puts the path of BASE_URL behind the well-known one.
    const path = suffix.startsWith(basePath) ? suffix.slice(basePath.length) : suffix;
    if (!PATHS.includes(path))
      throw new RejectionError(404, 'NOT_FOUND', 'No resource that takes tokens has this path');
    return {
      resource: `${baseUrl}${path}`,
      authorization_servers: [auth.issuer ?? baseUrl],
      scopes_supported: scopes.map(({ name }) => name),
      bearer_methods_supported: ['header'],
      resource_name: 'Directory Service',
    };
  }
}
