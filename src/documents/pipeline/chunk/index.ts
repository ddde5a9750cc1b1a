export { chunkPages } from './chunk-pages.js';
export { ChunkOptionsError } from './chunk-options.js';
