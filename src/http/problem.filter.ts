import {
  type ArgumentsHost,
  Catch,
  type ExceptionFilter,
  Logger,
  NotFoundException,
} from '@nestjs/common';
import { type FastifyReply, type FastifyRequest } from 'fastify';
import { type RouteTable } from './route-table.js';
import { ClientGoneError } from './client-gone.js';
import { sendProblem } from './send-problem.js';
import { build, translate, type Translation } from './translate.js';

/** Answers every error with problem+json. Clients never see a stack. */
@Catch()
export class ProblemFilter implements ExceptionFilter {
  private readonly logger = new Logger(ProblemFilter.name);

  constructor(private readonly routes: RouteTable) {}

  catch(error: unknown, host: ArgumentsHost): void {
    const request = host.switchToHttp().getRequest<FastifyRequest>();
    const reply = host.switchToHttp().getResponse<FastifyReply>();
    const what = `${request.method} ${request.routeOptions.url}`;
    if (request.raw.destroyed && !request.raw.complete) {
      this.logger.debug(`${what} broke off before it had come in whole.`); // nobody is there to be answered
      reply.raw.destroy();
      return;
    }
    if (error instanceof ClientGoneError) {
      this.logger.debug(`${what}: ${error.message}`);
      reply.raw.destroy();
      return;
    }
    const answer = isNowhere(request, error) ? this.notFound(request, reply) : translate(error);
    this.log(error, answer.body.status, what);
    if (reply.sent || reply.raw.headersSent) {
      reply.raw.destroy(); // a cut connection says that the answer is incomplete; silence would not
      return;
    }
    sendProblem(reply, answer);
  }

  /** A fault with its stack; trouble with a part that the service needs in one line. */
  private log(error: unknown, status: number, request: string): void {
    if (status === 500) this.logger.error(error, request);
    else if (status > 500) this.logger.warn(`${request} was answered ${status}: ${String(error)}`);
  }

  private notFound(request: FastifyRequest, reply: FastifyReply): Translation {
    const methods = this.routes.methodsAt(request.url);
    // A route may find out that it has nothing there, as that of static files does.
    const isSupported = methods.includes(request.method);
    if (methods.length === 0 || isSupported) {
      return build('not_found', `There is no ${request.method} here.`);
    }
    void reply.header('allow', methods.join(', '));
    return build('method_not_allowed', `This address supports ${methods.join(', ')}.`);
  }
}

/** Whether it is the router that found nothing. */
function isNowhere({ is404 }: FastifyRequest, error: unknown): boolean {
  return is404 && error instanceof NotFoundException;
}
