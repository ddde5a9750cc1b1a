import { Global, Module } from '@nestjs/common';
import { Drain } from './drain.js';

/** What features need of the HTTP side: the drain. */
@Global()
@Module({ providers: [Drain], exports: [Drain] })
export class HttpModule {}
