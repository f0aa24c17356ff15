import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { RejectionError } from './rejection.js';

/** Allows GET and HEAD, and lists them in `Allow` when it rejects another method (RFC 9110 §15.5.6). */
@Injectable()
export class ReadOnlyGuard implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    const { method } = context.switchToHttp().getRequest<FastifyRequest>();
    if (method === 'GET' || method === 'HEAD') return true;
    throw new RejectionError(405, 'METHOD_NOT_ALLOWED', 'This path can only be read', { allow: 'GET, HEAD' });
  }
}
