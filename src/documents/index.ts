export { DocumentsModule } from './documents.module.js';
export { VECTOR_STORE, type VectorStore } from './ports/vector-store.js';
