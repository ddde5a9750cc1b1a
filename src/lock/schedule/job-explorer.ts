import {
  Injectable,
  Logger,
  Module,
  type OnApplicationBootstrap,
  type OnModuleInit,
} from '@nestjs/common';
import { DiscoveryModule, DiscoveryService, MetadataScanner, Reflector } from '@nestjs/core';
import { SchedulerRegistry } from '@nestjs/schedule';
import { LockOptionsError } from '../core/lock.errors.js';
import { followTimer } from './armed-job.js';
import { ONCE_PER_TICK, type OncePerTickMetadata } from './once-per-tick.decorator.js';
import { ScheduledJobs } from './scheduled-jobs.js';

/** Finds the methods with `@OncePerTick` and ties them to their cron jobs. */
@Injectable()
export class JobExplorer implements OnModuleInit, OnApplicationBootstrap {
  private readonly logger = new Logger(JobExplorer.name);
  private readonly names: string[] = [];

  constructor(
    private readonly jobs: ScheduledJobs,
    private readonly registry: SchedulerRegistry,
    private readonly discovery: DiscoveryService,
    private readonly scanner: MetadataScanner,
    private readonly reflector: Reflector,
  ) {}

  onModuleInit(): void {
    for (const wrapper of [...this.discovery.getProviders(), ...this.discovery.getControllers()]) {
      const { metatype } = wrapper;
      const instance: unknown = wrapper.instance;
      const prototype: unknown = instance ? Object.getPrototypeOf(instance) : metatype?.prototype;
      if (typeof prototype !== 'object' || prototype === null) continue;
      for (const property of this.scanner.getAllMethodNames(prototype)) {
        const found = this.metadataOf(prototype, property);
        if (!found) continue;
        if (!wrapper.isDependencyTreeStatic() || typeof instance !== 'object' || !instance) {
          throw new LockOptionsError(
            `Job "${found.options.name}" is a method of ${wrapper.name}, which is not a singleton and so never runs by a timer. Move the method to a provider of default scope.`,
          );
        }
        this.jobs.define(found.options, (lease, tick) => found.method.call(instance, lease, tick));
        this.names.push(found.options.name);
      }
    }
  }

  onApplicationBootstrap(): void {
    if (this.names.length > 0 && this.registry.getCronJobs().size === 0) {
      this.logger.warn(`No cron job exists: ${this.names.join(', ')} will not run by themselves.`);
    } else this.names.forEach((name) => this.tie(name));
    this.jobs.open();
  }

  private tie(name: string): void {
    if (!this.registry.doesExist('cron', name)) {
      throw new LockOptionsError(
        `Job "${name}" has no cron job of that name. Say @Cron(…, { name: '${name}' }), or add one to the SchedulerRegistry at module init.`,
      );
    }
    followTimer(name, this.registry.getCronJob(name));
  }

  private metadataOf(prototype: object, property: string): OncePerTickMetadata | undefined {
    const method = (prototype as Record<string, unknown>)[property];
    if (typeof method !== 'function') return undefined;
    return this.reflector.get<OncePerTickMetadata | undefined>(ONCE_PER_TICK, method);
  }
}

/** Not global, so that Nest calls its hooks after those of the global ScheduleModule, whatever the order of imports. */
@Module({ imports: [DiscoveryModule], providers: [JobExplorer] })
export class JobExplorerModule {}
