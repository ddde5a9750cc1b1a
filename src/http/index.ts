export { createAdapter } from './adapter.js';
export { configureHttp } from './configure-http.js';
export { Drain } from './drain.js';
export { HttpModule } from './http.module.js';
export { validated } from './validation.js';
