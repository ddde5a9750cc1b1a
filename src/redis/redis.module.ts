import { Global, Module } from '@nestjs/common';
import { RedisClients } from './redis-clients.js';

/** Offers the maker of Redis clients to every room. */
@Global()
@Module({ providers: [RedisClients], exports: [RedisClients] })
export class RedisModule {}
