import { type DynamicModule, Module } from '@nestjs/common';
import { type AppConfig, ConfigModule } from './config/index.js';
import { HealthModule } from './health/index.js';
import { HttpModule } from './http/index.js';
import { RedisModule } from './redis/index.js';

/** Joins the rooms: the only place that knows them all. */
@Module({})
export class AppModule {
  static forRoot(config: AppConfig): DynamicModule {
    return {
      module: AppModule,
      imports: [ConfigModule.forRoot(config), HttpModule, RedisModule, HealthModule],
    };
  }
}
