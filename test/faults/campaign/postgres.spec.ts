import { broken, eachInItsOwnWays } from './own-faults.spec-support.js';

eachInItsOwnWays(broken.postgres);
