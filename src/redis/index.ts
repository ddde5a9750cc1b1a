export { RedisClients } from './redis-clients.js';
export { RedisModule } from './redis.module.js';
