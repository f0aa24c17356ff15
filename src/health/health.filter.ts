import { type ArgumentsHost, Catch, type ExceptionFilter, ServiceUnavailableException } from '@nestjs/common';
import type { FastifyReply } from 'fastify';

/** Terminus throws its report when a check has failed: this is how it is answered. */
@Catch(ServiceUnavailableException)
export class HealthFilter implements ExceptionFilter<ServiceUnavailableException> {
  catch(error: ServiceUnavailableException, host: ArgumentsHost): void {
    const reply = host.switchToHttp().getResponse<FastifyReply>();
    void reply.code(503).header('retry-after', '1').send(error.getResponse());
  }
}
