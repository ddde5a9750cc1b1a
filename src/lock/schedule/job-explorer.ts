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
import { followRegistry } from './follow-registry.js';
import { ONCE_PER_TICK, type OncePerTickMetadata } from './once-per-tick.decorator.js';
import { ScheduledJobs } from './scheduled-jobs.js';
import { checkTimer, type MethodTimer, timerOf } from './timer-metadata.js';

/** Finds the methods with `@OncePerTick` and ties them to their cron jobs. */
@Injectable()
export class JobExplorer implements OnModuleInit, OnApplicationBootstrap {
  private readonly logger = new Logger(JobExplorer.name);
  /** The timer that each job's method says it has. */
  private readonly timers = new Map<string, MethodTimer | undefined>();

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
        const method = (prototype as Record<string, unknown>)[property];
        const found = this.metadataOf(method);
        if (!found) continue;
        const { name } = found.options;
        if (!wrapper.isDependencyTreeStatic() || typeof instance !== 'object' || !instance) {
          throw new LockOptionsError(
            `Job "${name}" is a method of ${wrapper.name}, which is not a singleton and so never runs by a timer. Move the method to a provider of default scope.`,
          );
        }
        this.timers.set(name, checkTimer(name, timerOf(method as object)));
        this.jobs.define(found.options, (lease, tick) => found.method.call(instance, lease, tick));
      }
    }
    if (this.timers.size > 0) this.expectOneRegistry();
  }

  onApplicationBootstrap(): void {
    const missing = [...this.timers.keys()].filter(
      (name) => !this.registry.doesExist('cron', name),
    );
    const unknown = missing.find((name) => !this.isSwitchedOff(name));
    if (unknown !== undefined) {
      throw new LockOptionsError(
        `Job "${unknown}" has no cron job of that name. Say @Cron(…, { name: '${unknown}' }), or add one to the SchedulerRegistry at module init.`,
      );
    }
    if (missing.length > 0) {
      this.logger.warn(`No cron job exists: ${missing.join(', ')} will not run by themselves.`);
    }
    followRegistry(this.registry, new Set(this.timers.keys()));
  }

  /** Each registry has timers of its own for the same methods, and only one of them can be followed. */
  private expectOneRegistry(): void {
    const registries = new Set(
      this.discovery
        .getProviders()
        .map(({ instance }) => instance as unknown)
        .filter((instance) => instance instanceof SchedulerRegistry),
    );
    if (registries.size <= 1) return;
    throw new LockOptionsError(
      `The application has ${registries.size} SchedulerRegistries, so each @Cron method has as many timers. Call ScheduleModule.forRoot() in one module only.`,
    );
  }

  /** Whether there is no cron job at all because ScheduleModule was told so, as in tests. */
  private isSwitchedOff(name: string): boolean {
    return this.timers.get(name) !== undefined && this.registry.getCronJobs().size === 0;
  }

  private metadataOf(method: unknown): OncePerTickMetadata | undefined {
    if (typeof method !== 'function') return undefined;
    return this.reflector.get<OncePerTickMetadata | undefined>(ONCE_PER_TICK, method);
  }
}

/** Not global, so that Nest calls its hooks after those of the global ScheduleModule, whatever the order of imports. */
@Module({ imports: [DiscoveryModule], providers: [JobExplorer] })
export class JobExplorerModule {}
