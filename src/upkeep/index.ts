export { UpkeepModule } from './upkeep.module.js';
export { Upkeep } from './upkeep.js';
