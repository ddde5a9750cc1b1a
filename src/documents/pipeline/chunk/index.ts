export { type Chunk, type ChunkCall, chunkPages } from './chunk-pages.js';
export { type ChunkOptions, ChunkOptionsError, DEFAULT_CHUNK_OPTIONS } from './chunk-options.js';
