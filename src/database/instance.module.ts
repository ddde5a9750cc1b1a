import { Global, Module, type OnApplicationShutdown } from '@nestjs/common';
import { APP_CONFIG, type AppConfig } from '../config/index.js';
import { InstanceLock } from './instance-lock.js';

/**
 * Keeps the data folder to this process for as long as the application lives: alone with the memory
 * lock store, together with others that use a shared one. The application does not start on a
 * conflict. Import it before whatever uses the folder, so that it is freed after that.
 */
@Global()
@Module({
  providers: [
    {
      provide: InstanceLock,
      inject: [APP_CONFIG],
      useFactory: ({ dataDir, lock }: AppConfig) =>
        InstanceLock.acquire(dataDir, lock.store === 'memory' ? 'exclusive' : 'shared'),
    },
  ],
  exports: [InstanceLock],
})
export class InstanceModule implements OnApplicationShutdown {
  constructor(private readonly instanceLock: InstanceLock) {}

  onApplicationShutdown(): Promise<void> {
    return this.instanceLock.release();
  }
}
