export { UpkeepModule } from './upkeep.module.js';
export { Upkeep, type UpkeepStep } from './upkeep.js';
