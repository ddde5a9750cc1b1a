export { createAdapter } from './adapter.js';
export { configureHttp } from './configure-http.js';
export { Drain } from './drain.js';
export { HttpModule } from './http.module.js';
export { PROBLEM_MEDIA_TYPE } from './problem.js';
export { translate } from './translate.js';
export { validated } from './validation.js';
