import { Global, Module } from '@nestjs/common';
import { Upkeep } from './upkeep.js';

/** Gives `Upkeep` to the whole application. Needs LockModule. */
@Global()
@Module({ providers: [Upkeep], exports: [Upkeep] })
export class UpkeepModule {}
